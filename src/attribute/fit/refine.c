/* What a first fit leaves of a sample of readings, and which other powers by place would explain more of it.
 */
#include "attribute/fit/refine.h"

#include "attribute/fit/nnls.h"
#include "attribute/input/ring_grid.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Choices: what a class of less could draw otherwise, or a part of less, is not worth a column. */
static const double least_class = 0.01, least_part = 0.002; /* of the busy time */

/* Places from fine to coarse. */
enum { BY_LAYER, BY_TYPE, BY_TYPE_IN_ANY_PHASE, FINENESSES };

static jm__context coarse(jm__context place, int fineness)
{
    if (fineness >= BY_TYPE && place.type != 0) place.layer = 0;
    if (fineness >= BY_TYPE_IN_ANY_PHASE) place.phase = 0;
    return place;
}

static bool is_same(const jm__context *a, const jm__context *b)
{
    return a->phase == b->phase && a->layer == b->layer && a->type == b->type && a->kind == b->kind;
}

/* The part of this place among those from `first` on, made if there is room; JM_NO_PART: there is none. */
static uint32_t part_of(jm__parts *parts, size_t first, uint32_t column, const jm__context *place)
{
    for (size_t p = first; p < parts->count; p++)
        if (is_same(&parts->items[p].place, place)) return (uint32_t)p;
    if (parts->count == JM_PARTS_MAX || parts->count - first == JM_PARTS_OF_CLASS) return JM_NO_PART;
    parts->items[parts->count] = (jm__part){.column = column, .place = *place};
    return (uint32_t)parts->count++;
}

static double split_learnt_s(const jm__board_work *work, size_t use)
{
    return use < work->tally.uses.count ? work->tally.uses.items[use].inside.learn_s : 0;
}

/* False if there are more places than parts. */
static bool add_column(jm__parts *parts, const jm__work_set *set, const jm__board_work *work, uint32_t column,
                       int fineness)
{
    size_t first = parts->count;
    bool all = true;
    for (size_t u = 0; u < set->uses.items.count; u++) {
        double seconds = split_learnt_s(work, u);
        if (work->columns.of_use[u] != column || seconds <= 0) continue;
        const jm__context place = coarse(*jm__use_context(set, u), fineness);
        uint32_t part = part_of(parts, first, column, &place);
        parts->of_use[u] = part;
        if (part != JM_NO_PART) parts->items[part].seconds += seconds;
        all = all && part != JM_NO_PART;
    }
    return all;
}

static void take_back(jm__parts *parts, const jm__work_set *set, const jm__board_work *work, uint32_t column,
                      size_t first)
{
    for (size_t u = 0; u < set->uses.items.count; u++)
        if (work->columns.of_use[u] == column) parts->of_use[u] = JM_NO_PART;
    parts->count = first;
}

/* The parts of a column, by places as fine as there is room for; none if it is in one place. */
static void split_column(jm__parts *parts, const jm__work_set *set, const jm__board_work *work,
                         uint32_t column)
{
    size_t first = parts->count;
    for (int fineness = 0; fineness < FINENESSES; fineness++) {
        take_back(parts, set, work, column, first);
        if (add_column(parts, set, work, column, fineness)) break;
    }
    if (parts->count - first < 2) take_back(parts, set, work, column, first);
}

jm_status jm__parts_choose(jm__parts *parts, const jm__work_set *set, const jm__board_work *work,
                           jm_error *err)
{
    size_t uses = set->uses.items.count;
    const jm__columns *columns = &work->columns;
    *parts = (jm__parts){.of_use = malloc((uses + 1) * sizeof *parts->of_use)};
    bool *own = calloc(columns->count + 1, sizeof *own);
    bool fine = parts->of_use != NULL && own != NULL;
    for (size_t u = 0; fine && u < uses; u++)
        parts->of_use[u] = JM_NO_PART;
    for (size_t c = 0; fine && c < set->classes.count; c++)
        if (columns->of_class[c] != JM_NO_COLUMN && !columns->merged[c]) own[columns->of_class[c]] = true;
    for (size_t k = 0; k < columns->class_columns; k++)
        parts->busy_s += work->learn_seconds[k];
    for (uint32_t k = 0; fine && k < columns->class_columns; k++)
        if (own[k] && work->learn_seconds[k] >= least_class * parts->busy_s)
            split_column(parts, set, work, k);
    free(own);
    return fine ? JM_OK : jm__no_memory(err, "jm__parts_choose");
}

