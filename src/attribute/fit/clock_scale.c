/* What work adds to the power that stays goes with the clock to the power of b: f V^2, where V follows f.
 *
 * So a second of a use at clock c counts for 1 - (1 - (c / c0)^b) (1 - p0 / p) seconds of its class, whose
 * power p is that at the run's mean clock c0; p0 stays whatever the clock, about as much as the board draws
 * without work. b and p0 are found by Gauss and Newton: the derivatives of the readings by them are two more
 * columns, whose part that the classes' powers cannot explain is the corner of the triangle. They are used
 * only where the readings ask for it: on a board that holds its power at a limit by its clock, power need not
 * fall with it. */
#include "attribute/fit/clock_scale.h"

#include "attribute/fit/refine.h"
#include "attribute/work/clock_track.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Before any reading: between f alone and f^3, where V goes with f, rather nearer to the first: an H200 near
 * its highest clock drew 5 % less at 8 % less (docs/accuracy.md). */
static const double usual_exponent = 1, exponent_u = 1, exponent_most = 4;

/* A choice: a board that works keeps more on than one that waits. */
static const double still_relative_u = 0.5;

/* Of the logarithm of the clock while work ran, a choice: with less than a percent, nothing moved. */
static const double least_spread = 0.01;

/* An idle state that lasted less tells no power. A choice: five readings of the ring. */
static const double least_idle_s = 0.1;

enum { EXPONENT, STILL, UNKNOWNS, ROUNDS = 6 };

typedef struct finder {
    const jm__refine_input *in;
    jm__sampled sampled; /* with the derivatives by b and p0 behind the columns */
    size_t uses, codes;
    double *log_clock;        /* [uses]: over the mean; 0: not known */
    double *scale;            /* [codes] */
    double *power_w;          /* [columns]: when it was looked last */
    double exponent, still_w; /* b and p0 */
    double believed_w;        /* of p0 */
    double square;            /* of what no powers explain */
    double information[UNKNOWNS][UNKNOWNS], score[UNKNOWNS];
    jm__noise noise;
} finder;

static double learnt_s(const finder *f, size_t use)
{
    const jm__tally *tally = &f->in->work->tally;
    bool ran = use < tally->uses.count && tally->uses.items[use].ran_s >= 0;
    return ran ? tally->uses.items[use].inside.learn_s : 0;
}

static int64_t step_of(const finder *f, size_t use)
{
    const jm__work_set *set = f->in->set;
    return jm__use_context(set, use)->clock;
}

/* Fills log_clock; false if the clock did not move while work ran. */
static bool find_clocks(finder *f)
{
    double weight = 0, sum = 0, square = 0;
    for (size_t u = 0; u < f->uses; u++) {
        int64_t step = step_of(f, u);
        f->log_clock[u] = step != 0 ? log(jm__clock_step_mhz(step)) : 0;
        if (step == 0) continue;
        weight += learnt_s(f, u);
        sum += learnt_s(f, u) * f->log_clock[u];
        square += learnt_s(f, u) * f->log_clock[u] * f->log_clock[u];
    }
    if (weight <= 0) return false;
    double mean = sum / weight;
    for (size_t u = 0; u < f->uses; u++)
        if (step_of(f, u) != 0) f->log_clock[u] -= mean;
    return square / weight - mean * mean > least_spread * least_spread;
}

/* The least that an idle state draws. */
static double idle_power(const finder *f)
{
    const jm__columns *columns = &f->in->work->columns;
    double least_w = INFINITY, believed_w = INFINITY;
    for (size_t k = columns->class_columns; k < columns->count; k++) {
        believed_w = fmin(believed_w, f->in->fit->prior.power_w[k]);
        if (f->in->work->learn_seconds[k] > least_idle_s) least_w = fmin(least_w, f->in->fit->power_w[k]);
    }
    return fmax(1, isfinite(least_w) ? least_w : believed_w);
}

/* ---- what a second of a use counts for */

