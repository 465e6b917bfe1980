/* Builds a training set from a recording: kernels and bursts of the phase, the sampler's power, readings and
 * rates. */
#include "calibrate/training_set.h"

#include "attribute/input/ring_grid.h"
#include "attribute/input/span_index.h"
#include "attribute/prior/rate_windows.h"
#include "base/clock.h"
#include "base/search.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "format/rows/sensor_role.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- bursts of the phase: spans of kind window, each with the name of its kernel */

static bool is_constant(const char *text)
{
    return strstr(text, "zeros") != NULL || strstr(text, "constant") != NULL;
}

/* A valid UTF-8 copy; NULL: no memory. */
static char *clean_copy(const char *text, size_t length)
{
    jm__strbuf clean = {0};
    char *cut = strndup(text, length);
    if (cut == NULL) return NULL;
    jm__utf8_add(&clean, cut, false);
    free(cut);
    return jm__strbuf_take(&clean);
}

/* The length of FAMILY in FAMILY/WHAT, else in FAMILY_WHAT. */
static size_t family_length(const char *name)
{
    size_t slash = strcspn(name, "/");
    return name[slash] != '\0' ? slash : strcspn(name, "_");
}

static jm_status find_kernel(jm__training_set *l, const char *name, const char *data, size_t *kernel,
                             jm_error *err)
{
    jm__suite_kernel added = {.name = clean_copy(name, strlen(name)), .data = data};
    added.family = added.name != NULL ? clean_copy(added.name, family_length(added.name)) : NULL;
    added.left_out = is_constant(data[0] != '\0' ? data : name);
    bool known = false;
    for (*kernel = 0; added.family != NULL && *kernel < l->kernels.count; (*kernel)++) {
        const jm__suite_kernel *existing = &l->kernels.items[*kernel];
        known = strcmp(existing->name, added.name) == 0 && strcmp(existing->data, data) == 0;
        if (known) break;
    }
    if (added.family != NULL && !known && jm__vec_push(&l->kernels, added)) return JM_OK;
    free(added.name);
    free(added.family);
    return known ? JM_OK : jm__no_memory(err, "jm_model_learn");
}

jm_status jm__suite_phase(jm__training_set *l, const char *phase, jm_error *err)
{
    const jm__dataset *d = l->dataset;
    for (size_t i = 0; i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (span->kind != JM_SPAN_PHASE || strcmp(jm__dataset_text(d, span->name_id), phase) != 0) continue;
        if (!jm__intervals_add(&l->phase, span->start_ns, jm__span_end_ns(d, span)))
            return jm__no_memory(err, "jm_model_learn");
    }
    jm__intervals_normalise(&l->phase);
    if (l->phase.count > 0) return JM_OK;
    return jm__fail(err, JM_NOT_FOUND, 0, NULL, "no phase \"%s\" in this recording", phase);
}

/* If all kernels are of one family, each becomes its own family: leaving it out must leave others. */
static jm_status split_family(jm__training_set *l, jm_error *err)
{
    for (size_t k = 1; k < l->kernels.count; k++)
        if (strcmp(l->kernels.items[k].family, l->kernels.items[0].family) != 0) return JM_OK;
    for (size_t k = 0; k < l->kernels.count; k++) {
        char *family = strdup(l->kernels.items[k].name);
        if (family == NULL) return jm__no_memory(err, "jm_model_learn");
        free(l->kernels.items[k].family);
        l->kernels.items[k].family = family;
    }
    return JM_OK;
}

jm_status jm__suite_bursts(jm__training_set *l, const char *phase, jm_error *err)
{
    const jm__dataset *d = l->dataset;
    for (size_t i = 0; i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (span->kind != JM_SPAN_WINDOW || span->end_ns <= span->start_ns ||
            !jm__intervals_contain(&l->phase, span->start_ns))
            continue;
        if (l->bursts.count > 0 && span->start_ns < l->bursts.items[l->bursts.count - 1].end_ns)
            continue; /* nested spans: the outer one is the burst */
        jm__burst burst = {.start_ns = span->start_ns, .end_ns = span->end_ns};
        JM_TRY(find_kernel(l, jm__dataset_text(d, span->name_id), jm__dataset_text(d, span->type_id),
                           &burst.kernel, err));
        if (!jm__vec_push(&l->bursts, burst)) return jm__no_memory(err, "jm_model_learn");
    }
    if (l->bursts.count > 0) return split_family(l, err);
    return jm__fail(err, JM_NOT_FOUND, 0, NULL,
                    "the phase \"%s\" has no spans of kind window, so its kernels are unknown", phase);
}

