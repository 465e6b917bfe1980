/* From a dataset and the options for a report to fitted boards. */
#include "attribute/attribution.h"

#include "attribute/board_part.h"
#include "attribute/fit/clocks.h"
#include "attribute/fit/refine.h"
#include "attribute/prior/source.h"
#include "attribute/sampling.h"
#include "attribute/work/clock_track.h"
#include "base/status.h"
#include "base/strbuf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool jm__attribution_has_process(const jm__dataset *dataset, int64_t pid)
{
    for (size_t i = 0; i < dataset->process_count; i++)
        if (dataset->processes[i].pid == pid) return true;
    return false;
}

static jm_status check_options(const jm__dataset *dataset, const jm_report_options *o, jm_error *err)
{
    if (o->process_id != 0 && !jm__attribution_has_process(dataset, o->process_id))
        return jm__fail(err, JM_NOT_FOUND, 0, NULL, "no process %lld in this recording",
                        (long long)o->process_id);
    if (o->to_ns < o->from_ns)
        return jm__fail(err, JM_USAGE, 0, NULL, "the end of the time asked for lies before its start");
    return JM_OK;
}

/* The whole run: as recorded, or, where that is not known, as far as rows go. */
static jm_status whole_run(jm__interval *run, const jm__dataset *d, jm_error *err)
{
    *run = (jm__interval){d->start_ns, d->end_ns};
    if (run->to_ns > run->from_ns) return JM_OK;
    int64_t first_ns, last_ns;
    JM_TRY(jm__kernels_bounds(&d->kernels, &first_ns, &last_ns, err));
    if (d->reading_count > 0 && d->readings[0].t_ns < first_ns) first_ns = d->readings[0].t_ns;
    if (d->reading_count > 0 && d->readings[d->reading_count - 1].t_ns > last_ns)
        last_ns = d->readings[d->reading_count - 1].t_ns;
    if (first_ns <= last_ns) *run = (jm__interval){first_ns, last_ns}; /* else there are no rows */
    return JM_OK;
}

/* Is it one of those, which stand apart by ", "? */
static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at != NULL; at = strstr(at, ", ")) {
        at += at == list ? 0 : 2;
        if (strncmp(at, name, length) == 0 && (at[length] == '\0' || at[length] == ',')) return true;
    }
    return false;
}

static jm_status no_such_phase(const jm__dataset *d, const char *phase, jm_error *err)
{
    jm__strbuf names = {0};
    for (size_t i = 0; i < d->span_count && names.length < 200; i++) {
        if (d->spans[i].kind != JM_SPAN_PHASE) continue;
        const char *name = jm__dataset_text(d, d->spans[i].name_id);
        if (is_listed(names.text, name)) continue;
        jm__strbuf_format(&names, "%s%s", names.length > 0 ? ", " : "", name);
    }
    if (names.length == 0)
        jm__fail(err, JM_NOT_FOUND, 0, NULL, "no phase \"%s\"; this recording has no phases", phase);
    else
        jm__fail(err, JM_NOT_FOUND, 0, NULL, "no phase \"%s\"; this recording has: %s", phase, names.text);
    jm__strbuf_free(&names);
    return JM_NOT_FOUND;
}

/* All that powers can be learnt from: the run, and what is asked for if that goes beyond it. */
static jm_status find_learn_windows(jm__attribution *a, jm_error *err)
{
    bool fine = jm__intervals_add(&a->learn, a->run.from_ns, a->run.to_ns) &&
                jm__intervals_add_all(&a->learn, &a->windows);
    jm__intervals_normalise(&a->learn);
    fine = fine && jm__intervals_subtract(&a->learn, &a->untraced);
    return fine ? JM_OK : jm__no_memory(err, "jm__attribution_begin");
}

/* What nobody recorded, but for steps that traced ones stand for. */
static bool find_untraced(jm__attribution *a, const jm__traced *traced)
{
    bool fine = true;
    for (size_t p = 0; fine && p < a->dataset->process_count; p++) {
        jm__intervals marked = {0};
        fine =
            jm__intervals_add_all(&a->untraced, &traced[p].nothing) &&
            jm__intervals_add_all(&marked, &traced[p].steps) &&
            (a->strata.extrapolated == NULL || jm__intervals_subtract(&marked, &a->strata.extrapolated[p])) &&
            jm__intervals_add_all(&a->untraced, &marked);
        jm__vec_free(&marked);
    }
    jm__intervals_normalise(&a->untraced);
    return fine;
}

