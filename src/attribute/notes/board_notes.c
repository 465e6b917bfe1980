/* Sentences about one board: its time, its sensor, its total, its fit. */
#include "attribute/fit/student.h"
#include "attribute/notes/conditions.h"
#include "attribute/notes/note_writer.h"
#include "format/rows/sensor_role.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *missing_ring(const jm__attribution *a, const jm_board *board)
{
    for (size_t i = 0; i < a->dataset->sensor_count; i++) {
        const jm_sensor *sensor = &a->dataset->sensors[i];
        if (sensor->board_id == board->id && jm__sensor_is(sensor, JM_SENSOR_POWER_RING) &&
            sensor->missing[0] != '\0')
            return sensor->missing;
    }
    return "";
}

static void say_fitted(jm__note_writer *w, const jm__board_part *part)
{
    const jm__fit *fit = &part->fit;
    if (fit->readings == 0)
        jm__say(
            w,
            "%s: no reading of %s falls into this time; powers are learnt from %zu of the rest of the run.",
            w->label, part->sensor->name, fit->learnt);
    else
        jm__say(w, "%s: fitted to %zu readings of %s, residual %.1f W; lag %.1f ms, %s %.1f ms.", w->label,
                fit->readings, part->sensor->name, fit->residual_w, fit->response.lag_ns * 1e-6,
                part->sensor->response == JM_RESPONSE_FIRST_ORDER ? "time constant" : "window",
                fit->response.width_ns * 1e-6);
    if (fit->readings > 0 && fit->learnt > 0)
        jm__say(w,
                "%s: powers are learnt also from %zu readings of the rest of the run, as far as the two are "
                "alike.",
                w->label, fit->learnt);
    if (!jm__sensor_is(part->sensor, JM_SENSOR_POWER_RING)) {
        const char *why = missing_ring(w->a, part->board);
        jm__say(w, "%s: the sample ring could not be used%s%s; %s resolves less, so intervals are wider.",
                w->label, why[0] != '\0' ? ": " : "", why, part->sensor->name);
    }
    if (part->sensor->gain_u > 0)
        jm__say(w,
                "Intervals are relative to the sensor of %s; its gain adds %.1f %% (standard) to absolute "
                "joules.",
                w->label, 100 * part->sensor->gain_u);
}

static void say_sensor(jm__note_writer *w, const jm__board_part *part)
{
    if (part->sensor == NULL && part->counter == NULL)
        jm__warn(w, "%s has no power or energy reading in this recording: its energy is not known.",
                 w->label);
    else if (!part->counted && part->total.energy_j < 0)
        jm__warn(
            w,
            "%s says %.1f J, less than nothing: its clamp may be the wrong way round, or power was fed back.",
            w->label, part->total.energy_j);
    else if (!part->counted)
        jm__say(w, "%s measures what flows on into others: its %.1f J are in no total.", w->label,
                part->total.energy_j);
    else if (!jm__board_is_fitted(part->board))
        return;
    else if (part->sensor == NULL)
        jm__say(w, "%s has no power reading: its total is shared by time, so its rows are weak.", w->label);
    else if (!part->fit.fitted)
        jm__say(w,
                "No power reading of %s falls into this run: its energy is shared by time, and its rows are "
                "weak.",
                w->label);
    else
        say_fitted(w, part);
}

/* NVML tells the power of a whole board, never that of an instance. */
static void say_mig(jm__note_writer *w, const jm__board_part *part)
{
    if (part->board->mig)
        jm__warn(
            w,
            "%s is cut into MIG instances: its power is that of the whole GPU, and nothing tells what of it "
            "other instances drew, so these joules hold theirs. `nvidia-smi -mig 0` ends that mode.",
            w->label);
}