void jm__parts_free(jm__parts *parts)
{
    free(parts->of_use);
    parts->of_use = NULL;
}

/* What the parts of a set have in common. */
enum { ALL_OF_IT, TYPE_IN_PHASE, TYPE, LAYER, PHASE, KIND, WAYS };

static bool are_alike(const jm__context *a, const jm__context *b, int way)
{
    bool type = a->kind == b->kind && a->type == b->type && (a->type != 0 || a->layer == b->layer);
    switch (way) {
    case TYPE_IN_PHASE:
        return type && a->phase == b->phase;
    case TYPE:
        return type;
    case LAYER:
        return a->kind == b->kind && a->layer == b->layer;
    case PHASE:
        return a->phase == b->phase;
    case KIND:
        return a->kind == b->kind;
    default:
        return is_same(a, b);
    }
}

static bool is_known(const jm__part_sets *sets, size_t from, uint64_t bits)
{
    for (size_t i = from; i < sets->count; i++)
        if (sets->items[i].bits == bits) return true;
    return false;
}

/* The sets of the class whose parts are [first, end). */
static bool list_class(jm__part_sets *sets, const jm__parts *parts, size_t first, size_t end, double rest_s)
{
    const jm__part *items = parts->items;
    size_t known = sets->count;
    uint64_t whole = (UINT64_C(1) << (end - first)) - 1;
    if (rest_s >= least_part * parts->busy_s) whole = 0;
    for (int way = TYPE_IN_PHASE; way < WAYS + TYPE_IN_PHASE; way++) {
        for (size_t p = first; p < end; p++) {
            jm__part_set set = {.first = first, .whole = whole, .is_type = way == TYPE_IN_PHASE};
            double seconds = 0;
            for (size_t q = first; q < end; q++) {
                if (!are_alike(&items[p].place, &items[q].place, way % WAYS)) continue;
                set.bits |= UINT64_C(1) << (q - first);
                seconds += items[q].seconds;
            }
            if (set.bits == whole || seconds < least_part * parts->busy_s || is_known(sets, known, set.bits))
                continue;
            if (!jm__vec_push(sets, set)) return false;
        }
    }
    return true;
}

bool jm__parts_list_sets(jm__part_sets *sets, const jm__parts *parts, const jm__board_work *work)
{
    for (size_t first = 0, end; first < parts->count; first = end) {
        double rest_s = work->learn_seconds[parts->items[first].column];
        for (end = first; end < parts->count && parts->items[end].column == parts->items[first].column; end++)
            rest_s -= parts->items[end].seconds;
        if (!list_class(sets, parts, first, end, rest_s)) return false;
    }
    return true;
}

jm_status jm__selection_init(jm__selection *s, const jm__parts *parts, const double *power_w,
                             const jm__qr *folded, jm_error *err)
{
    size_t count = parts->count;
    *s = (jm__selection){.parts = parts, .power_w = power_w};
    s->information = calloc(2 * count * (count + 1) + 1, sizeof(double));
    if (s->information == NULL) return jm__no_memory(err, "jm__split_find");
    s->score = s->information + count * count;
    s->left = s->score + count;
    s->left_score = s->left + count * count;
    jm__qr_information(s->information, s->score, folded, folded->columns - count);
    jm__selection_update(s, 0);
    return JM_OK;
}

void jm__selection_free(jm__selection *selection)
{
    free(selection->information);
    selection->information = NULL;
}

/* The sum over the parts of a set of `values`, by their number. */
static double sum_over(const jm__part_set *set, const double *values)
{
    double sum = 0;
    for (size_t i = 0; set->bits >> i != 0; i++)
        if (set->bits >> i & 1) sum += values[set->first + i];
    return sum;
}

