/* The tree is added up from its leaves and reconciled to measured phases; then totals and rows are made. */
#include "attribute/rollup/rows.h"

#include "attribute/fit/nnls.h"
#include "attribute/fit/student.h"
#include "base/order.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_node_and_column(const void *a, const void *b)
{
    const jm__cell *left = a, *right = b;
    if (left->node != right->node) return left->node < right->node ? -1 : 1;
    return (left->column > right->column) - (left->column < right->column);
}

/* Both are sorted by column. False if memory is out. */
static bool merge(jm__cell **into, size_t *into_count, const jm__cell *cells, size_t count)
{
    if (count == 0) return true;
    jm__cell *merged = malloc((*into_count + count) * sizeof *merged);
    if (merged == NULL) return false;
    size_t i = 0, j = 0, n = 0;
    while (i < *into_count || j < count) {
        bool left = j == count || (i < *into_count && (*into)[i].column <= cells[j].column);
        const jm__cell *next = left ? &(*into)[i++] : &cells[j++];
        if (n > 0 && merged[n - 1].column == next->column)
            merged[n - 1].seconds += next->seconds;
        else
            merged[n++] = *next;
    }
    free(*into);
    *into = merged;
    *into_count = n;
    return true;
}

/* Time shared with overlapping rows counts in the row itself, but not in rows above. */
static bool add_shared(jm__subtotal *sub, const jm__attribution *a, const jm__cell *cells, size_t count)
{
    jm__subtotal with = {0};
    bool fine = merge(&with.cells, &with.cell_count, sub->cells, sub->cell_count) &&
                merge(&with.cells, &with.cell_count, cells, count);
    if (fine) sub->energy = jm__energy_of(a, with.cells, with.cell_count);
    free(with.cells);
    return fine;
}

/* For a measured phase: its energy less that of its rows, which is shared among them later. Only if the time
 * of the row is that of the phase: not if other work ran in it, or if much of its own work ran after it. */
static void find_phase_rest(jm__subtotal *sub, jm__node *node)
{
    double seconds = 0;
    for (size_t i = 0; i < sub->cell_count; i++)
        seconds += sub->cells[i].seconds;
    if (isnan(node->phase_j) || !sub->energy.known || fabs(seconds - node->phase_s) > 0.005 * node->phase_s)
        return;
    double rest_j = node->phase_j - sub->energy.energy_j - sub->measured_j;
    node->is_phase_total = true;
    sub->rest_j = rest_j;
    sub->measured_j += rest_j;
}

static void add_to_outer(jm__subtotal *outer, jm__node *up, const jm__subtotal *sub, const jm__node *node)
{
    jm__mean_sums_add(&outer->means, &sub->means);
    jm__spent_add(&outer->spent, &sub->spent, 1);
    outer->shown = outer->shown || sub->shown;
    outer->measured_j += sub->measured_j;
    outer->measured_u_j = hypot(outer->measured_u_j, sub->measured_u_j);
    outer->steady_measured_j += sub->steady_measured_j;
    outer->steady_measured_u_j = hypot(outer->steady_measured_u_j, sub->steady_measured_u_j);
    up->boards |= node->boards;
    if (node->start_ns < up->start_ns) up->start_ns = node->start_ns;
    if (node->start_ns != INT64_MAX && node->end_ns > up->end_ns) up->end_ns = node->end_ns;
}

/* Add a node's own cells in the steady state to its subtotal, and those of all below it to the row above. */
static bool add_steady(jm__subtotal *sub, jm__subtotal *outer, const jm__tree *tree, const jm__attribution *a,
                       size_t first, size_t count)
{
    if (!tree->steps) return true;
    const jm__cell *own = count > 0 ? &tree->steady.items[first] : NULL;
    if (!merge(&sub->steady, &sub->steady_count, own, count)) return false;
    sub->steady_energy = jm__energy_of(a, sub->steady, sub->steady_count);
    bool fine = outer == NULL || merge(&outer->steady, &outer->steady_count, sub->steady, sub->steady_count);
    free(sub->steady);
    sub->steady = NULL;
    return fine;
}

/* Fills subtotals[tree->nodes.count], which are zero, and sorts the cells by node and column. Nodes get
 * self_j and is_phase_total, and the boards and times of all below them. Children come after their parents,
 * so in backward order each node is complete when it is reached. */
