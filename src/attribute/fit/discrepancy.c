/* What residuals show: noise by their autocovariance, model discrepancy by what context do and by what
 * comes again.
 */
#include "attribute/fit/discrepancy.h"

#include "attribute/fit/nnls.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A choice: 0.4 s of the ring. Drift that lasts longer is in the residuals' blocks of a second (calibrate.c).
 */
enum { LAGS = 20 };

/* covariance[l] of residuals l readings apart, l from 0 to LAGS; false if there are too few. */
static bool autocovariance(const jm__pass *pass, const double *residual, double covariance[LAGS + 1])
{
    size_t run = 0; /* readings since the last gap */
    size_t pairs[LAGS + 1] = {0};
    memset(covariance, 0, (LAGS + 1) * sizeof *covariance);
    for (size_t i = 0; i < pass->count; i++) {
        run = jm__pass_are_neighbours(pass, i) ? run + 1 : 0;
        for (size_t l = 0; l <= LAGS && l <= run; l++) {
            covariance[l] += residual[i] * residual[i - l];
            pairs[l]++;
        }
    }
    for (size_t l = 0; l <= LAGS; l++)
        covariance[l] = pairs[l] > 0 ? covariance[l] / (double)pairs[l] : 0;
    return pairs[LAGS] >= (size_t)5 * LAGS; /* a choice: each lag is then known to a tenth of the variance */
}

/* Noise is new in every reading; what powers are off by comes again where the same work comes again.
 *
 * Two readings of rows a and b are of the same work where the parts p_l a_l and p_l b_l of their powers are
 * the same, and those of the readings around them: a layer is known by its neighbours. A model discrepancy
 * that draws d_l there leaves the same in both, so the covariance of the residuals of such pairs is the model
 * discrepancy's variance; that of noise is nothing. (A lack of fit is told from a pure error by replicates:
 * Fisher 1922; by near ones: Daniel and Wood, Fitting Equations to Data, 1980.) Near ones share 1 - r of the
 * model discrepancy's variance sum_l (u p_l a_l)^2, with r = sum_l (p_l a_l - p_l b_l)^2 / 2 over sum_l (p_l
 * a_l)^2.
 *
 * Powers are fitted to the noise, too: those of covariance C take so much of it that residuals of rows a and
 * b covary by -a'C b where there is nothing but noise. That is added to each pair.
 */

/* Choices. AROUND: 0.1 s of the ring, as long as a step of most programs; on recordings of GPUs 1 and 4 say
 * the same (docs/accuracy.md). NEAREST: of twice as many the last are often less alike. APART, in readings:
 * as long as model discrepancy.c follows a drift, which would come again before that. */
enum { LOCAL_NOISE = 2, NEAREST = 4, APART = 20 };

typedef struct nearest {
    double apart[NEAREST]; /* rising */
    size_t which[NEAREST];
    size_t count;
} nearest;

static void keep(nearest *near, double apart, size_t which)
{
    size_t at = near->count < NEAREST ? near->count++ : NEAREST;
    if (at == NEAREST && apart >= near->apart[--at]) return;
    for (; at > 0 && near->apart[at - 1] > apart; at--) {
        near->apart[at] = near->apart[at - 1];
        near->which[at] = near->which[at - 1];
    }
    near->apart[at] = apart;
    near->which[at] = which;
}

/* The drift whose autocovariance is nearest to what was seen at lags 1 to LAGS. */
static void fit_drift(jm__noise *noise, const double covariance[LAGS + 1], double readings)
{
    double best = INFINITY;
    for (int percent = 10; percent <= 98; percent += 2) {
        double keep = percent / 100.0, product = 0, square = 0, power = 1, seen = 0;
        for (size_t l = 1; l <= LAGS; l++) {
            power *= keep;
            product += covariance[l] * power;
            square += power * power;
            seen += covariance[l] * covariance[l];
        }
        double drift = fmax(0, product / square), rest = seen - 2 * drift * product + drift * drift * square;
        if (rest >= best) continue;
        best = rest;
        noise->drift = fmin(drift, covariance[0]);
        noise->keep = keep;
    }
    /* What white noise alone would show by chance is not called drift. */
    if (noise->drift * noise->keep < 2 * covariance[0] / sqrt(readings)) noise->drift = 0;
    noise->white = covariance[0] - noise->drift;
}

