/* A batch sums up its steps by column, and each of its requests gets a share of each column. So the rows add
 * up to the steps, and their intervals follow from the columns as for any other row. */
#include "attribute/rollup/requests.h"

#include "attribute/rollup/energy.h"
#include "attribute/rollup/idle.h"
#include "base/order.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

typedef struct request_node {
    size_t node, prefill, decode; /* number + 1; 0: none yet */
} request_node;

jm_status jm__request_rows_begin(jm__request_rows *rows, const jm__attribution *a, jm_error *err)
{
    *rows = (jm__request_rows){.batches = &a->scope.batches, .cell_at = {.key_size = 2 * sizeof(uint32_t)}};
    rows->sums = calloc(a->scope.batches.items.count + 1, sizeof *rows->sums);
    if (jm__strata_any(&a->scope.strata)) {
        rows->off_j = calloc((a->scope.batches.items.count + 1) * JM_DRAWS, sizeof *rows->off_j);
        if (rows->off_j == NULL) return jm__no_memory(err, "jm__request_rows_begin");
    }
    return rows->sums != NULL ? JM_OK : jm__no_memory(err, "jm__request_rows_begin");
}

void jm__request_rows_free(jm__request_rows *rows)
{
    jm__vec_free(&rows->cells);
    jm__map_free(&rows->cell_at);
    free(rows->sums);
    free(rows->launch_s);
    free(rows->off_j);
    *rows = (jm__request_rows){0};
}

uint32_t jm__request_row_of(const jm__request_rows *rows, size_t section)
{
    uint32_t batch = section == JM__NO_SPAN ? 0 : rows->batches->of_section[section];
    return batch == 0 ? JM_REQUESTS_NONE : JM_REQUESTS_FIRST + batch - 1;
}

size_t jm__request_rest_node(jm__views *v, uint32_t row)
{
    const char *name = row == JM_REQUESTS_OTHERS ? "(other processes)" : "(no request)";
    return jm__tree_top(v->tree, name, "outside");
}

bool jm__request_rows_add(jm__request_rows *rows, uint32_t batch, uint32_t column, double seconds)
{
    const uint32_t key[2] = {batch, column};
    if (seconds == 0) return true;
    const jm__batch_cell first = {batch, column, 0};
    size_t at = jm__map_item(&rows->cell_at, key, &rows->cells, &first);
    if (at == SIZE_MAX) return false;
    rows->cells.items[at].seconds += seconds;
    return true;
}

void jm__request_off_add(jm__request_rows *rows, jm__views *v, uint32_t batch, size_t board,
                         const double *off_s, double power_w)
{
    jm__draws_add_board(v->tree, board, off_s, power_w);
    for (size_t r = 0; off_s != NULL && rows->off_j != NULL && r < JM_DRAWS; r++)
        rows->off_j[batch * JM_DRAWS + r] += power_w * off_s[r];
}

typedef struct idle_target {
    jm__request_rows *rows;
    jm__views *views;
    size_t board;
} idle_target;

static bool is_shared_step(void *context, size_t span)
{
    const idle_target *target = context;
    return target->rows->batches->of_step[span] != 0;
}

static bool add_idle(void *context, size_t section, uint32_t column, double seconds, double steady_s)
{
    const idle_target *target = context;
    if (section != JM__NO_SPAN) {
        size_t step = jm__section_span(&target->views->a->scope.spans, section);
        uint32_t batch = target->rows->batches->of_step[step] - 1;
        target->rows->sums[batch].spent.busy_s += seconds;
        target->rows->sums[batch].boards |= jm__board_bit(target->board);
        return jm__request_rows_add(target->rows, batch, column, seconds);
    }
    jm__tree_add_busy(target->views->tree, jm__tree_top(target->views->tree, "(idle)", "idle"), target->board,
                      column, seconds, steady_s);
    return true; /* the tree keeps its own failure */
}

/* Add idle time of a step to its batch. */
static bool add_step_idle(const idle_target *target, size_t step, int state, double seconds)
{
    const jm__board_part *part = &target->views->a->boards[target->board];
    uint32_t column = (uint32_t)(part->first_column + part->work->columns.class_columns) + (uint32_t)state;
    bool shared = target->rows->batches->of_step[step] != 0;
    return seconds == 0 ||
           add_idle((void *)(uintptr_t)target, shared ? step : JM__NO_SPAN, column, seconds, 0);
}

