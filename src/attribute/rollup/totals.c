/* Over all boards. */
#include "attribute/rollup/totals.h"

#include "attribute/fit/student.h"
#include "attribute/rollup/amounts.h"
#include "attribute/rollup/energy.h"
#include "attribute/rollup/waits.h"
#include "base/status.h"

#include <math.h>

/* The time that the total is of: that of the board of which most is known. */
static double covered_s(const jm__attribution *a)
{
    int64_t longest_ns = 0;
    bool any = false;
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->counted || part->total.source == NULL) continue;
        int64_t known_ns = jm__windows_duration_ns(&part->windows);
        if (known_ns > longest_ns) longest_ns = known_ns;
        any = true;
    }
    return (double)(any ? longest_ns : jm__windows_duration_ns(&a->windows)) * 1e-9;
}

static void sum_boards(jm_report_totals *t, const jm__attribution *a)
{
    double variance = 0, free_j = 0, held_j = 0, z_square = 0;
    bool independent = false;
    *t = (jm_report_totals){.closure = NAN, .closure_z = NAN, .residual_w = NAN, .chi2_n = NAN};
    double square = 0, chi2 = 0, chi2_count = 0;
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->counted) continue;
        t->simulated = t->simulated || part->board->simulated;
        t->total_energy_j += part->total.energy_j;
        variance += part->total.u_j * part->total.u_j;
        bool counter = part->counter != NULL && part->total.source == part->counter->name;
        if (part->total.source != NULL && (t->total_source == NULL || counter))
            t->total_source = part->total.source;
        if (!part->fit.fitted) continue;
        t->readings += (int64_t)part->fit.readings;
        square += part->fit.residual_w * part->fit.residual_w * (double)part->fit.readings;
        if (!isnan(part->fit.chi2_n)) {
            chi2 += part->fit.chi2_n * (double)part->fit.readings;
            chi2_count += (double)part->fit.readings;
        }
        if (isnan(part->fit.closure_z)) continue;
        independent = true;
        free_j += part->fit.free_j;
        held_j += part->total.energy_j;
        if (part->fit.closure_z * part->fit.closure_z > z_square) {
            z_square = part->fit.closure_z * part->fit.closure_z;
            t->closure_z = part->fit.closure_z;
        } else if (isnan(t->closure_z)) {
            t->closure_z = part->fit.closure_z;
        }
    }
    if (t->total_source == NULL) t->total_energy_j = NAN;
    t->total_low_j = jm__energy_low(t->total_energy_j, JM_NORMAL_95 * sqrt(variance));
    t->total_high_j = t->total_energy_j + JM_NORMAL_95 * sqrt(variance);
    t->duration_s = covered_s(a);
    if (t->total_source == NULL) t->total_low_j = t->total_high_j = NAN;
    if (independent && held_j > 0) t->closure = (free_j - held_j) / held_j;
    if (t->readings > 0) t->residual_w = sqrt(square / (double)t->readings);
    if (chi2_count > 0) t->chi2_n = chi2 / chi2_count;
}

/* Idle and outside do not depend on the view: they are taken from the boards. */
static void sum_parts(jm_report_totals *t, const jm__attribution *a)
{
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->wanted || part->work->columns.count == 0) continue;
        for (size_t k = part->work->columns.class_columns; k < part->work->columns.count; k++)
            t->idle_energy_j += part->work->seconds[k] * part->fit.power_w[k];
        for (size_t u = 0; u < part->work->tally.uses.count; u++) {
            double outside_s = part->work->tally.uses.items[u].outside_s;
            if (outside_s > 0)
                t->outside_energy_j += outside_s * jm__use_scale(part->work, u) *
                                       part->fit.power_w[part->work->columns.of_use[u]];
        }
    }
}

