/* Rows kept in memory, and what is left of the readings. */
#include "attribute/fit/refine.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROOM = 1000000, /* numbers of rows that are kept: 8 MB */
    LAG = 0,
    WIDTH,
    RESPONSES
};

jm_status jm__sampled_init(jm__sampled *s, const jm__fit *fit, const jm__fit_input *input, size_t behind,
                           jm_error *err)
{
    *s = (jm__sampled){.fit = fit,
                       .columns = fit->columns,
                       .behind = fit->columns + RESPONSES,
                       .width = fit->columns + RESPONSES + behind,
                       .sensor = input->sensor};
    jm__reading_list all = {0};
    size_t most = ROOM / s->width;
    if (most < 4 * s->width) most = 4 * s->width;
    jm_status status = jm__readings_choose(&all, input->sensor, input->readings, input->reading_count,
                                           input->learn, input->unknown, err);
    if (status == JM_OK) status = jm__readings_sample(&s->readings, &all, most, err);
    jm__vec_free(&all);
    if (status != JM_OK) return status;
    s->rows = calloc(s->readings.count * s->width + 1, sizeof *s->rows);
    s->x = calloc(s->width + 1, sizeof *s->x);
    s->residual = calloc(s->readings.count + 1, sizeof *s->residual);
    if (s->rows == NULL || s->x == NULL || s->residual == NULL) return jm__no_memory(err, "jm__sampled_init");
    return jm__qr_init(&s->qr, s->width, err);
}

void jm__sampled_free(jm__sampled *s)
{
    jm__vec_free(&s->readings);
    jm__qr_free(&s->qr);
    free(s->rows);
    free(s->x);
    free(s->residual);
    *s = (jm__sampled){0};
}

/* `sign` times what the readings should say with this response, into a column of the rows. */
static void add_expected(jm__sampled *s, jm__design *design, jm__response response, size_t column,
                         double sign)
{
    jm__design_start(design, response);
    for (size_t i = 0; i < s->readings.count; i++) {
        const double *row = jm__design_row(design, s->readings.items[i].t_ns);
        double *to = s->rows + i * s->width + column;
        for (size_t k = 0; k < s->columns; k++)
            *to += sign * row[k] * s->fit->power_w[k];
    }
}

/* A column is the change by one standard uncertainty of the profile. */
jm_status jm__sampled_add_response(jm__sampled *s, jm__pieces *pieces, jm_error *err)
{
    const jm__calibration profile = jm__calibration_of(s->sensor);
    jm__design design = {0};
    JM_TRY(jm__design_init(&design, pieces, s->columns, err));
    for (size_t way = LAG; way < RESPONSES; way++) {
        jm__response response = s->fit->response;
        if (way == LAG) response.lag_ns += sqrt(profile.lag_variance);
        if (way == WIDTH) response.width_ns += sqrt(profile.width_variance);
        for (size_t i = 0; i < s->readings.count; i++)
            s->rows[i * s->width + s->columns + way] = 0;
        add_expected(s, &design, response, s->columns + way, 1);
        add_expected(s, &design, s->fit->response, s->columns + way, -1);
    }
    jm__design_free(&design);
    return jm__pieces_check(pieces, err);
}

/* Beliefs are weighed for the sensor's own noise: what the residuals show on top of it may be what is looked
 * for. */
void jm__sampled_fold(jm__sampled *s)
{
    const jm__qr *from = &s->fit->prior.equations;
    double noise_w = s->fit->prior.noise.noise_w, *row = s->x;
    jm__qr_reset(&s->qr);
    for (size_t i = 0; i < s->readings.count; i++)
        jm__qr_add(&s->qr, s->rows + i * s->width, s->readings.items[i].value);
    memset(row, 0, s->width * sizeof *row);
    for (size_t i = 0; i < s->columns; i++) {
        for (size_t k = 0; k < s->columns; k++)
            row[k] = k >= i ? noise_w * from->triangle[k * from->stride + i] : 0;
        jm__qr_add(&s->qr, row, noise_w * from->triangle[s->columns * from->stride + i]);
    }
    memset(row, 0, s->width * sizeof *row);
    for (size_t k = s->columns; k < s->behind; k++) {
        row[k] = noise_w;
        jm__qr_add(&s->qr, row, 0);
        row[k] = 0;
    }
    jm__qr_finish(&s->qr);
}

static void solve_given_those_behind(jm__sampled *s)
{
    for (size_t i = s->behind; i-- > 0;) {
        s->x[i] = s->qr.triangle[s->width * s->qr.stride + i];
        for (size_t k = i + 1; k < s->width; k++)
            s->x[i] -= s->qr.triangle[k * s->qr.stride + i] * s->x[k];
        s->x[i] /= s->qr.triangle[i * s->qr.stride + i];
    }
}

jm__noise jm__sampled_noise(jm__sampled *s)
{
    double square = 0, count = (double)s->readings.count,
           freedom = fmax(count / 2, count - (double)s->columns);
    solve_given_those_behind(s);
    for (size_t i = 0; i < s->readings.count; i++) {
        const double *row = s->rows + i * s->width;
        s->residual[i] = s->readings.items[i].value;
        for (size_t k = 0; k < s->width; k++)
            s->residual[i] -= row[k] * s->x[k];
        square += s->residual[i] * s->residual[i];
    }
    const jm__pass pass = {
        .readings = s->readings.items, .count = s->readings.count, .period_ns = s->sensor->period_ns};
    jm__noise noise;
    jm__noise_of_residuals(&noise, &pass, s->residual, freedom);
    if (noise.white + noise.drift <= 0) noise = (jm__noise){.white = fmax(1e-9, square / freedom)};
    return noise;
}

double jm__noise_lasting(const jm__noise *noise)
{
    return noise->white + noise->drift * (1 + noise->keep) / (1 - noise->keep);
}
