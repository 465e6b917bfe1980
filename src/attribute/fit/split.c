/* Forward selection among sets of parts, by what each would explain of the readings.
 *
 * With the classes' weights A (as believed beforehand) and the parts' weights W folded into one triangle, its
 * lower right corner R and right-hand side z have W'W and W'y with all that the classes explain taken out:
 * I = R'R, g = R'z. A set s of parts that draws d more than the rest of its class, d ~ N(0, q), then makes
 * the readings likelier by (g_s^2 q / (v (v + I_s q)) - ln(1 + I_s q / v)) / 2, v being the noise's variance;
 * what is picked already is taken out of I_s and g_s likewise. As differences have long tails, q is found
 * with d (alike.c), and pays for being larger than usual by the tail of its distribution.
 *
 * Noise that drifts looks like a difference between two long stretches of time: v is that of a mean over
 * long stretches, of the residuals that are left once the set is picked. */
#include "attribute/fit/split.h"

#include "attribute/fit/parts.h"
#include "attribute/fit/sampled.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As alike.c has it: two places of one kind are as alike as two stretches of a run. */
static const double usual_difference = 0.05, difference_freedom = 3, least_u_w = 1;

enum {
    PICKS_MAX = 24,
    REFUSALS_MAX = 8 /* candidates that do not hold what they promised */
};

/* A choice: what a type of layer with less of the busy time differs by is small beside what is known of the
 * whole. */
static const double untold_part = 0.02;

/* Readings tell a difference if they take its standard uncertainty to a third of the usual one, its variance
 * to 1 / (1 + 8). */
static const double told_information = 8;

typedef struct pick {
    jm__part_set set;
    double q; /* W^2 */
} pick;

typedef struct selection {
    const jm__refine_input *in;
    jm__parts parts;
    jm__part_sets sets;
    jm__sampled sampled; /* with the parts behind the columns */
    double *information; /* [parts * parts]: I */
    double *score;       /* [parts]: g */
    pick picks[PICKS_MAX];
    size_t count;
    double lower[PICKS_MAX * PICKS_MAX]; /* the factor of I + v / q of the picks */
    double told[PICKS_MAX];              /* lower^-1 g of the picks */
    jm__noise noise;
} selection;

/* ---- the design by part */

static jm_status fill_rows(selection *s, jm_error *err)
{
    jm__board_work *work = s->in->work;
    jm__sampled *sampled = &s->sampled;
    size_t codes = JM_IDLE_STATES + s->in->set->pass_uses;
    const uint32_t *usual = work->pieces.column_of, *use_of = s->in->set->use_of;
    uint32_t *column_of = malloc(codes * sizeof *column_of);
    jm__design design = {0};
    if (column_of == NULL) return jm__no_memory(err, "jm__split_find");
    memcpy(column_of, usual, codes * sizeof *column_of);
    for (size_t i = JM_IDLE_STATES; i < codes; i++) {
        uint32_t part = s->parts.of_use[use_of[i - JM_IDLE_STATES]];
        if (part != JM_NO_PART) column_of[i] = (uint32_t)sampled->columns + part;
    }
    work->pieces.column_of = column_of;
    jm_status status = jm__design_init(&design, &work->pieces, sampled->width, err);
    if (status == JM_OK) jm__design_start(&design, s->in->fit->response);
    for (size_t i = 0; status == JM_OK && i < sampled->readings.count; i++) {
        double *row = sampled->rows + i * sampled->width;
        memcpy(row, jm__design_row(&design, sampled->readings.items[i].t_ns), sampled->width * sizeof *row);
        for (size_t p = 0; p < s->parts.count; p++)
            row[s->parts.items[p].column] += row[sampled->columns + p];
    }
    jm__design_free(&design);
    work->pieces.column_of = usual;
    free(column_of);
    return status == JM_OK ? jm__pieces_check(&work->pieces, err) : status;
}

static const double *corner(const selection *s, size_t part)
{
    const jm__sampled *sampled = &s->sampled;
    return sampled->qr.triangle + (sampled->columns + part) * sampled->qr.stride + sampled->columns;
}