static jm_status subtotals_add_up(jm__subtotal *subtotals, jm__tree *tree, const jm__attribution *a,
                                  const jm__means *means, jm_error *err)
{
    jm__sort(tree->cells.items, tree->cells.count, sizeof *tree->cells.items, by_node_and_column);
    jm__sort(tree->steady.items, tree->steady.count, sizeof *tree->steady.items, by_node_and_column);
    jm__sort(tree->shared.items, tree->shared.count, sizeof *tree->shared.items, by_node_and_column);
    size_t end = tree->cells.count, shared_end = tree->shared.count;
    for (size_t n = tree->nodes.count; n-- > 0;) {
        jm__node *node = &tree->nodes.items[n];
        jm__subtotal *sub = &subtotals[n],
                     *outer = node->parent != JM__NO_NODE ? &subtotals[node->parent] : NULL;
        size_t first = end;
        while (first > 0 && tree->cells.items[first - 1].node == n)
            first--;
        const jm__cell *own =
            end > first ? &tree->cells.items[first] : NULL; /* a tree without cells has no array */
        jm__energy self = jm__energy_of(a, own, end - first);
        node->self_j = node->upstream ? 0 : self.energy_j + node->measured_j;
        jm__mean_sums_add_cells(&sub->means, means, own, end - first);
        if (!merge(&sub->cells, &sub->cell_count, own, end - first) ||
            !add_steady(sub, outer, tree, a, first, end - first))
            return jm__no_memory(err, "jm__subtotals_add_up");
        end = first;
        jm__spent_add(&sub->spent, &node->spent, 1);
        sub->measured_j += node->measured_j;
        sub->measured_u_j = hypot(sub->measured_u_j, node->measured_u_j);
        sub->steady_measured_j += node->steady_measured_j;
        sub->steady_measured_u_j = hypot(sub->steady_measured_u_j, node->steady_measured_u_j);
        sub->measured = sub->measured || node->measured;
        sub->energy = jm__energy_of(a, sub->cells, sub->cell_count);
        size_t shared = shared_end;
        while (shared > 0 && tree->shared.items[shared - 1].node == n)
            shared--;
        if (shared_end > shared && !add_shared(sub, a, &tree->shared.items[shared], shared_end - shared))
            return jm__no_memory(err, "jm__subtotals_add_up");
        find_phase_rest(sub, node);
        sub->shown = sub->shown || sub->cell_count > 0 || node->measured || node->calls > 0 ||
                     sub->spent.busy_s > 0 || node->shared_s > 0;
        if (outer != NULL) {
            if (!merge(&outer->cells, &outer->cell_count, sub->cells, sub->cell_count))
                return jm__no_memory(err, "jm__subtotals_add_up");
            add_to_outer(outer, &tree->nodes.items[node->parent], sub, node);
        }
        free(sub->cells);
        sub->cells = NULL;
        sub->cell_count += shared_end - shared;
        sub->spent.busy_s += node->shared_s;
        shared_end = shared;
    }
    return JM_OK;
}

static void subtotals_free(jm__subtotal *subtotals, size_t count)
{
    for (size_t n = 0; subtotals != NULL && n < count; n++)
        free(subtotals[n].cells), free(subtotals[n].steady);
    free(subtotals);
}

typedef struct time_energy {
    double seconds;
    double energy_j;
} time_energy;

/* Add seconds of a use, and their energy. */
static void add_use(time_energy *to, const jm__board_part *part, size_t use, double seconds)
{
    if (!(seconds > 0)) return;
    to->seconds += seconds;
    to->energy_j += part->fit.known ? jm__use_power_w(part, use) * seconds : NAN;
}

/* Reconciliation to measured phases.
 *
 * Let the rows' energies e have the covariance V, and let the phase's measured energy be E +- u. The rows
 * become e + g (E - sum e) with the gain g = V 1 / 1'V 1, the covariance of each with the sum. So uncertain
 * rows take most of the difference, and all rows together are E. The errors become those of e - g sum e, and
 * g u. For any g that adds up to 1, a row of gain g and covariance c with the sum, which has the variance s,
 * gets the variance v - 2 g c + g^2 s + g^2 u^2.
 *
 * If that g would take more from a row than it has, or give it more than its boards can draw, the total and
 * the fit contradict each other; then rows share by their distance from these limits. If no row is uncertain,
 * the phase's own row takes the difference. */

/* One phase at a time; no row is in two. */
typedef struct reconciliation {
    jm__subtotal *subtotals;
    jm__tree *tree;
    const jm__attribution *a;
    size_t *members;    /* [nodes]: by phase, parents before their children */
    size_t *first_cell; /* [nodes + 1]: cells are sorted by node */
    size_t first, end;  /* members of the current phase, which is the first of them */
    double *seconds;    /* [columns of all boards]: of the phase */
    double *covariance; /* [columns of all boards]: of a second of each with the sum */
    double *max_w;      /* [columns of all boards]: limit of the board */
    double *shared;     /* [nodes]: covariance of a node's own energy with the sum; then with all below */
    double *max_j;      /* [nodes]: limit of the boards in a node's own time */
    double *gain;       /* [nodes]: g of a node's own energy; then with all below */
    double variance;    /* of the sum over the phase */
} reconciliation;

/* Gains in proportion to `base` (NULL: 0) plus `times` a node's own energy, negative ones being 0; false if
 * all are. */
static bool set_gains(reconciliation *s, const double *base, double times)
{
    double sum = 0;
    for (size_t m = s->first; m < s->end; m++) {
        size_t n = s->members[m];
        s->gain[n] = fmax(0, (base != NULL ? base[n] : 0) + times * s->tree->nodes.items[n].self_j);
        sum += s->gain[n];
    }
    if (!(sum > 0) || !isfinite(sum)) return false;
    for (size_t m = s->first; m < s->end; m++)
        s->gain[s->members[m]] /= sum;
    return true;
}

/* Whether no row goes below zero or above the power of its boards. */
static bool keeps_limits(const reconciliation *s, double rest_j)
{
    for (size_t m = s->first; m < s->end; m++) {
        size_t n = s->members[m];
        double after_j = s->tree->nodes.items[n].self_j + rest_j * s->gain[n];
        if (s->gain[n] > 0 && (rest_j < 0 ? after_j < 0 : after_j > s->max_j[n])) return false;
    }
    return true;
}