double jm__selection_usual_square(const jm__selection *s, const jm__part_set *set)
{
    return 2 * pow(jm__selection_differ_w(s, s->parts->items[set->first].column, 0), 2);
}

double jm__selection_information(const jm__selection *s, const jm__part_set *set)
{
    double sum = 0;
    for (size_t i = 0; set->bits >> i != 0; i++)
        if (set->bits >> i & 1) sum += sum_over(set, s->left + (set->first + i) * s->parts->count);
    return fmax(0, sum);
}

double jm__selection_gain(const jm__selection *s, const jm__part_set *set, double variance, double *q)
{
    double usual = jm__selection_usual_square(s, set), information = jm__selection_information(s, set);
    double score = sum_over(set, s->left_score);
    *q = usual;
    for (int round = 0; round < 12; round++) {
        double v = 1 / (information / variance + 1 / *q), d = score / variance * v;
        *q = (JM_DIFFERENCE_FREEDOM * usual + d * d + v) / (JM_DIFFERENCE_FREEDOM + 1);
    }
    double gain = score * score * *q / (variance * (variance + information * *q));
    double tail = JM_DIFFERENCE_FREEDOM * log(fmax(1, *q / usual));
    return (gain - log1p(information * *q / variance) - tail) / 2;
}

void jm__selection_update(jm__selection *s, double variance)
{
    size_t count = s->parts->count;
    memcpy(s->left, s->information, count * (count + 1) * sizeof *s->left);
    for (jm__pick *pick = s->items; pick < s->items + s->count; pick++) {
        pick->square = jm__selection_information(s, &pick->set) + variance / pick->q;
        pick->score = sum_over(&pick->set, s->left_score);
        for (size_t p = 0; p < count; p++)
            pick->shared[p] = sum_over(&pick->set, s->left + p * count);
        for (size_t p = 0; p < count; p++)
            s->left_score[p] -= pick->shared[p] * pick->score / pick->square;
        jm__matrix_add_outer(s->left, -1 / pick->square, pick->shared, count);
    }
}

/* Of the last one first, as it was picked with all others known. */
void jm__selection_differences(const jm__selection *s, double *out)
{
    size_t count = s->parts->count;
    memset(out, 0, count * sizeof *out);
    for (size_t i = s->count; i-- > 0;) {
        const jm__pick *pick = &s->items[i];
        double d = (pick->score - jm__matrix_dot(pick->shared, out, count)) / pick->square;
        for (size_t p = 0; pick->set.bits >> p != 0; p++)
            if (pick->set.bits >> p & 1) out[pick->set.first + p] += d;
    }
}

double jm__selection_differ_w(const jm__selection *s, uint32_t column, uint32_t bits)
{
    double square = pow(fmax(JM_DIFFERENCE_LEAST_W, JM_DISCREPANCY_USUAL_U * s->power_w[column]), 2);
    for (size_t i = 0; i < s->count; i++)
        if (bits >> i & 1) square += s->items[i].q;
    return sqrt(square);
}

/* Forward selection among sets of parts, by what each would explain of the readings (refine.h).
 *
 * Noise that drifts looks like a difference between two long intervals of time: its variance is that of a
 * mean over long intervals, of the residuals that are left once the set is picked. */

enum {
    REFUSALS_MAX = 8, /* candidates that do not hold what they promised */
    ROOM = 1000000    /* numbers of rows that are kept: 8 MB */
};

/* A choice: what a type of layer with less of the busy time differs by is small beside what is known of the
 * whole. */
static const double unmarked_part = 0.02;

/* Readings tell a difference if they take its standard uncertainty to a third of the usual one, its variance
 * to 1 / (1 + 8). */
static const double marked_information = 8;

/* What another lag and width of the response would change. */
enum { LAG, WIDTH, RESPONSES };

/* A sample of the readings and their rows of the design: columns of the fit, two for the response, and one
 * for each part. */
