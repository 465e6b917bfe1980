/* Phase of a periodic update by intersection of intervals. */
#include "record/sample/tick.h"

/* An update may be early or late by this share of the period. */
#define JITTER_DIVISOR 32

/* How far a board's period may be from its profile's, as a share of the time passed. */
#define DRIFT_DIVISOR 4000

/* The window moved on by whole periods to lie around `near_ns`, wider by what may have drifted. */
static bool window_at(const jm__tick *tick, int64_t near_ns, int64_t *low_ns, int64_t *high_ns)
{
    int64_t middle_ns = tick->low_ns + (tick->high_ns - tick->low_ns) / 2;
    int64_t passed_ns = near_ns - middle_ns + tick->period_ns / 2;
    int64_t periods = passed_ns / tick->period_ns - (passed_ns < 0 && passed_ns % tick->period_ns != 0);
    int64_t shift_ns = periods * tick->period_ns;
    int64_t drift_ns = (shift_ns < 0 ? -shift_ns : shift_ns) / DRIFT_DIVISOR;
    *low_ns = tick->low_ns + shift_ns - drift_ns;
    *high_ns = tick->high_ns + shift_ns + drift_ns;
    return *high_ns - *low_ns < tick->period_ns * 3 / 4;
}

int64_t jm__tick_observe(jm__tick *tick, int64_t low_ns, int64_t high_ns)
{
    int64_t was_low_ns, was_high_ns;
    int64_t middle_ns = low_ns + (high_ns - low_ns) / 2, latest_ns = high_ns;
    /* What is looked for is the grid, from which this update may be off. */
    low_ns -= tick->period_ns / JITTER_DIVISOR;
    high_ns += tick->period_ns / JITTER_DIVISOR;
    bool both = tick->known && window_at(tick, middle_ns, &was_low_ns, &was_high_ns) &&
                was_low_ns < high_ns && low_ns < was_high_ns;
    tick->low_ns = both && was_low_ns > low_ns ? was_low_ns : low_ns;
    tick->high_ns = both && was_high_ns < high_ns ? was_high_ns : high_ns;
    tick->known = high_ns - low_ns < tick->period_ns;
    int64_t best_ns = tick->low_ns + (tick->high_ns - tick->low_ns) / 2;
    return best_ns < latest_ns ? best_ns : latest_ns;
}

bool jm__tick_next(const jm__tick *tick, int64_t after_ns, int64_t *low_ns, int64_t *high_ns)
{
    if (!tick->known) return false;
    bool sharp = window_at(tick, after_ns, low_ns, high_ns);
    while (sharp && *high_ns <= after_ns) {
        *low_ns += tick->period_ns;
        *high_ns += tick->period_ns;
    }
    return sharp;
}