static void find_gains(reconciliation *s, double rest_j)
{
    bool certain = !set_gains(s, s->shared, 0);
    if (!certain && keeps_limits(s, rest_j)) return;
    if (!certain && rest_j > 0 && set_gains(s, s->max_j, -1) && keeps_limits(s, rest_j)) return;
    if ((!certain || rest_j < 0) && set_gains(s, NULL, 1)) return;
    for (size_t m = s->first; m < s->end; m++)
        s->gain[s->members[m]] = m == s->first;
}

static void reconcile(reconciliation *s)
{
    size_t phase = s->members[s->first];
    jm__node *nodes = s->tree->nodes.items;
    double rest_j = s->subtotals[phase].rest_j;
    find_gains(s, rest_j);
    for (size_t m = s->first; m < s->end; m++) {
        size_t n = s->members[m];
        nodes[n].gain = s->gain[n];
        nodes[n].self_j += rest_j * s->gain[n];
    }
    for (size_t m = s->end; m-- > s->first + 1;) { /* the phase itself has it already */
        size_t n = s->members[m];
        jm__subtotal *sub = &s->subtotals[n];
        double g = s->gain[n];
        sub->measured_j += rest_j * g;
        sub->phase_u_j = g * nodes[phase].phase_u_j;
        jm__energy_set_variance(&sub->energy,
                                sub->energy.variance - 2 * g * s->shared[n] + g * g * s->variance);
        s->gain[nodes[n].parent] += g;
        s->shared[nodes[n].parent] += s->shared[n];
    }
}

/* Sets copy_... and collective_... of the totals, over all boards and processes; missing without kernels. */
static void sum_waits(jm_report_totals *t, const jm__attribution *a)
{
    const jm__ranks *ranks = &a->work.ranks;
    time_energy copies = {0}, all = {0}, exposed = {0}, waiting = {0};
    double collective_s = 0, exposed_s = 0, share; /* wall time, not shared */
    bool traced = false;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        const jm__tally *tally = &part->work->tally;
        if (!part->requested || part->work->columns.count == 0 || part->work->from_host) continue;
        traced = true;
        collective_s += tally->collective_s;
        exposed_s += tally->exposed_s;
        for (size_t u = 0; u < tally->uses.count; u++) {
            const jm__use_sum *use = &tally->uses.items[u];
            const jm__class *class = &a->work.classes.items[a->work.uses.items.items[u].class_index];
            add_use(&copies, part, u, use->copies_s);
            if (use->ran_s < 0 || class->family != JM_KERNEL_FAMILY_COLLECTIVE) continue;
            add_use(&all, part, u, use->inside.report_s);
            add_use(&exposed, part, u, use->exposed_s);
            if (class->waits) add_use(&waiting, part, u, use->inside.report_s);
        }
    }
    if (!traced) return;
    t->copy_s = copies.seconds;
    t->copy_energy_j = copies.energy_j;
    t->collective_s = collective_s;
    t->collective_energy_j = all.energy_j;
    t->collective_exposed_s = exposed_s;
    t->collective_exposed_energy_j = exposed.energy_j;
    if (ranks->waits.count == 0) return;
    t->collective_wait_s = waiting.seconds;
    t->collective_wait_energy_j = waiting.energy_j;
    size_t board = jm__collective_awaited(&ranks->waits, &ranks->collectives, JM__NO_COLLECTIVE, &share);
    if (board != SIZE_MAX && share >= 0.5) t->collective_wait_gpu = jm__attribution_index(a, board);
}

/* The time that the total covers: the longest of any board. */
static double covered_s(const jm__attribution *a)
{
    int64_t longest_ns = 0;
    bool any = false;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->counted || part->total.source == NULL) continue;
        int64_t known_ns = jm__intervals_duration_ns(&part->time.windows);
        if (known_ns > longest_ns) longest_ns = known_ns;
        any = true;
    }
    return (double)(any ? longest_ns : jm__intervals_duration_ns(&a->scope.windows)) * 1e-9;
}

static void sum_boards(jm_report_totals *t, const jm__attribution *a)
{
    double variance = 0, free_j = 0, held_j = 0, square = 0, chi2 = 0, chi2_count = 0;
    t->total_energy_j = 0;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->counted) continue;
        t->simulated = t->simulated || part->board->simulated;
        t->total_energy_j += part->total.energy_j;
        variance += part->total.u_j * part->total.u_j;
        bool counter = part->readings.counter != NULL && part->total.source == part->readings.counter->name;
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
        free_j += part->fit.free_j;
        held_j += part->fit.total.energy_j;
        if (!(fabs(part->fit.closure_z) <= fabs(t->closure_z))) t->closure_z = part->fit.closure_z;
    }
    if (t->total_source == NULL) t->total_energy_j = NAN;
    t->total_low_j = jm__energy_low(t->total_energy_j, JM_NORMAL_95 * sqrt(variance));
    t->total_high_j = t->total_energy_j + JM_NORMAL_95 * sqrt(variance);
    t->duration_s = covered_s(a);
    if (held_j > 0) t->closure = (free_j - held_j) / held_j;
    if (t->readings > 0) t->residual_w = sqrt(square / (double)t->readings);
    if (chi2_count > 0) t->chi2_n = chi2 / chi2_count;
}