/* What a fitted board did while steps were steady, but for what tracing made: that is no step's. */
static size_t add_steady_cells(jm__cell *cells, size_t count, const jm__board_part *part)
{
    const jm__board_work *work = part->work;
    size_t first = count;
    for (size_t k = 0; k < work->columns.count; k++)
        cells[count++] = (jm__cell){.column = (uint32_t)(part->first_column + k)};
    for (size_t u = 0; u < work->tally.uses.count; u++)
        if (work->tally.uses.items[u].ran_s >= 0)
            cells[first + work->columns.of_use[u]].seconds +=
                jm__use_scale(work, u) * work->tally.uses.items[u].inside.steady_s;
    for (size_t s = 0; s < JM_IDLE_STATES; s++)
        cells[first + work->columns.class_columns + s].seconds +=
            work->tally.idle[s].steady_s - work->tally.tracing_steady_s[s];
    return count;
}

/* Joules of the steady steps: by the fit, which knows what ran; a board without one has a counter. */
static jm_status sum_steps(jm_report_totals *t, const jm__attribution *a, jm_error *err)
{
    double steady = (double)(a->steps.count - a->steps.warm_up), measured_j = 0, half_j = 0;
    size_t count = 0;
    t->steps = t->warm_up_steps = -1;
    t->steps_found = a->steps.found;
    t->steady_step_j = t->steady_step_low_j = t->steady_step_high_j = NAN;
    if (a->steps.count == 0) return JM_OK;
    jm__cell *cells = calloc(a->columns + 1, sizeof *cells);
    if (cells == NULL) return jm__no_memory(err, "jm__totals_sum");
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->counted) continue;
        if (part->work->columns.count > 0) {
            count = add_steady_cells(cells, count, part);
            continue;
        }
        jm__total total = jm__board_total(part, &part->steady);
        if (total.source == NULL) continue;
        measured_j += total.energy_j;
        half_j = hypot(half_j, JM_NORMAL_95 * total.u_j);
    }
    jm__energy energy = jm__energy_of(a, cells, count);
    free(cells);
    t->steps = a->steps.count;
    t->warm_up_steps = a->steps.warm_up;
    if (!energy.known) return JM_OK;
    t->steady_step_j = (energy.energy_j + measured_j) / steady;
    half_j = hypot(half_j, energy.half_j) / steady;
    t->steady_step_low_j = jm__energy_low(t->steady_step_j, half_j);
    t->steady_step_high_j = t->steady_step_j + half_j;
    return JM_OK;
}

/* What tracing made, at the power of each state. */
static void sum_tracing(jm_report_totals *t, const jm__attribution *a)
{
    const jm__stands *stands = &a->stands;
    t->traced_steps = t->unmatched_steps = -1;
    t->tracing_slow_down = t->tracing_s = t->tracing_energy_j = NAN;
    if (stands->laps.count == 0) return;
    t->traced_steps = 0;
    for (size_t i = 0; i < stands->laps.count; i++) {
        const jm__lap *lap = &stands->laps.items[i];
        const jm__process *process = &a->dataset->processes[lap->process];
        bool mine = jm__dataset_process_has_pid(a->dataset, process->id, a->options.process_id);
        bool is_step = jm__told_is_step(&a->told, &a->dataset->spans[lap->span]); /* or a phase without any */
        t->traced_steps += mine && is_step && lap->traced && jm__windows_hold(&a->windows, lap->start_ns);
    }
    t->unmatched_steps = (int64_t)stands->missing;
    t->tracing_slow_down = stands->slow_down;
    if (isnan(stands->slow_down)) return;
    t->tracing_s = t->tracing_energy_j = 0;
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->wanted || part->work->columns.count == 0) continue;
        for (size_t s = 0; s < JM_IDLE_STATES; s++) {
            double made_s = part->work->tally.idle_s[s][JM_CAUSE_TRACING];
            t->tracing_s += made_s;
            t->tracing_energy_j += made_s * part->fit.power_w[part->work->columns.class_columns + s];
        }
    }
}

jm_status jm__totals_sum(jm_report_totals *totals, const jm__attribution *a, jm_error *err)
{
    sum_boards(totals, a);
    sum_parts(totals, a);
    jm__waits_sum(totals, a);
    sum_tracing(totals, a);
    totals->samples = jm__amount_sum(a, JM_AMOUNT_SAMPLES);
    totals->tokens = jm__amount_sum(a, JM_AMOUNT_TOKENS);
    return sum_steps(totals, a, err);
}
