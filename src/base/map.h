/* A hash map from keys of one size to an id, a number or an object. Libc alone: also part of
 * libjoulemap_inject.
 *
 * Zero-initialise with `.key_size` set; free with jm__map_free. Pointers to values are valid until the next
 * put. The map holds copies of its keys. A key is its bytes (padding zeroed), unless `hash` and `equal` say
 * otherwise: then it may be a struct with pointers to texts, which the owner keeps alive as long as they are
 * in the map. For one text use JM_MAP_OF_TEXTS, whose key is the address of a `const char *`. */
#ifndef JM_BASE_MAP_H
#define JM_BASE_MAP_H

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
    uint64_t (*hash)(const void *key);                   /* NULL: of its bytes */
    bool (*equal)(const void *key, const void *another); /* NULL: the same bytes; set both or none */
    size_t count;
    size_t slots;    /* a power of two, or 0 */
    uint32_t *marks; /* 0: a free slot; else some of its key's hash */
    unsigned char *keys;
    jm__map_value *values;
} jm__map;

#define JM_MAP_OF_TEXTS                                                                                      \
    {                                                                                                        \
        .key_size = sizeof(const char *), .hash = jm__map_text_hash, .equal = jm__map_text_equal             \
    }

/* NULL if the key is not there. */
jm__map_value *jm__map_find(const jm__map *map, const void *key);

/* Insert or replace; false if memory is out. */
bool jm__map_put(jm__map *map, const void *key, jm__map_value value);

/* The same without a value, for who asks only whether a key is there. */
static inline bool jm__map_add(jm__map *map, const void *key)
{
    return jm__map_put(map, key, (jm__map_value){0});
}

void jm__map_remove(jm__map *map, const void *key);
void jm__map_free(jm__map *map); /* not the objects, nor texts that keys point to */

/* Continue a hash by some bytes; the first one starts from 0. For a `hash` over several texts. */
uint64_t jm__map_hash_bytes(uint64_t hash, const void *bytes, size_t count);

uint64_t jm__map_text_hash(const void *key);
bool jm__map_text_equal(const void *key, const void *another);

#endif