/* Idle and outside energy from the boards, the same in every view. */
static void sum_parts(jm_report_totals *t, const jm__attribution *a)
{
    t->unrecorded_energy_j = t->idle_energy_j = t->outside_energy_j = 0;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->requested || part->work->columns.count == 0) continue;
        t->unrecorded_energy_j += part->unrecorded_total.energy_j;
        for (size_t s = 0; s < JM_IDLE_STATES; s++)
            t->idle_energy_j +=
                part->work->tally.idle[s].report_s * part->fit.power_w[part->work->columns.class_columns + s];
        for (size_t u = 0; u < part->work->tally.uses.count; u++) {
            double outside_s = part->work->tally.uses.items[u].outside_s;
            if (outside_s > 0) t->outside_energy_j += outside_s * jm__use_power_w(part, u);
        }
    }
}

/* The cells of a fitted board in the steady state, without idle time caused by tracing. */
static size_t add_steady_cells(jm__cell *cells, size_t count, const jm__board_part *part)
{
    const jm__board_work *work = part->work;
    size_t first = count;
    for (size_t k = 0; k < work->columns.count; k++)
        cells[count++] = (jm__cell){.column = (uint32_t)(part->first_column + k)};
    for (size_t u = 0; u < work->tally.uses.count; u++) {
        if (work->tally.uses.items[u].ran_s < 0) continue;
        jm__use_part parts[JM_USE_PARTS];
        for (size_t i = jm__use_parts(work, u, parts); i-- > 0;)
            cells[first + parts[i].column].seconds +=
                parts[i].share * work->tally.uses.items[u].inside.steady_s;
    }
    for (size_t s = 0; s < JM_IDLE_STATES; s++)
        cells[first + work->columns.class_columns + s].seconds +=
            work->tally.idle[s].steady_s - work->tally.idle_steady_s[s][JM_CAUSE_TRACING];
    return count;
}

bool jm__board_steady(const jm__attribution *a, size_t board, double *energy_j, double *u_j)
{
    const jm__board_part *part = &a->boards[board];
    *energy_j = *u_j = 0;
    if (a->scope.steps.steady_count == 0) return true;
    if (part->work->columns.count == 0) {
        jm__total total = jm__total_measure(&part->readings, &part->time.steady);
        if (total.source != NULL) *energy_j = total.energy_j, *u_j = total.u_j;
        return true;
    }
    jm__cell *cells = calloc(part->work->columns.count, sizeof *cells);
    if (cells == NULL) return false;
    jm__energy energy = jm__energy_of(a, cells, add_steady_cells(cells, 0, part));
    free(cells);
    *energy_j = energy.energy_j;
    *u_j = energy.half_j / JM_NORMAL_95;
    return true;
}

/* Joules of the steady steps: by the fit, or by the counter for boards without one. */
static jm_status sum_steps(jm_report_totals *t, const jm__attribution *a, jm_error *err)
{
    const jm__steps *steps = &a->scope.steps;
    double steady = (double)steps->steady_count, measured_j = 0, half_j = 0, idle_j = 0;
    size_t count = 0;
    t->steps_found = steps->found;
    t->step_name = steps->name;
    t->step_phase = steps->phase;
    if (steps->count == 0) return JM_OK;
    jm__cell *cells = calloc(a->columns + 1, sizeof *cells);
    if (cells == NULL) return jm__no_memory(err, "jm__totals_sum");
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->counted) continue;
        if (part->work->columns.count > 0) {
            size_t first = count;
            count = add_steady_cells(cells, count, part);
            for (size_t s = 0; s < JM_IDLE_STATES; s++)
                idle_j += cells[first + part->work->columns.class_columns + s].seconds *
                          part->fit.power_w[part->work->columns.class_columns + s];
            continue;
        }
        jm__total total = jm__total_measure(&part->readings, &part->time.steady);
        if (total.source == NULL) continue;
        measured_j += total.energy_j;
        half_j = hypot(half_j, JM_NORMAL_95 * total.u_j);
    }
    jm__energy energy = jm__energy_of(a, cells, count);
    free(cells);
    t->steps = steps->count;
    t->warm_up_steps = steps->warm_up;
    t->kind_steps = steps->kind_count;
    t->steady_steps = steps->steady_count;
    t->steady_samples = jm__amount_sum(a, JM_AMOUNT_SAMPLES, true);
    t->steady_tokens = jm__amount_sum(a, JM_AMOUNT_TOKENS, true);
    if (steps->steady_count == 0) return JM_OK;
    t->steady_step_s = 1e-9 * (double)jm__intervals_duration_ns(&steps->steady) / steady;
    if (!energy.known) return JM_OK;
    if (count > 0) t->steady_idle_j = idle_j / steady;
    t->steady_step_j = (energy.energy_j + measured_j) / steady;
    half_j = hypot(half_j, energy.half_j) / steady;
    t->steady_step_low_j = jm__energy_low(t->steady_step_j, half_j);
    t->steady_step_high_j = t->steady_step_j + half_j;
    return JM_OK;
}

