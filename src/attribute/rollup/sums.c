/* Sets of rows with all rows below them: their seconds per column, and their weight of each node's error. */
#include "attribute/rollup/sums.h"

#include "attribute/fit/student.h"
#include "attribute/rollup/energy.h"
#include "base/order.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A set of nodes and its sums. */
typedef struct row_set {
    bool *in;         /* [nodes] */
    size_t *phase;    /* [nodes]: the measured phase of each; JM__NO_NODE: none */
    double *factor;   /* [nodes]: weight of the node's error in the sum: see find_factors; what follows is in
                         the same block */
    double *gain;     /* [nodes]: of a measured phase, the sum of its gains in the set */
    double *inside_s; /* [columns of all boards]: of the nodes in the set */
    double *seconds;  /* [columns of all boards]: of all nodes, times their factors */
    double *square_s; /* [columns of all boards]: of all nodes, times the squares of their factors */
    double *mean;     /* [columns of all boards]: mean of the factors over a column's seconds */
    double *off_s;    /* [cells]: seconds times (factor - mean factor of the column) */
    double energy_j;
    double variance; /* of measured energy, J^2 */
    bool upstream;   /* only boards upstream of others; in other sets these do not count */
} row_set;

static jm_status row_set_init(row_set *sum, const jm__sums *s, jm_error *err)
{
    size_t nodes = s->tree->nodes.count, columns = s->a->columns;
    *sum = (row_set){0};
    sum->in = calloc(nodes + 1, sizeof *sum->in);
    sum->phase = calloc(nodes + 1, sizeof *sum->phase);
    sum->factor = calloc(2 * nodes + 4 * columns + s->tree->cells.count + 1, sizeof *sum->factor);
    if (sum->in == NULL || sum->phase == NULL || sum->factor == NULL)
        return jm__no_memory(err, "jm_report_sum");
    sum->gain = sum->factor + nodes;
    sum->inside_s = sum->gain + nodes;
    sum->seconds = sum->inside_s + columns;
    sum->square_s = sum->seconds + columns;
    sum->mean = sum->square_s + columns;
    sum->off_s = sum->mean + columns;
    return JM_OK;
}

static void row_set_free(row_set *sum)
{
    free(sum->in);
    free(sum->phase);
    free(sum->factor);
}

/* A row includes all below it. Parents come before their children. */
static void set_rows(row_set *sum, const jm__sums *s, const size_t *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t node = s->rows->nodes.items[rows[i]];
        if (node != JM__NO_NODE) sum->in[node] = true;
    }
    sum->upstream = true;
    for (size_t n = 0; n < s->tree->nodes.count; n++) {
        size_t parent = s->tree->nodes.items[n].parent;
        sum->in[n] = sum->in[n] || (parent != JM__NO_NODE && sum->in[parent]);
        sum->upstream = sum->upstream && (!sum->in[n] || s->tree->nodes.items[n].upstream);
    }
}

/* Rows of a measured phase took the gain g of the difference between its measured energy and the sum of its
 * rows (rows.c). So their error is their own, less g times that of all nodes of the phase, plus g times that
 * of the measurement. The whole phase has g = 1: only the error of the measurement. */
static void find_factors(row_set *sum, const jm__sums *s)
{
    const jm__node *nodes = s->tree->nodes.items;
    for (size_t n = 0; n < s->tree->nodes.count; n++) { /* parents come before their children */
        sum->phase[n] = jm__node_measured_phase(s->tree, n, sum->phase);
        if (sum->in[n] && sum->phase[n] != JM__NO_NODE) sum->gain[sum->phase[n]] += nodes[n].gain;
    }
    for (size_t n = 0; n < s->tree->nodes.count; n++) {
        double gain = sum->phase[n] != JM__NO_NODE ? sum->gain[sum->phase[n]] : 0;
        sum->factor[n] = (sum->in[n] ? 1 : 0) - gain;
    }
}

