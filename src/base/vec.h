/* A growing array of any type: JM_VEC(int) v = {0}; if (!jm__vec_push(&v, 3)) out of memory. Free with
 * jm__vec_free. */
#ifndef JM_BASE_VEC_H
#define JM_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define JM_VEC(type)                                                                                         \
    struct {                                                                                                 \
        type *items;                                                                                         \
        size_t count;                                                                                        \
        size_t capacity;                                                                                     \
    }

/* Reserve room for `requested` items in total; false if memory is out. */
#define jm__vec_reserve(vec, requested)                                                                      \
    jm__vec_grow((void **)&(vec)->items, &(vec)->capacity, (requested), sizeof *(vec)->items)

#define jm__vec_push(vec, item)                                                                              \
    (jm__vec_reserve((vec), (vec)->count + 1) ? ((vec)->items[(vec)->count++] = (item), true) : false)

#define jm__vec_free(vec) (free((vec)->items), (vec)->items = NULL, (vec)->count = 0, (vec)->capacity = 0)

static inline bool jm__vec_grow(void **items, size_t *capacity, size_t requested, size_t item_size)
{
    if (requested <= *capacity) return true;
    size_t larger = *capacity < 16 ? 16 : *capacity * 2;
    if (larger < requested) larger = requested;
    if (larger > (size_t)-1 / item_size) return false;
    void *moved = realloc(*items, larger * item_size);
    if (moved == NULL) return false;
    *items = moved;
    *capacity = larger;
    return true;
}

#endif