/* Time and energy caused by tracing. */
static void sum_tracing(jm_report_totals *t, const jm__attribution *a)
{
    const jm__strata *strata = &a->scope.strata;
    if (strata->step_intervals.count == 0) return;
    t->traced_steps = 0;
    for (size_t i = 0; i < strata->step_intervals.count; i++) {
        const jm__step_interval *step = &strata->step_intervals.items[i];
        const jm__process *process = &a->scope.dataset->processes[step->process];
        bool requested =
            jm__dataset_process_has_pid(a->scope.dataset, process->id, a->scope.options.process_id);
        bool is_step = jm__marked_is_step(&a->scope.marked,
                                          &a->scope.dataset->spans[step->span]); /* or a phase without any */
        t->traced_steps +=
            requested && is_step && step->traced && jm__intervals_contain(&a->scope.windows, step->start_ns);
    }
    t->unmatched_steps = (int64_t)strata->missing;
    t->tracing_slow_down = strata->slow_down;
    if (isnan(strata->slow_down)) return;
    t->tracing_s = t->tracing_energy_j = 0;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->requested || part->work->columns.count == 0) continue;
        for (size_t s = 0; s < JM_IDLE_STATES; s++) {
            double tracing_s = part->work->tally.idle_s[s][JM_CAUSE_TRACING];
            t->tracing_s += tracing_s;
            t->tracing_energy_j += tracing_s * part->fit.power_w[part->work->columns.class_columns + s];
        }
    }
}

/* All but unresolved_energy_j. */
static jm_status totals_sum(jm_report_totals *totals, const jm__attribution *a, jm_error *err)
{
    *totals = (jm_report_totals){JM_TOTALS_FIELDS(JM_NOTHING_YET)};
    sum_boards(totals, a);
    sum_parts(totals, a);
    sum_waits(totals, a);
    sum_tracing(totals, a);
    totals->samples = jm__amount_sum(a, JM_AMOUNT_SAMPLES, false);
    totals->tokens = jm__amount_sum(a, JM_AMOUNT_TOKENS, false);
    return sum_steps(totals, a, err);
}

static int trailing_rank(const jm__node *node)
{
    if (node->name[0] != '(') return 0;
    if (strcmp(node->kind, "idle") == 0) return 3;
    if (strcmp(node->kind, "sampling") == 0) return 2;
    if (strcmp(node->kind, "unrecorded") == 0) return 1;
    return strcmp(node->kind, "outside") == 0 ? 1 : 0;
}

typedef struct sorter {
    const jm__tree *tree;
    const jm__subtotal *subtotals;
    jm_by by;
} sorter;

static int by_place(const void *a, const void *b, void *context)
{
    const sorter *m = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const jm__node *left = &m->tree->nodes.items[x], *right = &m->tree->nodes.items[y];
    if (left->parent != right->parent) /* the top first, then siblings by their parent */
        return left->parent + 1 < right->parent + 1 ? -1 : 1;
    if (trailing_rank(left) != trailing_rank(right))
        return trailing_rank(left) < trailing_rank(right) ? -1 : 1;
    jm_by by = m->by;
    if (jm__is_by_kernel(by) || by == JM_BY_TYPE) { /* largest first, unknown last */
        double first = m->subtotals[x].energy.energy_j, second = m->subtotals[y].energy.energy_j;
        if (isnan(first) != isnan(second)) return isnan(second) ? -1 : 1;
        if (first > second || first < second) return first > second ? -1 : 1;
    } else if (by != JM_BY_BOARD && jm__node_start_ns(left) != jm__node_start_ns(right)) {
        return jm__node_start_ns(left) < jm__node_start_ns(right) ? -1 : 1; /* as the program ran */
    }
    return (x > y) - (x < y);
}

jm_status jm__row_order_find(jm__row_order *order, const jm__tree *tree, const jm__subtotal *subtotals,
                             jm_by by, jm_error *err)
{
    sorter m = {tree, subtotals, by};
    size_t count = tree->nodes.count;
    size_t *family = calloc(count + 1, sizeof *family), *parent = calloc(count + 1, sizeof *parent);
    order->nodes = calloc(count + 1, sizeof *order->nodes);
    order->depth = calloc(count + 1, sizeof *order->depth);
    bool fine = order->nodes != NULL && order->depth != NULL && family != NULL && parent != NULL;
    for (size_t n = 0; fine && n < count; n++) {
        family[n] = n;
        parent[n] = tree->nodes.items[n].parent;
        order->depth[n] = parent[n] == JM__NO_NODE ? 0 : order->depth[parent[n]] + 1;
    }
    if (fine) qsort_r(family, count, sizeof *family, by_place, &m);
    fine = fine && jm__preorder(order->nodes, family, parent, count);
    free(family);
    free(parent);
    return fine ? JM_OK : jm__no_memory(err, "jm__row_order_find");
}

void jm__row_order_free(jm__row_order *order)
{
    free(order->nodes);
    free(order->depth);
    *order = (jm__row_order){0};
}

