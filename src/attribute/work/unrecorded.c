/* Readings of the utilisation, and the parts of a gap by them. */
#include "attribute/work/unrecorded.h"

#include "base/clock.h"
#include "base/search.h"
#include "format/rows/sensor_role.h"

#include <stdlib.h>

/* Utilisation is the share of up to a second before the reading during which any kernel ran. Readings sooner
 * than this after a gap's begin tell of the work before it. */
static const int64_t memory_ns = 1300 * JM_NS_PER_MS;

/* Percent. A choice: drawing a desktop takes less. */
static const double busy_least = 10;

enum { READINGS_MIN = 2 };

bool jm__utilisation_begin(jm__utilisation *u, const jm__dataset *d, const jm_board *board)
{
    return jm__dataset_readings(&u->readings, &u->count, d,
                                jm__dataset_sensor(d, board->id, JM_SENSOR_UTIL_GPU), 0, 100);
}

void jm__utilisation_free(jm__utilisation *u)
{
    free(u->readings);
    *u = (jm__utilisation){0};
}

/* The first reading at or after t. */
static size_t first_at(const jm__utilisation *u, int64_t t_ns)
{
    size_t at;
    jm__search(at, u->count, u->readings[at].t_ns < t_ns);
    return at;
}

/* A reading tells of the time since the one before it. The first and the last in a gap tell of what is left
 * of it at its ends. */
int64_t jm__unrecorded_part_end_ns(const jm__utilisation *u, jm__interval gap, int64_t from_ns,
                                   bool *unrecorded)
{
    size_t first = first_at(u, gap.from_ns + memory_ns), end = first_at(u, gap.to_ns + 1);
    *unrecorded = false;
    if (end < first + READINGS_MIN) return gap.to_ns;
    size_t at = first_at(u, from_ns + 1);
    at = at < first ? first : at;
    if (at >= end) at = end - 1;
    *unrecorded = u->readings[at].value >= busy_least;
    while (at + 1 < end && (u->readings[at + 1].value >= busy_least) == *unrecorded)
        at++;
    return at + 1 < end ? u->readings[at].t_ns : gap.to_ns;
}