/* ---- the sampler's power: mean readings before and after each stop at rest */

bool jm__training_set_has_kernel(const jm__training_set *l, const jm__kernel_run *kernel)
{
    const jm__dataset *d = l->dataset;
    if (kernel->stream_id < 1 || (size_t)kernel->stream_id > d->stream_count) return false;
    return d->streams[kernel->stream_id - 1].board_id == l->board->id;
}

/* Readings this long before and after the stop are used, except near it: the recorder notices the stop a
 * tenth of a second late, and the sensor has a memory. */
#define AROUND_NS (600 * JM_NS_PER_MS)
#define NEAR_NS   (200 * JM_NS_PER_MS)

enum { READINGS_MIN = 10 };

/* A cooling board's power falls by at most 1 W/s (seen on an H100 after work of 690 W). */
static const double cooling_u_w = 1;

typedef struct sampler_stop {
    int64_t t_ns;
    bool at_rest;
} sampler_stop;

typedef struct stop_search {
    const jm__training_set *training_set;
    JM_VEC(sampler_stop) stops;
    bool traced;
} stop_search;

static jm_status take_kernel(void *taker, const jm__kernel_run *kernel, jm_error *err)
{
    stop_search *f = taker;
    sampler_stop *stops = f->stops.items;
    size_t at;
    (void)err;
    if (!jm__training_set_has_kernel(f->training_set, kernel)) return JM_OK;
    f->traced = true;
    jm__search(at, f->stops.count, stops[at].t_ns <= kernel->start_ns - AROUND_NS);
    for (; at < f->stops.count && stops[at].t_ns < kernel->end_ns + AROUND_NS; at++)
        stops[at].at_rest = false;
    return JM_OK;
}

static bool find_stops(stop_search *f)
{
    const jm__dataset *d = f->training_set->dataset;
    bool ok = true;
    for (size_t i = 0; ok && i < d->event_count; i++) {
        const jm__event *event = &d->events[i];
        bool is_stop = event->kind == JM_EVENT_SAMPLING && event->value == 0;
        if (is_stop && event->board_id == f->training_set->board->id)
            ok = jm__vec_push(&f->stops, ((sampler_stop){event->t_ns, true}));
    }
    return ok;
}

/* NAN: too few readings. */
static double mean_w(const jm__training_set *l, int64_t from_ns, int64_t to_ns)
{
    const jm_reading *readings = l->recorded;
    double sum_w = 0;
    size_t at, count = 0;
    jm__search(at, l->recorded_count, readings[at].t_ns < from_ns);
    for (; at < l->recorded_count && readings[at].t_ns < to_ns; at++) {
        if (!isfinite(readings[at].value)) continue;
        sum_w += readings[at].value;
        count++;
    }
    return count < READINGS_MIN ? NAN : sum_w / (double)count;
}

static void average_steps(const stop_search *f, double *power_w, double *u_w)
{
    double sum = 0, square = 0, count = 0;
    for (size_t i = 0; i < f->stops.count; i++) {
        int64_t t_ns = f->stops.items[i].t_ns;
        double step = mean_w(f->training_set, t_ns - AROUND_NS, t_ns - NEAR_NS) -
                      mean_w(f->training_set, t_ns + NEAR_NS, t_ns + AROUND_NS);
        if (!f->stops.items[i].at_rest || isnan(step)) continue;
        sum += step;
        square += step * step;
        count++;
    }
    if (count == 0 || !f->traced) return;
    *power_w = fmax(0, sum / count);
    *u_w = hypot(cooling_u_w, sqrt(fmax(0, square / count - pow(sum / count, 2)) / count));
}

