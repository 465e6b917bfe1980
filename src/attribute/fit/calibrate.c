/* Rows of the design: first-order response by decaying states, box by a running sum; readings through it, and
 * the response that they ask for. */
#include "attribute/fit/calibrate.h"

#include "attribute/fit/nnls.h"
#include "base/clock.h"
#include "base/search.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Readings have taught something of the response if its variance is down to half of the profile's: they tell
 * as much as the profile does. */
static const double surer = 0.5;

jm_status jm__design_init(jm__design *design, jm__pieces *pieces, size_t columns, jm_error *err)
{
    *design = (jm__design){.columns = columns};
    design->state = calloc(columns + 1, sizeof *design->state);
    jm_status status = design->state == NULL ? jm__no_memory(err, "jm__design_init") : JM_OK;
    if (status == JM_OK) status = jm__cursor_init(&design->cursor, pieces, err);
    if (status == JM_OK) status = jm__cursor_init(&design->tail, pieces, err);
    if (status != JM_OK) jm__design_free(design);
    return status;
}

void jm__design_free(jm__design *design)
{
    free(design->state);
    jm__cursor_free(&design->cursor);
    jm__cursor_free(&design->tail);
    *design = (jm__design){0};
}

void jm__design_start(jm__design *design, jm__response response)
{
    design->response = response;
    design->started = false;
}

static void restart(jm__design *design, int64_t t_ns)
{
    memset(design->state, 0, design->columns * sizeof *design->state);
    design->now_ns = design->tail_ns = t_ns;
    jm__cursor_seek(&design->cursor, t_ns);
    if (design->response.kind != JM_RESPONSE_FIRST_ORDER) jm__cursor_seek(&design->tail, t_ns);
    design->started = true;
}

/* exp(x) - 1 of a length that is short; the first term left out is below 1e-17. */
static const double short_most = 1.0 / 64;

static double short_growth(double x)
{
    return x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6 * (1 + x / 7))))));
}

static void advance_first_order(jm__design *design, int64_t target_ns)
{
    double tau = design->response.width_ns;
    double edge = exp(-(double)(target_ns - design->now_ns) / tau); /* weight of the moment's start */
    for (size_t k = 0; k < design->columns; k++)
        design->state[k] *= edge;
    jm__piece_cursor *cursor = &design->cursor;
    for (int64_t from_ns = design->now_ns; from_ns < target_ns && !jm__cursor_at_end(cursor);) {
        const jm__moment *now = &cursor->now;
        if (now->start_ns > from_ns) { /* before all pieces there is nothing */
            if (now->start_ns >= target_ns) break;
            from_ns = now->start_ns;
            edge = exp(-(double)(target_ns - from_ns) / tau);
        }
        int64_t to_ns = now->end_ns < target_ns ? now->end_ns : target_ns;
        double length = (double)(to_ns - from_ns) / tau;
        double step = length <= short_most ? edge * short_growth(length)
                                           : exp(-(double)(target_ns - to_ns) / tau) - edge;
        jm__cursor_add(cursor, step, design->state);
        edge += step;
        from_ns = to_ns;
        if (now->end_ns <= target_ns) jm__cursor_next(cursor);
    }
    design->now_ns = target_ns;
}

/* Add `sign` times the column shares of [*now, target]. */
static void advance_box(jm__design *design, int64_t *now_ns, jm__piece_cursor *cursor, int64_t target_ns,
                        double sign)
{
    while (*now_ns < target_ns && !jm__cursor_at_end(cursor)) {
        const jm__moment *now = &cursor->now;
        if (now->start_ns >= target_ns) break;
        if (now->start_ns > *now_ns) *now_ns = now->start_ns; /* before all pieces there is nothing */
        int64_t to_ns = now->end_ns < target_ns ? now->end_ns : target_ns;
        double weight = sign * (double)(to_ns - *now_ns) / design->response.width_ns;
        jm__cursor_add(cursor, weight, design->state);
        *now_ns = to_ns;
        if (now->end_ns <= target_ns) jm__cursor_next(cursor);
    }
    *now_ns = target_ns;
}

const double *jm__design_row(jm__design *design, int64_t t_ns)
{
    int64_t target_ns = t_ns - (int64_t)llround(design->response.lag_ns);
    double width_ns = design->response.width_ns;
    bool box = design->response.kind != JM_RESPONSE_FIRST_ORDER;
    int64_t memory_ns = (int64_t)ceil(box ? width_ns : JM_FORGOTTEN * width_ns);
    if (!design->started || target_ns - design->now_ns > memory_ns) restart(design, target_ns - memory_ns);
    if (!box) {
        advance_first_order(design, target_ns);
        return design->state;
    }
    advance_box(design, &design->now_ns, &design->cursor, target_ns, 1);
    advance_box(design, &design->tail_ns, &design->tail, target_ns - (int64_t)llround(width_ns), -1);
    return design->state;
}

