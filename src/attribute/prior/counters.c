/* Normal equations of all windows, then each metric by itself with rates >= 0. Priors are rates times
 * weights. */
#include "attribute/prior/counters.h"

#include "attribute/fit/nnls.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bounds the rates of columns that hardly ran: the weight of a thousandth of a window. */
static const double ridge = 1e-3;

/* Residuals of neighbouring windows are correlated, since counters lag by part of a window. So windows count
 * for half as many. A choice. */
static const double correlation_factor = 2;

typedef struct sums {
    jm__piece_cursor cursor;
    size_t columns, class_columns, metrics;
    double *share;   /* [columns] of the current window */
    size_t *touched; /* its columns */
    size_t touched_count;
    double *gram;     /* [columns * columns] */
    double *products; /* [columns * metrics] */
    double *squares;  /* [metrics * metrics] */
    double *seen_s;
    size_t windows;
} sums;

/* The share of each column in the window; false if the pieces do not cover it. */
static bool find_shares(sums *s, const jm__rate_window *window)
{
    jm__piece_cursor *cursor = &s->cursor;
    int64_t from_ns = window->start_ns;
    double length_ns = (double)(window->end_ns - window->start_ns);
    s->touched_count = 0;
    while (!jm__cursor_at_end(cursor) && cursor->now.end_ns <= from_ns)
        jm__cursor_next(cursor);
    if (jm__cursor_at_end(cursor) || cursor->now.start_ns > from_ns) return false;
    while (from_ns < window->end_ns && !jm__cursor_at_end(cursor)) {
        int64_t to_ns = cursor->now.end_ns < window->end_ns ? cursor->now.end_ns : window->end_ns;
        for (size_t i = 0; i < cursor->now.count; i++) {
            uint32_t column = jm__cursor_column(cursor, i);
            double part = (double)cursor->now.items[i].share * (double)(to_ns - from_ns) / length_ns;
            if (part <= 0) continue;
            if (s->share[column] == 0) s->touched[s->touched_count++] = column;
            s->share[column] += part;
        }
        from_ns = to_ns;
        if (cursor->now.end_ns <= window->end_ns) jm__cursor_next(cursor);
    }
    return from_ns == window->end_ns;
}

/* A window without a known kernel may hold untraced work, so it does not count. */
static bool any_work(const sums *s)
{
    for (size_t i = 0; i < s->touched_count; i++)
        if (s->touched[i] < s->class_columns) return true;
    return false;
}

static jm_status take_window(void *context, const jm__rate_window *window, jm_error *err)
{
    sums *s = context;
    (void)err;
    bool covered = find_shares(s, window) && any_work(s);
    double seconds = (double)(window->end_ns - window->start_ns) * 1e-9;
    for (size_t i = 0; covered && i < s->touched_count; i++) {
        size_t k = s->touched[i];
        double share = s->share[k];
        s->seen_s[k] += share * seconds;
        for (size_t j = 0; j < s->touched_count; j++)
            s->gram[k * s->columns + s->touched[j]] += share * s->share[s->touched[j]];
        for (size_t m = 0; m < s->metrics; m++)
            s->products[k * s->metrics + m] += share * window->rate[m];
    }
    for (size_t m = 0; covered && m < s->metrics; m++)
        for (size_t n = 0; n < s->metrics; n++)
            s->squares[m * s->metrics + n] += window->rate[m] * window->rate[n];
    s->windows += covered;
    for (size_t i = 0; i < s->touched_count; i++)
        s->share[s->touched[i]] = 0;
    return JM_OK;
}

static void sums_free(sums *s)
{
    jm__cursor_free(&s->cursor);
    free(s->share);
    free(s->touched);
}

static jm_status add_up(sums *s, jm__class_rates *out, const jm__dataset *dataset, int64_t board_id,
                        const jm__rate_choice *choice, jm__pieces *pieces, size_t class_columns,
                        jm_error *err)
{
    size_t columns = out->columns, metrics = out->metrics;
    *s =
        (sums){.columns = columns, .class_columns = class_columns, .metrics = metrics, .seen_s = out->seen_s};
    s->share = calloc(columns * (1 + columns + metrics) + metrics * metrics + 1, sizeof *s->share);
    s->touched = calloc(columns + 1, sizeof *s->touched);
    if (s->share == NULL || s->touched == NULL) return jm__no_memory(err, "jm__class_rates_find");
    s->gram = s->share + columns;
    s->products = s->gram + columns * columns;
    s->squares = s->products + columns * metrics;
    JM_TRY(jm__cursor_init(&s->cursor, pieces, err));
    jm__cursor_seek(&s->cursor, INT64_MIN);
    JM_TRY(jm__rates_each(dataset, board_id, choice, take_window, s, err));
    out->windows = s->windows;
    return jm__pieces_check(pieces, err);
}

