/* Covariances, and their Cholesky factor. */
#include "cap/rough.h"

#include "base/status.h"
#include "cap/law.h"
#include "cap/same.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* The rough curve of the usual size: standard deviations of logarithms. Slower goes with less power. */
static const double time_smooth = .02, watts_smooth = .02; /* of what changes over `reach` of the range */
static const double time_alone = .012, watts_alone = .012; /* of each cap by itself */
static const double together = -.5;                        /* correlation of time and power */
static const double reach = .2;                            /* of the range of caps, in logarithms */

static const double sizes[JM__CAP_SIZES] = {.35, 1, 3, 8};
static const double size_shares[JM__CAP_SIZES] = {.15, .5, .25, .1};

static const double time_exponent_width = .2, watts_exponent_width = .2;
static const double level = 1;     /* of the first probe, by which all is measured: wide */
static const double jitter = 1e-9; /* keeps the factor from failing where probes are without noise */
/* Of two points, or of the differences of two each: how alike they are. */
typedef struct alike {
    double smooth, alone;
} alike;

struct jm__cap_rough {
    const jm__cap_data *data;
    const jm__cap_question *questions;
    size_t n, count;
    alike *probes;    /* [n][n] */
    alike *asked;     /* [count][n] */
    alike *own;       /* [count] of a question with itself */
    double *factor;   /* [2n][2n] lower triangle, by rows */
    double *reaching; /* [2 count][2n] covariances of questions with the probes, whitened */
    double knee_w, size2;
};

double jm__cap_size_share(size_t size)
{
    return size_shares[size];
}

static alike alike_caps(const jm__cap_data *data, double a_w, double b_w)
{
    double range = fmax(log(data->high_w / data->low_w), 1e-3), d = log(a_w / b_w) / (range * reach);
    return (alike){exp(-d * d / 2), jm__cap_same(a_w, b_w)};
}

static alike less(alike a, alike b)
{
    return (alike){a.smooth - b.smooth, a.alone - b.alone};
}

static void compare(jm__cap_rough *r)
{
    const jm_cap_probe *p = r->data->probes;
    for (size_t i = 0; i < r->n; i++)
        for (size_t j = 0; j < r->n; j++)
            r->probes[i * r->n + j] = alike_caps(r->data, p[i].cap_w, p[j].cap_w);
    for (size_t q = 0; q < r->count; q++) {
        double cap_w = r->questions[q].cap_w, from_w = r->questions[q].from_w;
        bool difference = !isnan(from_w);
        for (size_t i = 0; i < r->n; i++) {
            alike *to = &r->asked[q * r->n + i];
            *to = alike_caps(r->data, cap_w, p[i].cap_w);
            if (difference) *to = less(*to, alike_caps(r->data, from_w, p[i].cap_w));
        }
        alike between = {0};
        if (difference) between = alike_caps(r->data, cap_w, from_w);
        r->own[q] = difference ? (alike){2 - 2 * between.smooth, 2 - 2 * between.alone} : (alike){1, 1};
    }
}

jm_status jm__cap_rough_create(jm__cap_rough **out, const jm__cap_data *data,
                               const jm__cap_question *questions, size_t count, jm_error *err)
{
    jm__cap_rough *r = calloc(1, sizeof *r);
    *out = NULL;
    if (r == NULL) return jm__no_memory(err, "jm__cap_rough_create");
    size_t n = data->count;
    *r = (jm__cap_rough){.data = data, .questions = questions, .n = n, .count = count};
    r->probes = calloc(n * n, sizeof *r->probes);
    r->asked = calloc(count * n + 1, sizeof *r->asked);
    r->own = calloc(count + 1, sizeof *r->own);
    r->factor = calloc(4 * n * n, sizeof *r->factor);
    r->reaching = calloc(4 * count * n + 1, sizeof *r->reaching);
    if (!r->probes || !r->asked || !r->own || !r->factor || !r->reaching) {
        jm__cap_rough_free(r);
        return jm__no_memory(err, "jm__cap_rough_create");
    }
    compare(r);
    *out = r;
    return JM_OK;
}

void jm__cap_rough_free(jm__cap_rough *rough)
{
    if (rough == NULL) return;
    free(rough->probes);
    free(rough->asked);
    free(rough->own);
    free(rough->factor);
    free(rough->reaching);
    free(rough);
}

/* Covariances of time with time, power with power, time with power. `depths`: the product of the depths. */
static double time_time(const jm__cap_rough *r, alike a, double depths)
{
    return time_exponent_width * time_exponent_width * depths +
           r->size2 * (time_smooth * time_smooth * a.smooth + time_alone * time_alone * a.alone);
}

static double watts_watts(const jm__cap_rough *r, alike a, double depths)
{
    return watts_exponent_width * watts_exponent_width * depths +
           r->size2 * (watts_smooth * watts_smooth * a.smooth + watts_alone * watts_alone * a.alone);
}