size_t jm__pass_shared_columns(const jm__pass *pass)
{
    const jm__pieces *pieces = pass->design->cursor.pieces;
    bool sampled = pieces->sampled != NULL && pieces->sampler_column < pass->columns;
    return sampled ? pieces->sampler_column : pass->columns;
}

static void row_at(const jm__pass *pass, int64_t t_ns, double *row)
{
    const double *weights = jm__design_row(pass->design, t_ns);
    if (pass->group == NULL) {
        memcpy(row, weights, pass->columns * sizeof *row);
        return;
    }
    memset(row, 0, pass->columns * sizeof *row);
    for (size_t k = 0; k < pass->design->columns; k++)
        row[pass->group[k]] += pass->scale != NULL ? pass->scale[k] * weights[k] : weights[k];
}

void jm__pass_row(const jm__pass *pass, size_t i, double *row)
{
    row_at(pass, pass->readings[i].t_ns, row);
}

bool jm__pass_are_neighbours(const jm__pass *pass, size_t i)
{
    if (i == 0) return false;
    return pass->readings[i].t_ns - pass->readings[i - 1].t_ns < pass->period_ns + pass->period_ns / 2;
}

jm_status jm__pass_fold(const jm__pass *pass, jm__response response, jm__qr *qr, jm_error *err)
{
    double *row = calloc(pass->columns + 1, sizeof *row);
    if (row == NULL) return jm__no_memory(err, "jm__pass_fold");
    jm__qr_reset(qr);
    jm__design_start(pass->design, response);
    for (size_t i = 0; i < pass->count; i++) {
        jm__pass_row(pass, i, row);
        jm__qr_add(qr, row, pass->readings[i].value);
    }
    jm__qr_finish(qr);
    free(row);
    return JM_OK;
}

jm_status jm__pass_solve(jm__posterior *powers, const jm__pass *pass, jm__response response,
                         const jm__joint_prior *joint_prior, jm_error *err)
{
    jm__qr qr = {0};
    jm_status status = jm__posterior_init(powers, pass->columns, err);
    if (status == JM_OK) status = jm__qr_init(&qr, pass->columns, err);
    if (status == JM_OK) status = jm__pass_fold(pass, response, &qr, err);
    if (status == JM_OK) status = jm__posterior_solve(powers, &qr, joint_prior, err);
    jm__qr_free(&qr);
    return status;
}

double jm__moments_add(jm__moments *m, const double *row, double value, const double *centre, size_t n)
{
    if (centre != NULL) value -= jm__matrix_dot(row, centre, n);
    m->square += value * value;
    jm__matrix_add_square(m->information, row, n);
    for (size_t k = 0; k < n; k++)
        m->moment[k] += row[k] * value;
    return value;
}

/* Of the next reading, as this response has it; INT64_MAX: there is none. */
static int64_t next_ns(const jm__pass *pass, const jm__moments *of, size_t at)
{
    if (at == pass->count) return INT64_MAX;
    return pass->readings[at].t_ns - (int64_t)llround(of->response.lag_ns);
}

void jm__pass_moments(const jm__pass *pass, const double *centre, jm__moments *of, size_t count, double *row)
{
    size_t n = pass->columns, at[JM_MOMENTS_MOST] = {0};
    int64_t at_ns[JM_MOMENTS_MOST];
    for (size_t m = 0; m < count; m++) {
        of[m].square = 0;
        memset(of[m].information, 0, n * n * sizeof(double));
        memset(of[m].moment, 0, n * sizeof(double));
        at_ns[m] = next_ns(pass, &of[m], 0);
    }
    jm__design_start(pass->design, (jm__response){of->response.kind, 0, of->response.width_ns});
    for (size_t left = count * pass->count; left > 0; left--) {
        size_t m = 0;
        for (size_t i = 1; i < count; i++)
            if (at_ns[i] < at_ns[m]) m = i;
        row_at(pass, at_ns[m], row);
        jm__moments_add(&of[m], row, pass->readings[at[m]++].value, centre, n);
        at_ns[m] = next_ns(pass, &of[m], at[m]);
    }
}

/* A block is long against the noise's memory, and there are enough of them to tell a variance. */
static size_t block_length(const jm__pass *pass)
{
    size_t length = (size_t)(1000000000 / (pass->period_ns > 0 ? pass->period_ns : 1));
    if (length < 10) length = 10;
    if (length > pass->count / 20) length = pass->count / 20;
    return length > 0 ? length : 1;
}