static jm_status solve_metric(jm__class_rates *out, const sums *s, size_t metric, jm__qr *qr,
                              const double *lower, double *buffer, jm_error *err)
{
    size_t n = out->columns, m = out->metrics;
    double *rhs = buffer, *x = buffer + n;
    for (size_t k = 0; k < n; k++)
        rhs[k] = s->products[k * m + metric];
    jm__matrix_forward(rhs, lower, n);
    jm__qr_load(qr, lower, rhs);
    JM_TRY(jm__nnls_solve(qr, NULL, x, err));
    for (size_t k = 0; k < n; k++)
        out->rate[k * m + metric] = x[k];
    return JM_OK;
}

/* Residual covariance: the sum over windows of (r_m - share . c_m) (r_n - share . c_n). */
static void find_covariance(jm__class_rates *out, const sums *s, double *buffer)
{
    size_t n = out->columns, m = out->metrics;
    double *applied = buffer, *rate = buffer + n;
    double freedom = (double)s->windows - (double)n;
    freedom = fmax(freedom, (double)s->windows / 10 + 1);
    for (size_t a = 0; a < m; a++) {
        for (size_t k = 0; k < n; k++)
            rate[k] = out->rate[k * m + a];
        jm__matrix_apply(applied, s->gram, rate, n);
        for (size_t b = 0; b < m; b++) {
            double left = s->squares[a * m + b];
            for (size_t k = 0; k < n; k++)
                left += out->rate[k * m + b] * (applied[k] - s->products[k * m + a]) -
                        out->rate[k * m + a] * s->products[k * m + b];
            out->covariance[a * m + b] = correlation_factor * left / freedom;
        }
    }
}

static jm_status solve(jm__class_rates *out, const sums *s, jm_error *err)
{
    size_t n = out->columns;
    jm__qr qr = {0};
    double *lower = malloc((n * n + 1) * sizeof *lower), *buffer = calloc(2 * n + 1, sizeof *buffer);
    jm_status status = jm__qr_init(&qr, n, err);
    if (status == JM_OK && (lower == NULL || buffer == NULL))
        status = jm__no_memory(err, "jm__class_rates_find");
    if (status == JM_OK) {
        memcpy(lower, s->gram, n * n * sizeof *lower);
        for (size_t k = 0; k < n; k++)
            lower[k * n + k] += ridge;
        if (!jm__matrix_factor(lower, n))
            status = jm__fail(err, JM_INTERNAL, 0, "jm__class_rates_find", "windows do not add up");
    }
    for (size_t m = 0; status == JM_OK && m < out->metrics; m++)
        status = solve_metric(out, s, m, &qr, lower, buffer, err);
    if (status == JM_OK) {
        jm__qr_load(&qr, lower, buffer);
        jm__qr_covariance_take(&qr, out->inverse);
        for (size_t k = 0; k < n; k++)
            out->ridge_share[k] = ridge * out->inverse[k * n + k];
        find_covariance(out, s, buffer);
    }
    jm__qr_free(&qr);
    free(lower);
    free(buffer);
    return status;
}

jm_status jm__class_rates_find(jm__class_rates *out, const jm__dataset *dataset, int64_t board_id,
                               const jm__rate_choice *choice, jm__pieces *pieces, size_t columns,
                               size_t class_columns, jm_error *err)
{
    sums s = {0};
    size_t metrics = choice->count;
    *out = (jm__class_rates){.columns = columns, .metrics = metrics};
    out->rate = calloc(columns * (metrics + 2 + columns) + metrics * metrics + 1, sizeof *out->rate);
    if (out->rate == NULL) return jm__no_memory(err, "jm__class_rates_find");
    out->seen_s = out->rate + columns * metrics;
    out->ridge_share = out->seen_s + columns;
    out->inverse = out->ridge_share + columns;
    out->covariance = out->inverse + columns * columns;
    jm_status status = add_up(&s, out, dataset, board_id, choice, pieces, class_columns, err);
    if (status == JM_OK && out->windows > 0) status = solve(out, &s, err);
    sums_free(&s);
    if (status != JM_OK) jm__class_rates_free(out);
    return status;
}

void jm__class_rates_free(jm__class_rates *rates)
{
    free(rates->rate);
    *rates = (jm__class_rates){0};
}

/* A column that ran for less gets no prior, s. */
static const double seen_min_s = 1e-4;

/* Standard uncertainty of power from rates beyond the range from which the model was learnt, relative. A
 * choice. */
static const double beyond_u = 0.5;

/* [count + 1] features of a column in units of their references, then 1 for the constant. Returns the power
 * from rates beyond the range of the model, W. */
static double features_of(double *out, const jm__board_model *model, const double *rate)
{
    double beyond_w = 0;
    for (size_t m = 0; m < model->count; m++) {
        const jm__feature *f = &model->features[m];
        out[m] = rate[m] / f->reference;
        if (rate[m] > f->most) beyond_w += f->weight_w * (rate[m] - f->most) / f->reference;
    }
    out[model->count] = 1;
    return beyond_w;
}

static double power_of(const jm__board_model *model, const double *features)
{
    double power_w = model->constant_w;
    for (size_t m = 0; m < model->count; m++)
        power_w += model->features[m].weight_w * features[m];
    return power_w;
}