static jm_status find_strata(jm__attribution *a, jm_error *err)
{
    jm__interval always = {INT64_MIN, INT64_MAX};
    const jm__intervals all = {&always, 1, 1};
    jm__marked marked = {0};
    jm__traced *traced = jm__traced_find(a->dataset);
    const jm__strata_requested requested = {&a->spans, &marked, traced};
    jm_status status = traced != NULL ? jm__marked_find(&marked, a->dataset, &all, err)
                                      : jm__no_memory(err, "jm__attribution_begin");
    if (status == JM_OK) status = jm__strata_find(&a->strata, &requested, err);
    if (status == JM_OK && !find_untraced(a, traced)) status = jm__no_memory(err, "jm__attribution_begin");
    jm__marked_free(&marked);
    jm__traced_free(traced, a->dataset);
    return status;
}

/* Of time that was not traced nobody knows whose its joules are. */
static jm_status leave_untraced_out(jm__attribution *a, jm_error *err)
{
    if (a->options.by == JM_BY_BOARD) return JM_OK;
    size_t by_number = a->windows.count;
    JM_TRY(find_strata(a, err));
    if (!jm__intervals_add_all(&a->queried, &a->windows)) return jm__no_memory(err, "jm__attribution_begin");
    if (!jm__intervals_subtract(&a->windows, &a->untraced))
        return jm__no_memory(err, "jm__attribution_begin");
    if (by_number == 0 || a->windows.count > 0) return JM_OK;
    jm__fail(err, JM_NOT_FOUND, 0, NULL,
             "nothing of this time was traced, so nobody knows whose its joules are");
    return jm__hint(err, JM_NOT_FOUND, "rows by board have the energy of all of it");
}

static jm_status find_windows(jm__attribution *a, jm_error *err)
{
    const jm__dataset *d = a->dataset;
    const jm_report_options *o = &a->options;
    bool found = o->phase == NULL;
    JM_TRY(whole_run(&a->run, d, err));
    if (o->phase == NULL && !jm__intervals_add(&a->windows, a->run.from_ns, a->run.to_ns))
        return jm__no_memory(err, "jm__attribution_begin");
    for (size_t i = 0; o->phase != NULL && i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (span->kind != JM_SPAN_PHASE || strcmp(jm__dataset_text(d, span->name_id), o->phase) != 0)
            continue;
        found = true;
        if (!jm__intervals_add(&a->windows, span->start_ns, jm__span_end_ns(d, span)))
            return jm__no_memory(err, "jm__attribution_begin");
    }
    if (!found) return no_such_phase(d, o->phase, err);
    jm__intervals_normalise(&a->windows);
    if (o->from_ns != 0 || o->to_ns != 0) jm__intervals_clip(&a->windows, o->from_ns, o->to_ns);
    return leave_untraced_out(a, err);
}

static jm__extrapolated_rows extrapolated_rows(jm_by by)
{
    if (by == JM_BY_SPAN || by == JM_BY_REQUEST) return JM_EXTRAPOLATED_BY_STEP;
    return by == JM_BY_KERNEL ? JM_EXTRAPOLATED_ALL : JM_EXTRAPOLATED_IN_ROWS;
}

/* Which processes work on a board; without kernels nobody knows. */
static void find_users(bool *uses, const jm__dataset *d, int64_t board_id)
{
    for (size_t p = 0; p < d->process_count; p++) {
        bool any = false;
        for (size_t i = 0; i < d->stream_count; i++) {
            if (d->streams[i].process_id != d->processes[p].id) continue;
            any = true;
            uses[p] = uses[p] || d->streams[i].board_id == board_id;
        }
        uses[p] = uses[p] || !any;
    }
}

/* Where the clock jumped from one reading to the next, power did so as well, and nobody knows when: readings
 * of that time tell nothing, as long as others are left. */
static const double jumps_most = 0.25;

