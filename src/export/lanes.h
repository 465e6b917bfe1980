/* Which spans a viewer can draw on one line: those of a thread, each beside or inside the others. Spans that
 * another thread closed may cross; they get a line more. */
#ifndef JM_EXPORT_LANES_H
#define JM_EXPORT_LANES_H

#include "base/map.h"
#include "base/vec.h"
#include "recording/dataset.h"

typedef JM_VEC(int64_t) jm__lane_ends;

typedef struct jm__lane {
    int64_t process_id;
    int64_t thread_id;
    int64_t number;     /* of the thread's lanes, from 0 */
    jm__lane_ends open; /* the ends of the spans around, the outermost first */
} jm__lane;

typedef struct jm__lanes {
    JM_VEC(jm__lane) items;
    jm__map by_key;
} jm__lanes;

void jm__lanes_init(jm__lanes *lanes);
void jm__lanes_free(jm__lanes *lanes);

/* The lane of a span, by its index, made if need be; spans come sorted by their start. `end_ns`: its end.
 * (size_t)-1 if memory is out. */
size_t jm__lanes_take(jm__lanes *lanes, const jm__span *span, int64_t end_ns);

#endif