jm_status jm__sampler_step_find(double *power_w, double *u_w, const jm__training_set *l, jm_error *err)
{
    const jm__kernel_source *kernels = &l->dataset->kernels;
    stop_search f = {.training_set = l};
    *power_w = *u_w = NAN;
    jm_status status = find_stops(&f) ? JM_OK : jm__no_memory(err, "jm_model_learn");
    if (status == JM_OK && f.stops.count > 0 && kernels->each != NULL)
        status = kernels->each(kernels->context, false, take_kernel, &f, err);
    if (status == JM_OK) average_steps(&f, power_w, u_w);
    jm__vec_free(&f.stops);
    return status;
}

/* ---- board, sensor, readings */

/* A metric with a smaller relative standard deviation of its rate is a clock, and belongs to the constant. */
static const double change_min = 0.02;

/* The requested board, else the only one with counters. */
static jm_status find_board(jm__training_set *l, int64_t board_id, jm_error *err)
{
    const jm__dataset *d = l->dataset;
    if (board_id < 0 || (size_t)board_id > d->board_count)
        return jm__fail(err, JM_NOT_FOUND, 0, NULL, "no board number %lld; this recording has 1 to %zu",
                        (long long)board_id, d->board_count);
    for (size_t i = 0; i < d->counters.set_count; i++) {
        if (d->counters.sets[i].board_id < 1) continue; /* lost in a damaged file */
        const jm_board *board = &d->boards[d->counters.sets[i].board_id - 1];
        if ((board_id != 0 && board->id != board_id) || board == l->board) continue;
        if (l->board != NULL)
            return jm__fail(err, JM_NOT_FOUND, 0, NULL, "several boards have counters: select one");
        l->board = board;
    }
    if (l->board != NULL) return jm__metrics_of(&l->metrics, &l->count, d, l->board->id, err);
    jm_status status = jm__fail(err, JM_NOT_FOUND, 0, NULL, "this recording has no hardware counters");
    return jm__hint(err, status, "record with --counters, or add them with joulemap import --onto");
}

static jm_status find_sensor(jm__training_set *l, jm_error *err)
{
    const jm__dataset *d = l->dataset;
    for (size_t i = 0; i < d->sensor_count; i++) {
        const jm_sensor *sensor = &d->sensors[i];
        if (sensor->board_id != l->board->id || jm__sensor_is_counter(sensor)) continue;
        int rank = jm__sensor_rank(sensor);
        if (rank > JM_RANK_NONE && (l->sensor == NULL || rank > jm__sensor_rank(l->sensor)))
            l->sensor = sensor;
    }
    if (l->sensor != NULL) return JM_OK;
    return jm__fail(err, JM_NOT_FOUND, 0, NULL, "no power sensor of %s was recorded", l->board->name);
}

static jm_status collect_readings(jm__training_set *l, jm_error *err)
{
    const jm__dataset *d = l->dataset;
    l->recorded = calloc(d->reading_count + 1, sizeof *l->recorded);
    l->readings = calloc(d->reading_count + 1, sizeof *l->readings);
    if (l->recorded == NULL || l->readings == NULL) return jm__no_memory(err, "jm_model_learn");
    for (size_t i = 0; i < d->reading_count; i++)
        if (d->readings[i].sensor_id == l->sensor->id) l->recorded[l->recorded_count++] = d->readings[i];
    if (jm__sensor_stamps_late(l->sensor))
        JM_TRY(jm__ring_grid(l->recorded, l->recorded_count, l->sensor->period_ns, false, err));
    jm__sampler_draw sampler;
    JM_TRY(jm__sampler_step_find(&l->sampler_w, &l->sampler_u_w, l, err));
    jm_status status = jm__sampler_draw_find(&sampler, d, l->board, l->sampler_w, l->sampler_u_w, err);
    jm__sampler_draw_subtract(&sampler, l->sensor, l->recorded, l->recorded_count);
    jm__sampler_draw_free(&sampler);
    if (status != JM_OK) return status;
    for (size_t i = 0; i < l->recorded_count; i++)
        if (jm__intervals_contain(&l->phase, l->recorded[i].t_ns))
            l->readings[l->reading_count++] = l->recorded[i];
    return JM_OK;
}

/* At least this part of all windows is light work. */
static const double slots_quantile = 0.75;

/* ---- rates */

/* Sums of each metric over the windows of the phase. */
typedef struct moments {
    jm__training_set *training_set;
    double *sum, *square;
    size_t windows;
} moments;