static void say_lost(jm__note_writer *w, const jm__board_part *part)
{
    double wanted_s = (double)jm__windows_duration_ns(&w->a->windows) * 1e-9;
    double known_s = (double)jm__windows_duration_ns(&part->windows) * 1e-9;
    if (part->lost.count > 0 && known_s == 0 && wanted_s > 0)
        jm__warn(w, "%s was lost all of this time: its energy is not known.", w->label);
    else if (part->lost.count > 0 && known_s < wanted_s)
        jm__warn(w, "%s was lost for %.2f s of %.2f s: its energy is that of the other %.2f s.", w->label,
                 wanted_s - known_s, wanted_s, known_s);
}

/* What was read and cannot be right. */
static void say_refused(jm__note_writer *w, const jm__board_part *part)
{
    if (part->refused > 0) {
        char names[160] = "";
        for (size_t k = 0, length = 0; part->refused_of[k] != NULL && length < sizeof names; k++)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", k > 0 ? ", " : "",
                                       part->refused_of[k]->name);
        jm__warn(w, "%s: %zu readings of power (%s) are left out: no board can draw that.", w->label,
                 part->refused, names);
    }
    if (part->total.apart_j != 0)
        jm__warn(
            w,
            "%s: %s says %.1f J more than the power sensors do: one of the two is wrong. The total is %s's, "
            "and its interval holds both.",
            w->label, part->counter->name, part->total.apart_j, part->total.source);
}

/* Joulemap's own part in what the board drew. */
static void say_sampler(jm__note_writer *w, const jm__board_part *part)
{
    double energy_j = jm__sampler_draw_energy_j(&part->sampler, &part->windows);
    if (energy_j > 0)
        jm__say(w,
                "%s: sampling its hardware counters made it draw about %.0f ±%.0f W more for %.1f s, %.0f J: "
                "they are taken off all figures.",
                w->label, part->sampler.power_w, JM_NORMAL_95 * part->sampler.u_w,
                energy_j / part->sampler.power_w, energy_j);
}

static void say_total(jm__note_writer *w, const jm__board_part *part)
{
    const jm__fit *fit = &part->fit;
    bool same = part->sensor != NULL && part->total.source == part->sensor->name;
    if (fit->fitted && same)
        jm__warn(
            w,
            "%s: no energy counter covers this time; the total is %s %s, so it is not an independent check.",
            w->label, fit->own ? "the fit's, from" : "the integral of", part->total.source);
    else if (fit->fitted && !fit->held && part->total.source != NULL)
        jm__say(
            w,
            "%s: the fit adds up to %.1f J, %s says %.1f J, %.1f standard uncertainties apart. The rows are "
            "not "
            "forced to the total, which is trusted as it needs no model; the difference is unresolved.",
            w->label, fit->free_j, part->total.source, part->total.energy_j, fabs(fit->closure_z));
}

/* Less is within what the intervals of rows show anyway. */
static const double misfit_told = 0.005;

static size_t split_count(const jm__columns *columns)
{
    size_t count = 0;
    for (size_t k = 0; k < columns->class_columns; k++)
        count += columns->split_from[k] != k;
    return count;
}

static void say_fit(jm__note_writer *w, const jm__board_part *part)
{
    if (part->work->columns.merged_count > 0)
        jm__say(w, "%s: %zu rare kinds of work share columns of the fit; their rows are weak.", w->label,
                part->work->columns.merged_count);
    if (part->clock_exponent > 0)
        jm__say(w,
                "%s: its clock moved, and what work adds to its power goes with the clock to the power of "
                "%.1f, as the readings show; rows take it into account.",
                w->label, part->clock_exponent);
    if (split_count(&part->work->columns) > 0)
        jm__say(w,
                "%s: some kinds of work draw otherwise in one layer or phase than in another; %zu have a "
                "power of their own there.",
                w->label, split_count(&part->work->columns));
    if (part->work->from_host)
        jm__say(w, "No kernels were recorded: the program's spans on the host stand for the work of %s.",
                w->label);
    if (part->total.unseen_j > 0)
        jm__warn(w, "%s: %.1f J of its %.1f J are interpolated across gaps in the readings.", w->label,
                 part->total.unseen_j, part->total.energy_j);
    if (part->believed.all > 0)
        jm__say(w, "%s: %zu of the %zu lines of %s speak of what ran there.", w->label, part->believed.used,
                part->believed.all, w->a->options.belief);
    if (part->fit.misfit >= misfit_told)
        jm__say(
            w,
            "%s: the same kind of work does not always draw the same power: about %.0f %% more or less, by "
            "what is usual and what residuals show. The intervals allow for it.",
            w->label, 100 * part->fit.misfit);
    say_total(w, part);
}

