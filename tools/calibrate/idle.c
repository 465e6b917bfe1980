/* Learns idle powers of a board and the noise of its power sensor. */
#include "calibrate/idle.h"

#include "attribute/fit/calibrate.h"
#include "attribute/fit/discrepancy.h"
#include "attribute/fit/fit.h"
#include "attribute/fit/levels.h"
#include "attribute/work/sweep.h"
#include "attribute/work/tally.h"
#include "attribute/work/work.h"
#include "base/clock.h"
#include "base/search.h"
#include "base/status.h"
#include "calibrate/training_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernels and bursts for the sweep; time outside the phase counts as unknown work */

/* Columns of the fit: JM__OUTSIDE_SUITE, then the kernels of the suite, then the idle states. */
enum { JM__OUTSIDE_SUITE };

typedef struct jm__gaps {
    jm__intervals known; /* the phase and recorded rest: times when all work is known */
    jm__tally tally;     /* of `known` */
    jm__pieces pieces;
    uint32_t *column_of;  /* [codes of pieces] */
    double *seconds;      /* [columns], seconds within `known` */
    size_t class_columns; /* the first idle column */
    size_t columns;
    bool too_many; /* too many kernels for the memory: no pieces, and nothing is learnt */
} jm__gaps;
/* The suite's name for rest with a program on the board (joulemap.calibration). */
static const char rest_phase[] = "idle";

/* Half a gigabyte of items; a suite has a million. */
enum { KERNELS_MAX = 8 << 20 };

/* The longest memory of a sensor: several times its averaging over a second. */
static const int64_t memory_ns = 5 * JM_NS_PER_S;

static jm_status find_known(jm__intervals *known, const jm__training_set *l, jm_error *err)
{
    const jm__dataset *d = l->dataset;
    bool ok = jm__intervals_add_all(known, &l->phase);
    for (size_t i = 0; ok && i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (span->kind == JM_SPAN_PHASE && strcmp(jm__dataset_text(d, span->name_id), rest_phase) == 0)
            ok = jm__intervals_add(known, span->start_ns, jm__span_end_ns(d, span));
    }
    jm__intervals_normalise(known);
    return ok ? JM_OK : jm__no_memory(err, "jm_model_learn");
}

/* State while kernels are read. */
typedef struct item_builder {
    jm__gaps *gaps;
    const jm__training_set *training_set;
    jm__items items; /* class_index: a column */
    bool *traced;    /* [bursts]: a traced kernel is in it */
} item_builder;

static bool add(item_builder *f, int64_t start_ns, int64_t end_ns, size_t column)
{
    const jm__item item = {
        .start_ns = start_ns, .end_ns = end_ns, .class_index = (uint32_t)column, .calls = 1};
    return jm__vec_push(&f->items, item);
}

/* The burst at t_ns; the count of bursts if there is none. */
static size_t burst_at(const jm__training_set *l, int64_t t_ns)
{
    const jm__burst *bursts = l->bursts.items;
    size_t at;
    jm__search(at, l->bursts.count, bursts[at].end_ns <= t_ns);
    return at < l->bursts.count && bursts[at].start_ns <= t_ns ? at : l->bursts.count;
}

static jm_status take_kernel(void *taker, const jm__kernel_run *kernel, jm_error *err)
{
    item_builder *f = taker;
    if (!jm__training_set_has_kernel(f->training_set, kernel)) return JM_OK;
    if (!jm__intervals_contain(&f->gaps->known, kernel->start_ns)) return JM_OK;
    f->gaps->too_many = f->gaps->too_many || f->items.count == KERNELS_MAX;
    if (f->gaps->too_many) return JM_OK;
    size_t burst = burst_at(f->training_set, kernel->start_ns), column = JM__OUTSIDE_SUITE;
    if (burst < f->training_set->bursts.count) {
        f->traced[burst] = true;
        column += 1 + f->training_set->bursts.items[burst].kernel;
    }
    int64_t end_ns = kernel->end_ns > kernel->start_ns ? kernel->end_ns : kernel->start_ns;
    return add(f, kernel->start_ns, end_ns, column) ? JM_OK : jm__no_memory(err, "jm_model_learn");
}

