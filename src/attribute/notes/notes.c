/* Notes on boards, ranks, the recording, and tracing. */
#include "attribute/notes/notes.h"

#include "attribute/fit/student.h"
#include "attribute/notes/quality.h"
#include "base/map.h"
#include "base/plain.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "format/rows/marks.h"
#include "format/rows/sensor_role.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct note_writer {
    jm__notes *notes;
    const jm__attribution *a;
    char label[JM_BOARD_TEXT + 32]; /* of the current board */
    bool failed;                    /* out of memory */
} note_writer;

/* The index distinguishes equal GPUs. */
static void set_label(note_writer *w, const jm_board *board)
{
    if (jm__board_is_fitted(board) && board->index >= 0)
        snprintf(w->label, sizeof w->label, "GPU %d (%s)", (int)board->index, board->name);
    else
        snprintf(w->label, sizeof w->label, "%s", board->name);
}

__attribute__((format(printf, 3, 4))) static void note(note_writer *w, bool essential, const char *format,
                                                       ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t size = (size_t)jm__vprint(NULL, 0, format, args) + 1;
    jm__note note = {.essential = essential, .text = malloc(size)};
    if (note.text != NULL) jm__vprint(note.text, size, format, again);
    va_end(again);
    va_end(args);
    if (note.text != NULL && jm__vec_push(w->notes, note)) return;
    free(note.text);
    w->failed = true;
}

#define say(w, ...)  note(w, false, __VA_ARGS__)
#define warn(w, ...) note(w, true, __VA_ARGS__)

/* Whether a list has anything to be said. */
static bool has_text(note_writer *w, const jm__strbuf *list)
{
    w->failed = w->failed || list->failed;
    return list->length > 0 && !w->failed;
}

/* ---- one board: its time, sensor, total and fit */

static const char *missing_ring(const jm__attribution *a, const jm_board *board)
{
    for (size_t i = 0; i < a->scope.dataset->sensor_count; i++) {
        const jm_sensor *sensor = &a->scope.dataset->sensors[i];
        if (sensor->board_id == board->id && jm__sensor_is(sensor, JM_SENSOR_POWER_RING) &&
            sensor->missing[0] != '\0')
            return sensor->missing;
    }
    return "";
}

static void say_coarse(note_writer *w, const jm__board_part *part)
{
    const char *why = missing_ring(w->a, part->board);
    if (jm__sensor_is(part->readings.sensor, JM_SENSOR_POWER_RING)) return;
    say(w, "%s: the sample ring could not be used%s%s; %s resolves less, so intervals are wider.", w->label,
        why[0] != '\0' ? ": " : "", why, part->readings.sensor->name);
}

static void say_fitted(note_writer *w, const jm__board_part *part)
{
    const jm__fit *fit = &part->fit;
    if (fit->readings == 0)
        say(w,
            "%s: no reading of %s falls into this time; powers are learnt from %zu of the rest of the run.",
            w->label, part->readings.sensor->name, fit->learnt);
    else
        say(w, "%s: fitted to %zu readings of %s, residual %.1f W; lag %.1f ms, %s %.1f ms.", w->label,
            fit->readings, part->readings.sensor->name, fit->residual_w,
            fit->calibration.response.lag_ns * 1e-6,
            part->readings.sensor->response == JM_RESPONSE_FIRST_ORDER ? "time constant" : "window",
            fit->calibration.response.width_ns * 1e-6);
    if (fit->readings > 0 && fit->learnt > 0)
        say(w,
            "%s: powers are learnt also from %zu readings of the rest of the run, as far as the two are "
            "alike.",
            w->label, fit->learnt);
    say_coarse(w, part);
    if (part->readings.sensor->gain_u > 0)
        say(w,
            "Intervals are relative to the sensor of %s; its gain adds %.1f %% (standard) to absolute "
            "joules.",
            w->label, 100 * part->readings.sensor->gain_u);
}

