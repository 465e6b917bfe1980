/* The sampling grid: where most neighbouring stamps lie, modulo the period. */
#include "attribute/input/ring_grid.h"

#include "base/order.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* Choices. The stamps of two seconds locate the grid: in that time, clocks 100 ppm apart move it by 0.2 ms.
 * Punctual stamps scatter by up to 1 ms around the grid (H200); late ones begin at 2.5 ms (H100). */
enum {
    NEIGHBOURS = 50, /* to each side */
    NEIGHBOURS_MIN = 8,
    GRID_SAMPLES = 10 /* samples that share one estimate of the grid */
};
static const double tolerance_share = 1.0 / 20; /* of a period: stamps this near are on the grid */
static const double agreement_min = 0.5;        /* share of the neighbours on the grid */
static const double latest_share = 0.65;        /* of a period: no stamp is later */

/* The grid's offset from stamp i, in (-latest, 1 - latest] periods, by the stamps [first, end). NAN: they do
 * not agree. */
static double grid_from(const int64_t *stamps_ns, size_t i, size_t first, size_t end, double period_ns)
{
    double off_ns[2 * NEIGHBOURS + 1];
    size_t count = 0;
    for (size_t k = first; k < end; k++) {
        double apart_ns = (double)(stamps_ns[k] - stamps_ns[i]);
        double periods = ceil(apart_ns / period_ns + latest_share) - 1;
        if (fabs(apart_ns) > 2 * NEIGHBOURS * period_ns) continue;
        off_ns[count++] = apart_ns - periods * period_ns;
    }
    if (count < NEIGHBOURS_MIN) return NAN;
    qsort(off_ns, count, sizeof *off_ns, jm__compare_doubles);
    size_t best = 0, best_count = 0;
    for (size_t low = 0, high = 0; low < count; low++) {
        while (high < count && off_ns[high] - off_ns[low] <= 2 * tolerance_share * period_ns)
            high++;
        if (high - low > best_count) {
            best_count = high - low;
            best = low;
        }
    }
    return (double)best_count < agreement_min * (double)count ? NAN : off_ns[best + best_count / 2];
}

/* How late the stamp is, in (latest - 1, latest] periods; grid_ns is on the grid. */
static double lateness(int64_t stamp_ns, double grid_ns, double period_ns)
{
    double apart_ns = (double)stamp_ns - grid_ns;
    return apart_ns - ceil(apart_ns / period_ns - latest_share) * period_ns;
}

jm_status jm__ring_grid(jm_reading *readings, size_t count, int64_t period_ns, bool all, jm_error *err)
{
    if (period_ns <= 0 || count < NEIGHBOURS_MIN) return JM_OK;
    int64_t *stamps_ns = calloc(count, sizeof *stamps_ns);
    if (stamps_ns == NULL) return jm__no_memory(err, "jm__ring_grid");
    for (size_t i = 0; i < count; i++)
        stamps_ns[i] = readings[i].t_ns;
    double period = (double)period_ns, off_ns = NAN;
    size_t middle = 0;
    for (size_t i = 0; i < count; i++) {
        if (i % GRID_SAMPLES == 0) {
            middle = i + GRID_SAMPLES / 2 < count ? i + GRID_SAMPLES / 2 : count - 1;
            size_t first = middle < NEIGHBOURS ? 0 : middle - NEIGHBOURS;
            size_t end = count - middle > NEIGHBOURS + 1 ? middle + NEIGHBOURS + 1 : count;
            off_ns = grid_from(stamps_ns, middle, first, end, period);
        }
        if (isnan(off_ns)) continue;
        double late_ns = lateness(stamps_ns[i] - stamps_ns[middle], off_ns, period);
        double least_ns = (all ? -tolerance_share : tolerance_share) * period;
        int64_t t_ns = stamps_ns[i] - (late_ns > least_ns ? llround(late_ns) : 0);
        if (i == 0 || t_ns > readings[i - 1].t_ns) readings[i].t_ns = t_ns;
    }
    free(stamps_ns);
    return JM_OK;
}