static void take_corner(selection *s)
{
    size_t count = s->parts.count;
    for (size_t p = 0; p < count; p++) {
        s->score[p] = 0;
        for (size_t i = 0; i <= p; i++)
            s->score[p] += corner(s, p)[i] * corner(s, count)[i];
        for (size_t q = p; q < count; q++) {
            double sum = 0;
            for (size_t i = 0; i <= p; i++)
                sum += corner(s, p)[i] * corner(s, q)[i];
            s->information[p * count + q] = s->information[q * count + p] = sum;
        }
    }
}

/* ---- sets */

static bool holds(const jm__part_set *set, size_t part)
{
    return part >= set->first && part - set->first < 64 && (set->bits >> (part - set->first) & 1);
}

static double score_of(const selection *s, const jm__part_set *set)
{
    double sum = 0;
    for (size_t p = 0; p < s->parts.count; p++)
        if (holds(set, p)) sum += s->score[p];
    return sum;
}

static double information_of(const selection *s, const jm__part_set *a, const jm__part_set *b)
{
    double sum = 0;
    for (size_t p = 0; p < s->parts.count; p++)
        for (size_t q = 0; holds(a, p) && q < s->parts.count; q++)
            if (holds(b, q)) sum += s->information[p * s->parts.count + q];
    return sum;
}

/* What a set differs by usually: it and the rest of its class, each from what they have in common. */
static double usual_square(const selection *s, const jm__part_set *set)
{
    double power_w = s->in->fit->power_w[s->parts.items[set->first].column];
    return 2 * pow(fmax(least_u_w, usual_difference * power_w), 2);
}

/* lower^-1 of what a set shares with the picks. */
static void shared_with_picks(double *out, const selection *s, const jm__part_set *set)
{
    for (size_t i = 0; i < s->count; i++) {
        out[i] = information_of(s, &s->picks[i].set, set);
        for (size_t j = 0; j < i; j++)
            out[i] -= s->lower[i * PICKS_MAX + j] * out[j];
        out[i] /= s->lower[i * PICKS_MAX + i];
    }
}

/* I and g of a set, the picks taken out. */
static void seen_of(const selection *s, const jm__part_set *set, double *information, double *score)
{
    double shared[PICKS_MAX];
    shared_with_picks(shared, s, set);
    *information = information_of(s, set, set);
    *score = score_of(s, set);
    for (size_t i = 0; i < s->count; i++) {
        *information -= shared[i] * shared[i];
        *score -= shared[i] * s->told[i];
    }
    *information = fmax(0, *information);
}