void jm__noise_of_residuals(jm__noise *noise, const jm__pass *pass, const double *residual, double freedom)
{
    double covariance[LAGS + 1];
    *noise = (jm__noise){0};
    if (!autocovariance(pass, residual, covariance)) return;
    double taken = (double)pass->count / fmax(1, fmin(freedom, (double)pass->count));
    for (size_t l = 0; l <= LAGS; l++)
        covariance[l] *= taken;
    fit_drift(noise, covariance, (double)pass->count);
}

/* scores += factor (a b' + b a') */
static void add_both(double *scores, const double *a, const double *b, double factor, size_t columns)
{
    for (size_t k = 0; k < columns; k++) {
        double left = factor * a[k], right = factor * b[k];
        if (left == 0 && right == 0) continue;
        double *row = scores + k * columns;
        for (size_t m = 0; m < columns; m++)
            row[m] += left * b[m] + right * a[m];
    }
}

jm_status jm__noise_scores(const jm__noise *noise, const jm__pass *pass, jm__response response,
                           double *scores, jm_error *err)
{
    size_t columns = pass->columns;
    double *row = calloc(2 * columns + 2, sizeof *row);
    if (row == NULL) return jm__no_memory(err, "jm__noise_scores");
    double *memory = row + columns + 1;
    memset(scores, 0, columns * columns * sizeof *scores);
    jm__design_start(pass->design, response);
    for (size_t i = 0; i < pass->count; i++) {
        bool follows = jm__pass_are_neighbours(pass, i);
        for (size_t k = 0; k < columns; k++) /* rows before this one, each faded by its distance */
            memory[k] = follows ? noise->keep * (memory[k] + row[k]) : 0;
        jm__pass_row(pass, i, row);
        add_both(scores, row, row, (noise->white + noise->drift) / 2, columns);
        if (noise->drift > 0) add_both(scores, row, memory, noise->drift, columns);
    }
    free(row);
    return JM_OK;
}

/* Powers that differ by what runs around them: a fit weighs these context otherwise than time does.
 *
 * Let kind l draw p_l + d_l(g) in context g, with independent d_l(g) of variance q_l = (u p_l)^2. With
 * T_g = A'A of the readings in g and G their sum, the scores are A'y = G p + sum_g T_g d(g) + noise. The
 * power that is asked for is the mean over time, m_l = p_l + sum_g w_l(g) d_l(g), w_l(g) being the share of
 * its time that l spent in g. So A'y = G m + sum_g (T_g - G W_g) d(g) + noise, with W_g = diag(w(g)): an
 * error of covariance sum_g (T_g - G W_g) diag(q) (T_g - G W_g)'. It vanishes where a kind runs alone, and
 * where there is one g, and does not average out with more readings.
 *
 * How large u is the residuals tell in part. The parts p_l a_l of a reading, each off by u of itself, give it
 * a variance of u^2 sum_l (p_l a_l)^2 where a power changes with the context. Where it changes from call
 * to call, and n calls share a reading, it is a part 1 / n of that; from layer to layer, say n^-1/2. And of
 * what changes with the context or the layer the fit has taken a share into its powers. Which of these holds
 * is not known: each is as likely as the others, and u^2 is its mean after what was seen, with what kinds
 * were seen to differ by elsewhere before it. So a u that residuals cannot show stays as large as usual.
 *
 * In the mean over n calls of a kind the same parts are left: all of u, n^-1/2 or 1 / n of its square.
 */

enum { CONTEXT = 12 }; /* the most frequent ones; the last holds all others */

/* What a power changes with: its context, layers, calls. */
enum { WAYS = 3 };

/* Around JM_DISCREPANCY_USUAL_U, so much as leaves one in six of what was seen outside on each side. About
 * one in three programs shows nothing of the kind, a choice. */
static const double usual_spread = 0.3, even_share = 0.35;

/* A profile's noise is typical: boards in steady load have shown 2 to 8 W for 5 W (docs/sensors.md), a
 * variance of up to 2.6 times, by ratio 1.6 in the middle. What is beyond half of that is called model
 * discrepancy, and is known to a quarter of it. */
static const double noise_slack = 1.3, noise_doubt = 0.15;

jm__discrepancy_seen jm__discrepancy_beyond(double square, double sensor_noise_w)
{
    double sensor = sensor_noise_w * sensor_noise_w;
    return (jm__discrepancy_seen){.square = fmax(0, square - noise_slack * sensor),
                                  .u = noise_doubt * sensor};
}

/* Contexts change within a few readings: of the drift only what is new in each reading can be theirs.
 * What lasts longer is drift, and is counted as such. */