/* scores += block block', and the next block begins; NULL: nobody wants them. */
static void add_score(double *scores, double *block, size_t columns)
{
    if (scores != NULL) jm__matrix_add_outer(scores, 1, block, columns);
    memset(block, 0, columns * sizeof *block);
}

jm_status jm__pass_residuals(const jm__pass *pass, jm__response response, const double *x, double *residual,
                             double *scores, jm_error *err)
{
    size_t columns = pass->columns, length = block_length(pass);
    double *row = calloc(2 * columns + 1, sizeof *row);
    if (row == NULL) return jm__no_memory(err, "jm__pass_residuals");
    double *block = row + columns;
    if (scores != NULL) memset(scores, 0, columns * columns * sizeof *scores);
    jm__design_start(pass->design, response);
    for (size_t i = 0; i < pass->count; i++) {
        jm__pass_row(pass, i, row);
        residual[i] = pass->readings[i].value - jm__matrix_dot(row, x, columns);
        for (size_t k = 0; k < columns; k++)
            block[k] += row[k] * residual[i];
        if ((i + 1) % length == 0) add_score(scores, block, columns);
    }
    add_score(scores, block, columns);
    free(row);
    return JM_OK;
}

double jm__pass_correlation(const jm__pass *pass, const double *residual)
{
    double product = 0, square = 0;
    for (size_t i = 1; i < pass->count; i++) {
        if (!jm__pass_are_neighbours(pass, i)) continue;
        product += residual[i] * residual[i - 1];
        square += (residual[i] * residual[i] + residual[i - 1] * residual[i - 1]) / 2;
    }
    return square > 0 ? product / square : 0;
}

/* The posterior of lag and width, on a lattice that is refined where it has weight.
 *
 * Given lag and width, readings are linear in the powers, whose prior is normal: the powers integrate out,
 * and what is left is the evidence of the two. With M = v P^-1 + A'A, centred on the prior's mean,
 *
 *     -2 log p(y | lag, width) = (N - n) log v + log det M + (y'y - y'A M^-1 A'y) / v,
 *
 * v being the noise that makes it highest. (Bishop, Pattern Recognition and Machine Learning, 2006, 3.5.) Of
 * a program with a period it has several maxima, and kinks where an edge of the load passes a reading: so no
 * slope is used, and all cells that have weight are kept. Residuals that are alike in neighbours tell less:
 * the evidence counts for (1 - r) / (1 + r) of itself, r being their correlation.
 */

/* Choices. The lattice goes as far as the profile may be off (once in 370 boards more), by steps of a
 * millisecond or LAGS_MOST of them, halved LEVELS times at most. A coarse cell may lie beside a maximum that
 * is narrower: cells up to `worth` nats below the best are refined. Once `enough` cells share the weight,
 * their sum does for an integral. */
enum { LEVELS = 5, LAGS_MOST = 64, CELLS_MAX = 1600, REFINED_MAX = 24, RANGE_LAG_U = 3, RANGE_WIDTH_U = 2 };

enum { MOMENTS_MEMORY = 8 << 20 }; /* bytes */

static const double least_step_ns = JM_NS_PER_MS, enough = 10, correlation_most = 0.95;

static const double worth[LEVELS] = {100, 40, 12, 12, 12};

typedef struct cell {
    int lag, width;  /* in finest steps from the profile */
    double evidence; /* log p(y | lag, width), once it is looked at */
    double assumed;  /* log p(lag, width) by the profile */
    double weight;   /* of the posterior */
    double prior_weight;
} cell;

typedef struct search {
    jm__pass pass;
    const jm__joint_prior *joint_prior;
    jm__response profile;
    double lag_u, width_u;       /* ns; 0: it is known */
    double lag_step, width_step; /* ns, the finest */
    double *row, *factor, *powers, *residual;
    jm__moments *moments; /* [room]: of the cells that are being looked at */
    size_t room;
    double noise;             /* v, of the cell that was looked at last */
    double kept;              /* of the evidence */
    jm__response at;          /* where the law's unknowns are looked for */
    const jm__power_law *law; /* NULL: none */
    jm__law_values values;    /* of it, that the pieces count with */
    cell cells[CELLS_MAX];
    size_t count;
} search;

jm__calibration jm__calibration_of(const jm_sensor *sensor)
{
    bool first_order = sensor->response == JM_RESPONSE_FIRST_ORDER;
    double width_ns = (double)(first_order ? sensor->tau_ns : sensor->window_ns);
    if (sensor->response == JM_RESPONSE_INSTANT || width_ns < JM_WIDTH_LEAST_NS) width_ns = JM_WIDTH_LEAST_NS;
    jm__calibration calibration = {.response = {sensor->response, (double)sensor->lag_ns, width_ns}};
    calibration.lag_variance = pow((double)sensor->lag_u_ns, 2);
    if (width_ns > JM_WIDTH_LEAST_NS) calibration.width_variance = pow((double)sensor->tau_u_ns, 2);
    calibration.points[0] = calibration.response;
    calibration.count = 1;
    return calibration;
}

