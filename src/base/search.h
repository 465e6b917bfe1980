/* Binary search. */
#ifndef JM_BASE_SEARCH_H
#define JM_BASE_SEARCH_H

#include <stddef.h>

/* Sets `at` (a size_t variable of the caller) to the first index of [0, count) for which `before` is false,
 * or to `count`. `before` is an expression of `at`, true up to some index and false from there on:
 *
 *     size_t at;
 *     jm__search(at, count, readings[at].t_ns < t_ns);   the first reading at or after t
 */
#define jm__search(at, count, before)                                                                        \
    do {                                                                                                     \
        size_t jm_search_low_ = 0, jm_search_high_ = (count);                                                \
        while (jm_search_low_ < jm_search_high_) {                                                           \
            (at) = jm_search_low_ + (jm_search_high_ - jm_search_low_) / 2;                                  \
            if (before)                                                                                      \
                jm_search_low_ = (at) + 1;                                                                   \
            else                                                                                             \
                jm_search_high_ = (at);                                                                      \
        }                                                                                                    \
        (at) = jm_search_low_;                                                                               \
    } while (0)

#endif