static void say_sensor(note_writer *w, const jm__board_part *part)
{
    if (part->readings.sensor == NULL && part->readings.counter == NULL)
        warn(w, "%s has no power or energy reading in this recording: its energy is not known.", w->label);
    else if (!part->counted && part->total.energy_j < 0)
        warn(
            w,
            "%s says %.1f J, less than nothing: its clamp may be the wrong way round, or power was fed back.",
            w->label, part->total.energy_j);
    else if (!part->counted)
        say(w, "%s measures what flows on into others: its %.1f J are in no total.", w->label,
            part->total.energy_j);
    else if (!jm__board_is_fitted(part->board))
        return;
    else if (part->readings.sensor == NULL)
        say(w, "%s has no power reading: its total is shared by time, so its rows are weak.", w->label);
    else if (!part->fit.fitted && part->time.unrecorded.count > 0)
        say_coarse(w, part);
    else if (!part->fit.fitted)
        say(w,
            "No power reading of %s falls into this run: its energy is shared by time, and its rows are "
            "weak.",
            w->label);
    else
        say_fitted(w, part);
}

/* NVML reports the power of a whole board, not of an instance. */
static void say_mig(note_writer *w, const jm__board_part *part)
{
    if (part->board->mig)
        warn(w,
             "%s is cut into MIG instances: its power is that of the whole GPU, so these joules include "
             "those of all instances. `nvidia-smi -mig 0` ends that mode.",
             w->label);
}

static void say_lost_time(note_writer *w, const jm__board_part *part)
{
    double requested_s = (double)jm__intervals_duration_ns(&w->a->scope.windows) * 1e-9;
    double known_s = (double)jm__intervals_duration_ns(&part->time.windows) * 1e-9;
    if (part->time.lost.count > 0 && known_s == 0 && requested_s > 0)
        warn(w, "%s was lost all of this time: its energy is not known.", w->label);
    else if (part->time.lost.count > 0 && known_s < requested_s)
        warn(w, "%s was lost for %.2f s of %.2f s: its energy is that of the other %.2f s.", w->label,
             requested_s - known_s, requested_s, known_s);
}

/* Readings that cannot be right. */
static void say_refused(note_writer *w, const jm__board_part *part)
{
    jm__strbuf names = {0};
    for (size_t k = 0; part->readings.refused_of[k] != NULL; k++)
        jm__strbuf_format(&names, "%s%s", k > 0 ? ", " : "", part->readings.refused_of[k]->name);
    if (has_text(w, &names))
        warn(w, "%s: %zu readings of power (%s) are left out: no board can draw that.", w->label,
             part->readings.refused, names.text);
    jm__strbuf_free(&names);
    if (part->total.apart_j != 0)
        warn(w,
             "%s: %s says %.1f J more than the power sensors do: one of the two is wrong. The total is "
             "%s's, and its interval holds both.",
             w->label, part->readings.counter->name, part->total.apart_j, part->total.source);
}

/* The power that joulemap itself caused. */
static void say_sampler(note_writer *w, const jm__board_part *part)
{
    double seconds, u_j, energy_j = jm__board_sampler_j(part, &seconds, &u_j);
    if (seconds > 0)
        say(w,
            "%s: sampling its hardware counters for %.1f s drew %.0f ±%.0f J (%.0f W): in the total, and in "
            "no row of the program.",
            w->label, seconds, energy_j, JM_NORMAL_95 * u_j, energy_j / seconds);
}

static void say_total(note_writer *w, const jm__board_part *part)
{
    const jm__fit *fit = &part->fit;
    bool same = part->readings.sensor != NULL && part->total.source == part->readings.sensor->name;
    if (fit->fitted && same)
        warn(w,
             "%s: no energy counter covers this time; the total is %s %s, so it is not an independent check.",
             w->label, fit->own ? "the fit's, from" : "the integral of", part->total.source);
    else if (fit->fitted && !fit->held && part->total.source != NULL)
        say(w,
            "%s: the fit adds up to %.1f J, %s says %.1f J, %.1f standard uncertainties apart. The rows are "
            "not forced to the total, which is trusted as it needs no model; the difference is unresolved.",
            w->label, fit->free_j, fit->total.source, fit->total.energy_j, fabs(fit->closure_z));
}