jm__noise_prior jm__noise_of(const jm_sensor *sensor)
{
    return (jm__noise_prior){.noise_w = sensor->noise > 0 ? sensor->noise : JM_NOISE_UNKNOWN_W,
                             .readings = 2};
}

static jm__response response_of(const search *s, const cell *c)
{
    jm__response response = s->profile;
    response.lag_ns += c->lag * s->lag_step;
    response.width_ns = fmax(JM_WIDTH_LEAST_NS, response.width_ns + c->width * s->width_step);
    return response;
}

/* -2 log p(y | lag, width) for this noise, and y'y - y'A M^-1 A'y. */
static double evidence_at(search *s, const jm__moments *of, double noise, double *square)
{
    size_t n = s->pass.columns;
    double sum = 0, *f = s->factor;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++)
            f[i * n + k] = of->information[i * n + k] + noise * s->joint_prior->information[i * n + k];
    *square = of->square;
    if (!jm__matrix_factor(f, n)) return INFINITY; /* rounding */
    memcpy(s->powers, of->moment, n * sizeof(double));
    jm__matrix_forward(s->powers, f, n);
    for (size_t i = 0; i < n; i++)
        sum += 2 * log(f[i * n + i]);
    *square = fmax(0, *square - jm__matrix_dot(s->powers, s->powers, n));
    return ((double)s->pass.count - (double)n) * log(noise) + sum + *square / noise;
}

/* Of the noise that makes it highest. */
static double highest_evidence(search *s, const jm__moments *of)
{
    const jm__noise_prior *assumed = &s->joint_prior->noise;
    double noise = s->noise, square, count = (double)s->pass.count;
    for (int round = 0; round < 3; round++) { /* to within a percent from any start */
        (void)evidence_at(s, of, noise, &square);
        noise =
            fmax(1e-6, (square + assumed->readings * pow(assumed->noise_w, 2)) / (count + assumed->readings));
    }
    s->noise = noise; /* where the next one starts */
    return -evidence_at(s, of, noise, &square) / 2;
}

/* Its moments are then the first. */
static double evidence_of(search *s, jm__response response)
{
    s->moments->response = response;
    jm__pass_moments(&s->pass, s->joint_prior->power_w, s->moments, 1, s->row);
    return highest_evidence(s, s->moments);
}

static int narrowest_first(const void *a, const void *b)
{
    const cell *left = a, *right = b;
    return left->width != right->width ? left->width - right->width : left->lag - right->lag;
}

/* At the cells from `first` on: all lags of a width in one pass over time. */
static void look_at(search *s, size_t first)
{
    qsort(s->cells + first, s->count - first, sizeof *s->cells, narrowest_first);
    for (size_t count; s->kept > 0 && first < s->count; first += count) {
        cell *cells = s->cells + first;
        for (count = 0; count < s->room && first + count < s->count; count++) {
            if (cells[count].width != cells->width) break;
            s->moments[count].response = response_of(s, &cells[count]);
        }
        jm__pass_moments(&s->pass, s->joint_prior->power_w, s->moments, count, s->row);
        for (size_t i = 0; i < count; i++)
            cells[i].evidence = highest_evidence(s, &s->moments[i]);
    }
}

/* The cell, to be looked at if it lies within what the profile allows. */
static void add_cell(search *s, int lag, int width)
{
    double lag_off = s->lag_u > 0 ? lag * s->lag_step / s->lag_u : 0;
    double width_off = s->width_u > 0 ? width * s->width_step / s->width_u : 0;
    cell c = {.lag = lag, .width = width, .assumed = -(lag_off * lag_off + width_off * width_off) / 2};
    bool within = fabs(lag_off) <= RANGE_LAG_U && fabs(width_off) <= RANGE_WIDTH_U;
    bool possible = (lag == 0 && width == 0) || s->profile.lag_ns + lag * s->lag_step >= 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->cells[i].lag == lag && s->cells[i].width == width) return;
    if (!within || !possible || s->count == CELLS_MAX) return;
    s->cells[s->count++] = c;
}

/* A cell stands for the square up to half way to its nearest neighbour. */
static double area_of(const search *s, size_t at)
{
    const cell *c = &s->cells[at];
    int nearest = 1 << LEVELS;
    for (size_t i = 0; i < s->count; i++) {
        int lag = abs(s->cells[i].lag - c->lag), width = abs(s->cells[i].width - c->width);
        int apart = lag > width ? lag : width;
        if (i != at && apart < nearest) nearest = apart;
    }
    return s->lag_u > 0 && s->width_u > 0 ? (double)nearest * nearest : nearest;
}