/* By how much the logarithm of the likelihood rises with noise of this variance, and the q of it. */
static double gain_of(const selection *s, const jm__part_set *set, double variance, double *q)
{
    double usual = usual_square(s, set), information, score;
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

/* ---- picking */

/* The factor anew, for noise of this variance. */
static void factor_picks(selection *s, double variance)
{
    size_t count = s->count;
    for (size_t i = 0; i < count; i++) {
        s->count = i;
        double *row = s->lower + i * PICKS_MAX, square = variance / s->picks[i].q;
        const jm__part_set *set = &s->picks[i].set;
        shared_with_picks(row, s, set);
        square += information_of(s, set, set);
        s->told[i] = score_of(s, set);
        for (size_t j = 0; j < i; j++) {
            square -= row[j] * row[j];
            s->told[i] -= row[j] * s->told[j];
        }
        row[i] = sqrt(fmax(square, variance / s->picks[i].q));
        s->told[i] /= row[i];
    }
    s->count = count;
}

/* How much more each part draws than its class, by the picks. */
static void differences(const selection *s, double *out)
{
    double d[PICKS_MAX];
    memset(out, 0, s->parts.count * sizeof *out);
    for (size_t i = s->count; i-- > 0;) {
        d[i] = s->told[i];
        for (size_t j = i + 1; j < s->count; j++)
            d[i] -= s->lower[j * PICKS_MAX + i] * d[j];
        d[i] /= s->lower[i * PICKS_MAX + i];
        for (size_t p = 0; p < s->parts.count; p++)
            if (holds(&s->picks[i].set, p)) out[p] += d[i];
    }
}

/* The noise of what the classes and the picks leave of the readings. */
static void find_noise(selection *s)
{
    differences(s, s->sampled.x + s->sampled.columns);
    s->noise = jm__sampled_noise(&s->sampled);
    factor_picks(s, s->noise.white + s->noise.drift);
}

/* With it nothing would be left of its class to compare it with. */
static bool would_take_all(const selection *s, const jm__part_set *set)
{
    uint64_t taken = set->bits;
    for (size_t i = 0; i < s->count; i++)
        if (s->picks[i].set.first == set->first) taken |= s->picks[i].set.bits;
    return set->whole != 0 && taken == set->whole;
}

static bool is_out(const selection *s, const jm__part_set *set, const jm__part_set *refused, size_t count)
{
    bool out = would_take_all(s, set);
    for (size_t i = 0; i < s->count; i++)
        out = out || (s->picks[i].set.first == set->first && s->picks[i].set.bits == set->bits);
    for (size_t i = 0; i < count; i++)
        out = out || (refused[i].first == set->first && refused[i].bits == set->bits);
    return out;
}

/* The set that explains most; NULL: none does anything. */
static const jm__part_set *best_of(const selection *s, const jm__part_set *refused, size_t refusals)
{
    const jm__part_set *best = NULL;
    double most = 0, q;
    for (size_t i = 0; i < s->sets.count; i++) {
        const jm__part_set *set = &s->sets.items[i];
        if (is_out(s, set, refused, refusals)) continue;
        double gain = gain_of(s, set, s->noise.white + s->noise.drift, &q);
        if (gain <= most) continue;
        most = gain;
        best = set;
    }
    return best;
}

/* Try it: it stays if it is worth it with the noise that it leaves. */
static bool try(selection *s, const jm__part_set *set)
{
    const jm__noise before = s->noise;
    pick *new = &s->picks[s->count];
    new->set = *set;
    (void)gain_of(s, set, before.white + before.drift, &new->q);
    s->count++;
    factor_picks(s, before.white + before.drift);
    find_noise(s);
    const jm__noise left = s->noise;
    s->count--;
    factor_picks(s, left.white + left.drift);
    double gain = gain_of(s, set, jm__noise_lasting(&left), &new->q);
    bool worth = gain > JM_REFINE_LOG_ODDS + log((double)s->sets.count);
    s->noise = worth ? left : before;
    s->count += worth;
    factor_picks(s, s->noise.white + s->noise.drift);
    return worth;
}

static void pick_likely(selection *s, size_t most)
{
    jm__part_set refused[REFUSALS_MAX];
    size_t refusals = 0;
    while (s->count < most && refusals < REFUSALS_MAX) {
        const jm__part_set *best = best_of(s, refused, refusals);
        if (best == NULL) return;
        if (!try(s, best)) refused[refusals++] = *best;
    }
}

/* A type of layer that the readings cannot tell from the others may differ as usual, and its rows must not
 * look surer than that. */
static bool is_untold(const selection *s, const jm__part_set *set)
{
    double information, score, usual = usual_square(s, set);
    if (would_take_all(s, set)) return false;
    seen_of(s, set, &information, &score);
    return information * usual < told_information * jm__noise_lasting(&s->noise);
}

static double seconds_of(const selection *s, const jm__part_set *set)
{
    double sum = 0;
    for (size_t p = 0; p < s->parts.count; p++)
        if (holds(set, p)) sum += s->parts.items[p].seconds;
    return sum;
}

static void pick_untold(selection *s, size_t most)
{
    for (size_t i = 0, largest = 0; i < s->sets.count; i++) {
        const jm__part_set *set = &s->sets.items[i];
        if (i == 0 || set->first != set[-1].first) { /* a class begins */
            largest = i;
            for (size_t j = i; j < s->sets.count && s->sets.items[j].first == set->first; j++)
                if (s->sets.items[j].is_type &&
                    seconds_of(s, &s->sets.items[j]) > seconds_of(s, &s->sets.items[largest]))
                    largest = j;
        }
        if (i == largest || !set->is_type || s->count == most) continue;
        if (seconds_of(s, set) < untold_part * s->parts.busy_s || !is_untold(s, set)) continue;
        s->picks[s->count++] = (pick){*set, usual_square(s, set) / 2};
        factor_picks(s, s->noise.white + s->noise.drift);
    }
}

/* ---- the result */

static uint32_t signature(const selection *s, size_t part)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < s->count; i++)
        if (holds(&s->picks[i].set, part)) bits |= UINT32_C(1) << i;
    return bits;
}

