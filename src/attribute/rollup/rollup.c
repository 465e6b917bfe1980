/* The walk over work, spans and idle time that fills the tree of any view. */
#include "attribute/rollup/rollup.h"

#include "attribute/rollup/energy.h"
#include "attribute/rollup/idle.h"
#include "attribute/rollup/rows.h"
#include "attribute/rollup/views.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t outside_node(jm__views *v)
{
    return jm__tree_top(v->tree, "(outside)", "outside");
}

static bool is_collective(const jm__views *v, size_t section)
{
    return v->a->scope.dataset->spans[jm__section_span(&v->a->scope.spans, section)].kind ==
           JM_SPAN_COLLECTIVE;
}

static size_t (*const node_of_section[JM_BY_COUNT])(jm__views *views, size_t section) = {
    [JM_BY_LAYER] = jm__view_layer_node,
    [JM_BY_TYPE] = jm__view_type_node,
    [JM_BY_PHASE] = jm__view_phase_node,
    [JM_BY_SPAN] = jm__view_span_node,
};

static size_t section_node(jm__views *v, size_t section)
{
    while (v->a->scope.options.by != JM_BY_SPAN && section != JM__NO_SPAN && is_collective(v, section))
        section =
            jm__section_parent(&v->a->scope.spans, section); /* a copy, for example, in a collective's span */
    if (section == JM__NO_SPAN) return outside_node(v);
    return node_of_section[v->a->scope.options.by](v, section);
}

static size_t node_of(jm__views *v, size_t section)
{
    if (v->of_span[section] == 0) {
        size_t node = section_node(v, section);
        if (node == JM__NO_NODE) return JM__NO_NODE;
        v->of_span[section] = node + 1;
    }
    return v->of_span[section] - 1;
}

static size_t board_node(jm__views *v, size_t b)
{
    const jm_board *board = v->a->boards[b].board;
    const char *kind = jm_board_kind_text(jm_board_kind_of(board));
    const char *path = board->uuid[0] != '\0'
                           ? board->uuid
                           : jm__tree_text(v->tree, "%s:%lld", board->backend, (long long)board->id);
    return jm__tree_node(v->tree, JM__NO_NODE, board->name, path, kind);
}

/* Rows of the pass in the views by class or board, which only distinguish processes. */
enum { ROW_REQUESTED, ROW_OTHERS };

static uint32_t row_of(void *context, size_t section, int64_t process_id)
{
    jm__rollup *rollup = context;
    jm__views *v = &rollup->views;
    const jm_report_options *o = &v->a->scope.options;
    bool requested = jm__dataset_process_has_pid(v->a->scope.dataset, process_id, o->process_id);
    if (o->by == JM_BY_BOARD || jm__is_by_kernel(o->by)) return requested ? ROW_REQUESTED : ROW_OTHERS;
    if (o->by == JM_BY_REQUEST)
        return requested ? jm__request_row_of(&rollup->requests, section) : JM_REQUESTS_OTHERS;
    size_t node;
    if (!requested)
        node = jm__tree_top(v->tree, "(other processes)", "outside");
    else if (section == JM__NO_SPAN)
        node = outside_node(v);
    else
        node = o->by == JM_BY_SPAN ? jm__view_span_overlap(v, section) : node_of(v, section);
    return node == JM__NO_NODE ? JM__NO_ROW : (uint32_t)node;
}

static uint32_t row_of_collective(void *context, size_t section, int64_t process_id, uint32_t collective,
                                  size_t waits_on)
{
    jm__rollup *rollup = context;
    jm__views *v = &rollup->views;
    const jm_report_options *o = &v->a->scope.options;
    bool requested = jm__dataset_process_has_pid(v->a->scope.dataset, process_id, o->process_id);
    bool by_row = o->by != JM_BY_BOARD && !jm__is_by_kernel(o->by) && o->by != JM_BY_REQUEST;
    if (!requested || !by_row) return row_of(context, section, process_id);
    size_t node = jm__view_collective_node(v, section, process_id, collective, waits_on);
    return node == JM__NO_NODE ? JM__NO_ROW : (uint32_t)node;
}