/* Add the error of a step's idle time, which is a share of all extrapolated idle time. */
static void add_step_off(const idle_target *target, size_t step, int state, double share)
{
    const jm__board_part *part = &target->views->a->boards[target->board];
    uint32_t batch = target->rows->batches->of_step[step];
    double power_w =
        part->fit.known ? part->fit.power_w[part->work->columns.class_columns + (size_t)state] : 0;
    if (batch > 0)
        jm__request_off_add(target->rows, target->views, batch - 1, target->board, part->work->tally.off_s,
                            -share * power_w);
    else
        jm__extrapolated_idle_off(target->views, target->board,
                                  jm__tree_top(target->views->tree, "(idle)", "idle"), state, share);
}

/* Add the idle time of represented steps. */
static bool add_extrapolated(const idle_target *target)
{
    const jm__board_part *part = &target->views->a->boards[target->board];
    const jm__extrapolated *extrapolated = &part->time.extrapolated;
    double all_s = 0;
    bool fine = true;
    for (size_t s = 0; s < extrapolated->strata->items.count; s++)
        for (int state = 0; state < JM_IDLE_STATES; state++)
            all_s += part->work->tally.extrapolated_idle_s[s][state];
    for (size_t i = 0; fine && all_s > 0 && i < extrapolated->strata->step_intervals.count; i++) {
        const jm__step_interval *step = &extrapolated->strata->step_intervals.items[i];
        if (!(extrapolated->of_step_interval[i] > 0)) continue;
        double fraction =
            (double)extrapolated->of_step_interval[i] / extrapolated->of_stratum[step->stratum].steps;
        for (int state = 0; fine && state < JM_IDLE_STATES; state++) {
            double idle_s = fraction * part->work->tally.extrapolated_idle_s[step->stratum][state];
            fine = add_step_idle(target, step->span, state, idle_s);
            if (idle_s > 0) add_step_off(target, step->span, state, idle_s / all_s);
        }
    }
    return fine;
}

/* Move idle time caused by tracing out of the requests. */
static bool split_tracing(const idle_target *target)
{
    const jm__board_part *part = &target->views->a->boards[target->board];
    const jm__strata *strata = part->time.extrapolated.strata;
    jm__views *v = target->views;
    bool fine = true;
    for (size_t i = 0; fine && i < strata->step_intervals.count; i++) {
        const jm__step_interval *step = &strata->step_intervals.items[i];
        if (!jm__step_interval_is_sampled(step)) continue;
        double each = 1 / (double)strata->bursts.items[step->stratum].step_intervals;
        for (int state = 0; fine && state < JM_IDLE_STATES; state++) {
            double tracing_s = each * part->work->tally.bursts[step->stratum].tracing_s[state];
            if (tracing_s == 0) continue;
            size_t idle = jm__tree_top(v->tree, "(idle)", "idle");
            size_t node = idle == JM__NO_NODE ? idle : jm__view_tracing_node(v, idle);
            fine = add_step_idle(target, step->span, state, -tracing_s);
            if (node == JM__NO_NODE) continue;
            v->tree->nodes.items[node].spent.busy_s += tracing_s;
            jm__tree_add(v->tree, node,
                         (uint32_t)(part->first_column + part->work->columns.class_columns) + (uint32_t)state,
                         tracing_s, 0);
        }
    }
    return fine;
}

jm_status jm__request_idle(jm__request_rows *rows, jm__views *v, size_t b, jm_error *err)
{
    idle_target target = {rows, v, b};
    const jm__idle_walk walk = {is_shared_step, add_idle, NULL, NULL, &target};
    JM_TRY(jm__idle_walk_board(&walk, v->a, b, err));
    if (v->a->boards[b].time.extrapolated.strata == NULL) return JM_OK;
    return add_extrapolated(&target) && split_tracing(&target) ? JM_OK
                                                               : jm__no_memory(err, "jm__request_idle");
}

static void count_steps(jm__request_rows *rows, const jm__attribution *a)
{
    const jm__dataset *d = a->scope.dataset;
    for (size_t i = 0; i < d->span_count; i++) {
        const jm__span *step = &d->spans[i];
        if (rows->batches->of_step[i] == 0 || !jm__intervals_contain(&a->scope.windows, step->start_ns))
            continue;
        if (!jm__dataset_process_has_pid(d, step->process_id, a->scope.options.process_id)) continue;
        jm__batch_sum *sum = &rows->sums[rows->batches->of_step[i] - 1];
        int64_t end_ns = jm__span_end_ns(d, step);
        if (sum->steps++ == 0) sum->first_ns = step->start_ns;
        if (end_ns > sum->last_ns) sum->last_ns = end_ns;
    }
}