/* Less is within the intervals of rows anyway. */
static const double discrepancy_min = 0.005;

static void say_fit(note_writer *w, const jm__board_part *part)
{
    if (part->work->columns.merged_count > 0)
        say(w, "%s: %zu rare kinds of work share columns of the fit; their rows are weak.", w->label,
            part->work->columns.merged_count);
    if (part->law.varies[JM_LAW_CLOCK] && part->calibration.values.of[JM_LAW_CLOCK] > 0)
        say(w,
            "%s: its clock moved, and what work adds to its power goes with the clock to the power of "
            "%.1f, as the readings show; rows take it into account.",
            w->label, part->calibration.values.of[JM_LAW_CLOCK]);
    if (part->work->from_host)
        say(w, "No kernels were recorded: the program's spans on the host are taken as the work of %s.",
            w->label);
    if (part->total.unseen_j > 0)
        warn(w, "%s: %.1f J of its %.1f J are interpolated across gaps in the readings.", w->label,
             part->total.unseen_j, part->total.energy_j);
    if (part->known.assumed.all > 0)
        say(w, "%s: %zu of the %zu lines of %s are about work that ran there.", w->label,
            part->known.assumed.used, part->known.assumed.all, w->a->scope.options.prior);
    if (part->fit.discrepancy >= discrepancy_min)
        say(w,
            "%s: the same kind of work does not always draw the same power: about %.0f %% more or less, "
            "by what is usual and what residuals show. The intervals allow for it.",
            w->label, 100 * part->fit.discrepancy);
    say_total(w, part);
}

static const char *model_origin(const jm__board_model *model)
{
    return model->shipped ? "of another GPU of its kind:" : "learnt on";
}

static void say_counters(note_writer *w, const jm__board_part *part)
{
    const char *model_path = w->a->scope.options.model;
    const jm__board_model *model = &part->known.model;
    bool requested = model_path == NULL || strcmp(model_path, JM_MODEL_NONE) != 0;
    const char *ncu = w->a->scope.dataset->ncu;
    if (part->known.model_fault[0] != '\0')
        warn(
            w,
            "%s: the model of its hardware counters cannot be used: %s; `joulemap calibrate` makes one anew.",
            w->label, part->known.model_fault);
    if (part->known.counter_windows > 0 && ncu != NULL)
        say(w,
            "%s: counters tell what each kind of work draws, but not of this run: Nsight Compute counted "
            "the same kernels, one at a time, in another run of the program (%s); rows called "
            "\"counters\" rest on that, in %zu launches, by weights %s %s, %s.",
            w->label, ncu, part->known.counter_windows, model_origin(model), model->board, model->date);
    else if (part->known.counter_windows > 0)
        say(w,
            "%s: %zu windows of hardware counters tell what each kind of work draws, by weights %s %s, %s.",
            w->label, part->known.counter_windows, model_origin(model), model->board, model->date);
    else if (part->known.counted_by_hardware && requested && model->count == 0 &&
             part->known.model_fault[0] == '\0')
        say(w,
            "%s: its hardware counters were %s, but there is no model of the power that they mean; "
            "`joulemap calibrate` makes one.",
            w->label, ncu != NULL ? "imported from Nsight Compute" : "sampled");
    else if (part->known.counted_by_hardware && requested)
        say(w, "%s: no window of hardware counters falls into work that was traced.", w->label);
    else if (model_path != NULL && requested && !part->known.idle_known)
        warn(w, "%s has no hardware counters in this recording: %s is not used for it.", w->label,
             model_path);
    if (part->known.idle_known)
        say(w, "%s: before any reading, gaps are expected to draw what a model says, %s %s, %s.", w->label,
            model_origin(model), model->board, model->date);
}

/* Reasons with a smaller share of the throttled time are not listed. */
static const double reason_min = 0.1;