/* The row itself, or a row of the kernel inside it if kernels are requested and were traced. Not in
 * collectives, and not in the phase view, where it would change the reconciliation of phases (rows.c). */
static size_t node_of_row(jm__views *v, size_t b, const jm__work_cell *cell)
{
    const jm__attribution *a = v->a;
    bool requested =
        a->scope.options.kernels && a->scope.options.by != JM_BY_PHASE && !a->boards[b].work->from_host;
    if (!requested || jm__view_is_collective(v, cell->row) || jm__view_is_wait(v, cell->row))
        return cell->row;
    const jm__class *class = &a->work.classes.items[a->work.uses.items.items[cell->use].class_index];
    return jm__view_node_inside(v, cell->row, class->name, class->kind, true);
}

static size_t node_of_cell(jm__views *v, size_t b, const jm__work_cell *cell)
{
    if (v->a->scope.options.by == JM_BY_BOARD) return board_node(v, b);
    if (v->a->scope.options.by == JM_BY_REQUEST) return jm__request_rest_node(v, cell->row);
    if (!jm__is_by_kernel(v->a->scope.options.by)) return node_of_row(v, b, cell);
    if (cell->row == ROW_OTHERS) return jm__tree_top(v->tree, "(other processes)", "outside");
    return jm__view_kernel_node(v, v->a->work.uses.items.items[cell->use].class_index);
}

/* Host spans count as work of each board, but their time counts once. */
static bool has_own_time(const jm__attribution *a, size_t b)
{
    for (size_t i = 0; i < b && a->work.boards[b].from_host; i++)
        if (a->work.boards[i].from_host) return false;
    return true;
}

/* At the power of the fit. */
static double joules_of(const jm__board_part *part, size_t use, double seconds)
{
    return part->fit.known ? jm__use_power_w(part, use) * seconds : 0;
}

/* Add the time and the joules of a cell on a board; time of host spans counts once. */
static void add_spent(jm__spent *to, const jm__attribution *a, size_t b, const jm__work_cell *cell)
{
    size_t use = cell->use;
    double seconds = cell->seconds;
    const jm__board_part *part = &a->boards[b];
    double energy_j = joules_of(part, use, seconds);
    int64_t kind = jm__use_context(&a->work, use)->kind;
    if (has_own_time(a, b)) {
        to->busy_s += seconds;
        to->steady_s += cell->steady_s;
    }
    if (part->work->columns.merged[a->work.uses.items.items[use].class_index]) to->merged_s += seconds;
    to->work_j += energy_j;
    if (kind == JM_SPAN_FORWARD) to->forward_j += energy_j;
    if (kind == JM_SPAN_BACKWARD) to->backward_j += energy_j;
}

/* Add a cell to a node; `off_s`: its errors in each draw, NULL: none. */
static void add_time(jm__views *v, size_t b, size_t node, const jm__work_cell *cell, const double *off_s)
{
    const jm__attribution *a = v->a;
    const jm__board_part *part = &a->boards[b];
    jm__node *row = &v->tree->nodes.items[node];
    add_spent(&row->spent, a, b, cell);
    if (cell->start_ns != INT64_MAX) jm__tree_seen(v->tree, node, cell->start_ns, cell->end_ns, b);
    row->boards |= jm__board_bit(b);
    if (a->scope.options.by == JM_BY_BOARD) return;
    jm__use_part parts[JM_USE_PARTS];
    for (size_t i = jm__use_parts(part->work, cell->use, parts); i-- > 0;)
        jm__tree_add(v->tree, node, (uint32_t)(part->first_column + parts[i].column),
                     parts[i].share * cell->seconds, parts[i].share * cell->steady_s);
    jm__draws_add(v->tree, node, b, off_s, joules_of(part, cell->use, 1));
}