/* Weights of all cells, which add up to 1. Returns how many cells share them: 1 / sum w^2. */
static double weigh(search *s)
{
    double best = -INFINITY, sum = 0, prior_sum = 0, square = 0;
    for (size_t i = 0; i < s->count; i++)
        best = fmax(best, s->kept * s->cells[i].evidence + s->cells[i].assumed);
    for (size_t i = 0; i < s->count; i++) {
        cell *c = &s->cells[i];
        double area = area_of(s, i);
        c->weight = area * exp(s->kept * c->evidence + c->assumed - best);
        c->prior_weight = area * exp(c->assumed);
        sum += c->weight;
        prior_sum += c->prior_weight;
    }
    for (size_t i = 0; i < s->count; i++) {
        s->cells[i].weight /= sum;
        s->cells[i].prior_weight /= prior_sum;
        square += s->cells[i].weight * s->cells[i].weight;
    }
    return 1 / square;
}

static int heaviest_first(const void *a, const void *b)
{
    const cell *left = a, *right = b;
    if (left->weight != right->weight) return left->weight > right->weight ? -1 : 1;
    return left->lag != right->lag ? left->lag - right->lag : left->width - right->width;
}

static int shortest_lag_first(const void *a, const void *b)
{
    const cell *left = a, *right = b;
    return left->lag != right->lag ? left->lag - right->lag : left->width - right->width;
}

/* Finer around the cells that have weight. */
static void refine(search *s, int level)
{
    int step = (1 << LEVELS) >> (level + 1);
    size_t looked_at = s->count;
    qsort(s->cells, s->count, sizeof *s->cells, heaviest_first);
    size_t count = s->count < REFINED_MAX ? s->count : REFINED_MAX;
    cell near[REFINED_MAX];
    memcpy(near, s->cells, count * sizeof *near);
    for (size_t i = 0; i < count; i++) {
        if (near[i].weight < exp(-worth[level]) * near[0].weight) break;
        for (int lag = s->lag_u > 0 ? -1 : 0; lag <= (s->lag_u > 0); lag++)
            for (int width = s->width_u > 0 ? -1 : 0; width <= (s->width_u > 0); width++)
                add_cell(s, near[i].lag + lag * step, near[i].width + width * step);
    }
    look_at(s, looked_at);
}

/* What neighbours' residuals share where the evidence is highest. */
static jm_status find_correlation(search *s, jm_error *err)
{
    size_t n = s->pass.columns, best = 0;
    double square;
    for (size_t i = 0; i < s->count; i++)
        if (s->cells[i].evidence > s->cells[best].evidence) best = i;
    jm__response response = response_of(s, &s->cells[best]);
    (void)evidence_of(s, response);
    (void)evidence_at(s, s->moments, s->noise, &square);
    jm__matrix_back(s->powers, s->factor, n); /* M^-1 A'y, of the factor and what it has whitened */
    for (size_t k = 0; k < n; k++)
        s->powers[k] += s->joint_prior->power_w[k];
    JM_TRY(jm__pass_residuals(&s->pass, response, s->powers, s->residual, NULL, err));
    double correlation = fmin(correlation_most, fmax(0, jm__pass_correlation(&s->pass, s->residual)));
    s->kept = (1 - correlation) / (1 + correlation);
    return JM_OK;
}

static jm_status find(search *s, jm_error *err)
{
    enum { FIRST = 1 << LEVELS };
    int lags = s->lag_u > 0 ? (int)ceil(RANGE_LAG_U * s->lag_u / (FIRST * s->lag_step)) : 0;
    int widths = s->width_u > 0 ? RANGE_WIDTH_U : 0;
    for (int lag = -lags; lag <= lags; lag++)
        for (int width = -widths; width <= widths; width++)
            add_cell(s, lag * FIRST, width * FIRST);
    look_at(s, 0);
    if (s->kept > 0) JM_TRY(find_correlation(s, err));
    for (int level = 0; weigh(s) < enough && level < LEVELS; level++)
        refine(s, level);
    (void)weigh(s);
    return JM_OK;
}

/* ---- the unknowns of the law of powers, one after the other, at one response */

/* Before any reading, and where each is looked for: by steps from coarse to fine, on both sides of the
 * likeliest one, as far as the last step. The exponent lies between f alone and f^3, where voltage follows
 * the clock, rather nearer to the first: an H200 near its highest clock drew 5 % less at 8 % less
 * (docs/accuracy.md). Kernels that run together draw between the mean of both and their sum: a choice, rather
 * less than half of it.
 *
 * Either may be just 0: a board at its power limit lowers its clock because work draws much, and kernels that
 * take turns draw their mean. Readings that do not make anything else twenty times likelier leave it at that.
 */