static void say_throttled(note_writer *w, const jm__board_part *part)
{
    const jm__conditions c = jm__conditions_of(w->a->scope.dataset, part);
    jm__strbuf why = {0};
    if (c.throttled_s <= 0) return;
    for (int bit = 0; bit < JM_REASONS; bit++)
        if (c.reason_s[bit] >= reason_min * c.throttled_s)
            jm__strbuf_format(&why, "%s%s", why.length > 0 ? ", " : "", jm__throttle_reasons[bit]);
    double percent = 100 * c.throttled_s / c.reported_s;
    say(w,
        "%s throttled for %.*f %% of this time (%s): power at a limit is not that of the same work below it.",
        w->label, percent < 1 ? 1 : 0, percent, has_text(w, &why) ? why.text : "a reason without a name");
    jm__strbuf_free(&why);
}

static void notes_of_board(note_writer *w, const jm__board_part *part)
{
    set_label(w, part->board);
    say_lost_time(w, part);
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

/* ---- ranks: who came late, and which processes shared a GPU */

enum { RANKS_MAX = 8, PROCESSES_MAX = 8 }; /* listed in a note; choices */

/* A rank's sums over all collectives. */
typedef struct rank {
    int64_t process_id;
    size_t board;
    int64_t matched, late;
} rank;

typedef JM_VEC(rank) ranks;

static bool add_wait(ranks *all, const jm__collective_wait *wait)
{
    rank *found = NULL;
    for (size_t i = 0; i < all->count && found == NULL; i++)
        if (all->items[i].process_id == wait->process_id && all->items[i].board == wait->board)
            found = &all->items[i];
    const rank new_item = {.process_id = wait->process_id, .board = wait->board};
    if (found == NULL && !jm__vec_push(all, new_item)) return false;
    if (found == NULL) found = &all->items[all->count - 1];
    found->matched += wait->matched;
    found->late += wait->late;
    return true;
}

static int latest_first(const void *a, const void *b)
{
    const rank *left = a, *right = b;
    if (left->late != right->late) return left->late > right->late ? -1 : 1;
    return (left->process_id > right->process_id) - (left->process_id < right->process_id);
}

static void add_rank(jm__strbuf *text, const jm__attribution *a, const rank *r)
{
    const jm__process *process = jm__dataset_process(a->scope.dataset, r->process_id);
    int gpu = jm__attribution_index(a, r->board);
    if (process != NULL && process->rank >= 0)
        jm__strbuf_format(text, "rank %" PRId64 " (GPU %d)", process->rank, gpu);
    else
        jm__strbuf_format(text, "GPU %d (process %" PRId64 ")", gpu, process != NULL ? process->pid : 0);
    jm__strbuf_format(text, " in %" PRId64 " of %" PRId64, r->late, r->matched);
}

static void say_late(note_writer *w)
{
    const jm__collective_waits *waits = &w->a->work.ranks.waits;
    ranks all = {0};
    jm__strbuf text = {0};
    for (size_t i = 0; i < waits->count && !w->failed; i++)
        w->failed = !add_wait(&all, &waits->items[i]);
    if (all.count > 1) qsort(all.items, all.count, sizeof *all.items, latest_first);
    for (size_t i = 0; i < all.count && i < RANKS_MAX && all.items[i].late > 0; i++) {
        if (i > 0) jm__strbuf_add(&text, ", ");
        add_rank(&text, w->a, &all.items[i]);
    }
    if (has_text(w, &text)) say(w, "Who came last to a collective, and was waited for: %s.", text.text);
    jm__strbuf_free(&text);
    jm__vec_free(&all);
}

/* The processes with streams on a board. */
static void say_shared(note_writer *w, const jm_board *board)
{
    const jm__dataset *d = w->a->scope.dataset;
    jm__strbuf text = {0};
    JM_VEC(int64_t) seen = {0};
    for (size_t i = 0; i < d->stream_count && !w->failed; i++) {
        const jm__process *process = jm__dataset_process(d, d->streams[i].process_id);
        bool found = d->streams[i].board_id != board->id || process == NULL;
        for (size_t k = 0; k < seen.count && !found; k++)
            found = seen.items[k] == process->id;
        if (found) continue;
        w->failed = !jm__vec_push(&seen, process->id);
        if (seen.count <= PROCESSES_MAX)
            jm__strbuf_format(&text, "%s%" PRId64, seen.count > 1 ? ", " : "", process->pid);
        else if (seen.count == PROCESSES_MAX + 1)
            jm__strbuf_add(&text, ", ...");
    }
    if (has_text(w, &text) && seen.count > 1)
        say(w,
            "%s was shared by %zu processes of this run (%s): where their kernels overlap, by MPS or "
            "because they took turns, they share the time.",
            w->label, seen.count, text.text);
    jm__vec_free(&seen);
    jm__strbuf_free(&text);
}

/* Add the processes of "4711 (python3), 4712" that are neither recorded nor listed yet. */
static void add_others(jm__strbuf *text, const jm__dataset *d, const char *list)
{
    while (*list != '\0') {
        size_t length = strcspn(list, ",");
        char one[64];
        snprintf(one, sizeof one, "%.*s", (int)length, list);
        bool found = jm__scope_has_process(d, strtoll(one, NULL, 10)) ||
                     (text->text != NULL && strstr(text->text, one) != NULL);
        if (!found && one[0] != '\0') jm__strbuf_format(text, "%s%s", text->text != NULL ? ", " : "", one);
        list += length + strspn(list + length, ", ");
    }
}

/* Their power is in the readings, but their work is not in the fit. */
static void say_others(note_writer *w, const jm_board *board)
{
    const jm__dataset *d = w->a->scope.dataset;
    jm__strbuf text = {0};
    for (size_t i = 0; i < d->event_count; i++)
        if (d->events[i].kind == JM_EVENT_PROCESSES && d->events[i].board_id == board->id)
            add_others(&text, d, d->events[i].text);
    if (has_text(w, &text))
        warn(w,
             "%s was also used by processes that are not recorded: %s. What they drew is in these "
             "joules, mostly in (idle) and (outside), and no interval covers it.",
             w->label, text.text);
    jm__strbuf_free(&text);
}

static void notes_of_ranks(note_writer *w)
{
    say_late(w);
    for (size_t b = 0; b < w->a->scope.dataset->board_count; b++)
        if (w->a->boards[b].requested) {
            set_label(w, w->a->boards[b].board);
            say_shared(w, w->a->boards[b].board);
            say_others(w, w->a->boards[b].board);
        }
}

/* ---- the recording: losses, events, unfinished spans */

/* With extrapolation, only the time before the first and after the last step is untraced. */
static const double whole_run_share = 0.99;

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

/* One sentence per source and reason, in order of first occurrence. */
static void say_losses(note_writer *w)
{
    const jm__dataset *d = w->a->scope.dataset;
    JM_VEC(loss_sum) sums = {0};
    jm__map numbers = {.key_size = sizeof(const jm__loss *), .hash = loss_hash, .equal = loss_equal};
    for (size_t i = 0; i < d->loss_count && !w->failed; i++) {
        const jm__loss *loss = &d->losses[i];
        jm__map_value *found = jm__map_find(&numbers, &loss), number = {.id = (int64_t)sums.count};
        const loss_sum first = {loss, loss->count};
        if (found != NULL)
            sums.items[found->id].count += loss->count;
        else
            w->failed = !jm__map_put(&numbers, &loss, number) || !jm__vec_push(&sums, first);
    }
    for (size_t i = 0; i < sums.count; i++)
        warn(w, "Lost: %lld records (%s: %s); their energy appears under (idle) or (outside).",
             (long long)sums.items[i].count, sums.items[i].first->source, sums.items[i].first->reason);
    jm__map_free(&numbers);
    jm__vec_free(&sums);
}

enum { TEXTS_MAX = 4 }; /* listed of one kind of event; a choice */

/* Failed sensors and absent boards are listed; of other kinds the first text is enough. */
static bool is_listed(int kind)
{
    return kind == JM_EVENT_SENSOR_FAILED || kind == JM_EVENT_BOARD_ABSENT;
}

/* Add an event's text unless it is there already. */
static void add_text(jm__strbuf *texts, size_t *shown, size_t *not_shown, const char *text, bool list_all)
{
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] == '.') length--; /* the sentence has its own */
    if (length == 0 || (*shown > 0 && !list_all)) return;
    for (const char *at = texts->text; at != NULL; at = strstr(at, "; ")) {
        at += at == texts->text ? 0 : 2;
        if (strncmp(at, text, length) == 0 && (at[length] == '\0' || at[length] == ';')) return;
    }
    if (*shown == TEXTS_MAX) {
        ++*not_shown;
        return;
    }
    jm__strbuf_format(texts, "%s%.*s", (*shown)++ > 0 ? "; " : "", (int)length, text);
}

