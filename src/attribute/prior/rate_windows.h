/* What hardware counters say of a board, window by window: the rates of chosen metrics. */
#ifndef JM_ATTRIBUTE_PRIOR_RATE_WINDOWS_H
#define JM_ATTRIBUTE_PRIOR_RATE_WINDOWS_H

#include "format/dataset.h"

#include <stdbool.h>

/* Which metrics, and what their rates are taken for: work at a lower clock runs at a lower voltage, so each
 * of its events costs less. Rates are multiplied by (clock / clock_mhz) ^ clock_exponent.
 *
 * The clock of a window is told by counters where there are such: metrics of the unit `slot-cycle` count, all
 * together, each slot for a warp in each cycle. NVML's clock is that of a tenth of a second, and a large
 * matrix product pulls it down for its own milliseconds alone, from 1980 to 1530 MHz (docs/sensors.md). */
typedef struct jm__rate_choice {
    const char *const *metrics;
    size_t count;
    double clock_mhz; /* NAN: leave them as they are */
    double clock_exponent;
    double slots; /* for warps, of all multiprocessors; 0: not known, so the clock is NVML's */
} jm__rate_choice;

typedef struct jm__rate_window {
    int64_t start_ns;
    int64_t end_ns;
    double clock_mhz;   /* of the board then, by NVML; NAN: not recorded */
    double slot_mhz;    /* slots of warps times the clock; NAN: not counted */
    const double *rate; /* [count]: events a second, or percent */
} jm__rate_window;

typedef jm_status (*jm__rate_taker)(void *taker, const jm__rate_window *window, jm_error *err);

/* The metrics of the first set of counters that a board has, but for those that only tell the clock: the
 * texts, which the caller frees one by one and as a whole. *count is 0, and nothing is to be freed, if it has
 * none. BAD_DATA: they are no texts. */
jm_status jm__metrics_of(char ***metrics, size_t *count, const jm__dataset *dataset, int64_t board_id,
                         jm_error *err);
void jm__metrics_free(char **metrics, size_t count);

/* Does any set of the board's counters have all of these metrics? */
jm_status jm__rates_known(bool *known, const jm__dataset *dataset, int64_t board_id,
                          const jm__rate_choice *choice, jm_error *err);

/* The windows of a board in order of time. Those in which one of the metrics was not measured, or cannot be,
 * are left out, and those that begin before the one before them ends. */
jm_status jm__rates_each(const jm__dataset *dataset, int64_t board_id, const jm__rate_choice *choice,
                         jm__rate_taker take, void *taker, jm_error *err);

#endif
