/* A hash map from keys of one fixed size (a multiple of 8 bytes, padding zeroed) to an id or an object.
 *
 * Zero-initialise with `.key_size` set; free with jm__map_free. Pointers to values are valid until the next
 * put. */
#ifndef JM_BASE_MAP_H
#define JM_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef union jm__map_value {
    int64_t id;
    void *object;
} jm__map_value;

typedef struct jm__map {
    size_t key_size;
    size_t count;
    size_t slots; /* a power of two, or 0 */
    unsigned char *used;
    unsigned char *keys;
    jm__map_value *values;
} jm__map;

/* NULL if the key is not there. */
jm__map_value *jm__map_find(const jm__map *map, const void *key);

/* Insert or replace; false if memory is out. */
bool jm__map_put(jm__map *map, const void *key, jm__map_value value);

void jm__map_remove(jm__map *map, const void *key);
void jm__map_free(jm__map *map); /* not the objects */

#endif