static bool leave_jumps_out(jm__attribution *a, jm__board_part *part)
{
    jm__clock_track clock;
    jm__intervals jumps = {0};
    bool fine = jm__clock_track_begin(&clock, a->dataset, part->board) && jm__clock_jumps(&clock, &jumps) &&
                jm__intervals_intersect(&jumps, &part->time.learn);
    double all = (double)jm__intervals_duration_ns(&part->time.learn);
    if (fine && (double)jm__intervals_duration_ns(&jumps) < jumps_most * all)
        fine = jm__intervals_add_all(&part->time.unknown, &jumps);
    jm__clock_track_free(&clock);
    jm__vec_free(&jumps);
    return fine;
}

/* The steps of a board's processes that traced ones stand for; its windows are there. */
static jm_status find_extrapolated(jm__attribution *a, jm__board_part *part, jm_error *err)
{
    bool *uses = calloc(a->dataset->process_count + 1, sizeof *uses);
    const jm__extrapolated_requested requested = {
        .strata = &a->strata,
        .report = &part->time.windows,
        .steady = &part->time.steady,
        .uses = uses,
        .rows = extrapolated_rows(a->options.by),
    };
    if (uses != NULL && jm__strata_any(&a->strata)) find_users(uses, a->dataset, part->board->id);
    bool fine = uses != NULL && jm__extrapolated_find(&part->time.extrapolated, &requested) &&
                jm__intervals_add_all(&part->time.traced, &part->time.windows) &&
                jm__intervals_subtract(&part->time.traced, &part->time.extrapolated.time) &&
                jm__intervals_subtract(&part->time.learn, &part->time.extrapolated.time) &&
                jm__intervals_add_all(&part->time.unknown, &a->untraced) && leave_jumps_out(a, part) &&
                jm__intervals_add_all(&part->time.unknown, &part->time.extrapolated.time);
    jm__intervals_normalise(&part->time.unknown);
    free(uses);
    return fine ? JM_OK : jm__no_memory(err, "jm__attribution_begin");
}

/* What a sampler draws at rest is the board's own model's to tell. */
static jm_status find_sampler(jm__attribution *a, jm__board_part *part, jm_error *err)
{
    const jm__board_model *model = &part->known.model;
    bool known = model->board != NULL && !model->shipped;
    return jm__sampler_draw_find(&part->sampler, a->dataset, part->board, known ? model->sampler_w : NAN,
                                 known ? model->sampler_u_w : NAN, err);
}

jm_status jm__attribution_readings(jm__attribution *a, jm__board_part *part, jm_error *err)
{
    jm__board_time *time = &part->time;
    JM_TRY(jm__board_readings_take(&part->readings, a->dataset, part->board, &part->known.response, err));
    bool fine = jm__board_readings_lost(&time->lost, &part->readings, a->dataset, part->board->id) &&
                jm__intervals_add_all(&time->windows, &a->windows) &&
                jm__intervals_subtract(&time->windows, &time->lost) &&
                jm__intervals_add_all(&time->learn, &a->learn) &&
                jm__intervals_subtract(&time->learn, &time->lost);
    return fine ? JM_OK : jm__no_memory(err, "jm__attribution_begin");
}

static jm_status begin_board(jm__attribution *a, size_t b, jm_error *err)
{
    jm__board_part *part = &a->boards[b];
    part->work = &a->work.boards[b];
    part->work->time = &part->time;
    if (!part->requested) return JM_OK;
    JM_TRY(jm__attribution_readings(a, part, err));
    JM_TRY(find_sampler(a, part, err));
    jm__board_readings_choose(&part->readings, &part->time.windows);
    /* Of no time, as that of a single reading, no energy is known: 0 J would be measured. */
    if (jm__intervals_duration_ns(&part->time.windows) > 0)
        part->total = jm__total_measure(&part->readings, &part->time.windows);
    jm__interval range = a->run;
    const jm__power_series *fitted = jm__board_readings_series(&part->readings);
    if (fitted != NULL) {
        int64_t first = fitted->readings[0].t_ns, last = fitted->readings[fitted->count - 1].t_ns;
        if (first < range.from_ns) range.from_ns = first;
        if (last > range.to_ns) range.to_ns = last;
    }
    part->work->requested = jm__board_is_fitted(part->board);
    if (!jm__intervals_add_all(&part->time.steady, &part->time.windows) ||
        !jm__intervals_intersect(&part->time.steady, &a->steps.steady))
        return jm__no_memory(err, "jm__attribution_begin");
    JM_TRY(find_extrapolated(a, part, err));
    part->time.sampled = part->sampler.windows.count > 0 ? &part->sampler.windows : NULL;
    part->work->from_ns = range.from_ns;
    part->work->to_ns = range.to_ns;
    return JM_OK;
}