/* List the members of each measured phase; `begin`: their start by phase, [nodes + 2], zeros. */
static jm_status list_members(reconciliation *s, size_t *begin, jm_error *err)
{
    const jm__tree *tree = s->tree;
    size_t count = tree->nodes.count, *phase = malloc((count + 1) * sizeof *phase);
    if (phase == NULL) return jm__no_memory(err, "jm_report_create");
    for (size_t n = 0; n < count; n++) { /* parents come before their children */
        phase[n] = jm__node_measured_phase(tree, n, phase);
        if (phase[n] != JM__NO_NODE) begin[phase[n] + 2]++; /* so many */
    }
    for (size_t n = 0; n < count; n++) /* the next one is where its own begin, until they are there */
        begin[n + 2] += begin[n + 1];
    for (size_t n = 0; n < count; n++)
        if (phase[n] != JM__NO_NODE) s->members[begin[phase[n] + 1]++] = n;
    free(phase);
    return JM_OK;
}

static void add_up(reconciliation *s)
{
    memset(s->seconds, 0, s->a->columns * sizeof *s->seconds);
    for (size_t m = s->first; m < s->end; m++)
        for (size_t i = s->first_cell[s->members[m]]; i < s->first_cell[s->members[m] + 1]; i++)
            s->seconds[s->tree->cells.items[i].column] += s->tree->cells.items[i].seconds;
}

/* Of a second of each column with the sum over the phase. */
static void find_covariance(reconciliation *s)
{
    for (size_t b = 0; b < s->a->scope.dataset->board_count; b++) {
        const jm__fit *fit = &s->a->boards[b].fit;
        size_t first = s->a->boards[b].first_column;
        if (!s->a->boards[b].requested || fit->covariance == NULL) continue;
        jm__matrix_apply(s->covariance + first, fit->covariance, s->seconds + first, fit->columns);
        for (size_t k = 0; fit->class_variance != NULL && k < fit->columns; k++)
            s->covariance[first + k] +=
                fit->class_variance[k].square * (fit->class_variance[k].seconds - s->seconds[first + k]);
    }
}

static void find_members(reconciliation *s)
{
    s->variance = 0;
    for (size_t m = s->first; m < s->end; m++) {
        size_t n = s->members[m];
        for (size_t i = s->first_cell[n]; i < s->first_cell[n + 1]; i++) {
            const jm__cell *cell = &s->tree->cells.items[i];
            s->shared[n] += cell->seconds * s->covariance[cell->column];
            if (cell->seconds > 0) s->max_j[n] += cell->seconds * s->max_w[cell->column];
        }
        s->variance += s->shared[n];
    }
}

static void find_max_powers(reconciliation *s)
{
    for (size_t b = 0; b < s->a->scope.dataset->board_count; b++) {
        const jm__fit *fit = &s->a->boards[b].fit;
        for (size_t k = 0; k < fit->columns; k++)
            s->max_w[s->a->boards[b].first_column + k] =
                fit->joint_prior.most_w != NULL ? fit->joint_prior.most_w[k] : INFINITY;
    }
}

static void find_cells(reconciliation *s)
{
    const jm__tree *tree = s->tree;
    for (size_t n = 0, i = 0; n <= tree->nodes.count; n++) {
        while (i < tree->cells.count && tree->cells.items[i].node < n)
            i++;
        s->first_cell[n] = i;
    }
}

static jm_status reconcile_all(reconciliation *s, size_t *begin, jm_error *err)
{
    JM_TRY(list_members(s, begin, err));
    find_cells(s);
    find_max_powers(s);
    for (size_t n = 0; n < s->tree->nodes.count; n++) {
        if (!s->tree->nodes.items[n].is_phase_total) continue;
        s->first = begin[n];
        s->end = begin[n + 1];
        add_up(s);
        find_covariance(s);
        find_members(s);
        reconcile(s);
    }
    return JM_OK;
}

/* After adding up: share rest_j of each measured phase among its rows, in self_j and in the subtotals. */
static jm_status reconcile_phases(jm__subtotal *subtotals, jm__tree *tree, const jm__attribution *a,
                                  jm_error *err)
{
    size_t count = tree->nodes.count, *numbers = calloc(3 * (count + 2), sizeof *numbers);
    double *of_columns = calloc(3 * a->columns + 1, sizeof *of_columns);
    double *of_nodes = calloc(3 * count + 1, sizeof *of_nodes);
    jm_status status = JM_NO_MEMORY;
    if (numbers != NULL && of_columns != NULL && of_nodes != NULL) {
        reconciliation s = {.subtotals = subtotals,
                            .tree = tree,
                            .a = a,
                            .members = numbers,
                            .first_cell = numbers + count + 2,
                            .seconds = of_columns,
                            .covariance = of_columns + a->columns,
                            .max_w = of_columns + 2 * a->columns,
                            .shared = of_nodes,
                            .max_j = of_nodes + count,
                            .gain = of_nodes + 2 * count};
        status = reconcile_all(&s, numbers + 2 * (count + 2), err);
    }
    free(numbers);
    free(of_columns);
    free(of_nodes);
    return status == JM_NO_MEMORY ? jm__no_memory(err, "jm_report_create") : status;
}

static const char *boards_text(jm__tree *tree, const jm__attribution *a, jm__board_set boards)
{
    char text[256];
    size_t used = 0;
    text[0] = '\0';
    for (size_t b = 0; b < a->scope.dataset->board_count && b < 63 && used + 16 < sizeof text; b++) {
        if (!(boards & jm__board_bit(b))) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", used > 0 ? "," : "",
                                 jm__attribution_index(a, b));
    }
    return jm__tree_text(tree, "%s", text);
}