static void find_off(row_set *sum, const jm__sums *s)
{
    for (size_t b = 0; b < s->a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &s->a->boards[b];
        for (size_t k = 0; part->fit.class_variance != NULL && k < part->fit.columns; k++) {
            double all_s = part->fit.class_variance[k].seconds;
            sum->mean[part->first_column + k] = all_s > 0 ? sum->seconds[part->first_column + k] / all_s : 0;
        }
    }
    for (size_t i = 0; i < s->tree->cells.count; i++) {
        const jm__cell *cell = &s->tree->cells.items[i];
        sum->off_s[i] = (sum->factor[cell->node] - sum->mean[cell->column]) * cell->seconds;
    }
}

static void add_up(row_set *sum, const jm__sums *s)
{
    find_factors(sum, s);
    for (size_t n = 0; n < s->tree->nodes.count; n++) {
        const jm__node *node = &s->tree->nodes.items[n];
        if (node->upstream && !sum->upstream) continue;
        if (sum->in[n]) sum->energy_j += node->upstream ? node->measured_j : node->self_j;
        sum->variance += pow(sum->factor[n] * node->measured_u_j, 2);
        if (node->is_phase_total) sum->variance += pow(sum->gain[n] * node->phase_u_j, 2);
    }
    for (size_t i = 0; i < s->tree->cells.count; i++) {
        const jm__cell *cell = &s->tree->cells.items[i];
        double factor = sum->factor[cell->node];
        if (sum->in[cell->node]) sum->inside_s[cell->column] += cell->seconds;
        sum->seconds[cell->column] += factor * cell->seconds;
        sum->square_s[cell->column] += factor * factor * cell->seconds;
    }
    sum->variance += jm__draws_covariance(s->tree, sum->factor, sum->factor);
    find_off(sum, s);
}

static int by_group_column_and_row(const void *a, const void *b)
{
    const jm__cell *left = a, *right = b;
    if (left->group != right->group) return left->group < right->group ? -1 : 1;
    if (left->column != right->column) return left->column < right->column ? -1 : 1;
    return (left->node > right->node) - (left->node < right->node);
}

/* Add the time that rows of the set share with overlapping rows outside it, each overlap once. */
static jm_status add_shared(row_set *sum, const jm__sums *s, jm_error *err)
{
    size_t count = 0;
    jm__cell *cells = calloc(s->tree->shared.count + 1, sizeof *cells);
    if (cells == NULL) return jm__no_memory(err, "jm_report_sum");
    for (size_t i = 0; i < s->tree->shared.count; i++) {
        const jm__cell *cell = &s->tree->shared.items[i];
        if (sum->in[cell->node] && !sum->in[cell->group]) cells[count++] = *cell;
    }
    if (count > 1) qsort(cells, count, sizeof *cells, by_group_column_and_row);
    for (size_t i = 0, first = 0; i < count; i++) {
        bool same = cells[i].group == cells[first].group && cells[i].column == cells[first].column;
        if (!same) first = i;
        if (cells[i].node != cells[first].node) continue; /* already added for another row */
        jm__energy energy = jm__energy_of(s->a, &cells[i], 1);
        if (energy.known) sum->energy_j += energy.energy_j;
        sum->inside_s[cells[i].column] += cells[i].seconds;
        sum->seconds[cells[i].column] += cells[i].seconds;
        sum->square_s[cells[i].column] += cells[i].seconds;
    }
    free(cells);
    return JM_OK;
}

/* With `(unresolved)`, the sum is the total less the rows that are not in the set. If the fit was conditioned
 * on the total, the unresolved part is independent of the rows' errors; if the total is the fit's own,
 * nothing is unresolved; else the total is independent of them. */