static const double nothing_odds = 20;

enum { LAW_STEPS = 3, TRIED_MAX = 17 + 2 * 8 + 2 };

static const struct {
    double mean, u, least, most, steps[LAW_STEPS];
} assumed_law[JM_LAW_UNKNOWNS] = {
    [JM_LAW_CLOCK] = {1, 1, 0, 4, {0.25, 0.05, 0.0125}},
    [JM_LAW_OVERLAP] = {0.4, 0.4, -0.2, 1, {0.1, 0.02, 0.005}},
};

/* Lag and width are looked for with one law, and the law with one response: by turns. The response comes
 * first, with the law as it is assumed: a law that was found at the profile's response explains what is wrong
 * with that one, and the response stays there. */
enum { ROUNDS = 4 };

typedef struct trial {
    double value, log_weight;
} trial;

typedef struct trials {
    trial items[TRIED_MAX];
    size_t count;
} trials;

static int smallest_first(const void *a, const void *b)
{
    double left = ((const trial *)a)->value, right = ((const trial *)b)->value;
    return (left > right) - (left < right);
}

static void try_value(search *s, trials *all, jm__law_unknown unknown, double value)
{
    double off = (value - assumed_law[unknown].mean) / assumed_law[unknown].u;
    double least = assumed_law[unknown].least - 1e-9, most = assumed_law[unknown].most + 1e-9;
    for (size_t i = 0; i < all->count; i++)
        if (fabs(all->items[i].value - value) < assumed_law[unknown].steps[LAW_STEPS - 1] / 2) return;
    if (value < least || value > most || all->count == TRIED_MAX) return;
    jm__law_values values = s->values;
    values.of[unknown] = value;
    jm__power_law_set(s->law, &values, s->pass.design->cursor.pieces);
    double evidence = s->kept > 0 ? s->kept * evidence_of(s, s->at) : 0;
    all->items[all->count++] = (trial){value, evidence - off * off / 2};
}

static double likeliest(const trials *all)
{
    size_t best = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].log_weight > all->items[best].log_weight) best = i;
    return all->items[best].value;
}

/* Each stands for what lies nearer to it than to its neighbours. */
static double weight_of(const trials *all, size_t i, double best)
{
    double before = i > 0 ? all->items[i - 1].value : all->items[i].value;
    double after = i + 1 < all->count ? all->items[i + 1].value : all->items[i].value;
    return (after - before) / 2 * exp(all->items[i].log_weight - best);
}

/* Weights of all, which add up to 1; the one at 0 has that of nothing, too. */
static void weigh_trials(const trials *all, jm__law_unknown unknown, double weights[TRIED_MAX])
{
    double best = -INFINITY, sum = 0, u = assumed_law[unknown].u;
    for (size_t i = 0; i < all->count; i++)
        best = fmax(best, all->items[i].log_weight);
    for (size_t i = 0; i < all->count; i++) {
        double off = assumed_law[unknown].mean / u;
        weights[i] = weight_of(all, i, best) / (u * sqrt(2 * M_PI));
        if (fabs(all->items[i].value) < assumed_law[unknown].steps[LAW_STEPS - 1] / 2)
            weights[i] += nothing_odds * exp(all->items[i].log_weight + off * off / 2 - best);
        sum += weights[i];
    }
    for (size_t i = 0; i < all->count; i++)
        weights[i] /= sum;
}

/* All values that were tried, and their weights; leaves the pieces with the likeliest. */
static void find_unknown(search *s, trials *all, double weights[TRIED_MAX], jm__law_unknown unknown)
{
    const double *steps = assumed_law[unknown].steps;
    all->count = 0;
    for (double value = assumed_law[unknown].least; value <= assumed_law[unknown].most; value += steps[0])
        try_value(s, all, unknown, value);
    for (int level = 1; level < LAW_STEPS; level++) {
        double around = likeliest(all);
        for (double off = steps[level]; off < steps[level - 1] - 1e-9; off += steps[level]) {
            try_value(s, all, unknown, around - off);
            try_value(s, all, unknown, around + off);
        }
    }
    qsort(all->items, all->count, sizeof *all->items, smallest_first);
    weigh_trials(all, unknown, weights);
    s->values.of[unknown] = likeliest(all);
    for (size_t i = 0; i < all->count; i++)
        if (weights[i] > 0.5) s->values.of[unknown] = all->items[i].value;
    jm__power_law_set(s->law, &s->values, s->pass.design->cursor.pieces);
}