typedef struct row_maker {
    jm__tree *tree;
    const jm__attribution *a;
    jm__subtotal *sub;
    jm__means means;
    jm__row_order order;
    double *extrapolated_u_j; /* [nodes]: sampling error by extrapolation; NULL: none */
    jm__board_set boards;     /* of the last row, whose text is used again */
    const char *boards_text;
} row_maker;

bool jm__is_unknown(const jm__attribution *a, int64_t from_ns, int64_t to_ns)
{
    bool unknown = false;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->requested || !jm__board_is_fitted(part->board)) continue;
        int64_t unknown_ns = jm__intervals_overlap_ns(&part->time.lost, from_ns, to_ns) +
                             jm__intervals_overlap_ns(&part->time.unrecorded, from_ns, to_ns);
        unknown = unknown_ns > 0 && 2 * unknown_ns > to_ns - from_ns;
        if (!unknown) break;
    }
    return unknown;
}

/* Whether nobody knows what a row without work drew. */
static bool is_unknown(const jm__attribution *a, const jm__node *node)
{
    int64_t to_ns = node->host_end_ns > node->end_ns ? node->host_end_ns : node->end_ns;
    return node->unknown || jm__is_unknown(a, jm__node_start_ns(node), to_ns);
}

jm_provenance jm__row_provenance(const jm__node *node, const jm__subtotal *sub)
{
    if (node->is_phase_total) return JM_PROVENANCE_MEASURED;
    if (sub->cell_count == 0)
        return node->measured || sub->measured ? JM_PROVENANCE_MEASURED : JM_PROVENANCE_FITTED;
    if (!sub->energy.known) return JM_PROVENANCE_UNRESOLVED;
    bool merged = sub->spent.merged_s > 0.5 * sub->spent.busy_s;
    if (merged) return JM_PROVENANCE_WEAK;
    return sub->energy.decided ? JM_PROVENANCE_FITTED : sub->energy.assumed;
}

/* All fields are missing rather than 0. */
static const jm_row empty_row = {JM_ROW_FIELDS(JM_NOTHING_YET)};

static void fill_places(jm_row *row, const jm__node *node, const jm__subtotal *sub)
{
    if (sub->spent.forward_j + sub->spent.backward_j > 0) {
        row->forward_share = sub->spent.forward_j / sub->spent.work_j;
        row->backward_share = sub->spent.backward_j / sub->spent.work_j;
    }
    if (node->mostly_at == NULL) return;
    row->mostly_at = node->mostly_at;
    row->mostly_share = node->mostly_share;
}

/* Bytes are missing unless those of all calls are known. */
static void fill_collective(jm_row *row, const jm__node *node)
{
    if (node->with_bytes + node->without_bytes == 0) return;
    if (node->overlaps) row->exposed_s = node->exposed_s;
    if (node->without_bytes > 0) return;
    row->bytes = (int64_t)node->bytes;
    if (node->ran_s > 0) row->bytes_per_s = node->bytes / node->ran_s;
}

/* What the row takes of a steady step. */
static void fill_step(jm_row *row, const row_maker *m, size_t n)
{
    const jm__subtotal *sub = &m->sub[n];
    double steps = (double)m->a->scope.steps.steady_count;
    if (!m->tree->steps || !sub->steady_energy.known || isnan(row->energy_j)) return;
    double energy_j = sub->steady_energy.energy_j + sub->steady_measured_j;
    double half_j = hypot(sub->steady_energy.half_j, JM_NORMAL_95 * sub->steady_measured_u_j);
    if (m->extrapolated_u_j != NULL && row->energy_j > 0) /* sampling errors are in proportion */
        half_j = hypot(half_j, JM_NORMAL_95 * m->extrapolated_u_j[n] * energy_j / row->energy_j);
    row->step_s = sub->spent.steady_s / steps;
    row->step_j = energy_j / steps;
    row->step_low_j = jm__energy_low(row->step_j, half_j / steps);
    row->step_high_j = row->step_j + half_j / steps;
}