/* Add a cell to the rows of other spans that are open at the same time. */
static void share_time(jm__views *v, size_t b, size_t part, const jm__work_cell *cell)
{
    const jm__attribution *a = v->a;
    const jm__board_part *board = &a->boards[b];
    bool own_time = has_own_time(a, b);
    jm__use_part parts[JM_USE_PARTS];
    size_t count = jm__use_parts(board->work, cell->use, parts);
    size_t up = v->tree->nodes.items[part].parent, section = v->tree->nodes.items[part].overlap_section;
    while ((section = jm__view_next_overlapping(v, section, &up)) != JM__NO_SPAN) {
        size_t row = jm__view_span_node(v, section);
        if (row == JM__NO_NODE) return;
        v->tree->nodes.items[row].shared_s += own_time ? cell->seconds : 0;
        if (cell->start_ns != INT64_MAX) jm__tree_seen(v->tree, row, cell->start_ns, cell->end_ns, b);
        v->tree->nodes.items[row].boards |= jm__board_bit(b);
        for (size_t i = 0; i < count; i++) {
            const jm__cell too = {(uint32_t)row, (uint32_t)(board->first_column + parts[i].column),
                                  parts[i].share * cell->seconds, part};
            if (!jm__vec_push(&v->tree->shared, too)) v->tree->failed = true;
        }
    }
}

/* Add a cell to its batch of requests, which share it later. */
static bool add_batch_time(jm__rollup *rollup, size_t b, const jm__work_cell *cell, const double *off_s)
{
    const jm__attribution *a = rollup->views.a;
    const jm__board_part *part = &a->boards[b];
    uint32_t batch = cell->row - JM_REQUESTS_FIRST;
    jm__batch_sum *sum = &rollup->requests.sums[batch];
    add_spent(&sum->spent, a, b, cell);
    sum->boards |= jm__board_bit(b);
    jm__request_off_add(&rollup->requests, &rollup->views, batch, b, off_s, joules_of(part, cell->use, 1));
    jm__use_part parts[JM_USE_PARTS];
    bool fine = true;
    for (size_t i = jm__use_parts(part->work, cell->use, parts); fine && i-- > 0;)
        fine =
            jm__request_rows_add(&rollup->requests, batch, (uint32_t)(part->first_column + parts[i].column),
                                 parts[i].share * cell->seconds);
    return fine;
}

/* The next row that has the calls of a node too: launch shapes count in their kernel, waits of a rank in all
 * waits, but not in the collective. */
static size_t next_counted_row(const jm__views *v, size_t node)
{
    size_t parent = v->tree->nodes.items[node].parent;
    if (!jm__view_is_wait(v, node)) return parent;
    return parent != JM__NO_NODE && jm__view_is_wait(v, parent) ? parent : JM__NO_NODE;
}

/* Calls of kernels: of their own rows, of rows inside others, and of collectives. */
static void add_calls(jm__views *v, size_t b, size_t node, const jm__work_cell *cell)
{
    const jm__attribution *a = v->a;
    bool kernels = jm__is_by_kernel(a->scope.options.by) || a->scope.options.by == JM_BY_BOARD;
    bool inside = !kernels && node != cell->row;
    if (a->scope.options.by == JM_BY_REQUEST) return;
    if (!has_own_time(a, b)) return;
    bool wait = jm__view_is_wait(v, node);
    if (!kernels && !inside && !wait && !jm__view_is_collective(v, node)) return;
    if (!wait && a->work.classes.items[a->work.uses.items.items[cell->use].class_index].waits) return;
    for (size_t n = node; n != JM__NO_NODE; n = kernels || wait ? next_counted_row(v, n) : JM__NO_NODE) {
        v->tree->nodes.items[n].calls += cell->calls;
        v->tree->nodes.items[n].extrapolated_calls += cell->extrapolated_calls;
    }
}

