/* Kernels and bursts into the sweep line, and what nobody knows as work beside them. */
#include "calibrate/gaps.h"

#include "attribute/work/sweep.h"
#include "base/clock.h"
#include "base/search.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* What the suite calls its rest, with a program on the board (joulemap.calibration). */
static const char rest_phase[] = "idle";

/* Half a gigabyte of them: a suite has a million. */
enum { KERNELS_MAX = 8 << 20 };

/* The longest memory of a sensor: the average over a second, several times over. */
static const int64_t memory_ns = 5 * JM_NS_PER_S;

static jm_status find_known(jm__windows *known, const jm__lesson *l, jm_error *err)
{
    const jm__dataset *d = l->dataset;
    bool fine = jm__windows_add_all(known, &l->phase);
    for (size_t i = 0; fine && i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (span->kind == JM_SPAN_PHASE && strcmp(jm__dataset_text(d, span->name_id), rest_phase) == 0)
            fine = jm__windows_add(known, span->start_ns, jm__span_end_ns(d, span));
    }
    jm__windows_normalise(known);
    return fine ? JM_OK : jm__no_memory(err, "jm_model_learn");
}

/* What lives while kernels pass. */
typedef struct finding {
    const jm__gaps *gaps;
    const jm__lesson *lesson;
    jm__items items; /* class_index: a column */
    bool *traced;    /* [bursts]: a kernel was seen in it */
    bool too_many;
} finding;

static bool add(finding *f, int64_t start_ns, int64_t end_ns, size_t column)
{
    const jm__item item = {
        .start_ns = start_ns, .end_ns = end_ns, .class_index = (uint32_t)column, .calls = 1};
    return jm__vec_push(&f->items, item);
}

/* The burst that it begins in; their count if there is none. */
static size_t burst_of(const jm__lesson *l, int64_t t_ns)
{
    const jm__burst *bursts = l->bursts.items;
    size_t at;
    jm__search(at, l->bursts.count, bursts[at].end_ns <= t_ns);
    return at < l->bursts.count && bursts[at].start_ns <= t_ns ? at : l->bursts.count;
}

static jm_status take_kernel(void *taker, const jm__kernel_run *kernel, jm_error *err)
{
    finding *f = taker;
    if (!jm__lesson_has_kernel(f->lesson, kernel)) return JM_OK;
    if (!jm__windows_hold(&f->gaps->known, kernel->start_ns)) return JM_OK;
    f->too_many = f->too_many || f->items.count == KERNELS_MAX;
    if (f->too_many) return JM_OK;
    size_t burst = burst_of(f->lesson, kernel->start_ns), column = JM__NOT_OF_SUITE;
    if (burst < f->lesson->bursts.count) {
        f->traced[burst] = true;
        column += 1 + f->lesson->bursts.items[burst].kernel;
    }
    int64_t end_ns = kernel->end_ns > kernel->start_ns ? kernel->end_ns : kernel->start_ns;
    return add(f, kernel->start_ns, end_ns, column) ? JM_OK : jm__no_memory(err, "jm_model_learn");
}

static bool add_bursts(finding *f)
{
    bool fine = true;
    for (size_t i = 0; fine && i < f->lesson->bursts.count; i++) {
        const jm__burst *burst = &f->lesson->bursts.items[i];
        if (!f->traced[i])
            fine = add(f, burst->start_ns, burst->end_ns, JM__NOT_OF_SUITE + 1 + burst->kernel);
    }
    return fine;
}

static bool add_unknown(finding *f)
{
    const jm__windows *known = &f->gaps->known;
    int64_t now_ns = known->items[0].from_ns - memory_ns;
    bool fine = true;
    for (size_t i = 0; fine && i < known->count; i++) {
        fine = add(f, now_ns, known->items[i].from_ns, JM__NOT_OF_SUITE);
        now_ns = known->items[i].to_ns;
    }
    return fine && add(f, now_ns, now_ns + memory_ns, JM__NOT_OF_SUITE);
}

static jm_status find_items(finding *f, jm_error *err)
{
    const jm__kernel_source *kernels = &f->lesson->dataset->kernels;
    f->traced = calloc(f->lesson->bursts.count + 1, sizeof *f->traced);
    if (f->traced == NULL) return jm__no_memory(err, "jm_model_learn");
    if (kernels->each != NULL) JM_TRY(kernels->each(kernels->context, false, take_kernel, f, err));
    if (!add_bursts(f) || !add_unknown(f)) return jm__no_memory(err, "jm_model_learn");
    jm__items_sort(&f->items);
    return JM_OK;
}

static bool walk(jm__gaps *g, const jm__items *items)
{
    jm__sweep sweep;
    int64_t from_ns = items->items[0].start_ns;
    jm__pieces_begin(&g->pieces, from_ns, SIZE_MAX);
    jm__sweep_begin(&sweep, &g->pieces, &g->tally, &g->known, &g->known, &g->known, from_ns);
    bool fine = true;
    for (size_t i = 0; fine && i < items->count; i++)
        fine = jm__sweep_take(&sweep, &items->items[i],
                              &(jm__counted_as){.use = items->items[i].class_index,
                                                .place = JM_PLACE_UNLAYERED,
                                                .cell = JM__NO_CELL,
                                                .sum = SIZE_MAX,
                                                .lent = JM__NO_CELL});
    fine = fine && jm__sweep_end(&sweep, from_ns) && jm__pieces_end(&g->pieces);
    jm__sweep_free(&sweep);
    return fine;
}

static jm_status find_columns(jm__gaps *g, jm_error *err)
{
    g->column_of = calloc(g->columns, sizeof *g->column_of);
    g->seconds = calloc(g->columns, sizeof *g->seconds);
    if (g->column_of == NULL || g->seconds == NULL) return jm__no_memory(err, "jm_model_learn");
    g->pieces.column_of = g->column_of;
    for (uint32_t s = 0; s < JM_IDLE_STATES; s++) {
        g->column_of[s] = (uint32_t)g->class_columns + s;
        g->seconds[g->column_of[s]] = g->tally.idle[s].learn_s;
    }
    for (uint32_t k = 0; k < g->class_columns; k++)
        g->column_of[jm__piece_code(k)] = k;
    for (size_t k = 0; k < g->tally.uses.count; k++)
        g->seconds[k] = g->tally.uses.items[k].inside.learn_s;
    return JM_OK;
}

jm_status jm__gaps_find(jm__gaps *g, const jm__lesson *l, jm_error *err)
{
    *g = (jm__gaps){.pieces = {.file = -1}, .class_columns = 1 + l->kernels.count};
    g->columns = g->class_columns + JM_IDLE_STATES;
    finding f = {.gaps = g, .lesson = l};
    jm_status status = find_known(&g->known, l, err);
    if (status == JM_OK) status = find_items(&f, err);
    g->too_many = f.too_many;
    if (status == JM_OK && !g->too_many && !walk(g, &f.items)) status = jm__no_memory(err, "jm_model_learn");
    jm__vec_free(&f.items);
    free(f.traced);
    return status == JM_OK && !g->too_many ? find_columns(g, err) : status;
}

void jm__gaps_free(jm__gaps *g)
{
    jm__vec_free(&g->known);
    jm__tally_free(&g->tally);
    jm__pieces_free(&g->pieces);
    free(g->column_of);
    free(g->seconds);
    *g = (jm__gaps){.pieces = {.file = -1}};
}
