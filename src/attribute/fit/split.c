/* Forward selection among sets of parts, by what each would explain of the readings (picks.h).
 *
 * Noise that drifts looks like a difference between two long stretches of time: its variance is that of a
 * mean over long stretches, of the residuals that are left once the set is picked. */
#include "attribute/fit/split.h"

#include "attribute/fit/picks.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REFUSALS_MAX = 8 }; /* candidates that do not hold what they promised */

/* A choice: what a type of layer with less of the busy time differs by is small beside what is known of the
 * whole. */
static const double untold_part = 0.02;

/* Readings tell a difference if they take its standard uncertainty to a third of the usual one, its variance
 * to 1 / (1 + 8). */
static const double told_information = 8;

typedef struct selection {
    const jm__refine_input *in;
    jm__parts parts;
    jm__part_sets sets;
    jm__sampled sampled; /* with the parts behind the columns */
    jm__picks picks;
    jm__noise noise; /* that the classes and the picks leave */
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
        if (part != JM_NO_PART) column_of[i] = (uint32_t)sampled->behind + part;
    }
    work->pieces.column_of = column_of;
    jm_status status = jm__design_init(&design, &work->pieces, sampled->width, err);
    if (status == JM_OK) jm__design_start(&design, s->in->fit->response);
    for (size_t i = 0; status == JM_OK && i < sampled->readings.count; i++) {
        double *row = sampled->rows + i * sampled->width;
        memcpy(row, jm__design_row(&design, sampled->readings.items[i].t_ns), sampled->width * sizeof *row);
        for (size_t p = 0; p < s->parts.count; p++)
            row[s->parts.items[p].column] += row[sampled->behind + p];
    }
    jm__design_free(&design);
    work->pieces.column_of = usual;
    free(column_of);
    if (status == JM_OK) status = jm__sampled_add_response(sampled, &work->pieces, err);
    return status;
}

static bool holds(const jm__part_set *set, size_t part)
{
    return part >= set->first && part - set->first < 64 && (set->bits >> (part - set->first) & 1);
}

static double now(const jm__noise *noise)
{
    return noise->white + noise->drift;
}

/* The noise of what the classes and the picks leave of the readings. */
static void find_noise(selection *s)
{
    jm__picks_differences(&s->picks, s->sampled.x + s->sampled.behind);
    s->noise = jm__sampled_noise(&s->sampled);
    jm__picks_factor(&s->picks, now(&s->noise));
}

/* With it nothing would be left of its class to compare it with. */
static bool would_take_all(const selection *s, const jm__part_set *set)
{
    uint64_t taken = set->bits;
    for (size_t i = 0; i < s->picks.count; i++)
        if (s->picks.items[i].set.first == set->first) taken |= s->picks.items[i].set.bits;
    return set->whole != 0 && taken == set->whole;
}

static bool is_out(const selection *s, const jm__part_set *set, const jm__part_set *refused, size_t count)
{
    bool out = would_take_all(s, set);
    for (size_t i = 0; i < s->picks.count; i++)
        out = out || (s->picks.items[i].set.first == set->first && s->picks.items[i].set.bits == set->bits);
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
        double gain = jm__picks_gain(&s->picks, set, now(&s->noise), &q);
        if (gain <= most) continue;
        most = gain;
        best = set;
    }
    return best;
}

/* What readings tell less of than is known without them, a small fault of the response or of the stamps tells
 * as much of: a difference seen there may be larger than any power. */
static bool is_told(const selection *s, const jm__part_set *set, const jm__noise *noise)
{
    double information = jm__picks_information(&s->picks, set);
    return information * jm__picks_usual_square(&s->picks, set) > jm__noise_lasting(noise);
}

/* Try it: it stays if it is worth it with the noise that it leaves. */
static bool try(selection *s, const jm__part_set *set)
{
    const jm__noise before = s->noise;
    jm__pick *new = &s->picks.items[s->picks.count];
    new->set = *set;
    (void)jm__picks_gain(&s->picks, set, now(&before), &new->q);
    s->picks.count++;
    jm__picks_factor(&s->picks, now(&before));
    find_noise(s);
    const jm__noise left = s->noise;
    s->picks.count--;
    jm__picks_factor(&s->picks, now(&left));
    double gain = jm__picks_gain(&s->picks, set, jm__noise_lasting(&left), &new->q);
    bool worth = gain > JM_REFINE_LOG_ODDS + log((double)s->sets.count) && is_told(s, set, &left);
    s->noise = worth ? left : before;
    s->picks.count += worth;
    jm__picks_factor(&s->picks, now(&s->noise));
    return worth;
}

