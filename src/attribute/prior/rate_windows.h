/* What hardware counters say of a board, window by window: the rates of chosen metrics. */
#ifndef JM_ATTRIBUTE_PRIOR_RATE_WINDOWS_H
#define JM_ATTRIBUTE_PRIOR_RATE_WINDOWS_H

#include "attribute/input/window.h"
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

/* How many slots for warps a board has, as its counters and NVML's clock together tell it. */

/* The `quantile` (0 to 1) of slot cycles over NVML's clock in the windows that begin within `within` (NULL:
 * all). NVML's clock is the true one wherever work is light, so in most windows the ratio is the number of
 * slots, and less in the others. 0: slots are not counted, or no clock was recorded. */
jm_status jm__slots_find(double *slots, const jm__dataset *dataset, int64_t board_id,
                         const jm__rate_choice *choice, const jm__intervals *within, double quantile,
                         jm_error *err);

/* What a sampler of hardware counters makes its board draw, and readings without that.
 *
 * As long as there is one, started or not, a GH100 draws some 35 W more, at rest as at work: 181 W for 146 W,
 * and from one reading to the next (bench/results/counters.txt). A recording says when there was one. The
 * program has not drawn that, so its figures are of readings from which it was taken off. */

typedef struct jm__sampler_draw {
    jm__intervals windows; /* while there was one: to be freed */
    double power_w;        /* 0: none, or nobody has measured what it draws on such a board */
    double u_w;            /* its standard uncertainty */
} jm__sampler_draw;

/* Of joulemap's own recorder: what samplers of others drew, nobody told. `power_w`, `u_w`: as measured on the
 * board at rest; NAN: not, then what is usual on its kind. */
jm_status jm__sampler_draw_find(jm__sampler_draw *sampler, const jm__dataset *dataset, const jm_board *board,
                                double power_w, double u_w, jm_error *err);
void jm__sampler_draw_free(jm__sampler_draw *sampler);

/* `readings`: of a power sensor, W, or of an energy counter, J, sorted by time. */
void jm__sampler_draw_take_off(const jm__sampler_draw *sampler, const jm_sensor *sensor, jm_reading *readings,
                               size_t count);

/* Joules within these windows, and their standard uncertainty. */
double jm__sampler_draw_energy_j(const jm__sampler_draw *sampler, const jm__intervals *windows);
double jm__sampler_draw_u_j(const jm__sampler_draw *sampler, const jm__intervals *windows);

#endif
