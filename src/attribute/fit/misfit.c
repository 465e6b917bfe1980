/* Powers that differ by what runs around them: a fit weighs these surroundings otherwise than time does.
 *
 * Let kind l draw p_l + d_l(g) in surroundings g, with independent d_l(g) of variance q_l = (u p_l)^2. With
 * T_g = A'A of the readings in g and G their sum, the scores are A'y = G p + sum_g T_g d(g) + noise. The
 * power that is asked for is the mean over time, m_l = p_l + sum_g w_l(g) d_l(g), w_l(g) being the share of
 * its time that l spent in g. So A'y = G m + sum_g (T_g - G W_g) d(g) + noise, with W_g = diag(w(g)): an
 * error of covariance sum_g (T_g - G W_g) diag(q) (T_g - G W_g)'. It vanishes where a kind runs alone, and
 * where there is one g, and does not average out with more readings.
 *
 * How large u is the residuals tell in part. The parts p_l a_l of a reading, each off by u of itself, give it
 * a variance of u^2 sum_l (p_l a_l)^2 where a power changes with the surroundings. Where it changes from call
 * to call, and n calls share a reading, it is a part 1 / n of that; from layer to layer, say n^-1/2. And of
 * any of these the fit may have taken a share into its powers. Which of these holds is not known: each is as
 * likely as the others, and u^2 is its mean after what was seen, with what kinds were seen to differ by
 * elsewhere before it. So a u that residuals cannot show stays as large as usual.
 *
 * In the mean over n calls of a kind the same parts are left: all of u, n^-1/2 or 1 / n of its square.
 */
#include "attribute/fit/misfit.h"

#include "attribute/fit/matrix.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SURROUNDINGS = 12 }; /* the most frequent ones; the last holds all others */

/* What a power changes with: its surroundings, layers, calls. */
enum { WAYS = 3 };

/* Around JM_MISFIT_USUAL_U, so much as leaves one in six of what was seen outside on each side. About one in
 * three programs shows nothing of the kind, a choice. */
static const double usual_spread = 0.3, even_share = 0.35;

/* A profile's noise is typical: boards in steady load have shown 2 to 8 W for 5 W (docs/sensors.md), a
 * variance of up to 2.6 times, by ratio 1.6 in the middle. What is beyond half of that is called misfit, and
 * is known to a quarter of it. */
static const double noise_slack = 1.3, noise_doubt = 0.15;

jm__misfit_seen jm__misfit_beyond(double square, double sensor_noise_w)
{
    double sensor = sensor_noise_w * sensor_noise_w;
    return (jm__misfit_seen){.square = fmax(0, square - noise_slack * sensor), .u = noise_doubt * sensor};
}

/* Surroundings change within a few readings: of the drift only what is new in each reading can be theirs.
 * What lasts longer is drift, and is counted as such. */
jm__misfit_seen jm__misfit_of_noise(const jm__noise *noise, double sensor_noise_w)
{
    jm__misfit_seen seen = jm__misfit_beyond(noise->white + noise->drift, sensor_noise_w);
    seen.square = fmin(seen.square, noise->drift * (1 - noise->keep * noise->keep));
    return seen;
}

typedef struct surroundings {
    size_t columns;
    size_t *rank;     /* [columns]: surroundings of the readings in which this column is the largest part */
    double *row;      /* [columns] */
    double *room;     /* [columns] */
    double *length_s; /* [columns]: mean of its pieces */
    double *time;     /* [SURROUNDINGS * columns]: weight of each column in each */
    double *all_time; /* [columns] */
    double *square;   /* [SURROUNDINGS * columns * columns]: T_g */
    double *whole;    /* [columns * columns]: G */
    double *weight;   /* [columns * columns] */
    double parts_square[WAYS]; /* W^2: variance of a reading for u = 1 */
    double shown;              /* what residuals keep of that, if the powers take the rest */
} surroundings;

static jm_status surroundings_init(surroundings *s, size_t columns, jm_error *err)
{
    size_t square = columns * columns;
    *s = (surroundings){.columns = columns};
    s->rank = calloc(columns + 1, sizeof *s->rank);
    const struct {
        double **values;
        size_t count;
    } arrays[] = {{&s->row, columns},      {&s->room, columns},
                  {&s->length_s, columns}, {&s->time, SURROUNDINGS * columns},
                  {&s->all_time, columns}, {&s->square, SURROUNDINGS * square},
                  {&s->whole, square},     {&s->weight, square}};
    bool all = s->rank != NULL;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i].values = calloc(arrays[i].count + 1, sizeof(double));
        all = all && *arrays[i].values != NULL;
    }
    return all ? JM_OK : jm__no_memory(err, "jm__misfit_add");
}