jm__discrepancy_seen jm__discrepancy_of_noise(const jm__noise *noise, double sensor_noise_w)
{
    jm__discrepancy_seen seen = jm__discrepancy_beyond(noise->white + noise->drift, sensor_noise_w);
    seen.square = fmin(seen.square, noise->drift * (1 - noise->keep * noise->keep));
    return seen;
}

typedef struct context {
    size_t columns;
    size_t *rank;     /* [columns]: context of the readings in which this column is the largest part */
    double *row;      /* [columns] */
    double *room;     /* [columns] */
    double *length_s; /* [columns]: mean of its pieces */
    double *all_time; /* [columns] */
    double *time;     /* [CONTEXTS * columns]: weight of each column in each */
    double *whole;    /* [columns * columns]: G */
    double *weight;   /* [columns * columns] */
    double *square;   /* [CONTEXTS * columns * columns]: T_g */
    double parts_square[WAYS]; /* W^2: variance of a reading for u = 1 */
    double shown;              /* what residuals keep of that, if the powers take the rest */
} context;

static jm_status context_init(context *s, size_t columns, jm_error *err)
{
    size_t square = columns * columns;
    *s = (context){.columns = columns};
    s->rank = calloc(columns + 1, sizeof *s->rank);
    s->row = calloc((4 + CONTEXT) * columns + (2 + CONTEXT) * square + 1, sizeof(double));
    if (s->rank == NULL || s->row == NULL) return jm__no_memory(err, "jm__discrepancy_add");
    s->room = s->row + columns;
    s->length_s = s->room + columns;
    s->all_time = s->length_s + columns;
    s->time = s->all_time + columns;
    s->whole = s->time + CONTEXT * columns;
    s->weight = s->whole + square;
    s->square = s->weight + square;
    return JM_OK;
}

static void context_free(context *s)
{
    free(s->rank);
    free(s->row);
}

static size_t largest(const double *values, size_t count)
{
    size_t best = 0;
    for (size_t k = 1; k < count; k++)
        if (values[k] > values[best]) best = k;
    return best;
}

/* What is the largest part of a reading names its context. */
static void name_context(context *s, const jm__discrepancy_of *of)
{
    double *readings = s->room;
    memset(readings, 0, s->columns * sizeof *readings);
    jm__design_start(of->pass->design, of->response);
    for (size_t i = 0; i < of->pass->count; i++) {
        jm__pass_row(of->pass, i, s->row);
        readings[largest(s->row, jm__pass_shared_columns(of->pass))]++;
    }
    for (size_t k = 0; k < s->columns; k++)
        s->rank[k] = CONTEXT - 1;
    for (size_t g = 0; g + 1 < CONTEXT; g++) {
        size_t k = largest(readings, s->columns);
        if (readings[k] <= 0) break;
        s->rank[k] = g;
        readings[k] = 0;
    }
}

static void find_lengths(context *s, const jm__discrepancy_of *of)
{
    double *pieces = s->room;
    jm__piece_cursor *cursor = &of->pass->design->cursor;
    memset(pieces, 0, s->columns * sizeof *pieces);
    for (jm__cursor_seek(cursor, INT64_MIN); !jm__cursor_at_end(cursor); jm__cursor_next(cursor)) {
        const jm__moment *now = &cursor->now;
        for (size_t i = 0; i < now->count; i++) {
            uint32_t k = jm__cursor_column(cursor, i);
            pieces[k]++;
            s->length_s[k] += (double)now->items[i].share * (double)(now->end_ns - now->start_ns) * 1e-9;
        }
    }
    for (size_t k = 0; k < s->columns; k++)
        if (pieces[k] > 0) s->length_s[k] /= pieces[k];
}

/* Seconds of a reading's memory, if they all counted alike: the square of its integral over that of its
 * square. */
static double memory_s(jm__response response)
{
    return 1e-9 * (response.kind == JM_RESPONSE_FIRST_ORDER ? 2 * response.width_ns : response.width_ns);
}

static void add_part(context *s, const jm__discrepancy_of *of, size_t k, double share)
{
    double square = pow(share * of->power_w[k], 2) / (double)of->pass->count;
    double calls = s->length_s[k] > 0 ? fmax(1, share * memory_s(of->response) / s->length_s[k]) : 1;
    const double hidden[WAYS] = {1, sqrt(calls), calls};
    for (int way = 0; way < WAYS; way++)
        s->parts_square[way] += square / hidden[way];
}