static void add_cell(void *context, size_t b, const jm__work_cell *cell, const double *off_s)
{
    jm__rollup *rollup = context;
    jm__views *v = &rollup->views;
    const jm__attribution *a = v->a;
    if (v->tree->failed) return;
    if (a->scope.options.by == JM_BY_REQUEST && cell->row >= JM_REQUESTS_FIRST) {
        if (!add_batch_time(rollup, b, cell, off_s)) v->tree->failed = true;
        return;
    }
    jm__work_cell own = *cell;
    if (a->scope.options.by == JM_BY_SPAN && v->tree->nodes.items[cell->row].overlap_section != JM__NO_SPAN) {
        share_time(v, b, cell->row, cell);
        own.row = (uint32_t)v->tree->nodes.items[cell->row].parent;
    }
    size_t node = node_of_cell(v, b, &own);
    if (node == JM__NO_NODE) return;
    add_time(v, b, node, &own, off_s);
    if (jm__is_by_kernel(a->scope.options.by))
        jm__dominant_add(&rollup->dominant, node, cell->use, cell->seconds);
    add_calls(v, b, node, &own);
}

static void add_work(jm__rollup *rollup, size_t b)
{
    jm__views *v = &rollup->views;
    const jm__work_cells *work = &v->a->boards[b].work->tally.work;
    for (size_t i = 0; i < work->items.count && !v->tree->failed; i++)
        add_cell(rollup, b, &work->items.items[i],
                 work->draws > 0 ? work->off_s.items + i * work->draws : NULL);
    if (!jm__extrapolated_rows_each(v, b, add_cell, rollup)) v->tree->failed = true;
}

/* Measured energy: of boards in their own view, and of CPU packages in all other views. */
static void add_measured(jm__views *v, size_t b)
{
    const jm__board_part *part = &v->a->boards[b];
    size_t node = board_node(v, b);
    if (node == JM__NO_NODE) return;
    jm__node *row = &v->tree->nodes.items[node];
    row->measured = part->total.source != NULL;
    row->measured_j += part->total.energy_j;
    row->measured_u_j = hypot(row->measured_u_j, part->total.u_j);
    row->measured_s += 1e-9 * (double)jm__intervals_duration_ns(&part->time.windows);
    double steady_j, steady_u_j;
    if (!jm__board_steady(v->a, b, &steady_j, &steady_u_j)) v->tree->failed = true;
    row->steady_measured_j += steady_j;
    row->steady_measured_u_j = hypot(row->steady_measured_u_j, steady_u_j);
    row->boards |= jm__board_bit(b);
    row->upstream = !part->counted;
    if (jm__board_is_fitted(part->board)) return;
    row->spent.busy_s += 1e-9 * (double)jm__intervals_duration_ns(&part->time.windows);
    row->spent.steady_s += 1e-9 * (double)jm__intervals_duration_ns(&part->time.steady);
}

/* Spans that have a row only in the span view. Waits for data count as gaps, a range that continues in
 * another thread is the same call, and a collective's calls are its kernels. */
static bool has_no_row(const jm__span *span, jm_by by)
{
    bool none =
        span->kind == JM_SPAN_DATA || span->kind == JM_SPAN_CARRIED || span->kind == JM_SPAN_COLLECTIVE;
    return none && by != JM_BY_SPAN;
}

/* A layer has one call per forward pass. Its backward and recompute belong to this call, as do the parts of a
 * compiled function outside its scopes. */
static bool is_part_of_a_call(const jm__attribution *a, size_t i)
{
    const jm__span *span = &a->scope.dataset->spans[i];
    if (span->kind == JM_SPAN_BACKWARD || span->kind == JM_SPAN_RECOMPUTE) return true;
    size_t parent = jm__span_parent(&a->scope.spans, i);
    const jm__span *outer = parent == JM__NO_SPAN ? NULL : &a->scope.dataset->spans[parent];
    return outer != NULL && outer->kind == JM_SPAN_FUNCTION && outer->name_id == span->name_id;
}

/* Whether it is recorded in untraced steps too. */
static bool is_always_recorded(const jm__span *span)
{
    return jm__span_kind_is_container(span->kind) || span->kind == JM_SPAN_DATA;
}

/* Whether it is a container of extrapolated steps, which may begin before the first of them. */
static bool encloses_steps(const jm__attribution *a, const jm__span *span)
{
    return a->scope.strata.step_intervals.count > 0 && jm__span_kind_is_container(span->kind) &&
           !jm__marked_is_step(&a->scope.marked, span);
}