static double power_of(const finder *f, size_t use)
{
    uint32_t column = f->in->work->columns.of_use[use];
    return column != JM_NO_COLUMN ? f->power_w[column] : 0;
}

/* What of its power goes with the clock. */
static double moving_w(const finder *f, size_t use)
{
    return fmax(0, power_of(f, use) - f->still_w);
}

static double scale_of(const finder *f, size_t use)
{
    double moving = moving_w(f, use);
    return moving > 0 ? 1 + expm1(f->exponent * f->log_clock[use]) * moving / power_of(f, use) : 1;
}

static double by_exponent(const finder *f, size_t use)
{
    return exp(f->exponent * f->log_clock[use]) * f->log_clock[use] * moving_w(f, use);
}

static double by_still(const finder *f, size_t use)
{
    return moving_w(f, use) > 0 ? -expm1(f->exponent * f->log_clock[use]) : 0;
}

/* ---- looking */

/* Columns from `column` on of all rows, pieces counting for what `of` says of their use. */
static jm_status fill(finder *f, const uint32_t *column_of, size_t column, size_t columns,
                      double (*of)(const finder *f, size_t use), double of_idle, jm_error *err)
{
    jm__pieces *pieces = &f->in->work->pieces;
    const uint32_t *usual = pieces->column_of;
    jm__design design = {0};
    for (size_t i = 0; i < f->codes; i++)
        f->scale[i] = i < JM_IDLE_STATES ? of_idle : of(f, f->in->set->use_of[i - JM_IDLE_STATES]);
    pieces->column_of = column_of;
    pieces->scale_of = f->scale;
    jm_status status = jm__design_init(&design, pieces, columns, err);
    if (status == JM_OK) jm__design_start(&design, f->in->fit->response);
    for (size_t i = 0; status == JM_OK && i < f->sampled.readings.count; i++)
        memcpy(f->sampled.rows + i * f->sampled.width + column,
               jm__design_row(&design, f->sampled.readings.items[i].t_ns), columns * sizeof(double));
    jm__design_free(&design);
    pieces->column_of = usual;
    pieces->scale_of = NULL;
    return status == JM_OK ? jm__pieces_check(pieces, err) : status;
}

/* I and g of what the powers leave, from the corner of the triangle. */
static void take_corner(finder *f)
{
    const jm__sampled *s = &f->sampled;
    const double *corner[UNKNOWNS + 1];
    for (size_t i = 0; i <= UNKNOWNS; i++)
        corner[i] = s->qr.triangle + (s->behind + i) * s->qr.stride + s->behind;
    const double *rest = corner[UNKNOWNS];
    f->square = rest[UNKNOWNS] * rest[UNKNOWNS];
    for (size_t i = 0; i < UNKNOWNS; i++) {
        f->square += rest[i] * rest[i];
        f->score[i] = 0;
        for (size_t r = 0; r <= i; r++)
            f->score[i] += corner[i][r] * rest[r];
        for (size_t j = 0; j < UNKNOWNS; j++) {
            f->information[i][j] = 0;
            for (size_t r = 0; r <= i && r <= j; r++)
                f->information[i][j] += corner[i][r] * corner[j][r];
        }
    }
}

/* How well powers explain the readings with b and p0 as they are, and what a change of them would explain. */
static jm_status look(finder *f, jm_error *err)
{
    jm__sampled *s = &f->sampled;
    uint32_t *one = calloc(f->codes, sizeof *one);
    if (one == NULL) return jm__no_memory(err, "jm__clock_scale_find");
    jm_status status = fill(f, f->in->work->pieces.column_of, 0, s->columns, scale_of, 1, err);
    f->in->work->pieces.scale_of = f->scale;
    if (status == JM_OK) status = jm__sampled_add_response(s, &f->in->work->pieces, err);
    f->in->work->pieces.scale_of = NULL;
    if (status == JM_OK) status = fill(f, one, s->behind + EXPONENT, 1, by_exponent, 0, err);
    if (status == JM_OK) status = fill(f, one, s->behind + STILL, 1, by_still, 0, err);
    free(one);
    if (status != JM_OK) return status;
    jm__sampled_fold(s);
    take_corner(f);
    s->x[s->behind + EXPONENT] = s->x[s->behind + STILL] = 0;
    f->noise = jm__sampled_noise(s);
    memcpy(f->power_w, s->x, s->columns * sizeof *f->power_w);
    return JM_OK;
}

