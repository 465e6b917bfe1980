/* Which slices of time a viewer can draw on one line: those of a thread or a stream, each beside or inside
 * the others. Spans that another thread closed may cross, kernels of a graph overlap; they get a line more.
 */
#ifndef JM_EXPORT_LANES_H
#define JM_EXPORT_LANES_H

#include "base/map.h"
#include "base/vec.h"

#include <stdint.h>

typedef JM_VEC(int64_t) jm__lane_ends;

typedef struct jm__lane {
    int64_t group;      /* the program or board it belongs to */
    int64_t owner;      /* the thread or stream, in its group */
    int64_t number;     /* of the owner's lanes, from 0 */
    jm__lane_ends open; /* the ends of the slices around, the outermost first */
} jm__lane;

typedef struct jm__lanes {
    JM_VEC(jm__lane) items;
    jm__map by_key;
} jm__lanes;

void jm__lanes_init(jm__lanes *lanes);
void jm__lanes_free(jm__lanes *lanes);

/* The lane of a slice, by its index, made if need be; those of an owner come sorted by their start.
 * (size_t)-1 if memory is out. */
size_t jm__lanes_take(jm__lanes *lanes, int64_t group, int64_t owner, int64_t start_ns, int64_t end_ns);

#endif