/* The residual variance of a window's power, W^2. */
static double window_variance(const jm__board_model *model, const jm__class_rates *rates)
{
    double variance = 0;
    for (size_t a = 0; a < model->count; a++)
        for (size_t b = 0; b < model->count; b++)
            variance += rates->covariance[a * model->count + b] * model->features[a].weight_w /
                        model->features[a].reference * model->features[b].weight_w /
                        model->features[b].reference;
    return fmax(variance, 0);
}

typedef struct equation_buffers {
    double *features;   /* [columns * (count + 1)] */
    double *error;      /* [columns]: an error that several equations share */
    double *covariance; /* [columns^2] */
    size_t *columns;    /* of each equation */
} equation_buffers;

/* Kernels of unknown family share no error. */
static bool has_family(const jm__expectation *expected)
{
    return expected->family_u > 0;
}

/* The mean power while any of the columns ran, W. */
static double mean_power(const jm__board_model *model, const jm__class_rates *rates, size_t class_columns,
                         double *features)
{
    double energy_j = 0, seconds = 0;
    for (size_t k = 0; k < class_columns; k++) {
        features_of(features, model, rates->rate + k * model->count);
        energy_j += rates->seen_s[k] * power_of(model, features);
        seconds += rates->seen_s[k];
    }
    return seconds > 0 ? energy_j / seconds : 0;
}

static jm_status add_equations(jm__prior *prior, equation_buffers *r, const jm__board_model *model,
                               const jm__class_rates *rates, const jm__expectation *expected,
                               size_t class_columns, jm_error *err)
{
    double mean_w = mean_power(model, rates, class_columns, r->features);
    for (size_t k = 0; k < class_columns; k++) {
        if (rates->seen_s[k] < seen_min_s) continue;
        size_t row = prior->rows;
        double *features = r->features + row * (model->count + 1);
        double beyond_w = features_of(features, model, rates->rate + k * model->count);
        double power_w = power_of(model, features);
        double own_u =
            has_family(&expected[k]) ? model->relative_u : hypot(model->relative_u, model->family_u);
        double own_w = hypot(hypot(own_u * power_w, beyond_u * beyond_w), rates->ridge_share[k] * mean_w);
        r->columns[row] = k;
        JM_TRY(jm__prior_add_power(prior, k, power_w, fmax(own_w, JM_POWER_LEAST_W), err));
    }
    return JM_OK;
}

/* The shared error of the family of equation `first`; nothing if an earlier equation is of this family. */
static jm_status share_family(jm__prior *prior, equation_buffers *r, const jm__board_model *model,
                              const jm__expectation *expected, size_t first, jm_error *err)
{
    uint32_t family = expected[r->columns[first]].family;
    if (!has_family(&expected[r->columns[first]])) return JM_OK;
    for (size_t i = 0; i < prior->rows; i++) {
        const jm__expectation *other = &expected[r->columns[i]];
        bool same = has_family(other) && other->family == family;
        if (same && i < first) return JM_OK;
        r->error[i] = same ? model->family_u * prior->value[i] : 0;
    }
    return jm__prior_share(prior, r->error, err);
}

static jm_status add_shared(jm__prior *prior, equation_buffers *r, const jm__board_model *model,
                            const jm__class_rates *rates, const jm__expectation *expected, jm_error *err)
{
    size_t n = model->count + 1;
    double window_w2 = window_variance(model, rates);
    for (size_t i = 0; i < prior->rows; i++)
        for (size_t j = 0; j < prior->rows; j++)
            r->covariance[i * prior->rows + j] =
                jm__matrix_between(r->features + i * n, model->covariance, r->features + j * n, n) +
                window_w2 * rates->inverse[r->columns[i] * rates->columns + r->columns[j]];
    JM_TRY(jm__prior_covary(prior, r->covariance, err));
    for (size_t i = 0; i < prior->rows; i++)
        JM_TRY(share_family(prior, r, model, expected, i, err));
    for (size_t i = 0; i < prior->rows; i++)
        r->error[i] = model->gain_u * prior->value[i];
    return jm__prior_share(prior, r->error, err);
}

jm_status jm__prior_from_counters(jm__prior *prior, const jm__board_model *model,
                                  const jm__class_rates *rates, const jm__expectation *expected,
                                  size_t class_columns, jm_error *err)
{
    equation_buffers r = {
        .features = calloc(class_columns * (model->count + 2 + class_columns) + 1, sizeof *r.features),
        .columns = calloc(class_columns + 1, sizeof *r.columns),
    };
    bool fine = r.features != NULL && r.columns != NULL;
    if (fine) {
        r.error = r.features + class_columns * (model->count + 1);
        r.covariance = r.error + class_columns;
    }
    jm_status status = fine ? JM_OK : jm__no_memory(err, "jm__prior_from_counters");
    *prior = (jm__prior){.provenance = JM_PROVENANCE_COUNTERS, .columns = rates->columns};
    if (status == JM_OK) status = add_equations(prior, &r, model, rates, expected, class_columns, err);
    if (status == JM_OK && prior->rows > 0) status = add_shared(prior, &r, model, rates, expected, err);
    if (status != JM_OK || prior->rows == 0) jm__prior_free(prior);
    free(r.features);
    free(r.columns);
    return status;
}