jm_status jm__attribution_boards(jm__attribution *a, int64_t board_id, jm_error *err)
{
    const jm__dataset *d = a->dataset;
    bool cpu = board_id == JM_CPU_BOARDS;
    if (!cpu && (board_id < 0 || (size_t)board_id > d->board_count))
        return jm__fail(err, JM_NOT_FOUND, 0, NULL, "no board number %lld; this recording has 1 to %zu",
                        (long long)board_id, d->board_count);
    a->boards = calloc(d->board_count + 1, sizeof *a->boards);
    if (a->boards == NULL) return jm__no_memory(err, "jm__attribution_begin");
    for (size_t b = 0; b < d->board_count; b++) {
        jm__board_part *part = &a->boards[b];
        part->board = &d->boards[b];
        bool by_number = board_id == part->board->id;
        part->requested =
            board_id == 0 || by_number || (cpu && jm_board_kind_of(part->board) == JM_BOARD_CPU);
        part->counted = by_number || (part->requested && !part->board->upstream);
    }
    return JM_OK;
}

jm_status jm__attribution_begin(jm__attribution *a, const jm__dataset *dataset,
                                const jm_report_options *options, jm_error *err)
{
    *a = (jm__attribution){.dataset = dataset, .options = *options};
    JM_TRY(jm__attribution_boards(a, options->board_id, err));
    JM_TRY(check_options(dataset, options, err));
    JM_TRY(jm__span_index_init(&a->spans, dataset, err));
    JM_TRY(find_windows(a, err));
    JM_TRY(find_learn_windows(a, err));
    JM_TRY(jm__marked_find(&a->marked, dataset, &a->windows, err));
    const jm__steps_requested requested = {&a->spans, &a->marked, &a->windows, options->process_id};
    JM_TRY(jm__steps_find(&a->steps, &requested, err));
    const jm__extrapolated_requested extrapolated = {&a->strata, &a->windows, &a->steps.steady, NULL,
                                                     extrapolated_rows(options->by)};
    if (!jm__extrapolated_find(&a->extrapolated, &extrapolated))
        return jm__no_memory(err, "jm__attribution_begin");
    if (options->by == JM_BY_REQUEST) JM_TRY(jm__batches_find(&a->batches, dataset, &a->spans, err));
    for (size_t b = 0; b < dataset->board_count; b++)
        if (a->boards[b].requested && jm__board_is_fitted(a->boards[b].board))
            JM_TRY(jm__known_model(&a->boards[b].known, dataset, a->boards[b].board, options->model, err));
    JM_TRY(jm__work_init(&a->work, dataset, err));
    a->work.pid = options->process_id;
    for (size_t b = 0; b < dataset->board_count; b++)
        JM_TRY(begin_board(a, b, err));
    return JM_OK;
}

/* What is known of the powers of a board's columns before any reading. */
typedef struct knowledge {
    jm__prior given;    /* no rows if nothing was */
    jm__prior counters; /* no rows if there were none */
    jm__expectation *expected;
    double *most_w; /* NULL: no limit is known */
} knowledge;

static void forget(knowledge *known)
{
    jm__prior_free(&known->given);
    jm__prior_free(&known->counters);
    free(known->expected);
    free(known->most_w);
}

static jm_status assume(jm__prior *prior, const jm__attribution *a, jm__board_part *part, jm_error *err)
{
    const jm__prior_scene scene = {
        .board = part->board,
        .set = &a->work,
        .work = part->work,
        .classes = &a->work.classes,
        .columns = &part->work->columns,
        .seconds = part->work->learn_seconds,
    };
    if (a->options.prior == NULL) return JM_OK;
    return jm__prior_from_file(prior, &part->known.assumed, a->options.prior, &scene, err);
}

static jm_status know(knowledge *known, const jm__attribution *a, jm__board_part *part, jm_error *err)
{
    JM_TRY(assume(&known->given, a, part, err));
    known->expected = jm__family_power(part->board, part->work, &a->work);
    if (known->expected == NULL) return jm__no_memory(err, "jm__attribution_fit");
    JM_TRY(jm__known_counters(&known->counters, &part->known, a->dataset, part->board, part->work,
                              known->expected, err));
    return jm__board_limits(&known->most_w, part->board, part->work, err);
}

