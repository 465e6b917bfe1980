/* A hash map: open addressing, linear probes, removal without tombstones. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#define USED UINT32_C(0x80000000)

/* Eight bytes at a time: each word is mixed in by a multiplication with 2^64 divided by the golden ratio
 * (Knuth, The Art of Computer Programming 3, 6.4). Then the better upper half is folded into the lower
 * one. */
uint64_t jm__map_hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t at = 0; at < count; at += sizeof hash) {
        uint64_t word = 0;
        memcpy(&word, (const char *)bytes + at, count - at < sizeof word ? count - at : sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

static const char *text_of(const void *key)
{
    const char *text;
    memcpy(&text, key, sizeof text);
    return text;
}

uint64_t jm__map_text_hash(const void *key)
{
    const char *text = text_of(key);
    return jm__map_hash_bytes(0, text, strlen(text));
}

bool jm__map_text_equal(const void *key, const void *another)
{
    return strcmp(text_of(key), text_of(another)) == 0;
}

/* The part of the hash that a slot stores: it skips most unequal keys and lets the map grow without
 * rehashing. */
static uint32_t tag_of(const jm__map *map, const void *key)
{
    uint64_t hash = map->hash != NULL ? map->hash(key) : jm__map_hash_bytes(0, key, map->key_size);
    return (uint32_t)hash | USED;
}

static size_t home_of(const jm__map *map, uint32_t tag)
{
    return (tag & ~USED) & (map->slots - 1);
}

/* The slot of the key, or the free slot where it belongs. */
static size_t probe(const jm__map *map, const void *key, uint32_t tag)
{
    size_t at = home_of(map, tag);
    for (; map->tags[at] != 0; at = (at + 1) & (map->slots - 1)) {
        const void *other = map->keys + at * map->key_size;
        if (map->tags[at] != tag) continue;
        if (map->equal != NULL ? map->equal(other, key) : memcmp(other, key, map->key_size) == 0) break;
    }
    return at;
}

jm__map_value *jm__map_find(const jm__map *map, const void *key)
{
    if (map->count == 0) return NULL;
    size_t at = probe(map, key, tag_of(map, key));
    return map->tags[at] != 0 ? &map->values[at] : NULL;
}

static void set(jm__map *map, size_t at, uint32_t tag, const void *key, jm__map_value value)
{
    map->tags[at] = tag;
    memcpy(map->keys + at * map->key_size, key, map->key_size);
    map->values[at] = value;
}

static bool grow(jm__map *map)
{
    if (map->slots > map->count * 2) return true;
    jm__map larger = *map;
    larger.slots = map->slots == 0 ? 32 : map->slots * 2;
    larger.tags = calloc(larger.slots, sizeof *larger.tags);
    larger.keys = malloc(larger.slots * larger.key_size);
    larger.values = malloc(larger.slots * sizeof *larger.values);
    if (larger.tags == NULL || larger.keys == NULL || larger.values == NULL) {
        jm__map_free(&larger);
        return false;
    }
    for (size_t i = 0; i < map->slots; i++) {
        uint32_t tag = map->tags[i];
        const unsigned char *key = map->keys + i * map->key_size;
        if (tag != 0) set(&larger, probe(&larger, key, tag), tag, key, map->values[i]);
    }
    jm__map_free(map);
    *map = larger;
    return true;
}

bool jm__map_put(jm__map *map, const void *key, jm__map_value value)
{
    if (!grow(map)) return false;
    uint32_t tag = tag_of(map, key);
    size_t at = probe(map, key, tag);
    if (map->tags[at] == 0) map->count++;
    set(map, at, tag, key, value);
    return true;
}

size_t jm__map_number(jm__map *map, const void *key, void **items, size_t *count, size_t *capacity,
                      const void *item, size_t item_size)
{
    const jm__map_value *found = jm__map_find(map, key);
    if (found != NULL) return (size_t)found->id;
    if (!jm__vec_grow(items, capacity, *count + 1, item_size) ||
        !jm__map_put(map, key, (jm__map_value){.id = (int64_t)*count}))
        return SIZE_MAX;
    memcpy((char *)*items + *count * item_size, item, item_size);
    return (*count)++;
}

void jm__map_remove(jm__map *map, const void *key)
{
    if (map->count == 0) return;
    size_t hole = probe(map, key, tag_of(map, key));
    if (map->tags[hole] == 0) return;
    map->count--;
    map->tags[hole] = 0;
    /* Move up entries that a probe would no longer find past the hole. */
    for (size_t at = (hole + 1) & (map->slots - 1); map->tags[at] != 0; at = (at + 1) & (map->slots - 1)) {
        size_t home = home_of(map, map->tags[at]);
        if (((at - home) & (map->slots - 1)) < ((at - hole) & (map->slots - 1))) continue;
        set(map, hole, map->tags[at], map->keys + at * map->key_size, map->values[at]);
        map->tags[at] = 0;
        hole = at;
    }
}

void jm__map_free(jm__map *map)
{
    free(map->tags);
    free(map->keys);
    free(map->values);
    *map = (jm__map){.key_size = map->key_size, .hash = map->hash, .equal = map->equal};
}