/* Whose a model is. */
static const char *whose(const jm__board_model *model)
{
    return model->shipped ? "of another GPU of its kind:" : "learnt on";
}

static void say_counters(jm__note_writer *w, const jm__board_part *part)
{
    const char *asked = w->a->options.model;
    const jm__board_model *model = &part->model;
    bool wanted = asked == NULL || strcmp(asked, JM_MODEL_NONE) != 0;
    const char *ncu = w->a->dataset->ncu;
    if (part->model_fault[0] != '\0')
        jm__warn(
            w,
            "%s: the model of its hardware counters cannot be used: %s; `joulemap calibrate` makes one anew.",
            w->label, part->model_fault);
    if (part->counter_windows > 0 && ncu != NULL)
        jm__say(
            w,
            "%s: counters tell what each kind of work draws, but not of this run: Nsight Compute counted the "
            "same kernels, one at a time, in another run of the program (%s); rows called \"counters\" rest "
            "on that, in %zu launches, by weights %s %s, %s.",
            w->label, ncu, part->counter_windows, whose(model), model->board, model->date);
    else if (part->counter_windows > 0)
        jm__say(
            w,
            "%s: %zu windows of hardware counters tell what each kind of work draws, by weights %s %s, %s.",
            w->label, part->counter_windows, whose(model), model->board, model->date);
    else if (part->counted_by_hardware && wanted && model->count == 0 && part->model_fault[0] == '\0')
        jm__say(w,
                "%s: its hardware counters were %s, but what they are worth in watts is not known; "
                "`joulemap calibrate` learns it.",
                w->label, ncu != NULL ? "imported from Nsight Compute" : "sampled");
    else if (part->counted_by_hardware && wanted)
        jm__say(w, "%s: no window of hardware counters falls into work that was traced.", w->label);
    else if (asked != NULL && wanted && !part->idle_known)
        jm__warn(w, "%s has no hardware counters in this recording: %s is of no use for it.", w->label,
                 asked);
    if (part->idle_known)
        jm__say(w, "%s: before any reading, gaps are expected to draw what a model says, %s %s, %s.",
                w->label, whose(model), model->board, model->date);
}

/* A reason that held for less of the throttled time is not worth a word. */
static const double reason_told = 0.1;

static void say_throttled(jm__note_writer *w, const jm__board_part *part)
{
    const jm__conditions c = jm__conditions_of(w->a->dataset, part);
    char why[160] = "";
    size_t length = 0;
    if (c.throttled_s <= 0) return;
    for (int bit = 0; bit < JM_REASONS && length < sizeof why; bit++)
        if (c.reason_s[bit] >= reason_told * c.throttled_s)
            length += (size_t)snprintf(why + length, sizeof why - length, "%s%s", length > 0 ? ", " : "",
                                       jm__throttle_reason_text(bit));
    double percent = 100 * c.throttled_s / c.told_s;
    jm__say(
        w,
        "%s throttled for %.*f %% of this time (%s): power at a limit is not that of the same work below it.",
        w->label, percent < 1 ? 1 : 0, percent, length > 0 ? why : "a reason without a name");
}

void jm__notes_of_board(jm__note_writer *w, const jm__board_part *part)
{
    jm__note_writer_speak_of(w, part->board);
    say_lost(w, part);
    say_mig(w, part);
    say_sensor(w, part);
    say_refused(w, part);
    say_sampler(w, part);
    if (jm__board_is_fitted(part->board)) {
        say_fit(w, part);
        say_counters(w, part);
    }
    say_throttled(w, part);
}