/* Equally likely ones, in an order that goes with no other. */
static void take_values(jm__calibration *out, const trials *all, const double weights[TRIED_MAX],
                        jm__law_unknown unknown)
{
    static const size_t order[JM_LAW_UNKNOWNS][JM_RESPONSE_POINTS] = {{3, 6, 1, 4, 0, 7, 2, 5},
                                                                      {5, 1, 7, 2, 6, 3, 0, 4}};
    double so_far = 0;
    size_t taken = 0;
    for (size_t i = 0; i < all->count; i++) {
        so_far += weights[i];
        while (taken < JM_RESPONSE_POINTS && ((double)taken + 0.5) / JM_RESPONSE_POINTS < so_far)
            out->values_of[order[unknown][taken++]].of[unknown] = all->items[i].value;
    }
}

/* All unknowns of the law at the response s->at. True if none moved by more than its middle step. */
static bool find_law(search *s, jm__calibration *out)
{
    bool settled = true;
    for (jm__law_unknown i = 0; s->law != NULL && i < JM_LAW_UNKNOWNS; i++) {
        trials all;
        double weights[TRIED_MAX], before = s->values.of[i];
        if (!s->law->varies[i]) continue;
        find_unknown(s, &all, weights, i);
        take_values(out, &all, weights, i);
        out->values.of[i] = s->values.of[i];
        settled = settled && fabs(s->values.of[i] - before) < assumed_law[i].steps[1];
    }
    return settled;
}

/* Of the lag or the width, by the profile alone or with the readings, in finest steps squared. */
static double variance_of(const search *s, bool width, bool by_profile)
{
    double mean = 0, square = 0;
    for (size_t i = 0; i < s->count; i++) {
        const cell *c = &s->cells[i];
        double weight = by_profile ? c->prior_weight : c->weight, at = width ? c->width : c->lag;
        mean += weight * at;
        square += weight * at * at;
    }
    return fmax(0, square - mean * mean);
}

/* Points of equal weight: where the sum of the weights passes the middle of each equal part of 1. */
static void take(jm__calibration *out, search *s)
{
    double sum = 0;
    qsort(s->cells, s->count, sizeof *s->cells, heaviest_first);
    out->response = s->at = response_of(s, &s->cells[0]);
    qsort(s->cells, s->count, sizeof *s->cells, shortest_lag_first);
    out->count = 0;
    for (size_t i = 0; i < s->count; i++) {
        const cell *c = &s->cells[i];
        sum += c->weight;
        while (out->count < JM_RESPONSE_POINTS && ((double)out->count + 0.5) / JM_RESPONSE_POINTS < sum)
            out->points[out->count++] = response_of(s, c);
    }
    double lag = variance_of(s, false, false), width = variance_of(s, true, false);
    out->lag_variance = lag * s->lag_step * s->lag_step;
    out->width_variance = width * s->width_step * s->width_step;
    out->taught = lag < surer * variance_of(s, false, true) || width < surer * variance_of(s, true, true);
}

static jm_status search_init(search *s, const jm_sensor *sensor, const jm__pass *pass, jm_error *err)
{
    const jm__calibration profile = jm__calibration_of(sensor);
    size_t n = pass->columns;
    s->pass = *pass;
    s->pass.period_ns = sensor->period_ns;
    s->profile = s->at = profile.response;
    s->lag_u = sqrt(profile.lag_variance);
    s->width_u = sqrt(profile.width_variance);
    s->lag_step = fmin(s->lag_u, fmax(least_step_ns, 2 * RANGE_LAG_U * s->lag_u / LAGS_MOST)) / (1 << LEVELS);
    s->width_step = s->width_u / (1 << LEVELS);
    s->noise = pow(s->joint_prior->noise.noise_w, 2);
    s->kept = pass->count < n + 3 ? 0 : 1; /* fewer readings say nothing of a response */
    size_t each = n * n + n + 1;
    s->room = 1 + MOMENTS_MEMORY / (each * sizeof *s->row);
    if (s->room > JM_MOMENTS_MOST) s->room = JM_MOMENTS_MOST;
    s->moments = calloc(s->room, sizeof *s->moments);
    s->row = calloc(2 * n + n * n + s->room * each + pass->count, sizeof *s->row);
    if (s->row == NULL || s->moments == NULL) return jm__no_memory(err, "jm__calibrate");
    s->powers = s->row + n;
    s->factor = s->powers + n;
    for (size_t m = 0; m < s->room; m++) {
        s->moments[m].information = s->factor + n * n + m * each;
        s->moments[m].moment = s->moments[m].information + n * n;
    }
    s->residual = s->factor + n * n + s->room * each;
    return JM_OK;
}

