/* Sentences about sensors, losses, events and how far the figures go. */
#include "attribute/notes.h"

#include "base/map.h"
#include "base/status.h"
#include "rows/sensor_role.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    jm__notes *notes;
    const jm__attribution *a;
    char label[JM_BOARD_TEXT + 32]; /* of the board that is spoken of */
    bool failed;
} writer;

/* Two equal GPUs are told apart by their index. */
static void speak_of(writer *w, const jm_board *board)
{
    if (jm__board_is_fitted(board) && board->index >= 0)
        snprintf(w->label, sizeof w->label, "GPU %d (%s)", (int)board->index, board->name);
    else
        snprintf(w->label, sizeof w->label, "%s", board->name);
}

__attribute__((format(printf, 3, 0))) static void add(writer *w, bool essential, const char *format,
                                                      va_list args)
{
    jm__note note = {.essential = essential};
    if (vasprintf(&note.text, format, args) < 0) {
        w->failed = true;
        return;
    }
    if (jm__vec_push(w->notes, note)) return;
    free(note.text);
    w->failed = true;
}

__attribute__((format(printf, 2, 3))) static void say(writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(w, false, format, args);
    va_end(args);
}

/* What nobody may overlook. */
__attribute__((format(printf, 2, 3))) static void warn(writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(w, true, format, args);
    va_end(args);
}

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

static void say_fitted(writer *w, const jm__board_part *part)
{
    const jm__fit *fit = &part->fit;
    if (fit->readings == 0)
        say(w,
            "%s: no reading of %s falls into this time; powers are learnt from %zu of the rest of the run.",
            w->label, part->sensor->name, fit->learnt);
    else
        say(w, "%s: fitted to %zu readings of %s, residual %.1f W; lag %.1f ms, %s %.1f ms.", w->label,
            fit->readings, part->sensor->name, fit->residual_w, fit->response.lag_ns * 1e-6,
            part->sensor->response == JM_RESPONSE_FIRST_ORDER ? "time constant" : "window",
            fit->response.width_ns * 1e-6);
    if (fit->readings > 0 && fit->learnt > 0)
        say(w,
            "%s: powers are learnt also from %zu readings of the rest of the run, as far as the two are "
            "alike.",
            w->label, fit->learnt);
    if (!jm__sensor_is(part->sensor, JM_SENSOR_POWER_RING)) {
        const char *why = missing_ring(w->a, part->board);
        say(w, "%s: the sample ring could not be used%s%s; %s resolves less, so intervals are wider.",
            w->label, why[0] != '\0' ? ": " : "", why, part->sensor->name);
    }
    if (part->sensor->gain_u > 0)
        say(w,
            "Intervals are relative to the sensor of %s; its gain adds %.1f %% (standard) to absolute "
            "joules.",
            w->label, 100 * part->sensor->gain_u);
}

static void say_sensor(writer *w, const jm__board_part *part)
{
    if (part->sensor == NULL && part->counter == NULL)
        warn(w, "%s has no power or energy reading in this recording: its energy is not known.", w->label);
    else if (!part->counted)
        say(w, "%s measures what flows on into others: its %.1f J are in no total.", w->label,
            part->total.energy_j);
    else if (!jm__board_is_fitted(part->board))
        return;
    else if (part->sensor == NULL)
        say(w, "%s has no power reading: its total is shared by time, so its rows are modelled.", w->label);
    else if (!part->fit.fitted)
        say(w, "No power reading of %s falls into this run: its energy is shared by time (modelled).",
            w->label);
    else
        say_fitted(w, part);
}

static void say_lost(writer *w, const jm__board_part *part)
{
    double wanted_s = (double)jm__windows_duration_ns(&w->a->windows) * 1e-9;
    double known_s = (double)jm__windows_duration_ns(&part->windows) * 1e-9;
    if (part->lost.count > 0 && known_s == 0)
        warn(w, "%s was lost all of this time: its energy is not known.", w->label);
    else if (part->lost.count > 0 && known_s < wanted_s)
        warn(w, "%s was lost for %.2f s of %.2f s: its energy is that of the other %.2f s.", w->label,
             wanted_s - known_s, wanted_s, known_s);
}

static void say_total(writer *w, const jm__board_part *part)
{
    const jm__fit *fit = &part->fit;
    bool same = part->sensor != NULL && part->total.source == part->sensor->name;
    if (fit->fitted && same)
        warn(w,
             "%s: no energy counter covers this time; the total is %s %s, so it is not an independent check.",
             w->label, fit->learnt > 0 ? "the fit's, from" : "the integral of", part->total.source);
    else if (fit->fitted && !fit->held && part->total.source != NULL)
        say(w,
            "%s: the fit adds up to %.1f J, %s says %.1f J, %.1f standard uncertainties apart. The rows are "
            "not "
            "forced to the total, which is trusted as it needs no model; the difference is unresolved.",
            w->label, fit->free_j, part->total.source, part->total.energy_j, fabs(fit->closure_z));
}

/* Less is within what the intervals of rows show anyway. */
static const double misfit_told = 0.005;

static void say_fit(writer *w, const jm__board_part *part)
{
    if (part->work->columns.merged_count > 0)
        say(w, "%s: %zu rare kinds of work share columns of the fit; their rows are modelled.", w->label,
            part->work->columns.merged_count);
    if (part->work->from_host)
        say(w, "No kernels were recorded: the program's spans on the host stand for the work of %s.",
            w->label);
    if (part->total.unseen_j > 0)
        warn(w, "%s: %.1f J of its %.1f J are interpolated across gaps in the readings.", w->label,
             part->total.unseen_j, part->total.energy_j);
    if (part->believed.all > 0)
        say(w, "%s: %zu of the %zu lines of %s speak of what ran there.", w->label, part->believed.used,
            part->believed.all, w->a->options.belief);
    if (part->fit.misfit >= misfit_told)
        say(w,
            "%s: the same kind of work did not always draw the same power: by about %.0f %%, as the "
            "residuals "
            "show. The intervals allow for it.",
            w->label, 100 * part->fit.misfit);
    say_total(w, part);
}