static void sum_up(context *s, const jm__discrepancy_of *of)
{
    size_t columns = s->columns;
    jm__design_start(of->pass->design, of->response);
    for (size_t i = 0; i < of->pass->count; i++) {
        jm__pass_row(of->pass, i, s->row);
        size_t g = s->rank[largest(s->row, jm__pass_shared_columns(of->pass))];
        double *square = s->square + g * columns * columns;
        for (size_t k = 0; k < columns; k++) {
            double share = s->row[k];
            if (share == 0) continue;
            add_part(s, of, k, share);
            s->time[g * columns + k] += share;
            s->all_time[k] += share;
            for (size_t m = 0; m < columns; m++)
                square[k * columns + m] += share * s->row[m];
        }
    }
    for (size_t g = 0; g < CONTEXT; g++)
        for (size_t i = 0; i < columns * columns; i++)
            s->whole[i] += s->square[g * columns * columns + i];
}

/* Of what powers that differ with the context do to readings, the share that stays in the residuals: with
 * independent differences of variance p_l^2, the mean of m'm - b'C b over that of m'm, m being what they do
 * to the readings and b = A'm. */
static double find_shown(const context *s, const jm__discrepancy_of *of)
{
    static const double least = 0.01; /* rounding and the prior leave something */
    size_t n = s->columns;
    double ratio = of->readings / (double)of->pass->count / (of->noise_w * of->noise_w), left = 0, all = 0;
    for (size_t i = 0; i < CONTEXT * n; i++) {
        const double *column = s->square + i * n; /* of T_g, which is symmetric */
        double square = pow(of->power_w[i % n], 2), seen = column[i % n];
        if (seen == 0) continue;
        all += square * seen;
        left += square * (seen - ratio * jm__matrix_between(column, of->covariance, column, n));
    }
    return all > 0 ? fmax(least, left / all) : 1;
}

/* Powers take all of their share of what changes with a context, next to nothing of what changes with each
 * call; of what changes with a layer the one or the other. */
static double likelihood(const context *s, const jm__discrepancy_of *of, double u_square, int way)
{
    const double kept[WAYS][2] = {{s->shown, s->shown}, {1, s->shown}, {1, 1}};
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        double expected = u_square * s->parts_square[way] * kept[way][i];
        sum += exp(-pow((of->seen.square - expected) / of->seen.u, 2) / 2);
    }
    return sum;
}

/* The mean of u^2 after the residuals, summed over how usual each u is, in parts by what powers change with.
 */
static void mean_u_square(double square[WAYS], const context *s, const jm__discrepancy_of *of)
{
    static const double most = 4, step = 0.1; /* in standard deviations of what is usual */
    static const double none_at_all = 1e-290; /* sums of such likelihoods have no digits left */
    double all = 0, none = 0, usual = 0;
    for (double z = -most; z <= most; z += step) {
        double u_square = pow(JM_DISCREPANCY_USUAL_U * exp(z * usual_spread), 2), weight = exp(-z * z / 2);
        usual += weight;
        for (int way = 0; way < WAYS; way++) {
            double likely = weight * likelihood(s, of, u_square, way);
            all += likely;
            square[way] += likely * u_square;
        }
    }
    for (int way = 0; way < WAYS; way++)
        none += likelihood(s, of, 0, way);
    all = (1 - even_share) * all / usual + even_share * none;
    if (all < none_at_all) { /* more than any u that is summed over explains */
        square[0] = pow(JM_DISCREPANCY_USUAL_U * exp(most * usual_spread), 2);
        return;
    }
    for (int way = 0; way < WAYS; way++)
        square[way] *= (1 - even_share) / usual / all;
}

/* scores += (T_g - G W_g) diag(q) (T_g - G W_g)' */
static void add_scores(double *scores, context *s, const double *q, size_t g)
{
    size_t n = s->columns;
    const double *square = s->square + g * n * n, *time = s->time + g * n;
    for (size_t k = 0; k < n; k++) {
        for (size_t l = 0; l < n; l++) {
            double share = s->all_time[l] > 0 ? time[l] / s->all_time[l] : 0;
            s->weight[k * n + l] = sqrt(q[l]) * (square[k * n + l] - share * s->whole[k * n + l]);
        }
    }
    for (size_t k = 0; k < n; k++) {
        for (size_t m = 0; m <= k; m++) {
            double sum = jm__matrix_dot(s->weight + k * n, s->weight + m * n, n);
            scores[k * n + m] += sum;
            if (m != k) scores[m * n + k] += sum;
        }
    }
}

