/* From a dataset and the options for a report to fitted boards. */
#include "attribute/attribution.h"

#include "attribute/fit/clocks.h"
#include "attribute/prior/source.h"
#include "attribute/work/clock_track.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    bool fine = jm__clock_track_begin(&clock, a->scope.dataset, part->board) &&
                jm__clock_jumps(&clock, &jumps) && jm__intervals_intersect(&jumps, &part->time.learn);
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
    bool *uses = calloc(a->scope.dataset->process_count + 1, sizeof *uses);
    const jm__extrapolated_requested requested = {
        .strata = &a->scope.strata,
        .report = &part->time.windows,
        .steady = &part->time.steady,
        .uses = uses,
        .rows = jm__scope_extrapolated_rows(&a->scope),
    };
    if (uses != NULL && jm__strata_any(&a->scope.strata)) find_users(uses, a->scope.dataset, part->board->id);
    bool fine = uses != NULL && jm__extrapolated_find(&part->time.extrapolated, &requested) &&
                jm__intervals_add_all(&part->time.traced, &part->time.windows) &&
                jm__intervals_subtract(&part->time.traced, &part->time.extrapolated.time) &&
                jm__intervals_add_all(&part->time.steady_traced, &part->time.steady) &&
                jm__intervals_intersect(&part->time.steady_traced, &part->time.traced) &&
                jm__intervals_subtract(&part->time.learn, &part->time.extrapolated.time) &&
                jm__intervals_add_all(&part->time.unknown, &a->scope.untraced) && leave_jumps_out(a, part) &&
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
    return jm__sampler_draw_find(&part->sampler, a->scope.dataset, part->board,
                                 known ? model->sampler_w : NAN, known ? model->sampler_u_w : NAN, err);
}

jm_status jm__attribution_readings(jm__attribution *a, jm__board_part *part, jm_error *err)
{
    jm__board_time *time = &part->time;
    JM_TRY(
        jm__board_readings_take(&part->readings, a->scope.dataset, part->board, &part->known.response, err));
    bool fine = jm__board_readings_lost(&time->lost, &part->readings, a->scope.dataset, part->board->id) &&
                jm__intervals_add_all(&time->windows, &a->scope.windows) &&
                jm__intervals_subtract(&time->windows, &time->lost) &&
                jm__intervals_add_all(&time->learn, &a->scope.learn) &&
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
    jm__interval range = a->scope.run;
    const jm__power_series *fitted = jm__board_readings_series(&part->readings);
    if (fitted != NULL) {
        int64_t first = fitted->readings[0].t_ns, last = fitted->readings[fitted->count - 1].t_ns;
        if (first < range.from_ns) range.from_ns = first;
        if (last > range.to_ns) range.to_ns = last;
    }
    part->work->requested = jm__board_is_fitted(part->board);
    if (!jm__intervals_add_all(&part->time.steady, &part->time.windows) ||
        !jm__intervals_intersect(&part->time.steady, &a->scope.steps.steady))
        return jm__no_memory(err, "jm__attribution_begin");
    JM_TRY(find_extrapolated(a, part, err));
    part->time.sampled = part->sampler.windows.count > 0 ? &part->sampler.windows : NULL;
    part->work->from_ns = range.from_ns;
    part->work->to_ns = range.to_ns;
    return JM_OK;
}

jm_status jm__attribution_boards(jm__attribution *a, int64_t board_id, jm_error *err)
{
    const jm__dataset *d = a->scope.dataset;
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
    *a = (jm__attribution){.scope = {.dataset = dataset, .options = *options}};
    JM_TRY(jm__attribution_boards(a, options->board_id, err));
    JM_TRY(jm__scope_find(&a->scope, err));
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
    const jm__prior_scene scene = {.board = part->board, .set = &a->work, .work = part->work};
    if (a->scope.options.prior == NULL) return JM_OK;
    return jm__prior_from_file(prior, &part->known.assumed, a->scope.options.prior, &scene, err);
}

static jm_status know(knowledge *known, const jm__attribution *a, jm__board_part *part, jm_error *err)
{
    JM_TRY(assume(&known->given, a, part, err));
    known->expected = jm__family_power(part->board, part->work, &a->work);
    if (known->expected == NULL) return jm__no_memory(err, "jm__attribution_fit");
    JM_TRY(jm__known_counters(&known->counters, &part->known, a->scope.dataset, part->board, part->work,
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

/* Work of which nothing is recorded has what the meter says; powers are learnt from the rest, whose total
 * goes into `rest`. */
static bool leave_unrecorded_out(jm__board_part *part, jm__total *rest)
{
    const jm__intervals *time = &part->work->tally.unrecorded;
    *rest = part->total;
    bool fine = jm__intervals_add_all(&part->time.unrecorded, time) &&
                jm__intervals_intersect(&part->time.unrecorded, &part->time.traced) &&
                jm__intervals_subtract(&part->time.traced, time) &&
                jm__intervals_subtract(&part->time.steady_traced, time) &&
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
    jm__known_ready(&part->known, part->work, &part->sampler, a->scope.dataset, a->scope.options.model);
    if (part->known.idle_known) input.idle = &part->known.idle;
    JM_TRY(jm__power_law_find(&part->law, &a->work, part->work, err));
    JM_TRY(fit_columns(a, part, &input, err));
    part->work->pieces.scale_of = NULL; /* what comes asks for time */
    part->first_column = a->columns;
    a->columns += part->work->columns.count;
    if (part->time.unrecorded.count == 0) part->total = part->fit.total;
    return JM_OK;
}

jm_status jm__attribution_fit(jm__attribution *a, const jm__row_of *rows, jm_error *err)
{
    JM_TRY(jm__work_pass(&a->work, &a->scope.spans, &a->scope.windows, rows, err));
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        jm__board_part *part = &a->boards[b];
        if (!part->work->requested) continue;
        JM_TRY(fit_board(a, part, err));
        JM_TRY(jm__clocks_find(&part->clock_mhz, part->work, a->scope.dataset, part->board, err));
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
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        jm__board_readings_free(&a->boards[b].readings);
    }
}

void jm__attribution_free(jm__attribution *a)
{
    for (size_t b = 0; a->boards != NULL && b < a->scope.dataset->board_count; b++) {
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
    jm__work_free(&a->work);
    jm__scope_free(&a->scope);
    *a = (jm__attribution){0};
}
