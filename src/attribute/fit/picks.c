/* Gaussian conditioning on few sets, and evidence. */
#include "attribute/fit/picks.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As alike.c has it: two places of one kind are as alike as two stretches of a run. */
static const double usual_difference = 0.05, difference_freedom = 3, least_u_w = 1;

jm_status jm__picks_init(jm__picks *picks, const jm__parts *parts, const double *power_w, jm_error *err)
{
    *picks = (jm__picks){.parts = parts, .power_w = power_w};
    picks->information = calloc(parts->count * parts->count + 1, sizeof(double));
    picks->score = calloc(parts->count + 1, sizeof(double));
    bool fine = picks->information != NULL && picks->score != NULL;
    return fine ? JM_OK : jm__no_memory(err, "jm__split_find");
}

void jm__picks_free(jm__picks *picks)
{
    free(picks->information);
    free(picks->score);
    picks->information = picks->score = NULL;
}

static const double *corner(const jm__sampled *sampled, size_t part)
{
    return sampled->qr.triangle + (sampled->behind + part) * sampled->qr.stride + sampled->behind;
}

void jm__picks_take_corner(jm__picks *s, const jm__sampled *sampled)
{
    size_t count = s->parts->count;
    for (size_t p = 0; p < count; p++) {
        s->score[p] = 0;
        for (size_t i = 0; i <= p; i++)
            s->score[p] += corner(sampled, p)[i] * corner(sampled, count)[i];
        for (size_t q = p; q < count; q++) {
            double sum = 0;
            for (size_t i = 0; i <= p; i++)
                sum += corner(sampled, p)[i] * corner(sampled, q)[i];
            s->information[p * count + q] = s->information[q * count + p] = sum;
        }
    }
}

/* The sum over the parts of a set of `values`, by their number. */
static double sum_over(const jm__part_set *set, const double *values)
{
    double sum = 0;
    for (size_t i = 0; set->bits >> i != 0; i++)
        if (set->bits >> i & 1) sum += values[set->first + i];
    return sum;
}

static double score_of(const jm__picks *s, const jm__part_set *set)
{
    return sum_over(set, s->score);
}

static double information_of(const jm__picks *s, const jm__part_set *a, const jm__part_set *b)
{
    double sum = 0;
    for (size_t i = 0; a->bits >> i != 0; i++)
        if (a->bits >> i & 1) sum += sum_over(b, s->information + (a->first + i) * s->parts->count);
    return sum;
}

double jm__picks_usual_square(const jm__picks *s, const jm__part_set *set)
{
    double power_w = s->power_w[s->parts->items[set->first].column];
    return 2 * pow(fmax(least_u_w, usual_difference * power_w), 2);
}

/* lower^-1 of what a set shares with the picks. */
static void shared_with_picks(double *out, const jm__picks *s, const jm__part_set *set)
{
    for (size_t i = 0; i < s->count; i++) {
        out[i] = information_of(s, &s->items[i].set, set);
        for (size_t j = 0; j < i; j++)
            out[i] -= s->lower[i * JM_PICKS_MAX + j] * out[j];
        out[i] /= s->lower[i * JM_PICKS_MAX + i];
    }
}

/* I and g of a set, the picks taken out. */
static void seen_of(const jm__picks *s, const jm__part_set *set, double *information, double *score)
{
    double shared[JM_PICKS_MAX];
    shared_with_picks(shared, s, set);
    *information = information_of(s, set, set);
    *score = score_of(s, set);
    for (size_t i = 0; i < s->count; i++) {
        *information -= shared[i] * shared[i];
        *score -= shared[i] * s->told[i];
    }
    *information = fmax(0, *information);
}

double jm__picks_information(const jm__picks *s, const jm__part_set *set)
{
    double information, score;
    seen_of(s, set, &information, &score);
    return information;
}

double jm__picks_gain(const jm__picks *s, const jm__part_set *set, double variance, double *q)
{
    double usual = jm__picks_usual_square(s, set), information, score;
    seen_of(s, set, &information, &score);
    *q = usual;
    for (int round = 0; round < 12; round++) {
        double v = 1 / (information / variance + 1 / *q), d = score / variance * v;
        *q = (difference_freedom * usual + d * d + v) / (difference_freedom + 1);
    }
    double gain = score * score * *q / (variance * (variance + information * *q));
    double tail = difference_freedom * log(fmax(1, *q / usual));
    return (gain - log1p(information * *q / variance) - tail) / 2;
}

void jm__picks_factor(jm__picks *s, double variance)
{
    size_t count = s->count;
    for (size_t i = 0; i < count; i++) {
        s->count = i;
        double *row = s->lower + i * JM_PICKS_MAX, square = variance / s->items[i].q;
        const jm__part_set *set = &s->items[i].set;
        shared_with_picks(row, s, set);
        square += information_of(s, set, set);
        s->told[i] = score_of(s, set);
        for (size_t j = 0; j < i; j++) {
            square -= row[j] * row[j];
            s->told[i] -= row[j] * s->told[j];
        }
        row[i] = sqrt(fmax(square, variance / s->items[i].q));
        s->told[i] /= row[i];
    }
    s->count = count;
}

void jm__picks_differences(const jm__picks *s, double *out)
{
    double d[JM_PICKS_MAX];
    memset(out, 0, s->parts->count * sizeof *out);
    for (size_t i = s->count; i-- > 0;) {
        d[i] = s->told[i];
        for (size_t j = i + 1; j < s->count; j++)
            d[i] -= s->lower[j * JM_PICKS_MAX + i] * d[j];
        d[i] /= s->lower[i * JM_PICKS_MAX + i];
        const jm__part_set *set = &s->items[i].set;
        for (size_t p = 0; set->bits >> p != 0; p++)
            if (set->bits >> p & 1) out[set->first + p] += d[i];
    }
}

double jm__picks_differ_w(const jm__picks *s, uint32_t column, uint32_t bits)
{
    double square = pow(fmax(least_u_w, usual_difference * s->power_w[column]), 2);
    for (size_t i = 0; i < s->count; i++)
        if (bits >> i & 1) square += s->items[i].q;
    return sqrt(square);
}
