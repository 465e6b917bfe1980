/* A hash map: open addressing, linear probes, removal without tombstones. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(const jm__map *map, const void *key)
{
    uint64_t hash = 0;
    for (size_t at = 0; at < map->key_size; at += sizeof hash) {
        uint64_t word;
        memcpy(&word, (const char *)key + at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return (size_t)hash & (map->slots - 1);
}

/* The key's slot, or the free one where it would go. */
static size_t probe(const jm__map *map, const void *key)
{
    size_t at = slot_of(map, key);
    while (map->used[at] && memcmp(map->keys + at * map->key_size, key, map->key_size) != 0)
        at = (at + 1) & (map->slots - 1);
    return at;
}

jm__map_value *jm__map_find(const jm__map *map, const void *key)
{
    if (map->count == 0) return NULL;
    size_t at = probe(map, key);
    return map->used[at] ? &map->values[at] : NULL;
}

static void set(jm__map *map, size_t at, const void *key, jm__map_value value)
{
    map->used[at] = 1;
    memcpy(map->keys + at * map->key_size, key, map->key_size);
    map->values[at] = value;
}

static bool grow(jm__map *map)
{
    if (map->slots > map->count * 2) return true;
    jm__map larger = {.key_size = map->key_size, .count = map->count};
    larger.slots = map->slots == 0 ? 32 : map->slots * 2;
    larger.used = calloc(larger.slots, 1);
    larger.keys = malloc(larger.slots * larger.key_size);
    larger.values = malloc(larger.slots * sizeof *larger.values);
    if (larger.used == NULL || larger.keys == NULL || larger.values == NULL) {
        jm__map_free(&larger);
        return false;
    }
    for (size_t i = 0; i < map->slots; i++) {
        const unsigned char *key = map->keys + i * map->key_size;
        if (map->used[i]) set(&larger, probe(&larger, key), key, map->values[i]);
    }
    jm__map_free(map);
    *map = larger;
    return true;
}

bool jm__map_put(jm__map *map, const void *key, jm__map_value value)
{
    if (!grow(map)) return false;
    size_t at = probe(map, key);
    if (!map->used[at]) map->count++;
    set(map, at, key, value);
    return true;
}

void jm__map_remove(jm__map *map, const void *key)
{
    if (map->count == 0) return;
    size_t hole = probe(map, key);
    if (!map->used[hole]) return;
    map->count--;
    map->used[hole] = 0;
    /* Move up what a probe would no longer find past the hole. */
    for (size_t at = (hole + 1) & (map->slots - 1); map->used[at]; at = (at + 1) & (map->slots - 1)) {
        const unsigned char *moved = map->keys + at * map->key_size;
        size_t home = slot_of(map, moved);
        if (((at - home) & (map->slots - 1)) < ((at - hole) & (map->slots - 1))) continue;
        set(map, hole, moved, map->values[at]);
        map->used[at] = 0;
        hole = at;
    }
}

void jm__map_free(jm__map *map)
{
    free(map->used);
    free(map->keys);
    free(map->values);
    *map = (jm__map){.key_size = map->key_size};
}
