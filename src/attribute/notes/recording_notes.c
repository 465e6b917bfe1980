/* Sentences about the recording: what was lost, what happened, what never ended. */
#include "attribute/notes/events.h"
#include "attribute/notes/note_writer.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "format/rows/marks.h"

#include <string.h>

/* What lies before the first step and after the last one of a run that is told by its steps. */
static const double negligible_share = 0.99;

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
static void say_losses(jm__note_writer *w)
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
        jm__warn(w, "Lost: %lld records (%s: %s); their energy appears under (idle) or (outside).",
                 (long long)sums.items[i].count, sums.items[i].first->source, sums.items[i].first->reason);
    jm__map_free(&numbers);
    jm__vec_free(&sums);
}

enum { TEXTS_TOLD = 4 }; /* of one kind of event; a choice: a note is no list */

/* Which sensor failed, and which board is absent, matters one by one; of other kinds the first stands for
 * all. */
static bool is_told_one_by_one(int kind)
{
    return kind == JM_EVENT_SENSOR_FAILED || kind == JM_EVENT_BOARD_ABSENT;
}

/* Adds an event's text to those told, but no text twice. */
static void add_text(jm__strbuf *texts, size_t *told, size_t *untold, const char *text, bool one_by_one)
{
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] == '.') length--; /* the sentence has its own */
    if (length == 0 || (*told > 0 && !one_by_one)) return;
    for (const char *at = texts->text; at != NULL; at = strstr(at, "; ")) {
        at += at == texts->text ? 0 : 2;
        if (strncmp(at, text, length) == 0 && (at[length] == '\0' || at[length] == ';')) return;
    }
    if (*told == TEXTS_TOLD) {
        ++*untold;
        return;
    }
    jm__strbuf_format(texts, "%s%.*s", (*told)++ > 0 ? "; " : "", (int)length, text);
}

static void say_events_of(jm__note_writer *w, int kind, const char *meaning)
{
    const jm__dataset *d = w->a->dataset;
    jm__strbuf texts = {0};
    size_t count = 0, told = 0, untold = 0;
    bool warns = kind == JM_EVENT_GAP || kind == JM_EVENT_BOARD_ABSENT || kind == JM_EVENT_RECORDER;
    void (*tell)(jm__note_writer *, const char *, ...) = warns ? jm__warn : jm__say;
    for (size_t i = 0; i < d->event_count; i++) {
        if ((int)d->events[i].kind != kind || !jm__event_concerns(w->a, &d->events[i])) continue;
        count++;
        add_text(&texts, &told, &untold, d->events[i].text, is_told_one_by_one(kind));
    }
    if (untold > 0) jm__strbuf_format(&texts, "; and %zu more", untold);
    w->failed = w->failed || texts.failed;
    if (count > 0)
        tell(w, "%zu time%s: %s%s%s.", count, count > 1 ? "s" : "", meaning, told > 0 ? ": " : "",
             told > 0 && !texts.failed ? texts.text : "");
    jm__strbuf_free(&texts);
}

static void say_events(jm__note_writer *w)
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
        if (meaning[kind] != NULL) /* others are told elsewhere, if at all */
            say_events_of(w, kind, meaning[kind]);
}

static void say_spans(jm__note_writer *w)
{
    const jm__dataset *d = w->a->dataset;
    size_t open = 0;
    for (size_t i = 0; i < d->span_count; i++)
        open += d->spans[i].end_ns == -1 && d->spans[i].start_ns >= 0;
    if (open > 0)
        jm__say(
            w,
            "%zu spans never ended (the program stopped inside them, or is in them still); they last to its "
            "end, or to that of the recording.",
            open);
}

/* Marks that watch() of Python sets. */
static void say_compiled(jm__note_writer *w)
{
    const jm__dataset *d = w->a->dataset;
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
    jm__say(w, "%s%s compiled by torch.compile, which calls no hooks: the modules inside have no rows.",
            first, others > 0 ? " and others are" : " is");
}

/* Of the time asked for, and the time that the figures are of. */
static void say_untraced(jm__note_writer *w)
{
    const jm__attribution *a = w->a;
    if (jm__windows_overlap_ns(&a->untraced, a->run.from_ns, a->run.to_ns) == 0) return;
    double traced_s = (double)jm__windows_duration_ns(&a->windows) * 1e-9;
    double run_s = (double)(a->run.to_ns - a->run.from_ns) * 1e-9;
    bool by_steps = a->stands.laps.count > 0;
    if (by_steps && traced_s > negligible_share * run_s) return;
    jm__warn(w,
             "Traced at times: these figures are of %.4g s of a run of %.4g s, in %zu piece%s; rows by board "
             "have the energy of all of it.",
             traced_s, run_s, a->windows.count, a->windows.count == 1 ? "" : "s");
}

/* Where rows are requests: by which rule, and what has none. */
static void say_requests(jm__note_writer *w)
{
    const jm__batches *batches = &w->a->batches;
    if (w->a->options.by != JM_BY_REQUEST) return;
    if (batches->items.count == 0)
        jm__warn(
            w, "No step tells which requests it worked on: run.step(requests={request: tokens}) does, where "
               "joulemap.request(ID) has made them.");
    else
        jm__say(w, "Requests share the joules of each step that they were in, idle time within it too, by "
                   "the tokens "
                   "that they were fed; all the same where these are not told of each.");
    if (batches->unknown > 0)
        jm__warn(
            w,
            "Of %zu steps nobody knows the requests, since a record of them was lost: their joules are in "
            "(no request).",
            batches->unknown);
}

void jm__notes_of_recording(jm__note_writer *w)
{
    say_requests(w);
    say_untraced(w);
    jm__notes_of_stands(w);
    say_losses(w);
    say_events(w);
    say_spans(w);
    say_compiled(w);
}