/* Whether a span counts as a call in the time of the report. Spans in extrapolated time do not. */
static bool is_counted(const jm__attribution *a, const jm__span *span)
{
    const jm__process *process = jm__dataset_process(a->scope.dataset, span->process_id);
    if (!jm__intervals_contain(encloses_steps(a, span) ? &a->scope.queried : &a->scope.windows,
                               span->start_ns))
        return false;
    if (a->scope.extrapolated.strata == NULL || process == NULL || is_always_recorded(span)) return true;
    return !jm__strata_exclude(&a->scope.strata, (size_t)(process - a->scope.dataset->processes),
                               span->start_ns);
}

/* Whether it lies in a traced step that represents others. */
static bool represents_others(const jm__attribution *a, size_t i)
{
    const jm__span *span = &a->scope.dataset->spans[i];
    if (a->scope.extrapolated.strata == NULL || is_always_recorded(span) || a->scope.options.by == JM_BY_SPAN)
        return false;
    uint32_t step_interval = a->scope.strata.step_interval_of_span[i];
    return step_interval != 0 &&
           jm__step_interval_is_sampled(&a->scope.strata.step_intervals.items[step_interval - 1]) &&
           a->scope.extrapolated.of_burst[a->scope.strata.step_intervals.items[step_interval - 1].stratum]
                   .steps > 0;
}

static void count_span(jm__views *v, size_t i, bool own)
{
    const jm__attribution *a = v->a;
    const jm__span *span = &a->scope.dataset->spans[i];
    size_t node = a->scope.options.by == JM_BY_PHASE && jm__span_kind_is_container(span->kind)
                      ? jm__view_container_row(v, i)
                      : node_of(v, i);
    if (node == JM__NO_NODE) return;
    jm__node *row = &v->tree->nodes.items[node];
    bool again = a->scope.options.by == JM_BY_LAYER && is_part_of_a_call(a, i);
    bool inner = a->scope.options.by == JM_BY_LAYER && jm__span_kind_is_container(span->kind) &&
                 strcmp(row->kind, jm_span_kind_text(span->kind)) != 0;
    if (!again && !inner && own) row->calls++;
    if (own && (a->scope.options.by == JM_BY_PHASE || a->scope.options.by == JM_BY_SPAN))
        jm__amounts_add(v->tree, a, node, i);
    if (own && a->scope.options.by != JM_BY_LAYER) {
        int64_t end_ns = jm__span_end_ns(a->scope.dataset, span);
        jm__tree_seen_on_host(v->tree, node, span->start_ns, end_ns);
        row->unknown = row->unknown || jm__is_unknown(a, span->start_ns, end_ns);
    }
    if (!again && !inner && represents_others(a, i)) jm__extrapolated_calls_add(v, node, i);
}

/* Calls of layers, types and phases are spans, not kernels. */
static void count_spans(jm__views *v)
{
    const jm__attribution *a = v->a;
    const jm__dataset *d = a->scope.dataset;
    for (size_t i = 0; i < d->span_count && !v->tree->failed; i++) {
        const jm__span *span = &d->spans[i];
        bool own = is_counted(a, span);
        if ((!own && !represents_others(a, i)) || has_no_row(span, a->scope.options.by)) continue;
        if (!jm__dataset_process_has_pid(d, span->process_id, a->scope.options.process_id)) continue;
        count_span(v, i, own);
    }
}

/* Add the extrapolated calls, and scale bytes and times of collectives by them. */
static void add_extrapolated_calls(jm__tree *tree)
{
    for (size_t n = 0; n < tree->nodes.count; n++) {
        jm__node *node = &tree->nodes.items[n];
        int64_t own = node->calls; /* of kernels, of which a collective's call may have several */
        node->calls += llround(node->extrapolated_calls);
        if (node->with_bytes + node->without_bytes == 0 || own == 0 || !(node->extrapolated_calls > 0))
            continue;
        double more = 1 + node->extrapolated_calls / (double)own;
        node->bytes *= more;
        node->ran_s *= more;
        node->exposed_s *= more;
    }
}