/* A program may reuse an id: then the name has the request's number and process too. */
static size_t make_node(jm__request_rows *rows, jm__views *v, uint32_t number)
{
    const jm__request *request = &rows->batches->requests.items[number];
    const char *name = request->id[0] != '\0'
                           ? jm__tree_text(v->tree, "%s", request->id)
                           : jm__tree_text(v->tree, "request %lld", (long long)request->number);
    if (name == NULL) return JM__NO_NODE;
    size_t before = v->tree->nodes.count, node = jm__view_node_under(v, JM__NO_NODE, name, "request");
    if (node == JM__NO_NODE || node >= before) return node;
    const jm__process *process = jm__dataset_process(v->a->scope.dataset, request->process_id);
    name = jm__tree_text(v->tree, "%s (request %lld of process %lld)", name, (long long)request->number,
                         (long long)(process != NULL ? process->pid : request->process_id));
    return name == NULL ? JM__NO_NODE : jm__view_node_under(v, JM__NO_NODE, name, "request");
}

/* Tokens of decode are the generated ones if they are known, else those of its steps. */
static void finish_node(const jm__request *request, const request_node *at, jm__tree *tree)
{
    if (at->node == 0) return;
    jm__node *node = &tree->nodes.items[at->node - 1];
    if (request->start_ns != INT64_MAX) node->host_start_ns = request->start_ns;
    if (request->end_ns > node->host_end_ns) node->host_end_ns = request->end_ns;
    if (at->decode != 0 && request->made >= 0)
        tree->nodes.items[at->decode - 1].amounts[JM_AMOUNT_TOKENS] = request->made;
    if (at->prefill != 0)
        node->amounts[JM_AMOUNT_TOKENS] += tree->nodes.items[at->prefill - 1].amounts[JM_AMOUNT_TOKENS];
    if (at->decode != 0)
        node->amounts[JM_AMOUNT_TOKENS] += tree->nodes.items[at->decode - 1].amounts[JM_AMOUNT_TOKENS];
}

/* Variation from launch to launch looks like noise of the sensor, and over a few steps it does not average
 * out. The sensor's own noise can be as low as 2 W where its profile has 5 W (docs/sensors.md); any noise
 * beyond that may be of the work, proportional to its power. With relative variance u^2, independent from one
 * width w of the sensor's response to the next, this is u^2 w. */
static double launch_variance(const jm__board_part *part)
{
    static const double own_share = 0.16; /* (2 W / 5 W)^2 */
    const jm_sensor *sensor = part->readings.sensor;
    double square = 0, seconds = 0;
    if (sensor == NULL || !part->fit.fitted || !isfinite(part->fit.residual_w)) return 0;
    for (size_t k = 0; k < jm__sampler_column(&part->work->columns); k++) {
        square += part->work->seconds[k] * pow(part->fit.power_w[k], 2);
        seconds += part->work->seconds[k];
    }
    double own_w = isfinite(sensor->noise) ? sensor->noise : 0;
    double beyond = pow(part->fit.residual_w, 2) - own_share * own_w * own_w;
    double width_ns =
        fmax((double)sensor->period_ns, fmax((double)sensor->window_ns, 2 * (double)sensor->tau_ns));
    return beyond > 0 && width_ns > 0 && square > 0 ? beyond / (square / seconds) * width_ns * 1e-9 : 0;
}

/* The variance of a batch's energy by this variation, J^2. */
static double batch_variance(const jm__request_rows *rows, const jm__attribution *a,
                             const jm__batch_cell *cells, size_t count)
{
    double sum_j2 = 0;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        size_t first = part->first_column, end = first + part->fit.columns;
        double square = 0; /* W^2 s */
        for (size_t i = 0; i < count; i++)
            if (cells[i].column >= first && cells[i].column < end)
                square += cells[i].seconds * pow(part->fit.power_w[cells[i].column - first], 2);
        sum_j2 += square * rows->launch_s[b];
    }
    return sum_j2;
}

static bool find_launch_variances(jm__request_rows *rows, const jm__attribution *a)
{
    rows->launch_s = calloc(a->scope.dataset->board_count + 1, sizeof *rows->launch_s);
    for (size_t b = 0; rows->launch_s != NULL && b < a->scope.dataset->board_count; b++)
        rows->launch_s[b] = launch_variance(&a->boards[b]);
    return rows->launch_s != NULL;
}