/* Twenty times likelier than not: its logarithm. A choice of what is worth another unknown. */
static const double log_odds = 3;

static bool are_better(search *s, const jm_reading *moved)
{
    const jm_reading *read = s->pass.readings;
    double evidence = evidence_of(s, s->at);
    s->pass.readings = moved;
    double other = evidence_of(s, s->at);
    s->pass.readings = read;
    return s->kept * (other - evidence) > log_odds;
}

jm_status jm__calibrate(jm__calibration *calibration, const jm_sensor *sensor, const jm__pass *pass,
                        const jm_reading *moved, const jm__joint_prior *joint_prior, const jm__power_law *law,
                        jm_error *err)
{
    *calibration = jm__calibration_of(sensor);
    if (calibration->lag_variance <= 0 && calibration->width_variance <= 0 && law == NULL) return JM_OK;
    search *s = calloc(1, sizeof *s);
    if (s == NULL) return jm__no_memory(err, "jm__calibrate");
    s->joint_prior = joint_prior;
    s->law = law;
    for (jm__law_unknown i = 0; i < JM_LAW_UNKNOWNS; i++)
        s->values.of[i] = assumed_law[i].mean;
    jm_status status = search_init(s, sensor, pass, err);
    jm__power_law_set(law, &s->values, pass->design->cursor.pieces);
    for (int round = 0; status == JM_OK && round < ROUNDS; round++) {
        s->count = 0;
        status = find(s, err);
        if (status == JM_OK) take(calibration, s);
        if (status == JM_OK && find_law(s, calibration)) break;
    }
    calibration->moved = status == JM_OK && moved != NULL && s->kept > 0 && are_better(s, moved);
    free(s->moments);
    free(s->row);
    free(s);
    return status;
}

/* Neighbours of a sample stay together for their correlation: ten times as long as the longest that
 * model discrepancy.c looks for. */
enum { BLOCK_READINGS = 200 };

/* A window of 20 memories can do without the first of them: 5 % of its readings, for none that tells of
 * what was before. */
static const int64_t long_window = 20;

/* Of which a first-order sensor remembers the rest: of a window's first readings 5 %, of time that nobody
 * knows 1 %. */
enum { SHORT_MEMORY = 3, LONG_MEMORY = 5 };

static int64_t memory_ns_of(const jm__response *r, int time_constants)
{
    return (int64_t)(r->kind == JM_RESPONSE_FIRST_ORDER ? time_constants * r->width_ns : r->width_ns);
}

jm_status jm__readings_choose(jm__reading_list *out, const jm_sensor *sensor, const jm_reading *readings,
                              size_t count, const jm__intervals *windows, const jm__intervals *unknown,
                              jm_error *err)
{
    const jm__response r = jm__calibration_of(sensor).response;
    int64_t memory_ns = memory_ns_of(&r, SHORT_MEMORY), long_ns = memory_ns_of(&r, LONG_MEMORY);
    int64_t late_ns = RANGE_LAG_U * sensor->lag_u_ns; /* as far as the lag may be off */
    size_t window = 0;
    for (size_t i = 0; i < count; i++) {
        jm_reading reading = readings[i];
        int64_t t_ns = reading.t_ns - (int64_t)r.lag_ns;
        while (window < windows->count && windows->items[window].to_ns < t_ns)
            window++;
        if (window == windows->count) break;
        const jm__interval *now = &windows->items[window];
        bool is_long = now->to_ns - now->from_ns > long_window * memory_ns;
        if (t_ns < now->from_ns + (is_long ? memory_ns : 0)) continue;
        if (!isfinite(reading.value) || reading.value < 0) continue;
        if (unknown != NULL &&
            jm__intervals_overlap_ns(unknown, t_ns - long_ns - late_ns, t_ns + late_ns) > 0)
            continue;
        if (out->count > 0 && out->items[out->count - 1].t_ns >= reading.t_ns) continue;
        if (!jm__vec_push(out, reading)) return jm__no_memory(err, "jm__readings_choose");
    }
    return JM_OK;
}

jm_status jm__readings_sample(jm__reading_list *out, const jm__reading_list *all, size_t most, jm_error *err)
{
    size_t count = all->count, blocks = most / BLOCK_READINGS + 1;
    if (!jm__vec_reserve(out, count < most ? count : most)) return jm__no_memory(err, "jm__readings_sample");
    for (size_t i = 0; i < count && out->count < most; i++) {
        size_t block = i * blocks / count, start = (block * count + blocks - 1) / blocks;
        if (count > most && i - start >= BLOCK_READINGS) continue;
        out->items[out->count++] = all->items[i];
    }
    return JM_OK;
}
