/* Looking laps up. */
#include "attribute/work/stands.h"

#include "base/search.h"

#include <stdlib.h>

size_t jm__stands_lap_at(const jm__stands *stands, size_t process, int64_t t_ns)
{
    size_t first = stands->laps_of[process], count = stands->laps_of[process + 1] - first, at;
    const jm__lap *laps = stands->laps.items + first;
    jm__search(at, count, laps[at].start_ns <= t_ns);
    return at > 0 && t_ns < laps[at - 1].end_ns ? first + at - 1 : JM__NO_LAP;
}

void jm__stands_free(jm__stands *stands)
{
    for (size_t p = 0; stands->stood != NULL && p < stands->processes; p++)
        jm__vec_free(&stands->stood[p]);
    jm__vec_free(&stands->laps);
    jm__vec_free(&stands->loose_of);
    jm__vec_free(&stands->whole_of);
    jm__vec_free(&stands->turns);
    jm__vec_free(&stands->items);
    jm__vec_free(&stands->lone);
    free(stands->laps_of);
    free(stands->lap_of_span);
    free(stands->stood);
    *stands = (jm__stands){0};
}
