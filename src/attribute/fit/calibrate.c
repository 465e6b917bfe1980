/* Rows of the design: first-order response by decaying states, box by a running sum; readings through it, and
 * the response that they ask for. */
#include "attribute/fit/calibrate.h"

#include "base/search.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double forgotten = 40; /* time constants after which nothing is left (4e-18) */

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

/* exp(x) - 1. Of the length of a kernel over a sensor's time constant, a few terms are all: the first one
 * left out is below 1e-17. */
static double growth(double x)
{
    if (x > 1.0 / 64) return expm1(x);
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
        double step = edge * growth((double)(to_ns - from_ns) / tau);
        for (size_t i = 0; i < now->count; i++)
            design->state[jm__cursor_column(cursor, i)] += jm__cursor_share(cursor, i) * step;
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
        for (size_t i = 0; i < now->count; i++)
            design->state[jm__cursor_column(cursor, i)] += jm__cursor_share(cursor, i) * weight;
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
    int64_t memory_ns = (int64_t)ceil(box ? width_ns : forgotten * width_ns);
    if (!design->started || target_ns - design->now_ns > memory_ns) restart(design, target_ns - memory_ns);
    if (!box) {
        advance_first_order(design, target_ns);
        return design->state;
    }
    advance_box(design, &design->now_ns, &design->cursor, target_ns, 1);
    advance_box(design, &design->tail_ns, &design->tail, target_ns - (int64_t)llround(width_ns), -1);
    return design->state;
}