static void say_events_of(note_writer *w, int kind, const char *meaning)
{
    const jm__dataset *d = w->a->scope.dataset;
    jm__strbuf texts = {0};
    size_t count = 0, shown = 0, not_shown = 0;
    bool warns = kind == JM_EVENT_GAP || kind == JM_EVENT_BOARD_ABSENT || kind == JM_EVENT_RECORDER;
    for (size_t i = 0; i < d->event_count; i++) {
        if ((int)d->events[i].kind != kind || !jm__event_concerns(w->a, &d->events[i])) continue;
        count++;
        add_text(&texts, &shown, &not_shown, d->events[i].text, is_listed(kind));
    }
    if (not_shown > 0) jm__strbuf_format(&texts, "; and %zu more", not_shown);
    bool listed = has_text(w, &texts);
    if (count > 0)
        note(w, warns, "%zu time%s: %s%s%s.", count, count > 1 ? "s" : "", meaning, listed ? ": " : "",
             listed ? texts.text : "");
    jm__strbuf_free(&texts);
}

static void say_events(note_writer *w)
{
    static const char *const meaning[] = {
        [JM_EVENT_CLOCK_STEP] = "the system clock was set",
        [JM_EVENT_GAP] = "readings are missing",
        [JM_EVENT_BOARD_LOST] = "a GPU was lost",
        [JM_EVENT_BOARD_BACK] = "a GPU came back",
        [JM_EVENT_BOARD_ABSENT] = "a GPU could not be opened, its energy is in no total",
        [JM_EVENT_COUNTER_RESET] = "the energy counter was reset",
        [JM_EVENT_SENSOR_FAILED] = "a sensor failed",
        [JM_EVENT_CUPTI] = "CUPTI",
        [JM_EVENT_RECORDER] = "the recorder",
        [JM_EVENT_COUNTERS] = "hardware counters could not be sampled",
        [JM_EVENT_COUNT] = NULL,
    };
    for (int kind = 0; kind < JM_EVENT_COUNT; kind++)
        if (meaning[kind] != NULL) /* others have notes of their own, or none */
            say_events_of(w, kind, meaning[kind]);
}