/* How the sensor answers, and how power goes with the clock: seconds of columns then follow it. */
static jm_status respond(jm__attribution *a, jm__board_part *part, jm__fit_input *input, jm_error *err)
{
    part->law.gap_column = jm__gap_column(part->work);
    input->law = jm__power_law_holds(&part->law) ? &part->law : NULL;
    JM_TRY(jm__fit_respond(&part->calibration, input, err));
    input->calibration = &part->calibration;
    if (input->law == NULL) return JM_OK;
    double *scales = jm__power_law_scales(&part->law, &part->calibration.values);
    if (scales == NULL) return jm__no_memory(err, "jm__attribution_fit");
    jm_status status = jm__work_scale(&a->work, part->work, scales, err);
    free(scales);
    return status;
}

static jm_status relate(jm__board_part *part, jm_error *err)
{
    const jm__calibration *c = &part->calibration;
    part->law.gap_column = jm__gap_column(part->work);
    return jm__power_law_relate(&part->law, part->work, &c->values, c->values_of, c->count, err);
}

/* With the columns as they are now. */
static jm_status fit_columns(jm__attribution *a, jm__board_part *part, jm__fit_input *input, jm_error *err)
{
    const jm__board_work *work = part->work;
    knowledge known = {0};
    jm_status status = know(&known, a, part, err);
    const jm__prior *priors[2];
    size_t assumed = 0;
    if (known.given.rows > 0) priors[assumed++] = &known.given;
    if (known.counters.rows > 0) priors[assumed++] = &known.counters;
    input->learn_seconds = work->learn_seconds;
    input->class_columns = work->columns.class_columns;
    input->columns = work->columns.count;
    input->seconds = work->seconds;
    input->apart_seconds = part->time.extrapolated.time_s > 0 ? work->extrapolated_seconds : NULL;
    input->expected = known.expected;
    input->most_w = known.most_w;
    input->priors = priors;
    input->prior_count = assumed;
    if (status == JM_OK && input->calibration == NULL) status = respond(a, part, input, err);
    input->seconds = work->seconds; /* which the clock's exponent has changed */
    input->learn_seconds = work->learn_seconds;
    if (input->apart_seconds != NULL) input->apart_seconds = work->extrapolated_seconds;
    if (status == JM_OK && input->law != NULL) status = relate(part, err);
    jm__fit_free(&part->fit);
    if (status == JM_OK) status = jm__fit_run(&part->fit, input, err);
    forget(&known);
    input->expected = NULL;
    input->most_w = NULL;
    input->priors = NULL;
    input->prior_count = 0;
    return status == JM_OK ? jm__pieces_check(&work->pieces, err) : status;
}

/* Once more, where some classes need a power for each place that they ran in. */
static jm_status split_columns(jm__attribution *a, jm__board_part *part, jm__fit_input *input, jm_error *err)
{
    jm__column_split split;
    const jm__refine_input of = {.fit = &part->fit, .fit_input = input, .set = &a->work, .work = part->work};
    JM_TRY(jm__split_find(&split, &of, err));
    jm_status status = JM_OK;
    if (split.count > 0) {
        status = jm__work_split(&a->work, part->work, &split, err);
        if (status == JM_OK) status = fit_columns(a, part, input, err);
    }
    jm__split_free(&split);
    return status;
}

/* Work of which nothing is recorded has what the meter says; powers are learnt from the rest, whose total
 * goes into `rest`. */
static bool leave_unrecorded_out(jm__board_part *part, jm__total *rest)
{
    const jm__intervals *time = &part->work->tally.unrecorded;
    *rest = part->total;
    bool fine = jm__intervals_add_all(&part->time.unrecorded, time) &&
                jm__intervals_intersect(&part->time.unrecorded, &part->time.traced) &&
                jm__intervals_subtract(&part->time.traced, time) &&
                jm__intervals_subtract(&part->time.learn, time) &&
                jm__intervals_add_all(&part->time.unknown, time);
    jm__intervals_normalise(&part->time.unknown);
    if (!fine || part->time.unrecorded.count == 0) return fine;
    jm__intervals others = {0};
    fine = jm__intervals_add_all(&others, &part->time.windows) &&
           jm__intervals_subtract(&others, &part->time.unrecorded);
    *rest = (jm__total){0};
    if (others.count > 0) *rest = jm__total_measure(&part->readings, &others);
    part->unrecorded_total = jm__total_measure(&part->readings, &part->time.unrecorded);
    jm__vec_free(&others);
    return fine;
}