/* Add bytes and durations of collectives to their rows. */
static void add_collectives(jm__views *v, size_t b)
{
    jm_by by = v->a->scope.options.by;
    const jm__collective_sums *sums = &v->a->boards[b].work->tally.collectives;
    if (jm__is_by_kernel(by) || by == JM_BY_BOARD || by == JM_BY_REQUEST) return;
    if (!has_own_time(v->a, b)) return;
    for (size_t i = 0; i < sums->count; i++) {
        jm__node *node = &v->tree->nodes.items[sums->items[i].row];
        node->with_bytes += sums->items[i].with_bytes;
        node->without_bytes += sums->items[i].without_bytes;
        node->bytes += sums->items[i].bytes;
        node->ran_s += sums->items[i].ran_s;
        node->exposed_s += sums->items[i].exposed_s;
        node->overlaps = !v->a->boards[b].work->from_host;
    }
}

static jm_status add_boards(jm__rollup *rollup, jm_error *err)
{
    jm__views *v = &rollup->views;
    const jm__attribution *a = v->a;
    jm_by by = a->scope.options.by;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        if (!a->boards[b].requested) continue;
        bool fitted = jm__board_is_fitted(a->boards[b].board);
        if (fitted) add_work(rollup, b);
        if (fitted) add_collectives(v, b);
        if (fitted && by == JM_BY_PHASE)
            JM_TRY(jm__phase_idle(v, b, err));
        else if (fitted && by == JM_BY_REQUEST)
            JM_TRY(jm__request_idle(&rollup->requests, v, b, err));
        else if (fitted && by != JM_BY_BOARD)
            jm__idle_add(v, &rollup->dominant, b);
        if (fitted && by != JM_BY_PHASE && by != JM_BY_BOARD) {
            jm__unrecorded_add(v, b);
            jm__sampler_add(v, b);
        }
        if (by == JM_BY_BOARD || (!fitted && a->boards[b].counted)) add_measured(v, b);
    }
    return JM_OK;
}

jm_status jm__rollup_begin(jm__rollup *rollup, jm__tree *tree, const jm__attribution *a, jm_error *err)
{
    rollup->rows = (jm__row_of){row_of, row_of_collective, rollup};
    jm_by by = a->scope.options.by;
    jm__tree_init(tree);
    tree->steps = a->scope.steps.steady_count > 0 && by != JM_BY_SPAN && by != JM_BY_REQUEST;
    if (a->scope.options.by == JM_BY_REQUEST) JM_TRY(jm__request_rows_begin(&rollup->requests, a, err));
    return jm__views_init(&rollup->views, tree, a, err);
}

jm_status jm__rollup_fill(jm__rollup *rollup, jm_error *err)
{
    jm__views *v = &rollup->views;
    jm_by by = v->a->scope.options.by;
    JM_TRY(jm__views_set_classes(v, err));
    if (!jm__dominant_begin(&rollup->dominant, v->tree, v->a)) return jm__no_memory(err, "jm__rollup_fill");
    if (!jm__draws_begin(v->tree, v->a)) return jm__no_memory(err, "jm__rollup_fill");
    JM_TRY(add_boards(rollup, err));
    jm__dominant_finish(&rollup->dominant);
    if (by == JM_BY_REQUEST && !jm__request_rows_share(&rollup->requests, v)) v->tree->failed = true;
    if (!jm__is_by_kernel(by) && by != JM_BY_BOARD && by != JM_BY_REQUEST) count_spans(v);
    add_extrapolated_calls(v->tree);
    jm__draws_close(v->tree, v->a);
    if (by == JM_BY_PHASE && !jm__measured_phases(v)) return jm__no_memory(err, "jm__rollup_fill");
    if (v->tree->full)
        return jm__fail(err, JM_LIMIT, 0, NULL,
                        "the report would have more than %d rows; ask for a shorter time or one phase",
                        JM_NODES_MAX);
    if (v->tree->failed) return jm__no_memory(err, "jm__rollup_fill");
    jm__tree_close(v->tree);
    return JM_OK;
}

void jm__rollup_free(jm__rollup *rollup)
{
    jm__views_free(&rollup->views);
    jm__request_rows_free(&rollup->requests);
    jm__dominant_free(&rollup->dominant);
}
