/* Rates of chosen hardware counter metrics of a board, window by window; and when they were sampled.
 */
#ifndef JM_ATTRIBUTE_PRIOR_RATE_WINDOWS_H
#define JM_ATTRIBUTE_PRIOR_RATE_WINDOWS_H

#include "attribute/fit/levels.h"
#include "attribute/input/window.h"
#include "format/dataset.h"
#include <stdbool.h>

/* Which metrics, and how their rates are scaled. At a lower clock the voltage is lower too, so each event
 * takes less energy: rates are multiplied by (clock / clock_mhz) ^ clock_exponent.
 *
 * The clock of a window is taken from counters if possible: the sum of metrics in `slot-cycle` counts each
 * warp slot in each cycle. NVML's clock covers a tenth of a second, while a large matrix product lowers it
 * for a few milliseconds, from 1980 to 1530 MHz (docs/sensors.md). */
typedef struct jm__rate_choice {
    const char *const *metrics;
    size_t count;
    double clock_mhz; /* NAN: no scaling */
    double clock_exponent;
    double slots; /* for warps, of all multiprocessors; 0: unknown, so the clock is NVML's */
} jm__rate_choice;

typedef struct jm__rate_window {
    int64_t start_ns;
    int64_t end_ns;
    double clock_mhz;   /* by NVML; NAN: not recorded */
    double slot_mhz;    /* slots of warps times the clock; NAN: not counted */
    const double *rate; /* [count]: events a second, or percent */
} jm__rate_window;

typedef jm_status (*jm__rate_sink)(void *context, const jm__rate_window *window, jm_error *err);

/* The metrics of the board's first counter set, without slot cycles. Free them with jm__metrics_free; if
 * there are none, *count is 0 and nothing is to be freed. BAD_DATA: they are no texts. */
jm_status jm__metrics_of(char ***metrics, size_t *count, const jm__dataset *dataset, int64_t board_id,
                         jm_error *err);
void jm__metrics_free(char **metrics, size_t count);

/* Whether one of the board's counter sets has all of these metrics. */
jm_status jm__rates_available(bool *available, const jm__dataset *dataset, int64_t board_id,
                              const jm__rate_choice *choice, jm_error *err);

/* The windows of a board in order of time, without overlapping ones and those with a missing or impossible
 * value. */
jm_status jm__rates_each(const jm__dataset *dataset, int64_t board_id, const jm__rate_choice *choice,
                         jm__rate_sink sink, void *context, jm_error *err);

/* The number of warp slots of a board: the `quantile` (0 to 1) of slot cycles over NVML's clock in the
 * windows that begin within `within` (NULL: all). NVML's clock is right under light load; so in most windows
 * the ratio is the number of slots, and in the others it is less. 0: slots are not counted, or no clock was
 * recorded. */
jm_status jm__slots_find(double *slots, const jm__dataset *dataset, int64_t board_id,
                         const jm__rate_choice *choice, const jm__intervals *within, double quantile,
                         jm_error *err);

/* When hardware counters were sampled, and what that is known to draw: bench/results/sampler_draw.txt. A
 * sampler draws while it exists, started or not. What it draws in a run is fitted (fit/levels.h): less beside
 * work, as parts of the board that it keeps awake are awake then. */

typedef struct jm__sampler_draw {
    jm__intervals windows; /* while a sampler existed; jm__sampler_draw_free frees them */
    jm__sampler_known known;
} jm__sampler_draw;

/* For the samplers of joulemap's own recorder; others are not recorded. `rest_w`, `rest_u_w`: as measured on
 * the board at rest; NAN: not measured, then the usual draw of its kind. */
jm_status jm__sampler_draw_find(jm__sampler_draw *sampler, const jm__dataset *dataset, const jm_board *board,
                                double rest_w, double rest_u_w, jm_error *err);
void jm__sampler_draw_free(jm__sampler_draw *sampler);

/* Takes what it draws at rest off readings of a power sensor, W, sorted by time. */
void jm__sampler_draw_subtract(const jm__sampler_draw *sampler, const jm_sensor *sensor, jm_reading *readings,
                               size_t count);

#endif
