/* What a sampler of hardware counters makes its board draw, and readings without that.
 *
 * As long as there is one, started or not, a GH100 draws some 35 W more, at rest as at work: 181 W for 146 W,
 * and from one reading to the next (bench/results/counters.txt). A recording says when there was one. The
 * program has not drawn that, so its figures are of readings from which it was taken off. */
#ifndef JM_ATTRIBUTE_PRIOR_SAMPLER_DRAW_H
#define JM_ATTRIBUTE_PRIOR_SAMPLER_DRAW_H

#include "attribute/input/window.h"
#include "format/dataset.h"

typedef struct jm__sampler_draw {
    jm__windows windows; /* while there was one: to be freed */
    double power_w;      /* 0: none, or nobody has measured what it draws on such a board */
    double u_w;          /* its standard uncertainty */
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
double jm__sampler_draw_energy_j(const jm__sampler_draw *sampler, const jm__windows *windows);
double jm__sampler_draw_u_j(const jm__sampler_draw *sampler, const jm__windows *windows);

#endif