static void find(double square[WAYS], context *s, const jm__discrepancy_of *of)
{
    memset(square, 0, WAYS * sizeof *square);
    name_context(s, of);
    find_lengths(s, of);
    sum_up(s, of);
    s->shown = find_shown(s, of);
    if (s->parts_square[0] > 0) mean_u_square(square, s, of);
}

/* What is left of it over so many calls of a kind. */
static double left_of(const double square[WAYS], double calls)
{
    double n = fmax(1, calls);
    return square[0] + square[1] / sqrt(n) + square[2] / n;
}

jm_status jm__discrepancy_over(double *relative_u, const jm__discrepancy_of *of, const double *seconds,
                               jm_error *err)
{
    context s;
    double square[WAYS];
    jm_status status = context_init(&s, of->pass->columns, err);
    if (status == JM_OK) find(square, &s, of);
    for (size_t k = 0; status == JM_OK && k < s.columns; k++)
        relative_u[k] = sqrt(left_of(square, s.length_s[k] > 0 ? seconds[k] / s.length_s[k] : 1));
    context_free(&s);
    return status;
}

jm_status jm__discrepancy_add(double *scores, double *relative_u, const jm__discrepancy_of *of, jm_error *err)
{
    context s;
    double square[WAYS];
    *relative_u = 0;
    if (of->pass->count == 0) return JM_OK;
    jm_status status = context_init(&s, of->pass->columns, err);
    if (status == JM_OK) {
        find(square, &s, of);
        *relative_u = sqrt(left_of(square, 1));
        double scale = *relative_u * of->readings / (double)of->pass->count;
        for (size_t k = 0; k < s.columns; k++)
            s.row[k] = pow(scale * of->power_w[k], 2);
        for (size_t g = 0; g < CONTEXT; g++)
            add_scores(scores, &s, s.row, g);
    }
    context_free(&s);
    return status;
}

/* A choice: a reading whose pairs share less has no replicates, and fewer that have some tell nothing. */
static const double least_shared = 0.8;

enum { LEAST_READINGS = 100 };

/* Multiplications of a pass over pairs and of one through the covariance: a third of a second each on one
 * core of 2020.
 */
static const double cost = 5e8;

enum { MOST_READINGS = 1400 };

size_t jm__replicates_most(size_t columns)
{
    double width = (double)columns + 1;
    return (size_t)fmin(MOST_READINGS, fmin(sqrt(2 * cost / width), cost / width / width));
}

typedef struct finder {
    const jm__pass *pass;
    double *row;      /* [count * columns] */
    double *part;     /* [count * columns], W: of each reading */
    double *taken;    /* [count * columns], W^2: C row' */
    double *residual; /* [count], W */
    float *apart;     /* [count * count], W^2: of the parts of two readings; of i > j alone */
    bool *usable;     /* [count]: has all of the readings around it */
} finder;

static void find_parts(finder *f, jm__response response, const double *power_w, const double *covariance)
{
    size_t columns = f->pass->columns;
    jm__design_start(f->pass->design, response);
    for (size_t i = 0; i < f->pass->count; i++) {
        double *row = f->row + i * columns, *part = f->part + i * columns;
        jm__pass_row(f->pass, i, row);
        jm__matrix_apply(f->taken + i * columns, covariance, row, columns);
        f->residual[i] = f->pass->readings[i].value;
        for (size_t k = 0; k < columns; k++) {
            part[k] = row[k] * power_w[k];
            f->residual[i] -= part[k];
        }
    }
}

static void find_apart(finder *f)
{
    size_t columns = f->pass->columns;
    for (size_t i = 0; i < f->pass->count; i++) {
        for (size_t j = 0; j < i; j++) {
            const double *left = f->part + i * columns, *right = f->part + j * columns;
            double sum = 0;
            for (size_t k = 0; k < columns; k++)
                sum += (left[k] - right[k]) * (left[k] - right[k]);
            f->apart[i * f->pass->count + j] = (float)sum;
        }
    }
}

/* The reading has all of those around it. */
static bool has_local_noise(const finder *f, size_t i)
{
    if (i < LOCAL_NOISE || i + LOCAL_NOISE >= f->pass->count) return false;
    for (size_t n = i - LOCAL_NOISE + 1; n <= i + LOCAL_NOISE; n++)
        if (!jm__pass_are_neighbours(f->pass, n)) return false;
    return true;
}