static bool add_bursts(item_builder *f)
{
    bool ok = true;
    for (size_t i = 0; ok && i < f->training_set->bursts.count; i++) {
        const jm__burst *burst = &f->training_set->bursts.items[i];
        if (!f->traced[i]) ok = add(f, burst->start_ns, burst->end_ns, JM__OUTSIDE_SUITE + 1 + burst->kernel);
    }
    return ok;
}

static bool add_outside(item_builder *f)
{
    const jm__intervals *known = &f->gaps->known;
    int64_t now_ns = known->items[0].from_ns - memory_ns;
    bool ok = true;
    for (size_t i = 0; ok && i < known->count; i++) {
        ok = add(f, now_ns, known->items[i].from_ns, JM__OUTSIDE_SUITE);
        now_ns = known->items[i].to_ns;
    }
    return ok && add(f, now_ns, now_ns + memory_ns, JM__OUTSIDE_SUITE);
}

static jm_status find_items(item_builder *f, jm_error *err)
{
    const jm__kernel_source *kernels = &f->training_set->dataset->kernels;
    f->traced = calloc(f->training_set->bursts.count + 1, sizeof *f->traced);
    if (f->traced == NULL) return jm__no_memory(err, "jm_model_learn");
    if (kernels->each != NULL) JM_TRY(kernels->each(kernels->context, false, take_kernel, f, err));
    if (!add_bursts(f) || !add_outside(f)) return jm__no_memory(err, "jm_model_learn");
    jm__items_sort(&f->items);
    return JM_OK;
}

