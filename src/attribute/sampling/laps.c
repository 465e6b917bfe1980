/* Steps in order, one after the other, and what each is like. */
#include "attribute/sampling/parts.h"
#include "base/alike.h"
#include "format/rows/span_kind.h"

#include <stdlib.h>
#include <string.h>

/* A step is traced if so much of it is: marks are made by code of the step's own edges. */
static const double traced_share = 0.95;

/* A row of the phase view, as rollup/views.c makes them: phases and windows by name, steps and epochs all
 * one. */
typedef struct row_key {
    int64_t kind, name;
    uint64_t outer;
} row_key;

typedef struct kind_key {
    uint64_t process, row;
    int64_t kind, name, samples, tokens;
} kind_key;

/* Numbers of keys, and of the last one asked for. */
typedef struct numbers {
    jm__map map;
    unsigned char last[sizeof(kind_key)];
    uint32_t number; /* 0: none was */
} numbers;

typedef struct collecting {
    jm__stands *out;
    const jm__stands_wanted *w;
    numbers rows, kinds, loose_kinds;
    bool *holds;      /* [spans]: a step or a phase lies in it */
    uint32_t *row_of; /* [spans]: number of the row of the innermost container at or around it, 0: none */
} collecting;

/* The number of a key, from 1; 0 if memory is out. Most steps are of the kind of the one before. */
static uint32_t number_of(numbers *n, const void *key)
{
    if (n->number != 0 && memcmp(n->last, key, n->map.key_size) == 0) return n->number;
    const jm__map_value *known = jm__map_find(&n->map, key);
    uint32_t number = known != NULL ? (uint32_t)known->id : (uint32_t)n->map.count + 1;
    if (known == NULL && !jm__map_put(&n->map, key, (jm__map_value){.id = number})) return 0;
    memcpy(n->last, key, n->map.key_size);
    n->number = number;
    return number;
}

static bool find_row(collecting *c, size_t span, size_t outer)
{
    const jm__span *row = &c->w->spans->dataset->spans[span];
    uint32_t around = outer == JM__NO_SPAN ? 0 : c->row_of[outer];
    c->row_of[span] = around;
    if (!jm__span_kind_is_container(row->kind)) return true;
    bool named = row->kind == JM_SPAN_PHASE || row->kind == JM_SPAN_WINDOW;
    const row_key key = {(int64_t)row->kind, named ? row->name_id : 0, around};
    c->row_of[span] = number_of(&c->rows, &key);
    return c->row_of[span] != 0;
}

static bool push_lap(collecting *c, size_t span, size_t process)
{
    const jm__span *step = &c->w->spans->dataset->spans[span];
    kind_key key = {process,
                    c->row_of[span],
                    (int64_t)step->kind,
                    step->name_id,
                    jm__alike_count(step->samples),
                    jm__alike_count(step->tokens)};
    uint32_t kind = number_of(&c->kinds, &key);
    if (kind == 0) return false;
    if (kind > c->out->loose_of.count) { /* a new one: kinds have numbers from 1 */
        key.row = 0;
        uint32_t loose = number_of(&c->loose_kinds, &key);
        if (loose == 0 || !jm__vec_push(&c->out->loose_of, loose)) return false;
    }
    const jm__lap lap = {.start_ns = step->start_ns,
                         .step_end_ns = jm__span_end_ns(c->w->spans->dataset, step),
                         .span = (uint32_t)span,
                         .process = (uint32_t)process,
                         .kind = kind,
                         .stand = JM__NO_STAND};
    return jm__vec_push(&c->out->laps, lap);
}

/* Does a lap's step, by number + 1, still go on when the span begins? */
static bool goes_on(const collecting *c, uint32_t lap, int64_t t_ns)
{
    return lap != 0 && c->out->laps.items[lap - 1].step_end_ns > t_ns;
}

/* What holds a step or a phase, however deep. */
static void find_holders(collecting *c)
{
    const jm__dataset *d = c->w->spans->dataset;
    for (size_t i = 0; i < d->span_count; i++) {
        if (d->spans[i].kind != JM_SPAN_PHASE && !jm__told_is_step(c->w->told, &d->spans[i])) continue;
        for (size_t s = jm__span_parent(c->w->spans, i); s != JM__NO_SPAN && !c->holds[s];
             s = jm__span_parent(c->w->spans, s))
            c->holds[s] = true;
    }
}

/* A phase without steps is told like one. */
static bool is_lap(const collecting *c, size_t span)
{
    const jm__span *row = &c->w->spans->dataset->spans[span];
    return jm__told_is_step(c->w->told, row) || (row->kind == JM_SPAN_PHASE && !c->holds[span]);
}