static jm_status add_unresolved(row_set *sum, const jm__sums *s, jm_error *err)
{
    row_set rest;
    jm_status status = row_set_init(&rest, s, err);
    if (status == JM_OK) {
        for (size_t n = 0; n < s->tree->nodes.count; n++)
            rest.in[n] = !sum->in[n];
        add_up(&rest, s);
        sum->energy_j = s->totals->total_energy_j - rest.energy_j;
    }
    for (size_t b = 0; status == JM_OK && b < s->a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &s->a->boards[b];
        if (part->work->columns.count == 0 || s->a->scope.options.by == JM_BY_BOARD) continue;
        bool of_rows = part->fit.held || part->fit.own;
        sum->variance += of_rows ? part->fit.rest_variance : pow(part->total.u_j, 2);
        if (of_rows) continue;
        size_t first = part->first_column, bytes = part->work->columns.count * sizeof(double);
        memcpy(sum->inside_s + first, rest.inside_s + first, bytes);
        memcpy(sum->seconds + first, rest.seconds + first, bytes);
        memcpy(sum->square_s + first, rest.square_s + first, bytes);
        for (size_t i = 0; i < s->tree->cells.count; i++) {
            size_t column = s->tree->cells.items[i].column;
            bool own = column >= first && column < first + part->work->columns.count;
            if (own) sum->off_s[i] = rest.off_s[i];
        }
    }
    row_set_free(&rest);
    return status;
}

/* Rows are taken to differ independently from their columns' means (jm__class_variance_find), but in the span
 * view, calls of one layer differ in the same way. This is the difference. */
static jm_status group_covariance(const row_set *left, const row_set *right, const jm__sums *s,
                                  double *out_j2, jm_error *err)
{
    size_t cells = s->tree->cells.count;
    double *sums_s[] = {calloc(cells + 1, sizeof(double)), calloc(cells + 1, sizeof(double))};
    double *square = calloc(s->a->columns + 1, sizeof *square); /* (u x)^2 */
    bool fine = sums_s[0] != NULL && sums_s[1] != NULL && square != NULL;
    for (size_t b = 0; fine && b < s->a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &s->a->boards[b];
        for (size_t k = 0; part->fit.class_variance != NULL && k < part->fit.columns; k++)
            square[part->first_column + k] = pow(part->fit.discrepancy * part->fit.power_w[k], 2);
    }
    for (size_t i = 0; fine && i < cells; i++) {
        const jm__cell *cell = &s->tree->cells.items[i];
        sums_s[0][cell->group] += left->off_s[i];
        sums_s[1][cell->group] += right->off_s[i];
        *out_j2 -= square[cell->column] * left->off_s[i] * right->off_s[i];
    }
    for (size_t i = 0; fine && i < cells; i++) { /* `group` is no index: cells have been sorted since */
        const jm__cell *cell = &s->tree->cells.items[i];
        *out_j2 += square[cell->column] * sums_s[0][cell->group] * sums_s[1][cell->group];
        sums_s[0][cell->group] = 0; /* each group once */
    }
    free(sums_s[0]);
    free(sums_s[1]);
    free(square);
    return fine ? JM_OK : jm__no_memory(err, "jm_report_sum");
}

/* The covariance of two sums by the fits' errors; `both_s`: seconds in both. */
static jm_status fit_covariance(const row_set *left, const row_set *right, const double *both_s,
                                const jm__sums *s, double *out_j2, jm_error *err)
{
    double sum_j2 = 0;
    for (size_t b = 0; b < s->a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &s->a->boards[b];
        size_t first = part->first_column;
        if (part->work->columns.count == 0) continue;
        sum_j2 +=
            jm__fit_covariance(&part->fit, left->seconds + first, right->seconds + first, both_s + first);
    }
    *out_j2 = sum_j2;
    return group_covariance(left, right, s, out_j2, err);
}

/* Half the 95 % interval; NAN if the energy of a row is unknown. */
static jm_status find_half_width(const row_set *sum, const jm__sums *s, double *half_j, jm_error *err)
{
    size_t count = 0;
    jm__cell *cells = calloc(s->a->columns + 1, sizeof *cells);
    if (cells == NULL) return jm__no_memory(err, "jm_report_sum");
    for (size_t k = 0; k < s->a->columns; k++)
        if (sum->inside_s[k] != 0)
            cells[count++] = (jm__cell){.column = (uint32_t)k, .seconds = sum->inside_s[k]};
    jm__energy energy = jm__energy_of(s->a, cells, count);
    free(cells);
    double variance = 0;
    JM_TRY(fit_covariance(sum, sum, sum->square_s, s, &variance, err));
    jm__energy_set_variance(&energy, variance);
    *half_j = energy.known ? hypot(energy.half_j, JM_NORMAL_95 * sqrt(sum->variance)) : NAN;
    return JM_OK;
}