static void surroundings_free(surroundings *s)
{
    double *arrays[] = {s->row, s->room, s->length_s, s->time, s->all_time, s->square, s->whole, s->weight};
    free(s->rank);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

static size_t largest(const double *values, size_t count)
{
    size_t best = 0;
    for (size_t k = 1; k < count; k++)
        if (values[k] > values[best]) best = k;
    return best;
}

/* What is the largest part of a reading names its surroundings. */
static void name_surroundings(surroundings *s, const jm__misfit_of *of)
{
    double *readings = s->room;
    memset(readings, 0, s->columns * sizeof *readings);
    jm__design_start(of->pass->design, of->response);
    for (size_t i = 0; i < of->pass->count; i++) {
        jm__pass_row(of->pass, i, s->row);
        readings[largest(s->row, s->columns)]++;
    }
    for (size_t k = 0; k < s->columns; k++)
        s->rank[k] = SURROUNDINGS - 1;
    for (size_t g = 0; g + 1 < SURROUNDINGS; g++) {
        size_t k = largest(readings, s->columns);
        if (readings[k] <= 0) break;
        s->rank[k] = g;
        readings[k] = 0;
    }
}

static void find_lengths(surroundings *s, const jm__misfit_of *of)
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

static void add_part(surroundings *s, const jm__misfit_of *of, size_t k, double share)
{
    double square = pow(share * of->power_w[k], 2) / (double)of->pass->count;
    double calls = s->length_s[k] > 0 ? fmax(1, share * memory_s(of->response) / s->length_s[k]) : 1;
    const double hidden[WAYS] = {1, sqrt(calls), calls};
    for (int way = 0; way < WAYS; way++)
        s->parts_square[way] += square / hidden[way];
}

static void sum_up(surroundings *s, const jm__misfit_of *of)
{
    size_t columns = s->columns;
    jm__design_start(of->pass->design, of->response);
    for (size_t i = 0; i < of->pass->count; i++) {
        jm__pass_row(of->pass, i, s->row);
        size_t g = s->rank[largest(s->row, columns)];
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
    for (size_t g = 0; g < SURROUNDINGS; g++)
        for (size_t i = 0; i < columns * columns; i++)
            s->whole[i] += s->square[g * columns * columns + i];
}

static bool coin(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random & 1;
}

/* Of what powers that differ with the surroundings do to readings, the share that stays in the residuals: the
 * mean of 1 - b'C b / m'm, with m what it does to them and b = A'm, over differences of either sign. */
static double find_shown(surroundings *s, const jm__misfit_of *of)
{
    enum { DRAWS = 16 };
    static const double least = 0.01; /* of sums that cancel, rounding and the prior leave something */
    size_t n = s->columns;
    double ratio = of->readings / (double)of->pass->count / (of->noise_w * of->noise_w);
    double *difference = s->weight, left = 0, all = 0;
    uint64_t random = UINT64_C(88172645463325252); /* any but 0 */
    for (int draw = 0; draw < DRAWS; draw++) {
        double square = 0;
        memset(s->room, 0, n * sizeof *s->room);
        for (size_t g = 0; g < SURROUNDINGS; g++) {
            for (size_t l = 0; l < n; l++)
                difference[l] = coin(&random) ? of->power_w[l] : -of->power_w[l];
            jm__matrix_apply(s->row, s->square + g * n * n, difference, n);
            square += jm__matrix_dot(s->row, difference, n);
            for (size_t l = 0; l < n; l++)
                s->room[l] += s->row[l];
        }
        all += square;
        left += square - ratio * jm__matrix_between(s->room, of->covariance, s->room, n);
    }
    return all > 0 ? fmax(least, left / all) : 1;
}

static double likelihood(const surroundings *s, const jm__misfit_of *of, double u_square, int way)
{
    double sum = 0;
    for (int taken = 0; taken < 2; taken++) {
        double expected = u_square * s->parts_square[way] * (taken ? s->shown : 1);
        sum += exp(-pow((of->seen.square - expected) / of->seen.u, 2) / 2);
    }
    return sum;
}

/* The mean of u^2 after the residuals, summed over how usual each u is, in parts by what powers change with.
 */
static void mean_u_square(double square[WAYS], const surroundings *s, const jm__misfit_of *of)
{
    static const double most = 4, step = 0.1; /* in standard deviations of what is usual */
    static const double none_at_all = 1e-290; /* sums of such likelihoods have no digits left */
    double all = 0, none = 0, usual = 0;
    memset(square, 0, WAYS * sizeof *square);
    for (double z = -most; z <= most; z += step) {
        double u_square = pow(JM_MISFIT_USUAL_U * exp(z * usual_spread), 2), weight = exp(-z * z / 2);
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
        square[0] = pow(JM_MISFIT_USUAL_U * exp(most * usual_spread), 2);
        return;
    }
    for (int way = 0; way < WAYS; way++)
        square[way] *= (1 - even_share) / usual / all;
}

/* scores += (T_g - G W_g) diag(q) (T_g - G W_g)' */
static void add_scores(double *scores, surroundings *s, const double *q, size_t g)
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

static void find(double square[WAYS], surroundings *s, const jm__misfit_of *of)
{
    memset(square, 0, WAYS * sizeof *square);
    name_surroundings(s, of);
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

static double spread(double *scores, surroundings *s, const jm__misfit_of *of)
{
    double square[WAYS];
    find(square, s, of);
    double u = sqrt(left_of(square, 1));
    double scale = u * of->readings / (double)of->pass->count;
    for (size_t k = 0; k < s->columns; k++)
        s->row[k] = pow(scale * of->power_w[k], 2);
    for (size_t g = 0; g < SURROUNDINGS; g++)
        add_scores(scores, s, s->row, g);
    return u;
}

jm_status jm__misfit_over(double *relative_u, const jm__misfit_of *of, const double *seconds, jm_error *err)
{
    surroundings s;
    double square[WAYS];
    jm_status status = surroundings_init(&s, of->pass->columns, err);
    if (status == JM_OK) find(square, &s, of);
    for (size_t k = 0; status == JM_OK && k < s.columns; k++)
        relative_u[k] = sqrt(left_of(square, s.length_s[k] > 0 ? seconds[k] / s.length_s[k] : 1));
    surroundings_free(&s);
    return status;
}

jm_status jm__misfit_add(double *scores, double *relative_u, const jm__misfit_of *of, jm_error *err)
{
    *relative_u = 0;
    if (of->pass->count == 0) return JM_OK;
    surroundings s;
    jm_status status = surroundings_init(&s, of->pass->columns, err);
    if (status == JM_OK) *relative_u = spread(scores, &s, of);
    surroundings_free(&s);
    return status;
}