static jm_status add_moments(void *taker, const jm__rate_window *window, jm_error *err)
{
    moments *m = taker;
    jm__training_set *l = m->training_set;
    (void)err;
    if (!jm__intervals_contain(&l->phase, window->start_ns)) return JM_OK;
    m->windows++;
    if (!(window->clock_mhz <= l->clock_mhz)) l->clock_mhz = window->clock_mhz;
    for (size_t i = 0; i < l->count; i++) {
        m->sum[i] += window->rate[i];
        m->square[i] += window->rate[i] * window->rate[i];
        l->reference[i] = fmax(l->reference[i], window->rate[i]);
    }
    return JM_OK;
}

/* Keep only metrics that change, in their order. */
static void drop_clocks(jm__training_set *l, const moments *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++) {
        double mean = m->sum[i] / (double)m->windows, square = m->square[i] / (double)m->windows;
        if (square - mean * mean > pow(change_min * mean, 2) && l->reference[i] > 0) {
            l->metrics[kept] = l->metrics[i];
            l->reference[kept++] = l->reference[i];
        } else {
            free(l->metrics[i]);
        }
    }
    l->count = kept;
}

static jm_status find_references(jm__training_set *l, jm_error *err)
{
    const jm__rate_choice choice = {(const char *const *)l->metrics, l->count, NAN, 0, 0};
    moments m = {.training_set = l, .sum = calloc(2 * l->count + 1, sizeof *m.sum)};
    l->reference = calloc(l->count + 1, sizeof *l->reference);
    l->clock_mhz = NAN;
    if (l->reference == NULL || m.sum == NULL) {
        free(m.sum);
        return jm__no_memory(err, "jm_model_learn");
    }
    m.square = m.sum + l->count;
    jm_status status = jm__rates_each(l->dataset, l->board->id, &choice, add_moments, &m, err);
    if (status == JM_OK)
        status = jm__slots_find(&l->slots, l->dataset, l->board->id, &choice, &l->phase, slots_quantile, err);
    if (status == JM_OK && m.windows == 0)
        status = jm__fail(err, JM_NOT_FOUND, 0, NULL, "no hardware counters were sampled in that phase");
    if (status == JM_OK) drop_clocks(l, &m);
    free(m.sum);
    return status;
}

typedef struct rate_builder {
    jm__training_set *training_set;
    size_t burst; /* the first burst that ends after the window's start */
} rate_builder;

static bool add_rates(jm__training_set *l, const jm__rate_window *window)
{
    jm__pieces *p = &l->rates;
    uint32_t constant = (uint32_t)l->count;
    if (p->end_ns < window->start_ns && !jm__pieces_add(p, window->start_ns, constant, 0, false))
        return false;
    for (uint32_t i = 0; i < constant; i++)
        if (!jm__pieces_add(p, window->end_ns, i, (float)(window->rate[i] / l->reference[i]), true))
            return false;
    return jm__pieces_add(p, window->end_ns, constant, 1, false);
}

/* A window within a burst adds to the rates of the burst's kernel. */
static jm_status add_kernel_rates(rate_builder *f, const jm__rate_window *window, jm_error *err)
{
    jm__training_set *l = f->training_set;
    while (f->burst < l->bursts.count && l->bursts.items[f->burst].end_ns <= window->start_ns)
        f->burst++;
    if (f->burst == l->bursts.count) return JM_OK;
    const jm__burst *burst = &l->bursts.items[f->burst];
    if (burst->start_ns > window->start_ns || burst->end_ns < window->end_ns) return JM_OK;
    jm__suite_kernel *kernel = &l->kernels.items[burst->kernel];
    if (kernel->rate == NULL) kernel->rate = calloc(l->count + 1, sizeof *kernel->rate);
    if (kernel->rate == NULL) return jm__no_memory(err, "jm_model_learn");
    double seconds = (double)(window->end_ns - window->start_ns) * 1e-9;
    for (size_t i = 0; i < l->count; i++)
        kernel->rate[i] += seconds * window->rate[i] / l->reference[i];
    kernel->seconds += seconds;
    return JM_OK;
}