static void add_time(jm__node *node, const jm__batch_sum *sum)
{
    if (sum->steps == 0) return;
    if (sum->first_ns < node->host_start_ns) node->host_start_ns = sum->first_ns;
    if (sum->last_ns > node->host_end_ns) node->host_end_ns = sum->last_ns;
}

/* Add a share of a batch to one part of a request, "prefill" or "decode". */
static void add_share(jm__request_rows *rows, jm__views *v, size_t node, const jm__batch_cell *cells,
                      size_t count, double share)
{
    const jm__batch_sum *sum = &rows->sums[cells->batch];
    jm__node *row = &v->tree->nodes.items[node];
    jm__spent_add(&row->spent, &sum->spent, share);
    row->boards |= sum->boards;
    row->measured_u_j = hypot(row->measured_u_j, share * sum->launch_u_j);
    if (rows->off_j != NULL) jm__draws_share(v->tree, node, rows->off_j + cells->batch * JM_DRAWS, share);
    for (size_t i = 0; i < count; i++)
        jm__tree_add(v->tree, node, cells[i].column, share * cells[i].seconds, 0);
}

static size_t request_part_node(jm__views *v, size_t *found, size_t parent, const char *name)
{
    if (*found == 0) {
        size_t node = jm__view_node_under(v, parent, name, name);
        if (node == JM__NO_NODE) return JM__NO_NODE;
        *found = node + 1;
    }
    return *found - 1;
}

static bool share_part(jm__request_rows *rows, jm__views *v, size_t node, const jm__batch_cell *cells,
                       size_t count, double share, int64_t tokens)
{
    if (node == JM__NO_NODE) return false;
    const jm__batch_sum *sum = &rows->sums[cells->batch];
    jm__node *row = &v->tree->nodes.items[node];
    row->calls += sum->steps;
    row->amounts[JM_AMOUNT_TOKENS] += sum->steps * tokens;
    add_time(row, sum);
    add_share(rows, v, node, cells, count, share);
    return !v->tree->failed;
}

static bool share_batch(jm__request_rows *rows, jm__views *v, request_node *nodes,
                        const jm__batch_cell *cells, size_t count)
{
    const jm__batch *batch = &rows->batches->items.items[cells->batch];
    jm__batch_sum *sum = &rows->sums[cells->batch];
    sum->launch_u_j = sqrt(batch_variance(rows, v->a, cells, count));
    for (size_t i = 0; i < batch->count; i++) {
        const jm__member *member = &rows->batches->members.items[batch->first + i];
        request_node *at = &nodes[member->request];
        if (at->node == 0) {
            size_t new_node = make_node(rows, v, member->request);
            if (new_node == JM__NO_NODE) return false;
            at->node = new_node + 1;
        }
        size_t node = at->node - 1;
        v->tree->nodes.items[node].calls += sum->steps;
        add_time(&v->tree->nodes.items[node], sum);
        if (member->prefill > 0 && !share_part(rows, v, request_part_node(v, &at->prefill, node, "prefill"),
                                               cells, count, member->prefill, member->prefill_tokens))
            return false;
        if (member->decode > 0 && !share_part(rows, v, request_part_node(v, &at->decode, node, "decode"),
                                              cells, count, member->decode, member->decode_tokens))
            return false;
    }
    return true;
}

static int by_batch(const void *a, const void *b)
{
    const jm__batch_cell *left = a, *right = b;
    if (left->batch != right->batch) return left->batch < right->batch ? -1 : 1;
    return (left->column > right->column) - (left->column < right->column);
}

bool jm__request_rows_share(jm__request_rows *rows, jm__views *v)
{
    request_node *nodes = calloc(rows->batches->requests.count + 1, sizeof *nodes);
    bool fine = nodes != NULL && find_launch_variances(rows, v->a);
    count_steps(rows, v->a);
    jm__sort(rows->cells.items, rows->cells.count, sizeof *rows->cells.items, by_batch);
    for (size_t i = 0, end; fine && i < rows->cells.count; i = end) {
        for (end = i + 1;
             end < rows->cells.count && rows->cells.items[end].batch == rows->cells.items[i].batch;)
            end++;
        fine = share_batch(rows, v, nodes, &rows->cells.items[i], end - i);
    }
    for (size_t r = 0; fine && r < rows->batches->requests.count; r++)
        finish_node(&rows->batches->requests.items[r], &nodes[r], v->tree);
    free(nodes);
    return fine;
}