typedef struct selection {
    const jm__refine_input *in;
    jm__parts parts;
    jm__part_sets sets;
    size_t columns;      /* of the fit */
    size_t first, width; /* the first column of parts; of all */
    jm__reading_list readings;
    double *rows;     /* [readings * width] */
    double *residual; /* [readings] */
    double *x;        /* [width] */
    jm__qr qr;
    jm__selection selection;
    jm__noise noise; /* that the classes and the selection leave */
} selection;

/* ---- the design by part */

/* Readings of what powers are learnt from. */
static jm_status choose_readings(selection *s, jm_error *err)
{
    const jm__fit_input *input = s->in->fit_input;
    jm__reading_list all = {0};
    size_t most = ROOM / s->width;
    if (most < 4 * s->width) most = 4 * s->width;
    jm_status status = jm__readings_choose(&all, input->sensor, input->readings, input->reading_count,
                                           input->learn, input->unknown, err);
    if (status == JM_OK && s->in->fit->calibration.moved)
        status = jm__ring_grid(all.items, all.count, input->sensor->period_ns, true, err);
    if (status == JM_OK) status = jm__readings_sample(&s->readings, &all, most, err);
    jm__vec_free(&all);
    return status;
}

/* Rows with the parts of classes apart, and their sums as classes. */
static void fill_parts(selection *s, jm__design *design)
{
    jm__design_start(design, s->in->fit->calibration.response);
    for (size_t i = 0; i < s->readings.count; i++) {
        double *row = s->rows + i * s->width;
        memcpy(row, jm__design_row(design, s->readings.items[i].t_ns), s->width * sizeof *row);
        for (size_t p = 0; p < s->parts.count; p++)
            row[s->parts.items[p].column] += row[s->first + p];
    }
}

/* What readings would be more if lag or width were one standard uncertainty of the profile more. */
static void fill_response(selection *s, jm__design *design)
{
    const double *power_w = s->in->fit->power_w;
    const jm__calibration profile = jm__calibration_of(s->in->fit_input->sensor);
    for (size_t way = LAG; way < RESPONSES; way++) {
        jm__response response = s->in->fit->calibration.response;
        if (way == LAG) response.lag_ns += sqrt(profile.lag_variance);
        if (way == WIDTH) response.width_ns += sqrt(profile.width_variance);
        jm__design_start(design, response);
        for (size_t i = 0; i < s->readings.count; i++) {
            double *row = s->rows + i * s->width;
            const double *other = jm__design_row(design, s->readings.items[i].t_ns);
            row[s->columns + way] =
                jm__matrix_dot(other, power_w, s->columns) - jm__matrix_dot(row, power_w, s->columns);
        }
    }
}

static jm_status fill_rows(selection *s, jm_error *err)
{
    jm__board_work *work = s->in->work;
    size_t codes = JM_IDLE_STATES + s->in->set->pass_uses;
    const uint32_t *usual = work->pieces.column_of, *use_of = s->in->set->use_of;
    uint32_t *column_of = malloc(codes * sizeof *column_of);
    jm__design design = {0};
    if (column_of == NULL) return jm__no_memory(err, "jm__split_find");
    memcpy(column_of, usual, codes * sizeof *column_of);
    for (size_t i = JM_IDLE_STATES; i < codes; i++) {
        uint32_t part = s->parts.of_use[use_of[i - JM_IDLE_STATES]];
        if (part != JM_NO_PART) column_of[i] = (uint32_t)s->first + part;
    }
    jm_status status = jm__design_init(&design, &work->pieces, s->width, err);
    if (status == JM_OK) {
        work->pieces.column_of = column_of;
        fill_parts(s, &design);
        work->pieces.column_of = usual;
        fill_response(s, &design);
        status = jm__pieces_check(&work->pieces, err);
    }
    jm__design_free(&design);
    free(column_of);
    return status;
}

/* The rows as a finished triangle, with what was assumed of the powers beforehand. Priors are weighed for
 * the sensor's own noise: what the residuals show on top of it may be what is looked for. */