static double time_watts(const jm__cap_rough *r, alike a)
{
    return r->size2 * together * (time_smooth * watts_smooth * a.smooth + time_alone * watts_alone * a.alone);
}

static double probe_depth(const jm__cap_rough *r, size_t probe)
{
    return jm__cap_depth(r->knee_w, r->data->probes[probe].cap_w);
}

static double question_depth(const jm__cap_rough *r, size_t question)
{
    const jm__cap_question *q = &r->questions[question];
    double depth = jm__cap_depth(r->knee_w, q->cap_w);
    return isnan(q->from_w) ? depth : depth - jm__cap_depth(r->knee_w, q->from_w);
}

static void fill_covariance(jm__cap_rough *r)
{
    size_t n = r->n, size = 2 * n;
    for (size_t i = 0; i < n; i++) {
        const jm_cap_probe *p = &r->data->probes[i];
        double depth = probe_depth(r, i);
        for (size_t j = 0; j < n; j++) {
            alike a = r->probes[i * n + j];
            double common = level * level + r->data->drift * r->data->drift * (double)i * (double)j;
            double depths = depth * probe_depth(r, j);
            r->factor[i * size + j] = common + time_time(r, a, depths);
            r->factor[(n + i) * size + n + j] = common + watts_watts(r, a, depths);
            r->factor[(n + i) * size + j] = time_watts(r, a);
        }
        double u_time = p->time_u_s / p->time_s, u_watts = p->power_u_w / p->power_w;
        r->factor[i * size + i] += jitter + u_time * u_time;
        r->factor[(n + i) * size + n + i] += jitter + u_watts * u_watts;
    }
}

/* In place, the lower triangle. The jitter keeps the diagonal positive. */
static void factorise(double *m, size_t size)
{
    for (size_t j = 0; j < size; j++)
        for (size_t i = j; i < size; i++) {
            double sum = m[i * size + j];
            for (size_t k = 0; k < j; k++)
                sum -= m[i * size + k] * m[j * size + k];
            m[i * size + j] = i == j ? sqrt(fmax(sum, jitter / 100)) : sum / m[j * size + j];
        }
}

void jm__cap_rough_whiten(const jm__cap_rough *rough, double *values)
{
    size_t size = 2 * rough->n;
    for (size_t i = 0; i < size; i++) {
        const double *row = rough->factor + i * size;
        double sum = values[i];
        for (size_t k = 0; k < i; k++)
            sum -= row[k] * values[k];
        values[i] = sum / row[i];
    }
}

/* A question is of the moment of the first probe, so drift has not begun. */
static void reach_question(jm__cap_rough *r, size_t question)
{
    size_t n = r->n;
    double *time = r->reaching + 4 * question * n, *watts = time + 2 * n;
    double depth = question_depth(r, question),
           common = isnan(r->questions[question].from_w) ? level * level : 0;
    for (size_t i = 0; i < n; i++) {
        alike a = r->asked[question * n + i];
        double depths = depth * probe_depth(r, i);
        time[i] = common + time_time(r, a, depths);
        time[n + i] = watts[i] = time_watts(r, a);
        watts[n + i] = common + watts_watts(r, a, depths);
    }
    jm__cap_rough_whiten(r, time);
    jm__cap_rough_whiten(r, watts);
}

void jm__cap_rough_set(jm__cap_rough *rough, double knee_w, size_t size)
{
    rough->knee_w = knee_w;
    rough->size2 = sizes[size] * sizes[size];
    fill_covariance(rough);
    factorise(rough->factor, 2 * rough->n);
    for (size_t q = 0; q < rough->count; q++)
        reach_question(rough, q);
}

double jm__cap_rough_log_det(const jm__cap_rough *rough)
{
    size_t size = 2 * rough->n;
    double sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += 2 * log(rough->factor[i * size + i]);
    return sum;
}

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

void jm__cap_rough_variance(const jm__cap_rough *rough, size_t question, jm__cap_answer *answer)
{
    size_t size = 2 * rough->n;
    const double *time = rough->reaching + 2 * question * size, *watts = time + size;
    double depth = question_depth(rough, question);
    double common = isnan(rough->questions[question].from_w) ? level * level : 0;
    alike own = rough->own[question];
    answer->time_var = fmax(common + time_time(rough, own, depth * depth) - dot(time, time, size), 0);
    answer->watts_var = fmax(common + watts_watts(rough, own, depth * depth) - dot(watts, watts, size), 0);
    answer->covar = time_watts(rough, own) - dot(time, watts, size);
}

void jm__cap_rough_add(const jm__cap_rough *rough, size_t question, const double *white,
                       jm__cap_answer *answer)
{
    size_t size = 2 * rough->n;
    const double *time = rough->reaching + 2 * question * size;
    answer->time += dot(time, white, size);
    answer->watts += dot(time + size, white, size);
}