static void say_spans(note_writer *w)
{
    const jm__dataset *d = w->a->scope.dataset;
    size_t open = 0;
    for (size_t i = 0; i < d->span_count; i++)
        open += d->spans[i].end_ns == -1 && d->spans[i].start_ns >= 0;
    if (open > 0)
        say(w,
            "%zu spans never ended (the program stopped inside them, or is in them still); they last to "
            "its end, or to that of the recording.",
            open);
}

/* By the marks of Python's watch(). */
static void say_compiled(note_writer *w)
{
    const jm__dataset *d = w->a->scope.dataset;
    const size_t prefix = strlen(JM_MARK_COMPILED);
    const char *first = NULL;
    int64_t last = 0;
    size_t others = 0;
    for (size_t i = 0; i < d->mark_count; i++) {
        const char *name = jm__dataset_text(d, d->marks[i].name_id);
        if (strncmp(name, JM_MARK_COMPILED, prefix) != 0 || d->marks[i].name_id == last) continue;
        last = d->marks[i].name_id;
        if (first == NULL)
            first = name + prefix;
        else
            others += strcmp(first, name + prefix) != 0;
    }
    if (first == NULL) return;
    say(w, "%s%s compiled by torch.compile, which calls no hooks: the modules inside have no rows.", first,
        others > 0 ? " and others are" : " is");
}