static void fold_rows(selection *s)
{
    const jm__joint_prior *joint_prior = &s->in->fit->joint_prior;
    for (size_t i = 0; i < s->readings.count; i++)
        jm__qr_add(&s->qr, s->rows + i * s->width, s->readings.items[i].value);
    jm__qr_append(&s->qr, &joint_prior->equations, joint_prior->noise.noise_w);
    for (size_t k = s->columns; k < s->first; k++) {
        s->x[k] = joint_prior->noise.noise_w; /* room for a row */
        jm__qr_add(&s->qr, s->x, 0);
        s->x[k] = 0;
    }
    jm__qr_finish(&s->qr);
}

static bool holds(const jm__part_set *set, size_t part)
{
    return part >= set->first && part - set->first < 64 && (set->bits >> (part - set->first) & 1);
}

static double now(const jm__noise *noise)
{
    return noise->white + noise->drift;
}

/* The variance of noise that a difference between long intervals of time sees. */
static double lasting(const jm__noise *noise)
{
    return noise->white + noise->drift * (1 + noise->keep) / (1 - noise->keep);
}

/* All powers, given those of the parts. */
static void solve_given_parts(selection *s)
{
    for (size_t i = s->first; i-- > 0;) {
        s->x[i] = s->qr.triangle[s->width * s->qr.stride + i];
        for (size_t k = i + 1; k < s->width; k++)
            s->x[i] -= s->qr.triangle[k * s->qr.stride + i] * s->x[k];
        s->x[i] /= s->qr.triangle[i * s->qr.stride + i];
    }
}

/* The noise of what the classes and the selection leave of the readings. */
static void find_noise(selection *s)
{
    double count = (double)s->readings.count, freedom = fmax(count / 2, count - (double)s->columns);
    const jm__pass pass = {.readings = s->readings.items,
                           .count = s->readings.count,
                           .period_ns = s->in->fit_input->sensor->period_ns};
    jm__selection_differences(&s->selection, s->x + s->first);
    solve_given_parts(s);
    for (size_t i = 0; i < pass.count; i++)
        s->residual[i] = pass.readings[i].value - jm__matrix_dot(s->rows + i * s->width, s->x, s->width);
    jm__noise_of_residuals(&s->noise, &pass, s->residual, freedom);
    if (now(&s->noise) <= 0) {
        double square = jm__matrix_dot(s->residual, s->residual, pass.count);
        s->noise = (jm__noise){.white = fmax(1e-9, square / freedom)};
    }
    jm__selection_update(&s->selection, now(&s->noise));
}

/* With it nothing would be left of its class to compare it with. */
static bool would_take_all(const selection *s, const jm__part_set *set)
{
    uint64_t taken = set->bits;
    for (size_t i = 0; i < s->selection.count; i++)
        if (s->selection.items[i].set.first == set->first) taken |= s->selection.items[i].set.bits;
    return set->whole != 0 && taken == set->whole;
}

/* The set that explains most; NULL: none does anything. */
static jm__part_set *best_of(const selection *s)
{
    jm__part_set *best = NULL;
    double most = 0, q;
    for (size_t i = 0; i < s->sets.count; i++) {
        jm__part_set *set = &s->sets.items[i];
        if (set->tried || would_take_all(s, set)) continue;
        double gain = jm__selection_gain(&s->selection, set, now(&s->noise), &q);
        if (gain <= most) continue;
        most = gain;
        best = set;
    }
    return best;
}

/* What readings tell less of than is known without them, a small fault of the response or of the stamps tells
 * as much of: a difference seen there may be larger than any power. */
static bool is_marked(const selection *s, const jm__part_set *set, const jm__noise *noise)
{
    double information = jm__selection_information(&s->selection, set);
    return information * jm__selection_usual_square(&s->selection, set) > lasting(noise);
}

/* Try it: it stays if it is worth it with the noise that it leaves. */
static bool try(selection *s, const jm__part_set *set)
{
    const jm__noise before = s->noise;
    jm__pick *new = &s->selection.items[s->selection.count];
    new->set = *set;
    (void)jm__selection_gain(&s->selection, set, now(&before), &new->q);
    s->selection.count++;
    jm__selection_update(&s->selection, now(&before));
    find_noise(s);
    const jm__noise left = s->noise;
    s->selection.count--;
    jm__selection_update(&s->selection, now(&left));
    double gain = jm__selection_gain(&s->selection, set, lasting(&left), &new->q);
    bool worth = gain > JM_LOG_ODDS + log((double)s->sets.count) && is_marked(s, set, &left);
    s->noise = worth ? left : before;
    s->selection.count += worth;
    jm__selection_update(&s->selection, now(&s->noise));
    return worth;
}