static jm_status add_window(void *taker, const jm__rate_window *window, jm_error *err)
{
    rate_builder *f = taker;
    const jm__training_set *l = f->training_set;
    bool near = window->start_ns >= l->rates.end_ns &&
                window->start_ns <= l->phase.items[l->phase.count - 1].to_ns + JM_NS_PER_S;
    if (!near) return JM_OK; /* outside the sensor's memory of the phase */
    if (!add_rates(f->training_set, window)) return jm__no_memory(err, "jm_model_learn");
    return add_kernel_rates(f, window, err);
}

static jm_status fill_rates(jm__training_set *l, double clock_exponent, jm_error *err)
{
    rate_builder f = {.training_set = l};
    const jm__rate_choice choice = {(const char *const *)l->metrics, l->count, l->clock_mhz, clock_exponent,
                                    l->slots};
    jm__pieces_begin(&l->rates, l->phase.items[0].from_ns - JM_NS_PER_S, SIZE_MAX);
    l->rates.column_of = l->column_of;
    JM_TRY(jm__rates_each(l->dataset, l->board->id, &choice, add_window, &f, err));
    for (size_t k = 0; k < l->kernels.count; k++) {
        jm__suite_kernel *kernel = &l->kernels.items[k];
        for (size_t i = 0; kernel->rate != NULL && i < l->count; i++)
            kernel->rate[i] /= kernel->seconds;
    }
    return jm__pieces_end(&l->rates) ? JM_OK : jm__no_memory(err, "jm_model_learn");
}

static jm_status fill_work(jm__training_set *l, jm_error *err)
{
    bool ok = true;
    jm__pieces_begin(&l->work, l->phase.items[0].from_ns - JM_NS_PER_S, SIZE_MAX);
    l->work.column_of = l->column_of;
    for (size_t i = 0; ok && i < l->bursts.count; i++) {
        const jm__burst *burst = &l->bursts.items[i];
        if (l->work.end_ns < burst->start_ns) ok = jm__pieces_add(&l->work, burst->start_ns, 0, 1, false);
        ok = ok && jm__pieces_add(&l->work, burst->end_ns, (uint32_t)burst->kernel + 1, 1, false);
    }
    int64_t end_ns = l->phase.items[l->phase.count - 1].to_ns + JM_NS_PER_S;
    if (ok && l->work.end_ns < end_ns) ok = jm__pieces_add(&l->work, end_ns, 0, 1, false);
    return ok && jm__pieces_end(&l->work) ? JM_OK : jm__no_memory(err, "jm_model_learn");
}

jm_status jm__training_set_begin(jm__training_set *l, const jm__dataset *dataset, const char *phase,
                                 int64_t board_id, double clock_exponent, jm_error *err)
{
    *l = (jm__training_set){.dataset = dataset, .rates = {.file = -1}, .work = {.file = -1}};
    JM_TRY(jm__suite_phase(l, phase, err));
    JM_TRY(find_board(l, board_id, err));
    JM_TRY(find_sensor(l, err));
    JM_TRY(jm__suite_bursts(l, phase, err));
    JM_TRY(collect_readings(l, err));
    JM_TRY(find_references(l, err));
    size_t codes = l->count > l->kernels.count ? l->count : l->kernels.count;
    l->column_of = calloc(codes + 2, sizeof *l->column_of);
    if (l->column_of == NULL) return jm__no_memory(err, "jm_model_learn");
    for (uint32_t i = 0; i < codes + 2; i++)
        l->column_of[i] = i;
    JM_TRY(fill_rates(l, clock_exponent, err));
    return fill_work(l, err);
}

void jm__training_set_free(jm__training_set *l)
{
    for (size_t i = 0; i < l->kernels.count; i++) {
        free(l->kernels.items[i].name);
        free(l->kernels.items[i].family);
        free(l->kernels.items[i].rate);
    }
    jm__vec_free(&l->kernels);
    jm__vec_free(&l->bursts);
    jm__vec_free(&l->phase);
    if (l->metrics != NULL) jm__metrics_free(l->metrics, l->count);
    free(l->reference);
    free(l->recorded);
    free(l->readings);
    free(l->column_of);
    jm__pieces_free(&l->rates);
    jm__pieces_free(&l->work);
    *l = (jm__training_set){.rates = {.file = -1}, .work = {.file = -1}};
}