static bool has_all_rows(const row_set *sum, const jm__sums *s)
{
    for (size_t n = 0; n < s->tree->nodes.count; n++)
        if (!sum->in[n]) return false;
    return true;
}

static jm_status add_rows(row_set *sum, const jm__sums *s, const size_t *rows, size_t count, jm_sum *out,
                          jm_error *err)
{
    bool unresolved = false, known = true;
    for (size_t i = 0; i < count; i++) {
        unresolved = unresolved || s->rows->nodes.items[rows[i]] == JM__NO_NODE;
        known = known && !isnan(s->rows->items[rows[i]].energy_j);
    }
    set_rows(sum, s, rows, count);
    if (unresolved && has_all_rows(sum, s)) {
        *out = (jm_sum){s->totals->total_energy_j, s->totals->total_low_j, s->totals->total_high_j};
        return JM_OK;
    }
    add_up(sum, s);
    if (unresolved) JM_TRY(add_unresolved(sum, s, err));
    JM_TRY(add_shared(sum, s, err));
    double half_j = NAN;
    JM_TRY(find_half_width(sum, s, &half_j, err));
    if (!known) half_j = NAN;
    out->energy_j = isnan(half_j) ? NAN : sum->energy_j;
    out->low_j = out->energy_j - half_j;
    out->high_j = out->energy_j + half_j;
    if (!unresolved && out->low_j < 0) out->low_j = 0;
    return JM_OK;
}

static jm_status check(const jm__sums *s, const size_t *rows, size_t count, const char *call, jm_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i] >= s->rows->count)
            return jm__fail(err, JM_USAGE, 0, call, "there is no row %zu: the report has %zu", rows[i],
                            s->rows->count);
    return JM_OK;
}

jm_status jm__sums_add(const jm__sums *s, const size_t *rows, size_t count, jm_sum *out, jm_error *err)
{
    row_set sum;
    JM_TRY(check(s, rows, count, "jm_report_sum", err));
    jm_status status = row_set_init(&sum, s, err);
    if (status == JM_OK) status = add_rows(&sum, s, rows, count, out, err);
    row_set_free(&sum);
    return status;
}

static jm_status add_step(row_set *sum, const jm__sums *s, jm_sum *out, jm_error *err)
{
    double measured_j = 0, variance = 0, whole_j = 0, steps = (double)s->a->scope.steps.steady_count;
    jm__cell *cells = calloc(s->a->columns + 1, sizeof *cells);
    if (cells == NULL) return jm__no_memory(err, "jm_report_sum");
    for (size_t k = 0; k < s->a->columns; k++)
        cells[k].column = (uint32_t)k;
    for (size_t i = 0; i < s->tree->steady.count; i++) {
        const jm__cell *cell = &s->tree->steady.items[i];
        if (sum->in[cell->node]) cells[cell->column].seconds += cell->seconds;
    }
    for (size_t n = 0; n < s->tree->nodes.count; n++) {
        const jm__node *node = &s->tree->nodes.items[n];
        if (!sum->in[n] || (node->upstream && !sum->upstream)) continue;
        sum->factor[n] = 1;
        whole_j += node->upstream ? node->measured_j : node->self_j;
        measured_j += node->steady_measured_j;
        variance += pow(node->steady_measured_u_j, 2);
    }
    const jm__energy energy = jm__energy_of(s->a, cells, s->a->columns);
    free(cells);
    out->energy_j = (energy.energy_j + measured_j) / steps;
    if (whole_j > 0) /* sampling errors are in proportion */
        variance +=
            pow(out->energy_j * steps / whole_j, 2) * jm__draws_covariance(s->tree, sum->factor, sum->factor);
    double half_j = hypot(energy.half_j, JM_NORMAL_95 * sqrt(variance)) / steps;
    out->low_j = jm__energy_low(out->energy_j, half_j);
    out->high_j = out->energy_j + half_j;
    return JM_OK;
}