static void pick_likely(selection *s, size_t most)
{
    jm__part_set refused[REFUSALS_MAX];
    size_t refusals = 0;
    while (s->picks.count < most && refusals < REFUSALS_MAX) {
        const jm__part_set *best = best_of(s, refused, refusals);
        if (best == NULL) return;
        if (!try(s, best)) refused[refusals++] = *best;
    }
}

/* A type of layer that the readings cannot tell from the others may differ as usual, and its rows must not
 * look surer than that. */
static bool is_untold(const selection *s, const jm__part_set *set)
{
    double information = jm__picks_information(&s->picks, set);
    return !would_take_all(s, set) && information * jm__picks_usual_square(&s->picks, set) <
                                          told_information * jm__noise_lasting(&s->noise);
}

static double seconds_of(const selection *s, const jm__part_set *set)
{
    double sum = 0;
    for (size_t p = 0; p < s->parts.count; p++)
        if (holds(set, p)) sum += s->parts.items[p].seconds;
    return sum;
}

/* The type that takes most of the class whose sets begin at `first`. */
static size_t largest_of(const selection *s, size_t first)
{
    const jm__part_set *sets = s->sets.items;
    size_t largest = first;
    for (size_t i = first; i < s->sets.count && sets[i].first == sets[first].first; i++)
        if (sets[i].is_type && seconds_of(s, &sets[i]) > seconds_of(s, &sets[largest])) largest = i;
    return largest;
}

/* The largest is what the others are told from. */
static void pick_untold(selection *s, size_t most)
{
    size_t largest = 0;
    for (size_t i = 0; i < s->sets.count; i++) {
        const jm__part_set *set = &s->sets.items[i];
        if (i == 0 || set->first != set[-1].first) largest = largest_of(s, i);
        if (i == largest || !set->is_type || s->picks.count == most) continue;
        if (seconds_of(s, set) < untold_part * s->parts.busy_s || !is_untold(s, set)) continue;
        s->picks.items[s->picks.count++] = (jm__pick){*set, jm__picks_usual_square(&s->picks, set) / 2};
        jm__picks_factor(&s->picks, now(&s->noise));
    }
}

/* ---- the result */

static uint32_t signature(const selection *s, size_t part)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < s->picks.count; i++)
        if (holds(&s->picks.items[i].set, part)) bits |= UINT32_C(1) << i;
    return bits;
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
        out->differs_w[class_columns + out->count++] = jm__picks_differ_w(&s->picks, from, bits);
        out->differs_w[from] = jm__picks_differ_w(&s->picks, from, 0);
    }
    for (size_t u = 0; u < uses; u++)
        if (s->parts.of_use[u] != JM_NO_PART) out->of_use[u] = column_of[s->parts.of_use[u]];
    return JM_OK;
}

static jm_status begin(selection *s, jm_error *err)
{
    const jm__refine_input *in = s->in;
    JM_TRY(jm__sampled_init(&s->sampled, in->fit, in->fit_input, s->parts.count, err));
    JM_TRY(jm__picks_init(&s->picks, &s->parts, in->fit->power_w, err));
    return jm__parts_list_sets(&s->sets, &s->parts, in->work) ? JM_OK : jm__no_memory(err, "jm__split_find");
}

static jm_status select_sets(selection *s, jm__column_split *out, jm_error *err)
{
    size_t taken = s->in->work->columns.class_columns;
    size_t most = taken < JM_COLUMNS_MAX ? JM_COLUMNS_MAX - taken : 0;
    JM_TRY(begin(s, err));
    if (s->sampled.readings.count < JM_SAMPLED_LEAST || s->sets.count == 0) return JM_OK;
    JM_TRY(fill_rows(s, err));
    jm__sampled_fold(&s->sampled);
    jm__picks_take_corner(&s->picks, &s->sampled);
    find_noise(s);
    if (most > JM_PICKS_MAX) most = JM_PICKS_MAX;
    pick_likely(s, most);
    pick_untold(s, most);
    return s->picks.count > 0 ? make(out, s, err) : JM_OK;
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
    jm__picks_free(&s->picks);
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