static void pick_likely(selection *s, size_t most)
{
    for (size_t refused = 0; s->selection.count < most && refused < REFUSALS_MAX;) {
        jm__part_set *best = best_of(s);
        if (best == NULL) return;
        best->tried = true;
        refused += !try(s, best);
    }
}

/* A type of layer that the readings cannot tell from the others may differ as usual, and its rows must not
 * look surer than that. */
static bool is_unmarked(const selection *s, const jm__part_set *set)
{
    double information = jm__selection_information(&s->selection, set);
    return !would_take_all(s, set) && information * jm__selection_usual_square(&s->selection, set) <
                                          marked_information * lasting(&s->noise);
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
static void pick_unmarked(selection *s, size_t most)
{
    size_t largest = 0;
    for (size_t i = 0; i < s->sets.count; i++) {
        const jm__part_set *set = &s->sets.items[i];
        if (i == 0 || set->first != set[-1].first) largest = largest_of(s, i);
        if (i == largest || !set->is_type || s->selection.count == most) continue;
        if (seconds_of(s, set) < unmarked_part * s->parts.busy_s || !is_unmarked(s, set)) continue;
        s->selection.items[s->selection.count++] =
            (jm__pick){.set = *set, .q = jm__selection_usual_square(&s->selection, set) / 2};
        jm__selection_update(&s->selection, now(&s->noise));
    }
}

/* ---- the result */

static uint32_t signature(const selection *s, size_t part)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < s->selection.count; i++)
        if (holds(&s->selection.items[i].set, part)) bits |= UINT32_C(1) << i;
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
        out->differs_w[class_columns + out->count++] = jm__selection_differ_w(&s->selection, from, bits);
        out->differs_w[from] = jm__selection_differ_w(&s->selection, from, 0);
    }
    for (size_t u = 0; u < uses; u++)
        if (s->parts.of_use[u] != JM_NO_PART) out->of_use[u] = column_of[s->parts.of_use[u]];
    return JM_OK;
}

static jm_status begin(selection *s, jm_error *err)
{
    s->columns = s->in->fit->columns;
    s->first = s->columns + RESPONSES;
    s->width = s->first + s->parts.count;
    if (!jm__parts_list_sets(&s->sets, &s->parts, s->in->work)) return jm__no_memory(err, "jm__split_find");
    JM_TRY(choose_readings(s, err));
    s->rows = calloc(s->readings.count * (s->width + 1) + s->width + 1, sizeof *s->rows);
    if (s->rows == NULL) return jm__no_memory(err, "jm__split_find");
    s->residual = s->rows + s->readings.count * s->width;
    s->x = s->residual + s->readings.count;
    return jm__qr_init(&s->qr, s->width, err);
}

static jm_status select_sets(selection *s, jm__column_split *out, jm_error *err)
{
    size_t taken = s->in->work->columns.class_columns;
    size_t most = taken < JM_COLUMNS_MAX ? JM_COLUMNS_MAX - taken : 0;
    JM_TRY(begin(s, err));
    if (s->readings.count < JM_NOISE_READINGS || s->sets.count == 0) return JM_OK;
    JM_TRY(fill_rows(s, err));
    fold_rows(s);
    JM_TRY(jm__selection_init(&s->selection, &s->parts, s->in->fit->power_w, &s->qr, err));
    find_noise(s);
    if (most > JM_SELECTION_MAX) most = JM_SELECTION_MAX;
    pick_likely(s, most);
    pick_unmarked(s, most);
    return s->selection.count > 0 ? make(out, s, err) : JM_OK;
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
    jm__vec_free(&s->readings);
    jm__qr_free(&s->qr);
    jm__selection_free(&s->selection);
    free(s->rows);
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