/* Of two readings and those around them, i > j. */
static double apart_with_local_noise(const finder *f, size_t i, size_t j)
{
    double sum = 0;
    for (size_t n = 0; n <= (size_t)2 * LOCAL_NOISE; n++)
        sum += f->apart[(i + n - LOCAL_NOISE) * f->pass->count + j + n - LOCAL_NOISE];
    return sum / (2 * LOCAL_NOISE + 1);
}

static void find_nearest(nearest *near, const finder *f, size_t i)
{
    *near = (nearest){0};
    for (size_t j = 0; j < f->pass->count; j++) {
        size_t later = i > j ? i : j, earlier = i > j ? j : i;
        int64_t between_ns = f->pass->readings[later].t_ns - f->pass->readings[earlier].t_ns;
        if (f->usable[j] && between_ns >= APART * f->pass->period_ns)
            keep(near, apart_with_local_noise(f, later, earlier), j);
    }
}

/* Sums over readings, of the mean over those nearest to each. Neighbours' errors are as one where noise
 * lasts, so how sure their mean is is told by blocks. */
typedef struct sums {
    double readings;
    double product; /* of the residuals of two, and what the powers took */
    double apart, parts;
    double others; /* readings without replicates */
    double block, block_readings;
    double blocks, block_sum, block_square;
} sums;

static void add_to_blocks(sums *s, double product)
{
    s->block += product / APART;
    if (++s->block_readings < APART) return;
    s->blocks++;
    s->block_sum += s->block;
    s->block_square += s->block * s->block;
    s->block = s->block_readings = 0;
}

static void add(sums *s, const finder *f, const nearest *near, size_t i)
{
    size_t columns = f->pass->columns;
    const double *part = f->part + i * columns;
    double product = 0, apart = 0, parts = jm__matrix_dot(part, part, columns);
    for (size_t n = 0; n < NEAREST; n++) {
        size_t j = near->which[n];
        product += f->residual[i] * f->residual[j] / NEAREST +
                   jm__matrix_dot(f->row + i * columns, f->taken + j * columns, columns) / NEAREST;
        apart += near->apart[n] / NEAREST;
    }
    if (1 - apart / 2 / parts < least_shared) {
        s->others++;
        return;
    }
    s->readings++;
    s->product += product;
    s->apart += apart;
    s->parts += parts;
    add_to_blocks(s, product);
}

/* A pair counts at both of its ends, so half of the blocks are news. No noise is known better than the
 * profile says, and of readings without replicates no more than before. */
static void tell(jm__discrepancy_seen *seen, const sums *s)
{
    if (s->readings < LEAST_READINGS) return;
    double shared = 1 - s->apart / 2 / s->parts, mean = s->block_sum / s->blocks;
    double variance = fmax(0, s->block_square / s->blocks - mean * mean);
    double again = fmax(0, s->product / s->readings / shared);
    seen->square = (s->readings * again + s->others * seen->square) / (s->readings + s->others);
    seen->u = fmax(seen->u, sqrt(2 * variance / s->blocks) / shared);
}

static void compare(jm__discrepancy_seen *seen, const finder *f)
{
    sums s = {0};
    for (size_t i = 0; i < f->pass->count; i++)
        f->usable[i] = has_local_noise(f, i);
    for (size_t i = 0; i < f->pass->count; i++) {
        nearest near;
        if (!f->usable[i]) continue;
        find_nearest(&near, f, i);
        if (near.count == NEAREST) add(&s, f, &near, i);
    }
    tell(seen, &s);
}

jm_status jm__replicates_find(jm__discrepancy_seen *seen, const jm__pass *pass, jm__response response,
                              const double *power_w, const double *covariance, jm_error *err)
{
    size_t count = pass->count, size = count * pass->columns;
    if (count < LEAST_READINGS) return JM_OK;
    finder f = {
        .pass = pass,
        .row = calloc(3 * size + count, sizeof *f.row),
        .apart = calloc(count * count, sizeof *f.apart),
        .usable = calloc(count, sizeof *f.usable),
    };
    bool fine = f.row != NULL && f.apart != NULL && f.usable != NULL;
    if (fine) {
        f.part = f.row + size;
        f.taken = f.part + size;
        f.residual = f.taken + size;
        find_parts(&f, response, power_w, covariance);
        find_apart(&f);
        compare(seen, &f);
    }
    free(f.row);
    free(f.apart);
    free(f.usable);
    return fine ? JM_OK : jm__no_memory(err, "jm__replicates_find");
}