static bool collect(collecting *c)
{
    const jm__dataset *d = c->w->spans->dataset;
    find_holders(c);
    for (size_t i = 0; i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        const jm__process *process = jm__dataset_process(d, span->process_id);
        if (process == NULL || c->w->traced[process - d->processes].steps.count == 0) continue;
        size_t outer = jm__span_parent(c->w->spans, i);
        if (outer != JM__NO_SPAN && outer >= i) outer = JM__NO_SPAN;
        if (!find_row(c, i, outer)) return false;
        uint32_t around = outer == JM__NO_SPAN ? 0 : c->out->lap_of_span[outer];
        c->out->lap_of_span[i] = around;
        if (!is_lap(c, i) || goes_on(c, around, span->start_ns)) continue;
        if (!push_lap(c, i, (size_t)(process - d->processes))) return false;
        c->out->lap_of_span[i] = (uint32_t)c->out->laps.count;
    }
    return true;
}

/* By process; of each they come in order of time. */
static bool sort(jm__stands *out, size_t spans)
{
    size_t count = out->laps.count;
    for (size_t i = 0; i < count; i++)
        out->laps_of[out->laps.items[i].process + 1]++;
    for (size_t p = 0; p < out->processes; p++)
        out->laps_of[p + 1] += out->laps_of[p];
    if (out->processes == 1) return true;
    jm__lap *sorted = malloc((count + 1) * sizeof *sorted);
    uint32_t *number = malloc((count + 1) * sizeof *number);
    size_t *next = malloc((out->processes + 1) * sizeof *next);
    bool fine = sorted != NULL && number != NULL && next != NULL;
    if (fine) memcpy(next, out->laps_of, out->processes * sizeof *next);
    for (size_t i = 0; fine && i < count; i++) {
        number[i] = (uint32_t)next[out->laps.items[i].process]++;
        sorted[number[i]] = out->laps.items[i];
    }
    for (size_t s = 0; fine && s < spans; s++)
        if (out->lap_of_span[s] != 0) out->lap_of_span[s] = number[out->lap_of_span[s] - 1] + 1;
    if (fine) memcpy(out->laps.items, sorted, count * sizeof *sorted);
    free(sorted);
    free(number);
    free(next);
    return fine;
}

static bool is_traced(const jm__lap *lap, const jm__windows *on, size_t *at)
{
    int64_t length_ns = lap->step_end_ns - lap->start_ns;
    if (length_ns <= 0) return jm__windows_hold(on, lap->start_ns);
    return (double)jm__windows_next_overlap_ns(on, at, lap->start_ns, lap->step_end_ns) >=
           traced_share * (double)length_ns;
}

/* What lies between two steps belongs to the first, unless it is longer than that, and than what lies between
 * traced ones: of a pause nobody knows what ran in it. */
static void end_laps(jm__lap *laps, size_t count)
{
    int64_t longest_ns = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        int64_t gap_ns = laps[i + 1].start_ns - laps[i].step_end_ns;
        if (laps[i].traced && laps[i + 1].traced && gap_ns > longest_ns) longest_ns = gap_ns;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t end_ns = laps[i].step_end_ns, length_ns = end_ns - laps[i].start_ns;
        laps[i].end_ns = end_ns;
        if (i + 1 == count) break;
        int64_t most_ns = length_ns > longest_ns ? length_ns : longest_ns;
        if (laps[i + 1].start_ns - end_ns <= most_ns) laps[i].end_ns = laps[i + 1].start_ns;
    }
}

static void finish(jm__stands *out, const jm__stands_wanted *w)
{
    for (size_t p = 0; p < out->processes; p++) {
        size_t first = out->laps_of[p], end = out->laps_of[p + 1], at = 0;
        for (size_t i = first; i < end; i++)
            out->laps.items[i].traced = is_traced(&out->laps.items[i], &w->traced[p].on, &at);
        end_laps(out->laps.items + first, end - first);
    }
}

bool jm__laps_find(jm__stands *out, const jm__stands_wanted *w)
{
    const jm__dataset *d = w->spans->dataset;
    collecting c = {.out = out,
                    .w = w,
                    .rows = {.map = {.key_size = sizeof(row_key)}},
                    .kinds = {.map = {.key_size = sizeof(kind_key)}},
                    .loose_kinds = {.map = {.key_size = sizeof(kind_key)}}};
    c.row_of = calloc(d->span_count + 1, sizeof *c.row_of);
    c.holds = calloc(d->span_count + 1, sizeof *c.holds);
    out->lap_of_span = calloc(d->span_count + 1, sizeof *out->lap_of_span);
    out->laps_of = calloc(out->processes + 1, sizeof *out->laps_of);
    bool fine = c.holds != NULL && c.row_of != NULL && out->lap_of_span != NULL && out->laps_of != NULL &&
                collect(&c) && sort(out, d->span_count);
    if (fine) finish(out, w);
    free(c.row_of);
    free(c.holds);
    jm__map_free(&c.rows.map);
    jm__map_free(&c.kinds.map);
    jm__map_free(&c.loose_kinds.map);
    return fine;
}
