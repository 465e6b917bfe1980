/* The time of each part of a run, and its joules, which add up to the total. */
#include "attribute/rollup/stages.h"

#include "base/status.h"

#include <math.h>

static const char *const texts[JM_STAGES] = {
#define X(name, text) text,
    JM_STAGE_MAP(X)
#undef X
};

enum { TIMES = JM_STAGE_AFTER + 1 }; /* the first stages are times of their own */

typedef struct stage_times {
    jm__intervals of[TIMES];
} stage_times;

/* Moves what is in `time` out of `rest` into the stage. False if memory is out. */
static bool take(jm__intervals *stage, jm__intervals *rest, const jm__intervals *time)
{
    return jm__intervals_add_all(stage, rest) && jm__intervals_intersect(stage, time) &&
           jm__intervals_subtract(rest, time);
}

static bool take_between(jm__intervals *stage, jm__intervals *rest, int64_t from_ns, int64_t to_ns)
{
    jm__interval one = {from_ns, to_ns};
    const jm__intervals time = {&one, 1, 1};
    return from_ns >= to_ns || take(stage, rest, &time);
}

/* Each moment of the report is in one of them: time of several is that of the first. */
static bool find_times(stage_times *times, const jm__scope *scope)
{
    const jm__steps *steps = &scope->steps;
    jm__intervals rest = {0}, *of = times->of;
    bool fine = jm__intervals_add_all(&rest, &scope->windows) &&
                take(&of[JM_STAGE_STEADY], &rest, &steps->steady) &&
                take(&of[JM_STAGE_WARM_UP], &rest, &steps->warm) &&
                take(&of[JM_STAGE_LONGER], &rest, &steps->longer) &&
                take(&of[JM_STAGE_OTHER], &rest, &steps->others) &&
                take_between(&of[JM_STAGE_BEFORE], &rest, INT64_MIN, steps->first_ns) &&
                take_between(&of[JM_STAGE_AFTER], &rest, steps->last_ns, INT64_MAX) &&
                jm__intervals_add_all(&of[JM_STAGE_BETWEEN], &rest);
    jm__vec_free(&rest);
    return fine;
}

/* By the sensors of all boards. False if memory is out. */
static bool measure(double *energy_j, const jm__attribution *a, const jm__intervals *time)
{
    bool fine = true;
    *energy_j = 0;
    for (size_t b = 0; fine && b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        jm__intervals own = {0};
        if (!part->counted || part->total.source == NULL) continue;
        fine = jm__intervals_add_all(&own, &part->time.windows) && jm__intervals_intersect(&own, time);
        const jm__total total =
            fine && own.count > 0 ? jm__total_measure(&part->readings, &own) : (jm__total){0};
        if (total.source != NULL) *energy_j += total.energy_j;
        jm__vec_free(&own);
    }
    return fine;
}

static double known(double energy_j)
{
    return isnan(energy_j) ? 0 : energy_j;
}

static double sampler_j(const jm__attribution *a)
{
    double sum_j = 0, seconds, u_j;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++)
        if (a->boards[b].counted && a->boards[b].work->columns.count > 0)
            sum_j += jm__board_sampler_j(&a->boards[b], &seconds, &u_j);
    return sum_j;
}

/* Shares what is left of the total among the other times, as the sensors saw them. */
static void share_rest(jm_stage *all, double rest_j)
{
    double seen_j = 0;
    for (size_t s = JM_STAGE_STEADY + 1; s < TIMES; s++)
        seen_j += all[s].energy_j;
    for (size_t s = JM_STAGE_STEADY + 1; seen_j > 0 && s < TIMES; s++)
        all[s].energy_j *= rest_j / seen_j;
    if (!(seen_j > 0)) all[JM_STAGE_BETWEEN].energy_j = rest_j;
}

static jm_status fill(jm_stage *all, const stage_times *times, const jm__attribution *a,
                      const jm_report_totals *t, jm_error *err)
{
    double rest_j = t->total_energy_j;
    for (size_t s = 0; s < JM_STAGES; s++)
        all[s] = (jm_stage){texts[s], -1, NAN, 0};
    for (size_t s = 0; s < TIMES; s++) {
        all[s].seconds = 1e-9 * (double)jm__intervals_duration_ns(&times->of[s]);
        if (!measure(&all[s].energy_j, a, &times->of[s])) return jm__no_memory(err, "jm_report_create");
    }
    all[JM_STAGE_STEADY].steps = t->steady_steps;
    all[JM_STAGE_STEADY].energy_j = t->steady_step_j * (double)t->steady_steps;
    all[JM_STAGE_WARM_UP].steps = t->warm_up_steps;
    all[JM_STAGE_LONGER].steps = t->kind_steps - t->warm_up_steps - t->steady_steps;
    all[JM_STAGE_OTHER].steps = a->scope.steps.others_count;
    all[JM_STAGE_MEASURING].energy_j = sampler_j(a) + known(t->tracing_energy_j);
    all[JM_STAGE_UNSEEN].energy_j = known(t->unrecorded_energy_j);
    all[JM_STAGE_UNRESOLVED].energy_j = known(t->unresolved_energy_j);
    rest_j -= all[JM_STAGE_STEADY].energy_j;
    for (size_t s = TIMES; s < JM_STAGES; s++)
        rest_j -= all[s].energy_j;
    share_rest(all, rest_j);
    return JM_OK;
}

jm_status jm__stages_find(jm__stages *stages, const jm__attribution *a, const jm_report_totals *totals,
                          jm_error *err)
{
    stage_times times = {0};
    jm_stage all[JM_STAGES];
    stages->count = 0;
    if (totals->steady_steps <= 0 || isnan(totals->steady_step_j) || isnan(totals->total_energy_j))
        return JM_OK;
    jm_status status = find_times(&times, &a->scope) ? fill(all, &times, a, totals, err)
                                                     : jm__no_memory(err, "jm_report_create");
    for (size_t s = 0; s < TIMES; s++)
        jm__vec_free(&times.of[s]);
    for (size_t s = 0; status == JM_OK && s < JM_STAGES; s++)
        if (all[s].energy_j != 0 || all[s].seconds > 0) stages->items[stages->count++] = all[s];
    return status;
}