/* The next b and p0, with what is believed of them. */
static void step(finder *f)
{
    double variance = f->noise.white + f->noise.drift, still_u = still_relative_u * f->believed_w;
    double prior_b = variance / (exponent_u * exponent_u), prior_p = variance / (still_u * still_u);
    double b = f->score[EXPONENT] + prior_b * (usual_exponent - f->exponent);
    double p = f->score[STILL] + prior_p * (f->believed_w - f->still_w);
    double bb = f->information[EXPONENT][EXPONENT] + prior_b, pp = f->information[STILL][STILL] + prior_p;
    double bp = f->information[EXPONENT][STILL], determinant = bb * pp - bp * bp;
    f->exponent = fmin(exponent_most, fmax(0, f->exponent + (pp * b - bp * p) / determinant));
    f->still_w = fmax(0, f->still_w + (bb * p - bp * b) / determinant);
}

/* Is it twenty times likelier than none? f is as it looks with it; `none_square` as without. */
static bool is_worth(const finder *f, double none_square)
{
    double variance = jm__noise_lasting(&f->noise);
    double gain = (none_square - f->square) / variance - pow((f->exponent - usual_exponent) / exponent_u, 2) -
                  log1p(f->information[EXPONENT][EXPONENT] * exponent_u * exponent_u / variance);
    return f->exponent > 0 && gain / 2 > JM_REFINE_LOG_ODDS;
}

static jm_status find(jm__clock_scale *out, finder *f, jm_error *err)
{
    JM_TRY(jm__sampled_init(&f->sampled, f->in->fit, f->in->fit_input, UNKNOWNS, err));
    if (f->sampled.readings.count < JM_SAMPLED_LEAST) return JM_OK;
    memcpy(f->power_w, f->in->fit->power_w, f->sampled.columns * sizeof *f->power_w);
    f->believed_w = f->still_w = idle_power(f);
    JM_TRY(look(f, err));
    double none_square = f->square;
    for (int round = 0; round < ROUNDS; round++) {
        step(f);
        JM_TRY(look(f, err));
    }
    if (!is_worth(f, none_square)) return JM_OK;
    out->of_use = malloc((f->uses + 1) * sizeof *out->of_use);
    if (out->of_use == NULL) return jm__no_memory(err, "jm__clock_scale_find");
    out->exponent = f->exponent;
    for (size_t u = 0; u < f->uses; u++)
        out->of_use[u] = scale_of(f, u);
    return JM_OK;
}

jm_status jm__clock_scale_find(jm__clock_scale *out, const jm__refine_input *input, jm_error *err)
{
    *out = (jm__clock_scale){0};
    finder f = {
        .in = input, .uses = input->set->uses.items.count, .codes = JM_IDLE_STATES + input->set->pass_uses};
    f.log_clock = calloc(f.uses + 1, sizeof *f.log_clock);
    f.scale = malloc(f.codes * sizeof *f.scale);
    f.power_w = malloc((input->fit->columns + 1) * sizeof *f.power_w);
    bool fine = f.log_clock != NULL && f.scale != NULL && f.power_w != NULL;
    jm_status status = fine ? JM_OK : jm__no_memory(err, "jm__clock_scale_find");
    if (status == JM_OK && find_clocks(&f)) status = find(out, &f, err);
    jm__sampled_free(&f.sampled);
    free(f.log_clock);
    free(f.scale);
    free(f.power_w);
    return status;
}

void jm__clock_scale_free(jm__clock_scale *scale)
{
    free(scale->of_use);
    *scale = (jm__clock_scale){0};
}