static void say_untraced(note_writer *w)
{
    const jm__attribution *a = w->a;
    if (jm__intervals_overlap_ns(&a->scope.untraced, a->scope.run.from_ns, a->scope.run.to_ns) == 0) return;
    double traced_s = (double)jm__intervals_duration_ns(&a->scope.windows) * 1e-9;
    double run_s = (double)(a->scope.run.to_ns - a->scope.run.from_ns) * 1e-9;
    bool by_steps = a->scope.strata.step_intervals.count > 0;
    if (by_steps && traced_s > whole_run_share * run_s) return;
    warn(w,
         "Traced at times: these figures are of %.4g s of a run of %.4g s, in %zu piece%s; rows by board "
         "have the energy of all of it.",
         traced_s, run_s, a->scope.windows.count, a->scope.windows.count == 1 ? "" : "s");
}

static void say_requests(note_writer *w)
{
    const jm__batches *batches = &w->a->scope.batches;
    if (w->a->scope.options.by != JM_BY_REQUEST) return;
    if (batches->items.count == 0)
        warn(w, "No step states the requests that it worked on: use run.step(requests={request: tokens}), "
                "with requests of joulemap.request(ID).");
    else
        say(w, "Requests share the joules of each step they were in, including its idle time, in "
               "proportion to their tokens in it; in equal parts if the tokens of any of them are unknown.");
    if (batches->unknown > 0)
        warn(w,
             "The requests of %zu steps are unknown, since a record of them was lost: their joules are "
             "in (no request).",
             batches->unknown);
}

/* ---- untraced steps */

/* How many steps of the report there are, and were traced. */
static void count_steps(size_t *all, size_t *traced, const jm__attribution *a)
{
    *all = *traced = 0;
    for (size_t i = 0; i < a->scope.strata.step_intervals.count; i++) {
        const jm__step_interval *step_interval = &a->scope.strata.step_intervals.items[i];
        bool is_step = jm__marked_is_step(
            &a->scope.marked, &a->scope.dataset->spans[step_interval->span]); /* or a phase without any */
        if (!is_step || !jm__intervals_contain(&a->scope.windows, step_interval->start_ns)) continue;
        *traced += step_interval->traced;
        ++*all;
    }
}

/* The cost of tracing: its share of the boards' time, and its joules. */
static void add_cost(const jm__attribution *a, double *share, double *energy_j)
{
    double tracing_s = 0, all_s = 0;
    *energy_j = 0;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->requested || part->work->columns.count == 0) continue;
        all_s += (double)jm__intervals_duration_ns(&part->time.windows) * 1e-9;
        for (size_t s = 0; s < JM_IDLE_STATES; s++) {
            double state_s = part->work->tally.idle_s[s][JM_CAUSE_TRACING];
            tracing_s += state_s;
            *energy_j += state_s * part->fit.power_w[part->work->columns.class_columns + s];
        }
    }
    *share = all_s > 0 ? tracing_s / all_s : 0;
}

static void say_traced(note_writer *w)
{
    const jm__attribution *a = w->a;
    size_t all, traced;
    count_steps(&all, &traced, a);
    if (all == 0) return;
    double share = 100 * (double)traced / (double)all, cost, energy_j;
    if (isnan(a->scope.strata.slow_down)) {
        say(w, "%.2g %% of the steps were traced; they represent the others of their kind.", share);
        return;
    }
    add_cost(a, &cost, &energy_j);
    say(w,
        "%.2g %% of the steps were traced, and represent the others of their kind; a traced step took "
        "%.2g %% longer: that cost %.2g %% of the time and %.3g J.",
        share, 100 * fmax(0, a->scope.strata.slow_down), 100 * cost, energy_j);
}

