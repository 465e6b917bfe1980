/* A hash map from keys of a fixed size to an id, a number or an object. Needs only libc: libjoulemap_inject
 * contains it as well.
 *
 * Zero-initialise with `.key_size` set; free with jm__map_free. Pointers to values are valid until the next
 * put. The map copies its keys. Keys are compared as bytes (zero the padding) unless `hash` and `equal` are
 * set. Then a key may be a struct with pointers to texts, which must outlive it. For a single text use
 * JM_MAP_OF_TEXTS: its key is the address of a `const char *`. */
#ifndef JM_BASE_MAP_H
#define JM_BASE_MAP_H

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef union jm__map_value {
    int64_t id;
    double number;
    void *object;
} jm__map_value;

typedef struct jm__map {
    size_t key_size;
    uint64_t (*hash)(const void *key);                   /* NULL: hash the bytes */
    bool (*equal)(const void *key, const void *another); /* NULL: compare the bytes; set both or none */
    size_t count;
    size_t slots;   /* a power of two, or 0 */
    uint32_t *tags; /* per slot, 0: free; else 31 bits of its key's hash */
    unsigned char *keys;
    jm__map_value *values;
} jm__map;

#define JM_MAP_OF_TEXTS                                                                                      \
    {                                                                                                        \
        .key_size = sizeof(const char *), .hash = jm__map_text_hash, .equal = jm__map_text_equal             \
    }

jm__map_value *jm__map_find(const jm__map *map, const void *key);

/* Insert or replace. False if memory is out. */
bool jm__map_put(jm__map *map, const void *key, jm__map_value value);

/* Use the map as a set. */
static inline bool jm__map_add(jm__map *map, const void *key)
{
    return jm__map_put(map, key, (jm__map_value){0});
}

/* The index of the item with this key in a JM_VEC, whose items the map numbers; if there is none, a copy of
 * `*item` is added. SIZE_MAX if memory is out. */
#define jm__map_item(map, key, vec, item)                                                                    \
    jm__map_number((map), (key), (void **)&(vec)->items, &(vec)->count, &(vec)->capacity,                    \
                   1 ? (item) : (vec)->items, sizeof *(vec)->items)
size_t jm__map_number(jm__map *map, const void *key, void **items, size_t *count, size_t *capacity,
                      const void *item, size_t item_size);

void jm__map_remove(jm__map *map, const void *key);
void jm__map_free(jm__map *map); /* frees neither the objects nor texts that keys point to */

/* Hash more bytes into `hash`, which starts at 0. For a `hash` of several texts. */
uint64_t jm__map_hash_bytes(uint64_t hash, const void *bytes, size_t count);

uint64_t jm__map_text_hash(const void *key);
bool jm__map_text_equal(const void *key, const void *another);

#endif