/* How far a part may be from its class. */
static double differs_w(const selection *s, uint32_t column, uint32_t bits)
{
    double square = pow(fmax(least_u_w, usual_difference * s->in->fit->power_w[column]), 2);
    for (size_t i = 0; i < s->count; i++)
        if (bits >> i & 1) square += s->picks[i].q;
    return sqrt(square);
}

static jm_status make(jm__column_split *out, const selection *s, jm_error *err)
{
    size_t class_columns = s->in->work->columns.class_columns, uses = s->in->set->uses.items.count;
    out->of_use = malloc((uses + 1) * sizeof *out->of_use);
    out->differs_w = calloc(class_columns + s->parts.count + 1, sizeof *out->differs_w);
    out->from = calloc(s->parts.count + 1, sizeof *out->from);
    if (out->of_use == NULL || out->differs_w == NULL || out->from == NULL)
        return jm__no_memory(err, "jm__split_find");
    memcpy(out->of_use, s->in->work->columns.of_use, uses * sizeof *out->of_use);
    uint32_t column_of[JM_PARTS_MAX];
    for (size_t p = 0; p < s->parts.count; p++) {
        uint32_t bits = signature(s, p), from = s->parts.items[p].column;
        size_t same = 0;
        while (same < p && (s->parts.items[same].column != from || signature(s, same) != bits))
            same++;
        column_of[p] = bits == 0 ? from : same < p ? column_of[same] : (uint32_t)(class_columns + out->count);
        if (bits == 0 || same < p) continue;
        out->from[out->count] = from;
        out->differs_w[class_columns + out->count++] = differs_w(s, from, bits);
        out->differs_w[from] = differs_w(s, from, 0);
    }
    for (size_t u = 0; u < uses; u++)
        if (s->parts.of_use[u] != JM_NO_PART) out->of_use[u] = column_of[s->parts.of_use[u]];
    return JM_OK;
}

static jm_status begin(selection *s, jm_error *err)
{
    size_t parts = s->parts.count;
    JM_TRY(jm__sampled_init(&s->sampled, s->in->fit, s->in->fit_input, parts, err));
    s->information = calloc(parts * parts + 1, sizeof *s->information);
    s->score = calloc(parts + 1, sizeof *s->score);
    bool fine =
        s->information != NULL && s->score != NULL && jm__parts_list_sets(&s->sets, &s->parts, s->in->work);
    return fine ? JM_OK : jm__no_memory(err, "jm__split_find");
}

static jm_status select_sets(selection *s, jm__column_split *out, jm_error *err)
{
    size_t taken = s->in->work->columns.class_columns;
    size_t most = taken < JM_COLUMNS_MAX ? JM_COLUMNS_MAX - taken : 0;
    JM_TRY(begin(s, err));
    if (s->sampled.readings.count < JM_SAMPLED_LEAST || s->sets.count == 0) return JM_OK;
    JM_TRY(fill_rows(s, err));
    jm__sampled_fold(&s->sampled);
    take_corner(s);
    find_noise(s);
    if (most > PICKS_MAX) most = PICKS_MAX;
    pick_likely(s, most);
    pick_untold(s, most);
    return s->count > 0 ? make(out, s, err) : JM_OK;
}

jm_status jm__split_find(jm__column_split *out, const jm__refine_input *input, jm_error *err)
{
    *out = (jm__column_split){0};
    selection *s = calloc(1, sizeof *s);
    if (s == NULL) return jm__no_memory(err, "jm__split_find");
    s->in = input;
    jm_status status = jm__parts_choose(&s->parts, input->set, input->work, err);
    if (status == JM_OK && s->parts.count > 0) status = select_sets(s, out, err);
    if (status != JM_OK) jm__split_free(out);
    jm__parts_free(&s->parts);
    jm__vec_free(&s->sets);
    jm__sampled_free(&s->sampled);
    free(s->information);
    free(s->score);
    free(s);
    return status;
}

void jm__split_free(jm__column_split *split)
{
    free(split->of_use);
    free(split->differs_w);
    free(split->from);
    *split = (jm__column_split){0};
}