jm_status jm__sums_step(const jm__sums *s, const size_t *rows, size_t count, jm_sum *out, jm_error *err)
{
    row_set sum;
    bool known = s->tree->steps;
    *out = (jm_sum){NAN, NAN, NAN};
    JM_TRY(check(s, rows, count, "jm_report_sum", err));
    for (size_t i = 0; i < count; i++)
        known =
            known && (s->rows->nodes.items[rows[i]] == JM__NO_NODE || !isnan(s->rows->items[rows[i]].step_j));
    if (!known) return JM_OK;
    jm_status status = row_set_init(&sum, s, err);
    if (status == JM_OK) {
        set_rows(&sum, s, rows, count);
        status = add_step(&sum, s, out, err);
    }
    row_set_free(&sum);
    return status;
}

static jm_status covariance(const row_set *left, const row_set *right, const jm__sums *s, double *out_j2,
                            jm_error *err)
{
    double *both_s = calloc(s->a->columns + 1, sizeof *both_s);
    if (both_s == NULL) return jm__no_memory(err, "jm_report_covariance");
    for (size_t i = 0; i < s->tree->cells.count; i++) {
        const jm__cell *cell = &s->tree->cells.items[i];
        both_s[cell->column] += left->factor[cell->node] * right->factor[cell->node] * cell->seconds;
    }
    double sum_j2 = 0;
    jm_status status = fit_covariance(left, right, both_s, s, &sum_j2, err);
    for (size_t n = 0; n < s->tree->nodes.count; n++) { /* errors of measurements are the same in both */
        const jm__node *node = &s->tree->nodes.items[n];
        sum_j2 += left->factor[n] * right->factor[n] * pow(node->measured_u_j, 2);
        if (node->is_phase_total) sum_j2 += left->gain[n] * right->gain[n] * pow(node->phase_u_j, 2);
    }
    free(both_s);
    sum_j2 += jm__draws_covariance(s->tree, left->factor, right->factor);
    *out_j2 = sum_j2;
    return status;
}

jm_status jm__sums_covariance(const jm__sums *s, size_t row_a, size_t row_b, double *out_j2, jm_error *err)
{
    const size_t rows[] = {row_a, row_b};
    JM_TRY(check(s, rows, 2, "jm_report_covariance", err));
    row_set row_sets[2] = {0};
    bool known = true;
    jm_status status = JM_OK;
    for (int i = 0; i < 2 && status == JM_OK; i++) {
        status = row_set_init(&row_sets[i], s, err);
        if (status != JM_OK) break;
        set_rows(&row_sets[i], s, &rows[i], 1);
        add_up(&row_sets[i], s);
        known =
            known && s->rows->nodes.items[rows[i]] != JM__NO_NODE && !isnan(s->rows->items[rows[i]].energy_j);
    }
    if (status == JM_OK) status = covariance(&row_sets[0], &row_sets[1], s, out_j2, err);
    if (!known) *out_j2 = NAN;
    row_set_free(&row_sets[0]);
    row_set_free(&row_sets[1]);
    return status;
}

/* Linear interpolation: type 7 of Hyndman and Fan (1996), as in NumPy. */
static double quantile(const double *sorted, size_t count, double share)
{
    double at = share * (double)(count - 1);
    size_t below = (size_t)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

static void find_quantiles(jm_report_totals *t, const jm__rows *rows, double *energies_j)
{
    size_t count = 0, known = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (strcmp(rows->items[i].kind, "request") != 0) continue;
        count++;
        if (!isnan(rows->items[i].energy_j)) energies_j[known++] = rows->items[i].energy_j;
    }
    t->requests = (int64_t)count;
    if (known < count || count == 0) return;
    qsort(energies_j, count, sizeof *energies_j, jm__compare_doubles);
    t->request_median_j = quantile(energies_j, count, 0.5);
    t->request_p95_j = quantile(energies_j, count, 0.95);
}