static jm_status fit_board(jm__attribution *a, jm__board_part *part, jm_error *err)
{
    const jm__power_series *series = jm__board_readings_series(&part->readings);
    jm__total total;
    if (!leave_unrecorded_out(part, &total)) return jm__no_memory(err, "jm__attribution_fit");
    jm__fit_input input = {
        .sensor = part->readings.sensor,
        .readings = series == NULL ? NULL : series->readings,
        .reading_count = series == NULL ? 0 : series->count,
        .pieces = &part->work->pieces,
        .learn = &part->time.learn,
        .report = &part->time.traced,
        .unknown = &part->time.unknown,
        .split = &part->work->columns,
        .total = total,
        .sampler = part->sampler.known,
        .sampled = part->time.sampled,
    };
    jm__known_ready(&part->known, part->work, &part->sampler, a->dataset, a->options.model);
    if (part->known.idle_known) input.idle = &part->known.idle;
    JM_TRY(jm__power_law_find(&part->law, &a->work, part->work, err));
    JM_TRY(fit_columns(a, part, &input, err));
    if (part->fit.fitted) JM_TRY(split_columns(a, part, &input, err));
    part->work->pieces.scale_of = NULL; /* what comes asks for time */
    part->first_column = a->columns;
    a->columns += part->work->columns.count;
    if (part->time.unrecorded.count == 0) part->total = part->fit.total;
    return JM_OK;
}

jm_status jm__attribution_fit(jm__attribution *a, const jm__row_of *rows, jm_error *err)
{
    JM_TRY(jm__work_pass(&a->work, &a->spans, &a->windows, rows, err));
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        jm__board_part *part = &a->boards[b];
        if (!part->work->requested) continue;
        JM_TRY(fit_board(a, part, err));
        JM_TRY(jm__clocks_find(&part->clock_mhz, part->work, a->dataset, part->board, err));
    }
    return JM_OK;
}

double jm__board_sampler_j(const jm__board_part *part, double *seconds, double *u_j)
{
    const jm__columns *columns = &part->work->columns;
    size_t first = jm__sampler_column(columns), count = columns->sampler_columns, n = columns->count;
    double energy_j = 0, variance = 0;
    *seconds = 0;
    for (size_t i = first; part->fit.known && i < first + count; i++) {
        *seconds += part->work->seconds[i];
        energy_j += part->work->seconds[i] * part->fit.power_w[i];
        for (size_t j = first; j < first + count; j++)
            variance += part->work->seconds[i] * part->work->seconds[j] * part->fit.covariance[i * n + j];
    }
    *u_j = sqrt(fmax(0, variance));
    return energy_j;
}

void jm__attribution_trim(jm__attribution *a)
{
    jm__work_drop_pieces(&a->work);
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        jm__board_readings_free(&a->boards[b].readings);
    }
}

void jm__attribution_free(jm__attribution *a)
{
    jm__batches_free(&a->batches);
    for (size_t b = 0; a->boards != NULL && b < a->dataset->board_count; b++) {
        jm__board_part *part = &a->boards[b];
        jm__board_time_free(&part->time);
        jm__sampler_draw_free(&part->sampler);
        jm__board_readings_free(&part->readings);
        jm__fit_free(&part->fit);
        jm__power_law_free(&part->law);
        free(part->clock_mhz);
        jm__model_free(&part->known.model);
    }
    free(a->boards);
    jm__span_index_free(&a->spans);
    jm__work_free(&a->work);
    jm__vec_free(&a->windows);
    jm__vec_free(&a->queried);
    jm__vec_free(&a->untraced);
    jm__extrapolated_free(&a->extrapolated);
    jm__strata_free(&a->strata);
    jm__vec_free(&a->learn);
    jm__marked_free(&a->marked);
    jm__steps_free(&a->steps);
    *a = (jm__attribution){0};
}