void jm__pass_row(const jm__pass *pass, size_t i, double *row)
{
    const double *weights = jm__design_row(pass->design, pass->readings[i].t_ns);
    if (pass->group == NULL) {
        memcpy(row, weights, pass->columns * sizeof *row);
        return;
    }
    memset(row, 0, pass->columns * sizeof *row);
    for (size_t k = 0; k < pass->design->columns; k++)
        row[pass->group[k]] += pass->scale != NULL ? pass->scale[k] * weights[k] : weights[k];
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

/* A block is long against the noise's memory, and there are enough of them to tell a variance. */
static size_t block_length(const jm__pass *pass)
{
    size_t length = (size_t)(1000000000 / (pass->period_ns > 0 ? pass->period_ns : 1));
    if (length < 10) length = 10;
    if (length > pass->count / 20) length = pass->count / 20;
    return length > 0 ? length : 1;
}

static void add_score(double *scores, double *block, size_t columns)
{
    for (size_t k = 0; k < columns; k++) {
        if (block[k] == 0) continue;
        for (size_t m = 0; m < columns; m++)
            scores[k * columns + m] += block[k] * block[m];
    }
    memset(block, 0, columns * sizeof *block);
}

jm_status jm__pass_residual_each(const jm__pass *pass, jm__response response, const double *x,
                                 double *residual, jm_error *err)
{
    double *row = calloc(pass->columns + 1, sizeof *row);
    if (row == NULL) return jm__no_memory(err, "jm__pass_residual_each");
    jm__design_start(pass->design, response);
    for (size_t i = 0; i < pass->count; i++) {
        jm__pass_row(pass, i, row);
        residual[i] = pass->readings[i].value;
        for (size_t k = 0; k < pass->columns; k++)
            residual[i] -= row[k] * x[k];
    }
    free(row);
    return JM_OK;
}

jm_status jm__pass_residuals(const jm__pass *pass, jm__response response, const double *x, jm__residuals *out,
                             double *scores, jm_error *err)
{
    size_t columns = pass->columns, length = block_length(pass);
    double *row = calloc(2 * columns + 2, sizeof *row);
    if (row == NULL) return jm__no_memory(err, "jm__pass_residuals");
    double *block = row + columns + 1;
    double square = 0, product = 0, pair_square = 0, previous = 0;
    memset(scores, 0, columns * columns * sizeof *scores);
    jm__design_start(pass->design, response);
    for (size_t i = 0; i < pass->count; i++) {
        jm__pass_row(pass, i, row);
        double residual = pass->readings[i].value;
        for (size_t k = 0; k < columns; k++)
            residual -= row[k] * x[k];
        square += residual * residual;
        if (jm__pass_are_neighbours(pass, i)) {
            product += residual * previous;
            pair_square += (residual * residual + previous * previous) / 2;
        }
        previous = residual;
        for (size_t k = 0; k < columns; k++)
            block[k] += row[k] * residual;
        if ((i + 1) % length == 0) add_score(scores, block, columns);
    }
    add_score(scores, block, columns);
    out->rms = pass->count > 0 ? sqrt(square / (double)pass->count) : 0;
    out->correlation = pair_square > 0 ? product / pair_square : 0;
    free(row);
    return JM_OK;
}

/* The lowest point of the penalised sum of squares over (lag, width), by a star of four points that shrinks.
 * Away from that point the sum has kinks, where an edge of the load passes a reading, so no step is assumed
 * that has not been tried.
 */

/* How far from the profile, in its standard uncertainties: one board in 370 is further off, and a search that
 * goes there has more often mistaken something else for a response. */
static const double limit_u = 2;

typedef struct search {
    const jm__pass *pass;
    const jm__joint_prior *joint_prior;
    jm__qr data;
    jm__qr joint;
    double *row;
    jm__calibration start;
    double noise_w; /* 0 until the first evaluation has found it */
} search;

jm__calibration jm__calibration_of(const jm_sensor *sensor)
{
    bool first_order = sensor->response == JM_RESPONSE_FIRST_ORDER;
    double width_ns = (double)(first_order ? sensor->tau_ns : sensor->window_ns);
    if (sensor->response == JM_RESPONSE_INSTANT || width_ns < JM_WIDTH_LEAST_NS) width_ns = JM_WIDTH_LEAST_NS;
    jm__calibration calibration = {.response = {sensor->response, (double)sensor->lag_ns, width_ns}};
    calibration.lag_variance = pow((double)sensor->lag_u_ns, 2);
    if (width_ns > JM_WIDTH_LEAST_NS) calibration.width_variance = pow((double)sensor->tau_u_ns, 2);
    return calibration;
}

jm__noise_prior jm__noise_of(const jm_sensor *sensor)
{
    return (jm__noise_prior){.noise_w = sensor->noise > 0 ? sensor->noise : JM_NOISE_UNKNOWN_W,
                             .readings = 2};
}

static jm__response response_at(const search *s, double lag_u, double width_u)
{
    jm__response response = s->start.response;
    response.lag_ns += lag_u * sqrt(s->start.lag_variance);
    response.width_ns += width_u * sqrt(s->start.width_variance);
    if (response.width_ns < JM_WIDTH_LEAST_NS) response.width_ns = JM_WIDTH_LEAST_NS;
    return response;
}

/* -2 log likelihood, with the calibration's own, at an offset in standard uncertainties. */
static jm_status evaluate(search *s, double lag_u, double width_u, double *out, jm_error *err)
{
    JM_TRY(jm__pass_fold(s->pass, response_at(s, lag_u, width_u), &s->data, err));
    double noise_w = s->noise_w > 0 ? s->noise_w : (s->joint_prior->noise.noise_w);
    for (int burst = 0; burst < (s->noise_w > 0 ? 1 : 3); burst++) {
        jm__joint_prior_append(&s->joint, &s->data, s->joint_prior, noise_w, s->row);
        double rest =
            s->data.triangle[s->data.columns * s->data.stride + s->data.columns]; /* no x removes it */
        double corner = s->joint.triangle[s->joint.columns * s->joint.stride + s->joint.columns];
        double square = rest * rest + corner * corner;
        *out = square / (noise_w * noise_w) + lag_u * lag_u + width_u * width_u;
        if (s->noise_w == 0) {
            double freedom = (double)s->pass->count - (double)s->pass->columns;
            noise_w = fmax(sqrt(square / (freedom > 1 ? freedom : 1)), 1e-3);
        }
    }
    if (s->noise_w == 0) {
        s->noise_w = noise_w;
        return evaluate(s, lag_u, width_u, out, err);
    }
    return JM_OK;
}

static double clamp(double value)
{
    return value < -limit_u ? -limit_u : value > limit_u ? limit_u : value;
}

/* A place, what the sum is there, and around it. */
typedef struct star {
    double lag, width;         /* in standard uncertainties */
    double sum;                /* here */
    double lags[2], widths[2]; /* one step below and above */
} star;

static jm_status look_around(search *s, star *at, double step, jm_error *err)
{
    for (int side = 0; side < 2; side++) {
        double off = side == 0 ? -step : step;
        at->lags[side] = at->widths[side] = at->sum;
        if (s->start.lag_variance > 0) JM_TRY(evaluate(s, at->lag + off, at->width, &at->lags[side], err));
        if (s->start.width_variance > 0)
            JM_TRY(evaluate(s, at->lag, at->width + off, &at->widths[side], err));
    }
    return JM_OK;
}

/* Where a parabola through three points is lowest, at most a step away. */
static double lowest(double sum, const double sides[2], double step)
{
    double slope = sides[1] - sides[0], bend = sides[1] - 2 * sum + sides[0];
    double off = bend > 0 ? -step * slope / (2 * bend) : slope > 0 ? -step : slope < 0 ? step : 0;
    return fmax(-step, fmin(step, off));
}

/* One move to where the sum is lower; false: nowhere. */
static jm_status descend(search *s, star *at, double step, bool *moved, jm_error *err)
{
    double lag = clamp(at->lag + lowest(at->sum, at->lags, step));
    double width = clamp(at->width + lowest(at->sum, at->widths, step)), sum;
    JM_TRY(evaluate(s, lag, width, &sum, err));
    *moved = sum < at->sum;
    if (*moved) *at = (star){.lag = lag, .width = width, .sum = sum};
    return JM_OK;
}

/* The inverse of half the curvature, never more than what the profile knew. */
static jm_status find_errors(search *s, const star *at, double step, jm__calibration *out, jm_error *err)
{
    bool lag = s->start.lag_variance > 0, width = s->start.width_variance > 0;
    double h_ll = lag ? (at->lags[1] - 2 * at->sum + at->lags[0]) / (step * step) : 2, h_lw = 0;
    double h_ww = width ? (at->widths[1] - 2 * at->sum + at->widths[0]) / (step * step) : 2;
    if (lag && width) {
        double both;
        JM_TRY(evaluate(s, at->lag + step, at->width + step, &both, err));
        h_lw = (both - at->lags[1] - at->widths[1] + at->sum) / (step * step);
    }
    double determinant = h_ll * h_ww - h_lw * h_lw;
    if (h_ll <= 0 || h_ww <= 0 || determinant <= 0) return JM_OK;
    out->lag_variance = s->start.lag_variance * fmin(1, 2 * h_ww / determinant);
    out->width_variance = s->start.width_variance * fmin(1, 2 * h_ll / determinant);
    double limit = sqrt(out->lag_variance * out->width_variance);
    double together = -2 * h_lw / determinant * sqrt(s->start.lag_variance * s->start.width_variance);
    out->covariance = fmax(-limit, fmin(limit, together));
    /* A search that ends at its limit wanted to go on: it has not made its parameter surer. */
    if (fabs(at->lag) >= limit_u) out->lag_variance = s->start.lag_variance;
    if (fabs(at->width) >= limit_u) out->width_variance = s->start.width_variance;
    return JM_OK;
}

/* From as far as the profile is unsure down to an eighth of that; a choice, as is how often it may move. */
static jm_status find(search *s, jm__calibration *out, jm_error *err)
{
    enum { MOVES = 12 };
    star at = {0};
    double step = 1, least = 0.125;
    JM_TRY(evaluate(s, 0, 0, &at.sum, err));
    JM_TRY(look_around(s, &at, step, err));
    for (int burst = 0; burst < MOVES; burst++) {
        bool moved;
        star before = at;
        JM_TRY(descend(s, &at, step, &moved, err));
        bool near = fabs(at.lag - before.lag) < step / 2 && fabs(at.width - before.width) < step / 2;
        if (near && step <= least) break;
        if (near) step /= 2;
        JM_TRY(look_around(s, &at, step, err));
    }
    if (at.lags[0] == 0 && at.lags[1] == 0) JM_TRY(look_around(s, &at, step, err));
    out->response = response_at(s, at.lag, at.width);
    return find_errors(s, &at, step, out, err);
}

jm_status jm__calibrate(jm__calibration *calibration, const jm_sensor *sensor, const jm__pass *pass,
                        const jm__joint_prior *joint_prior, jm_error *err)
{
    *calibration = jm__calibration_of(sensor);
    if (pass->count < pass->columns + 3) return JM_OK;
    if (calibration->lag_variance <= 0 && calibration->width_variance <= 0) return JM_OK;
    search s = {.pass = pass, .joint_prior = joint_prior, .start = *calibration};
    s.row = calloc(pass->columns + 1, sizeof *s.row);
    jm_status status = s.row == NULL ? jm__no_memory(err, "jm__calibrate") : JM_OK;
    if (status == JM_OK) status = jm__qr_init(&s.data, pass->columns, err);
    if (status == JM_OK) status = jm__qr_init(&s.joint, pass->columns, err);
    if (status == JM_OK) status = find(&s, calibration, err);
    jm__qr_free(&s.data);
    jm__qr_free(&s.joint);
    free(s.row);
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
        if (unknown != NULL && jm__intervals_overlap_ns(unknown, t_ns - long_ns, t_ns) > 0) continue;
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