static void fill_row(jm_row *row, row_maker *m, size_t n)
{
    const jm__node *node = &m->tree->nodes.items[n];
    const jm__subtotal *sub = &m->sub[n];
    double half_j = hypot(sub->energy.half_j, JM_NORMAL_95 * hypot(sub->measured_u_j, sub->phase_u_j));
    if (node->is_phase_total) half_j = JM_NORMAL_95 * hypot(node->phase_u_j, sub->measured_u_j);
    if (m->extrapolated_u_j != NULL) half_j = hypot(half_j, JM_NORMAL_95 * m->extrapolated_u_j[n]);
    *row = empty_row;
    row->name = node->name;
    row->path = node->path;
    row->kind = node->kind;
    if (node->type != NULL) row->type = node->type;
    row->depth = m->order.depth[n];
    row->calls = node->calls;
    if (node->amounts[JM_AMOUNT_SAMPLES] > 0) row->samples = node->amounts[JM_AMOUNT_SAMPLES];
    if (node->amounts[JM_AMOUNT_TOKENS] > 0) row->tokens = node->amounts[JM_AMOUNT_TOKENS];
    row->busy_s = sub->spent.busy_s;
    row->energy_j = sub->energy.energy_j + sub->measured_j;
    row->energy_low_j = jm__energy_low(row->energy_j, half_j);
    row->energy_high_j = row->energy_j + half_j;
    row->energy_self_j = node->self_j;
    fill_places(row, node, sub);
    fill_collective(row, node);
    jm__mean_sums_write(row, &sub->means);
    row->provenance = jm__row_provenance(node, sub);
    if (m->boards_text == NULL || m->boards != node->boards)
        m->boards_text = boards_text(m->tree, m->a, node->boards);
    m->boards = node->boards;
    row->boards = m->boards_text;
    bool worked = node->start_ns != INT64_MAX;
    row->start_ns = jm__node_start_ns(node) == INT64_MAX ? 0 : jm__node_start_ns(node);
    row->end_ns = worked ? node->end_ns : node->host_end_ns;
    if (node->calls > 0 && sub->spent.busy_s == 0 && is_unknown(m->a, node)) {
        row->energy_j = row->energy_low_j = row->energy_high_j = NAN;
        row->provenance = JM_PROVENANCE_UNRESOLVED;
    }
    if (sub->cell_count > 0 && !sub->energy.known)
        row->energy_j = row->energy_low_j = row->energy_high_j = row->energy_self_j = NAN;
    fill_step(row, m, n);
}

static jm_status add_unresolved(jm__rows *rows, jm_report_totals *t, const row_maker *m, jm_error *err)
{
    const jm__attribution *a = m->a;
    double parts_j = 0, variance = 0;
    for (size_t i = 0; i < rows->count; i++)
        parts_j += rows->items[i].energy_self_j;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->requested || a->scope.options.by == JM_BY_BOARD) continue;
        if (part->total.source != NULL) variance += part->fit.rest_variance;
    }
    t->unresolved_energy_j = t->total_energy_j - parts_j;
    double half_j = JM_NORMAL_95 * sqrt(fmax(0, variance));
    jm_row row = empty_row;
    row.name = row.path = "(unresolved)";
    row.kind = "unresolved";
    row.energy_j = row.energy_self_j = t->unresolved_energy_j;
    row.energy_low_j = row.energy_j - half_j;
    row.energy_high_j = row.energy_j + half_j;
    row.provenance = JM_PROVENANCE_UNRESOLVED;
    if (m->tree->steps) row.step_s = row.step_j = row.step_low_j = row.step_high_j = 0;
    bool fine = jm__vec_push(rows, row) && jm__vec_push(&rows->nodes, JM__NO_NODE);
    return fine ? JM_OK : jm__no_memory(err, "jm__rows_make");
}

static jm_status make(jm__rows *rows, jm_report_totals *totals, row_maker *m, jm_error *err)
{
    JM_TRY(jm__means_find(&m->means, m->a, err));
    JM_TRY(subtotals_add_up(m->sub, m->tree, m->a, &m->means, err));
    JM_TRY(reconcile_phases(m->sub, m->tree, m->a, err));
    if (!jm__draws_u_j(&m->extrapolated_u_j, m->tree)) return jm__no_memory(err, "jm__rows_make");
    JM_TRY(jm__row_order_find(&m->order, m->tree, m->sub, m->a->scope.options.by, err));
    if (!jm__vec_reserve(rows, m->tree->nodes.count + 1)) return jm__no_memory(err, "jm__rows_make");
    for (size_t i = 0; i < m->tree->nodes.count; i++) {
        size_t node = m->order.nodes[i];
        if (!m->sub[node].shown) continue;
        fill_row(&rows->items[rows->count++], m, node);
        if (!jm__vec_push(&rows->nodes, node)) return jm__no_memory(err, "jm__rows_make");
    }
    JM_TRY(totals_sum(totals, m->a, err));
    JM_TRY(add_unresolved(rows, totals, m, err));
    for (size_t i = 0; i < rows->count; i++) {
        jm_row *row = &rows->items[i];
        size_t node = rows->nodes.items[i];
        double drawn_s = node != JM__NO_NODE ? m->tree->nodes.items[node].measured_s : 0;
        if (!(drawn_s > 0)) drawn_s = row->busy_s;
        row->power_w = drawn_s > 0 ? row->energy_j / drawn_s : NAN;
        bool upstream = node != JM__NO_NODE && m->tree->nodes.items[node].upstream;
        bool shares = totals->total_energy_j > 0 && !upstream;
        row->share = shares ? row->energy_j / totals->total_energy_j : NAN;
    }
    return m->tree->failed ? jm__no_memory(err, "jm__rows_make") : JM_OK;
}

jm_status jm__rows_make(jm__rows *rows, jm_report_totals *totals, jm__tree *tree, const jm__attribution *a,
                        jm_error *err)
{
    row_maker m = {.tree = tree, .a = a};
    m.sub = calloc(tree->nodes.count + 1, sizeof *m.sub);
    jm_status status = m.sub != NULL ? make(rows, totals, &m, err) : jm__no_memory(err, "jm__rows_make");
    subtotals_free(m.sub, tree->nodes.count);
    jm__row_order_free(&m.order);
    free(m.extrapolated_u_j);
    jm__means_free(&m.means);
    return status;
}

void jm__rows_free(jm__rows *rows)
{
    jm__vec_free(rows);
    jm__vec_free(&rows->nodes);
}
