/* What a counter can have counted. */
#include "attribute/fit/counts.h"

#include "format/rows/rows.h"

#include <math.h>

/* Readings may be dated so much wrong: a short step then looks too fast. A choice. */
static const double dated_s = 1;

bool jm__counts_step(const jm_reading *from, const jm_reading *to)
{
    double step_j = to->value - from->value, seconds = (double)(to->t_ns - from->t_ns) * 1e-9;
    return step_j >= 0 && step_j <= JM_BOARD_MOST_W * (seconds + dated_s);
}

size_t jm__counts_clean(jm_reading *readings, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const jm_reading *now = &readings[i];
        if (!isfinite(now->value)) continue;
        if (kept > 0 && now->value == readings[kept - 1].value) continue;
        bool last = kept == 0 || i + 1 == count;
        bool ignored = !last && (now->value == 0 || !jm__counts_step(now, now + 1)) &&
                       jm__counts_step(&readings[kept - 1], now + 1);
        bool strays = ignored && !jm__counts_step(&readings[kept - 1], now);
        if (!strays) readings[kept++] = *now;
    }
    return kept;
}