static void say_missing(note_writer *w)
{
    const jm__strata *strata = &w->a->scope.strata;
    if (strata->missing == 0) return;
    warn(w,
         "For %zu steps, no step of their kind (the same phase, name, samples and tokens) was traced: they "
         "are only in the figures by board. Trace more often, or all steps.",
         strata->missing);
}

static void say_single_burst(note_writer *w)
{
    const jm__strata *strata = &w->a->scope.strata;
    const jm__stratum_sum *of_stratum = w->a->scope.extrapolated.of_stratum;
    double single_s = 0, all_s = 0;
    if (w->a->scope.extrapolated.strata == NULL) return;
    for (size_t i = 0; i < strata->items.count; i++)
        all_s += of_stratum[i].seconds;
    for (size_t i = 0; i < strata->single_burst.count; i++)
        single_s += of_stratum[strata->single_burst.items[i].burst].seconds;
    if (!(single_s > 0)) return;
    say(w,
        "%.0f %% of the time of untraced steps is extrapolated from a single interval of traced ones: later "
        "changes are unknown, so the intervals are wider by the change of the steps' own times.",
        100 * single_s / all_s);
}

static void notes_of_recording(note_writer *w)
{
    say_requests(w);
    say_untraced(w);
    say_traced(w);
    say_missing(w);
    say_single_burst(w);
    say_losses(w);
    say_events(w);
    say_spans(w);
    say_compiled(w);
}

/* ---- the budget for tracing */

/* `text`: JSON, which a process writes at its end. */
static void say_budget(note_writer *w, const char *text)
{
    json_t *outcome = text != NULL ? json_loads(text, 0, NULL) : NULL;
    double budget = 1e-4 * json_number_value(json_object_get(outcome, "budget_ppm"));
    double cost = 1e-4 * json_number_value(json_object_get(outcome, "cost_ppm"));
    double steps = json_number_value(json_object_get(outcome, "steps"));
    double traced = json_number_value(json_object_get(outcome, "traced_steps"));
    if (steps > 0)
        say(w,
            "Traced within a budget of %.3g %%: %.0f of %.0f steps, which made the program %.2g %% "
            "slower, as tracing measured itself.",
            budget, traced, steps, cost);
    json_decref(outcome);
}

static void notes_of_budget(note_writer *w)
{
    const jm__dataset *d = w->a->scope.dataset;
    if (d->budget_ppm <= 0) return;
    for (size_t i = 0; i < d->mark_count; i++)
        if (strcmp(jm__dataset_text(d, d->marks[i].name_id), JM_MARK_BUDGET) == 0)
            say_budget(w, d->marks[i].meta);
    if (w->a->scope.steps.count == 0)
        warn(w, "A budget for tracing needs steps (run.step(), or batches that are found), and there are "
                "none: all was traced.");
}

jm_status jm__notes_write(jm__notes *notes, const jm__attribution *a, jm_error *err)
{
    note_writer w = {.notes = notes, .a = a};
    bool simulated = false;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++)
        simulated = simulated || (a->boards[b].requested && a->boards[b].board->simulated);
    if (simulated) say(&w, "The GPU is simulated: these joules were never drawn from a wall.");
    if (a->scope.dataset->damage != NULL) warn(&w, "The recording is damaged: %s", a->scope.dataset->damage);
    if (a->scope.dataset->board_count == 0) warn(&w, "The recording has no board: no energy is known.");
    for (size_t b = 0; b < a->scope.dataset->board_count; b++)
        if (a->boards[b].requested) notes_of_board(&w, &a->boards[b]);
    notes_of_ranks(&w);
    notes_of_recording(&w);
    notes_of_budget(&w);
    return w.failed ? jm__no_memory(err, "jm__notes_write") : JM_OK;
}

void jm__notes_free(jm__notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free(notes->items[i].text);
    jm__vec_free(notes);
}