static bool sweep_items(jm__gaps *g, const jm__items *items)
{
    jm__sweep sweep;
    int64_t from_ns = items->items[0].start_ns;
    jm__pieces_begin(&g->pieces, from_ns, SIZE_MAX);
    jm__sweep_begin(&sweep, &g->pieces, &g->tally, &g->known, &g->known, &g->known, from_ns);
    bool ok = true;
    for (size_t i = 0; ok && i < items->count; i++)
        ok = jm__sweep_take(&sweep, &items->items[i],
                            &(jm__counted_as){.use = items->items[i].class_index,
                                              .place = JM_PLACE_UNLAYERED,
                                              .cell = JM__NO_CELL,
                                              .sum = SIZE_MAX,
                                              .lent = JM__NO_CELL});
    ok = ok && jm__sweep_end(&sweep, from_ns) && jm__pieces_end(&g->pieces);
    jm__sweep_free(&sweep);
    return ok;
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

/* Work is the traced kernels of the board, and bursts without traced kernels (no trace, or a simulated
 * board). Time outside `known` is unknown work. Free the result also after a failure. */
static jm_status gaps_find(jm__gaps *g, const jm__training_set *l, jm_error *err)
{
    *g = (jm__gaps){.pieces = {.file = -1}, .class_columns = 1 + l->kernels.count};
    g->columns = g->class_columns + JM_IDLE_STATES;
    item_builder f = {.gaps = g, .training_set = l};
    jm_status status = find_known(&g->known, l, err);
    if (status == JM_OK) status = find_items(&f, err);
    if (status == JM_OK && !g->too_many && !sweep_items(g, &f.items))
        status = jm__no_memory(err, "jm_model_learn");
    jm__vec_free(&f.items);
    free(f.traced);
    return status == JM_OK && !g->too_many ? find_columns(g, err) : status;
}

static void gaps_free(jm__gaps *g)
{
    jm__vec_free(&g->known);
    jm__tally_free(&g->tally);
    jm__pieces_free(&g->pieces);
    free(g->column_of);
    free(g->seconds);
    *g = (jm__gaps){.pieces = {.file = -1}};
}

/* ---- noise at rest: readings minus the mean of their interval, as cooling between intervals is not noise */

/* The largest part of a reading's weight outside rest: 1 W of 1000 W. */
static const double awake_max = 1e-3;

static jm_status choose_rest_readings(jm__reading_list *out, const jm__training_set *l, jm__gaps *gaps,
                                      jm__response response, jm_error *err)
{
    jm__design design = {0};
    size_t rest = gaps->class_columns + JM_IDLE_LONG;
    jm_status status = jm__design_init(&design, &gaps->pieces, gaps->columns, err);
    if (status == JM_OK) jm__design_start(&design, response);
    for (size_t i = 0; status == JM_OK && i < l->recorded_count; i++) {
        jm_reading reading = l->recorded[i];
        if (!jm__intervals_contain(&gaps->known, reading.t_ns) || !isfinite(reading.value)) continue;
        if (out->count > 0 && out->items[out->count - 1].t_ns >= reading.t_ns) continue;
        if (jm__design_row(&design, reading.t_ns)[rest] < 1 - awake_max) continue;
        if (!jm__vec_push(out, reading)) status = jm__no_memory(err, "jm_model_learn");
    }
    jm__design_free(&design);
    return status;
}

/* Returns the number of intervals of neighbouring readings. */
static size_t subtract_means(double *residual, const jm__pass *pass)
{
    size_t intervals = 0;
    for (size_t from = 0, to; from < pass->count; from = to, intervals++) {
        double mean_w = 0;
        for (to = from + 1; to < pass->count && jm__pass_are_neighbours(pass, to); to++)
            ;
        for (size_t i = from; i < to; i++)
            mean_w += pass->readings[i].value / (double)(to - from);
        for (size_t i = from; i < to; i++)
            residual[i] = pass->readings[i].value - mean_w;
    }
    return intervals;
}

/* The white part of the noise (fit/noise.h) of readings that remember only long gaps, standard. NAN: too few
 * consecutive readings to separate noise from drift. */
static jm_status rest_noise_find(double *noise_w, const jm__training_set *l, jm__gaps *gaps,
                                 jm__response response, jm_error *err)
{
    jm__reading_list rest = {0};
    jm_status status = choose_rest_readings(&rest, l, gaps, response, err);
    const jm__pass pass = {.readings = rest.items, .count = rest.count, .period_ns = l->sensor->period_ns};
    double *residual = calloc(rest.count + 1, sizeof *residual);
    *noise_w = NAN;
    if (status == JM_OK && residual == NULL) status = jm__no_memory(err, "jm_model_learn");
    if (status == JM_OK) {
        jm__noise noise;
        size_t intervals = subtract_means(residual, &pass);
        jm__noise_of_residuals(&noise, &pass, residual, (double)(rest.count - intervals));
        if (noise.white > 0) *noise_w = sqrt(noise.white);
    }
    free(residual);
    jm__vec_free(&rest);
    return status;
}

/* ---- idle powers: the suite fitted as a report fits a run, without counters, with a power per kernel and
 * per idle state */

/* Readings determine a state, rather than the assumptions about gaps (levels.c), if they leave at most a
 * quarter of its prior variance. */
static bool is_resolved(double power_w, double variance, double seconds)
{
    return seconds > 0 && power_w > 0 && variance > 0 && variance <= pow(JM_GAP_RELATIVE_U * power_w, 2) / 4;
}

static void set_idle(jm__board_model *model, const jm__gaps *gaps, const jm__fit *fit)
{
    for (int s = JM_IDLE_FIRST_GAP; s < JM_IDLE_STATES; s++) {
        size_t k = gaps->class_columns + (size_t)s;
        double variance = fit->covariance[k * fit->columns + k];
        if (is_resolved(fit->power_w[k], variance, gaps->seconds[k]))
            model->idle[s] = (jm__model_idle){fit->power_w[k], sqrt(variance), gaps->seconds[k]};
    }
}

static jm_status learn(jm__board_model *model, const jm__training_set *l, jm__gaps *gaps, jm_error *err)
{
    jm__fit_input input = {
        .sensor = l->sensor,
        .readings = l->recorded,
        .reading_count = l->recorded_count,
        .pieces = &gaps->pieces,
        .learn = &gaps->known,
        .report = &gaps->known,
        .class_columns = gaps->class_columns,
        .columns = gaps->columns,
        .learn_seconds = gaps->seconds,
        .seconds = gaps->seconds,
    };
    jm__calibration calibration;
    jm__fit fit = {0};
    jm_status status = jm__fit_respond(&calibration, &input, err);
    input.calibration = &calibration;
    if (status == JM_OK) status = jm__fit_run(&fit, &input, err);
    if (status == JM_OK && fit.fitted) {
        set_idle(model, gaps, &fit);
        status = rest_noise_find(&model->noise_w, l, gaps, fit.calibration.response, err);
    }
    jm__fit_free(&fit);
    return status;
}

jm_status jm__idle_learn(jm__board_model *model, const jm__training_set *l, jm_error *err)
{
    jm__gaps gaps;
    jm_status status = gaps_find(&gaps, l, err);
    if (status == JM_OK && !gaps.too_many) status = learn(model, l, &gaps, err);
    gaps_free(&gaps);
    return status;
}