static jm_status sum_parts(const jm__sums *s, const char *kind, size_t *numbers, jm_sum *sum, int64_t *tokens,
                           jm_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < s->rows->count; i++) {
        const jm_row *row = &s->rows->items[i];
        if (strcmp(row->kind, kind) != 0) continue;
        numbers[count++] = i;
        if (row->tokens > 0 && __builtin_add_overflow(*tokens > 0 ? *tokens : 0, row->tokens, tokens))
            *tokens = INT64_MAX; /* a damaged file */
    }
    return count > 0 ? jm__sums_add(s, numbers, count, sum, err) : JM_OK;
}

jm_status jm__request_totals_find(jm_report_totals *t, const jm__sums *s, jm_error *err)
{
    jm_sum prefill = {NAN, NAN, NAN}, decode = prefill;
    if (s->a->scope.options.by != JM_BY_REQUEST) return JM_OK;
    size_t *numbers = calloc(s->rows->count + 1, sizeof *numbers);
    double *energies_j = calloc(s->rows->count + 1, sizeof *energies_j);
    bool fine = numbers != NULL && energies_j != NULL;
    jm_status status = fine ? JM_OK : jm__no_memory(err, "jm__request_totals_find");
    if (fine) find_quantiles(t, s->rows, energies_j);
    if (status == JM_OK) status = sum_parts(s, "prefill", numbers, &prefill, &t->prefill_tokens, err);
    if (status == JM_OK) status = sum_parts(s, "decode", numbers, &decode, &t->decode_tokens, err);
    free(numbers);
    free(energies_j);
    t->prefill_j = prefill.energy_j;
    t->prefill_low_j = prefill.low_j;
    t->prefill_high_j = prefill.high_j;
    t->decode_j = decode.energy_j;
    t->decode_low_j = decode.low_j;
    t->decode_high_j = decode.high_j;
    return status;
}

/* A column has one power x, the mean over its time; a row with a share of that time may draw more or less.
 *
 * Each row's own time is modelled to draw x plus a difference of variance (u x)^2. Differences are
 * independent except that their mean over all time is zero. Let S be the column's seconds, in n rows of equal
 * shares. Rows with the share f together then have the variance (u x S)^2 f (1 - f) / n, and two disjoint
 * sets of rows the covariance -(u x S)^2 f g / n: all rows together have no error. With unequal shares, n is
 * one over the sum of their squares. u is the fit's model discrepancy. */

static jm_status find_board(jm__board_part *part, const jm__tree *tree, jm_error *err)
{
    jm__fit *fit = &part->fit;
    fit->class_variance = calloc(fit->columns + 1, sizeof *fit->class_variance);
    if (fit->class_variance == NULL) return jm__no_memory(err, "jm_report_create");
    for (size_t i = 0; i < tree->cells.count; i++) {
        const jm__cell *cell = &tree->cells.items[i];
        if (cell->column < part->first_column || cell->column >= part->first_column + fit->columns) continue;
        jm__class_variance *column = &fit->class_variance[cell->column - part->first_column];
        column->seconds += cell->seconds;
        column->square += cell->seconds * cell->seconds; /* a sum, until the next loop */
    }
    for (size_t k = 0; k < fit->columns; k++) {
        jm__class_variance *column = &fit->class_variance[k];
        /* Of gaps, kernels at another clock have parts that may be below 0: no shares of a whole. */
        bool shared =
            column->seconds > 0 && (part->work->use_scale == NULL || k != jm__gap_column(part->work));
        double share_square = shared ? column->square / pow(column->seconds, 2) : 0;
        column->square = pow(fit->discrepancy * fit->power_w[k], 2) * share_square;
    }
    return JM_OK;
}

jm_status jm__class_variance_find(jm__attribution *a, const jm__tree *tree, jm_error *err)
{
    for (size_t b = 0; b < a->scope.dataset->board_count; b++)
        if (a->boards[b].fit.fitted) JM_TRY(find_board(&a->boards[b], tree, err));
    return JM_OK;
}
