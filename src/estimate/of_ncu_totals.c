/* Totals of an estimate from a file of ncu's. */
#include "estimate/of_ncu.h"

#include <math.h>

/* A board at rest, where its model does not tell: what remains without any counter (docs/board-model.md,
 * "Idle"). */
static const double idle_u = 0.35;

static void find_idle(jm__of_ncu *m, jm_estimated_range *idle)
{
    const jm__board_model *model = m->bench.model;
    const jm__model_idle *rest = &model->idle[JM_IDLE_LONG];
    double power_w = rest->u_w > 0 ? rest->power_w : model->constant_w;
    double u = rest->u_w > 0 && !model->shipped ? hypot(0.25, rest->u_w / rest->power_w) : idle_u;
    *idle = (jm_estimated_range){power_w, fmax(power_w * (1 - JM_ESTIMATE_Z * u), 0),
                                 power_w * (1 + JM_ESTIMATE_Z * u)};
}

/* A sum's range, and what constant data would spare; per `by`. */
static jm_estimated_range around(double value, double data, jm__sides sides, double by)
{
    return (jm_estimated_range){value / by, fmax(value - hypot(sides.down, data), 0) / by,
                                (value + sides.up) / by};
}

void jm__of_ncu_find_totals(jm__of_ncu *m)
{
    jm_estimated_total *total = &m->to->total;
    jm__sides of_j = jm__estimate_sums_sides(&m->sums);
    double seconds = m->sums.seconds, program_s = m->options->program_s;
    jm_estimated_range none = {NAN, NAN, NAN};
    total->kernels_s = seconds;
    total->kernels_j = around(m->sums.energy_j, m->sums.data_j, of_j, 1);
    total->peak_w = m->peak;
    total->min_w = m->least;
    find_idle(m, &total->idle_w);
    total->program_s = program_s > 0 ? program_s : NAN;
    total->idle_s = program_s > 0 ? fmax(program_s - seconds, 0) : NAN;
    total->program_j = none;
    double all_s = seconds, all_j = m->sums.energy_j;
    if (program_s > 0) {
        double idle_j = (total->idle_w.high - total->idle_w.value) * total->idle_s;
        all_s = fmax(program_s, seconds);
        all_j += total->idle_w.value * total->idle_s;
        of_j = (jm__sides){hypot(of_j.down, idle_j), hypot(of_j.up, idle_j)};
        total->program_j = around(all_j, m->sums.data_j, of_j, 1);
        if (total->idle_s > 0 && total->idle_w.value < total->min_w.value) total->min_w = total->idle_w;
    }
    total->average_w = around(all_j, m->sums.data_j, of_j, all_s);
    jm__estimate_sums_parts(&m->sums, m->to);
}