/* All losses of one source and reason. */
typedef struct loss_sum {
    const jm__loss *first;
    int64_t count;
} loss_sum;

static uint64_t loss_hash(const void *key)
{
    const jm__loss *loss = *(const jm__loss *const *)key;
    uint64_t hash = jm__map_hash_bytes(0, loss->source, strlen(loss->source) + 1);
    return jm__map_hash_bytes(hash, loss->reason, strlen(loss->reason));
}

static bool loss_equal(const void *key, const void *another)
{
    const jm__loss *left = *(const jm__loss *const *)key, *right = *(const jm__loss *const *)another;
    return strcmp(left->source, right->source) == 0 && strcmp(left->reason, right->reason) == 0;
}

/* One sentence for all losses of a source and reason, in the order in which they were first noticed. */
static void say_losses(writer *w)
{
    const jm__dataset *d = w->a->dataset;
    JM_VEC(loss_sum) sums = {0};
    jm__map numbers = {.key_size = sizeof(const jm__loss *), .hash = loss_hash, .equal = loss_equal};
    for (size_t i = 0; i < d->loss_count && !w->failed; i++) {
        const jm__loss *loss = &d->losses[i];
        jm__map_value *known = jm__map_find(&numbers, &loss), number = {.id = (int64_t)sums.count};
        const loss_sum first = {loss, loss->count};
        if (known != NULL)
            sums.items[known->id].count += loss->count;
        else
            w->failed = !jm__map_put(&numbers, &loss, number) || !jm__vec_push(&sums, first);
    }
    for (size_t i = 0; i < sums.count; i++)
        warn(w, "Lost: %lld records (%s: %s); their energy appears under (idle) or (outside).",
             (long long)sums.items[i].count, sums.items[i].first->source, sums.items[i].first->reason);
    jm__map_free(&numbers);
    jm__vec_free(&sums);
}

static void say_events(writer *w)
{
    const jm__dataset *d = w->a->dataset;
    static const char *const meaning[] = {
        [JM_EVENT_CLOCK_STEP] = "the system clock was set",
        [JM_EVENT_GAP] = "readings are missing",
        [JM_EVENT_BOARD_LOST] = "a GPU was lost",
        [JM_EVENT_BOARD_BACK] = "a GPU came back",
        [JM_EVENT_COUNTER_RESET] = "the energy counter was reset",
        [JM_EVENT_THROTTLE] = "the GPU throttled: power at a limit is not that of the same work below it",
        [JM_EVENT_SENSOR_FAILED] = "a sensor failed",
        [JM_EVENT_CUPTI] = "CUPTI",
        [JM_EVENT_RECORDER] = "the recorder",
    };
    for (int kind = 0; kind < JM_EVENT_COUNT; kind++) {
        size_t count = 0;
        const char *text = "";
        for (size_t i = 0; i < d->event_count; i++) {
            if ((int)d->events[i].kind != kind) continue;
            if (kind == JM_EVENT_THROTTLE && d->events[i].value == 0) continue; /* the end of it */
            if (count++ == 0) text = d->events[i].text;
        }
        if (count == 0) continue;
        size_t length = strlen(text);
        if (length > 0 && text[length - 1] == '.') length--; /* the sentence has its own */
        void (*tell)(writer *, const char *, ...) =
            kind == JM_EVENT_GAP || kind == JM_EVENT_RECORDER ? warn : say;
        tell(w, "%zu time%s: %s%s%.*s.", count, count > 1 ? "s" : "", meaning[kind], length > 0 ? ": " : "",
             (int)length, text);
    }
}

static void say_spans(writer *w)
{
    const jm__dataset *d = w->a->dataset;
    size_t open = 0;
    for (size_t i = 0; i < d->span_count; i++)
        open += d->spans[i].end_ns == -1 && d->spans[i].start_ns >= 0;
    if (open > 0)
        say(w, "%zu spans never ended (the program stopped inside them); they last to its end.", open);
}

jm_status jm__notes_write(jm__notes *notes, const jm__attribution *a, jm_error *err)
{
    writer w = {.notes = notes, .a = a};
    bool simulated = false;
    for (size_t b = 0; b < a->dataset->board_count; b++)
        simulated = simulated || (a->boards[b].wanted && a->boards[b].board->simulated);
    if (simulated) say(&w, "The GPU is simulated: these joules were never drawn from a wall.");
    if (a->dataset->damage != NULL) warn(&w, "The recording is damaged: %s", a->dataset->damage);
    if (a->dataset->board_count == 0) warn(&w, "The recording has no board: no energy is known.");
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        if (!a->boards[b].wanted) continue;
        speak_of(&w, a->boards[b].board);
        say_lost(&w, &a->boards[b]);
        say_sensor(&w, &a->boards[b]);
        if (jm__board_is_fitted(a->boards[b].board)) say_fit(&w, &a->boards[b]);
    }
    say_losses(&w);
    say_events(&w);
    say_spans(&w);
    return w.failed ? jm__no_memory(err, "jm__notes_write") : JM_OK;
}

void jm__notes_free(jm__notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free(notes->items[i].text);
    jm__vec_free(notes);
}
