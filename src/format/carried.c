/* What a new part must know of the time before it, but for marks. */
#include "format/carried.h"

#include "base/search.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MOST = 256 }; /* a choice: what holds is told once each */

/* ---- facts */

/* Of a part, or of the file as it is written. */
static bool is_of_a_part(const char *key)
{
    static const char *const keys[] = {"start_ns",        "start_unix_ns", "end_ns",         "end_unix_ns",
                                       "complete_ns",     "readings_ns",   "sampler_cpu_ns", "sampler_calls",
                                       "sampler_call_ns", "part"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return false;
}

static jm__meta *find_fact(const jm__carried *carried, const char *key)
{
    for (size_t i = 0; i < carried->facts.count; i++)
        if (strcmp(carried->facts.items[i].key, key) == 0) return &carried->facts.items[i];
    return NULL;
}

/* The last value counts. */
static bool put_fact(jm__carried *carried, const char *key, const char *value)
{
    jm__meta *known = find_fact(carried, key);
    char *own_value = strdup(value);
    if (own_value == NULL) return false;
    if (known != NULL) {
        jm__owned_free(known->value);
        known->value = own_value;
        return true;
    }
    char *own_key = strdup(key);
    const jm__meta fact = {own_key, own_value};
    if (own_key != NULL && jm__vec_push(&carried->facts, fact)) return true;
    free(own_key);
    free(own_value);
    return false;
}

void jm__carried_fact(jm__carried *carried, const char *key, const char *value)
{
    if (!is_of_a_part(key) && !put_fact(carried, key, value)) carried->failed = true;
}

/* ---- processes */

static bool same_text(const char *a, const char *b)
{
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

/* `to` gets a copy, unless it has that text. */
static bool take_text(const char **to, const char *text)
{
    if (*to != NULL && same_text(*to, text)) return true;
    char *copy = strdup(text == NULL ? "" : text);
    if (copy == NULL) return false;
    jm__owned_free(*to);
    *to = copy;
    return true;
}

static jm__process *find_process(const jm__carried *carried, int64_t id)
{
    size_t at;
    jm__search(at, carried->processes.count, carried->processes.items[at].id < id);
    bool known = at < carried->processes.count && carried->processes.items[at].id == id;
    return known ? &carried->processes.items[at] : NULL;
}

void jm__carried_process(jm__carried *carried, const jm__process *process)
{
    jm__process *row = find_process(carried, process->id);
    size_t count = carried->processes.count;
    bool is_next = count == 0 || carried->processes.items[count - 1].id < process->id;
    if (row == NULL && !is_next) return; /* the collector counts them up */
    if (row == NULL && !jm__vec_push(&carried->processes, (jm__process){.id = process->id})) {
        carried->failed = true;
        return;
    }
    if (row == NULL) row = &carried->processes.items[count];
    jm__process fresh = *process;
    fresh.host = row->host;
    fresh.command = row->command;
    if (!take_text(&fresh.host, process->host) || !take_text(&fresh.command, process->command))
        carried->failed = true;
    *row = fresh;
}

/* ---- events */

static size_t find_event(const jm__carried *carried, const jm__event *event, jm_event_kind kind, bool texts)
{
    for (size_t i = 0; i < carried->events.count; i++) {
        const jm__event *known = &carried->events.items[i];
        if (known->kind == kind && known->board_id == event->board_id &&
            (!texts || strcmp(known->text, event->text) == 0))
            return i;
    }
    return carried->events.count;
}

static void keep_event(jm__carried *carried, const jm__event *event, size_t at)
{
    jm__event row = *event;
    if (!jm__event_has_value(row.kind)) row.value = NAN;
    if (at < carried->events.count)
        carried->events.items[at] = row;
    else if (at < EVENTS_MOST && !jm__vec_push(&carried->events, row))
        carried->failed = true;
}

static void drop_event(jm__carried *carried, size_t at)
{
    if (at < carried->events.count)
        carried->events.items[at] = carried->events.items[--carried->events.count];
}

/* What CUPTI had to say of a process holds as long as that does. */
static void drop_events_of(jm__carried *carried, int64_t pid)
{
    char of[48];
    snprintf(of, sizeof of, JM_EVENT_OF_PROCESS, pid);
    for (size_t i = carried->events.count; i-- > 0;) {
        const jm__event *event = &carried->events.items[i];
        if (event->kind == JM_EVENT_CUPTI && strncmp(event->text, of, strlen(of)) == 0)
            drop_event(carried, i);
    }
}

/* Which of them hold on, and until when. */
void jm__carried_event(jm__carried *carried, const jm__event *event)
{
    switch (event->kind) {
    case JM_EVENT_SAMPLING:
    case JM_EVENT_PROCESSES:
    case JM_EVENT_COUNTERS:
    case JM_EVENT_BOARD_LOST:
        keep_event(carried, event, find_event(carried, event, event->kind, false));
        break;
    case JM_EVENT_BOARD_BACK:
        drop_event(carried, find_event(carried, event, JM_EVENT_BOARD_LOST, false));
        break;
    case JM_EVENT_BOARD_ABSENT:
    case JM_EVENT_SENSOR_FAILED:
    case JM_EVENT_CUPTI:
        keep_event(carried, event, find_event(carried, event, event->kind, true));
        break;
    default: /* of a moment */
        break;
    }
}

/* ---- spans */

static void end_at(jm__carried *carried, size_t at)
{
    jm__span *span = &carried->open.items[at];
    if (span->end_ns != -1) return;
    span->end_ns = span->start_ns;
    carried->ended++;
}

static void end_span(jm__carried *carried, int64_t span_id)
{
    size_t at;
    jm__search(at, carried->open.count, carried->open.items[at].id < span_id);
    if (at < carried->open.count && carried->open.items[at].id == span_id) end_at(carried, at);
}

void jm__carried_process_ended(jm__carried *carried, int64_t process_id)
{
    const jm__process *process = find_process(carried, process_id);
    if (process != NULL) drop_events_of(carried, process->pid);
    carried->dead.key_size = sizeof process_id;
    if (!jm__map_add(&carried->dead, &process_id)) carried->failed = true;
    for (size_t i = 0; i < carried->open.count; i++)
        if (carried->open.items[i].process_id == process_id) end_at(carried, i);
}

static bool is_dead(const jm__carried *carried, int64_t process_id)
{
    return carried->dead.count > 0 && jm__map_find(&carried->dead, &process_id) != NULL;
}

static void forget_ended(jm__carried *carried)
{
    size_t kept = 0;
    if (carried->ended <= carried->open.count / 2) return;
    for (size_t i = 0; i < carried->open.count; i++)
        if (carried->open.items[i].end_ns == -1) carried->open.items[kept++] = carried->open.items[i];
    carried->open.count = kept;
    carried->ended = 0;
}

void jm__carried_spans(jm__carried *carried, const jm__batch *written)
{
    for (size_t i = 0; i < written->span_ends.count; i++)
        end_span(carried, written->span_ends.items[i].span_id);
    forget_ended(carried);
    for (size_t i = 0; i < written->spans.count; i++) {
        const jm__span *span = &written->spans.items[i];
        if (span->end_ns == -1 && !is_dead(carried, span->process_id) && !jm__vec_push(&carried->open, *span))
            carried->failed = true;
    }
}

/* ---- into a part */

/* A server starts workers for months: of one that was dead when a part began later parts have the number
 * alone, as numbers have no holes. */
static void forget_texts_of_dead(jm__carried *carried)
{
    for (size_t i = 0; i < carried->processes.count; i++) {
        jm__process *process = &carried->processes.items[i];
        if (!is_dead(carried, process->id)) continue;
        jm__owned_free(process->host);
        jm__owned_free(process->command);
        process->host = process->command = NULL;
    }
}

int jm__carried_put(jm__carried *carried, jm__inserter *inserter)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < carried->facts.count; i++)
        rc = jm__insert(inserter, JM_TABLE_META, &carried->facts.items[i]);
    for (size_t i = 0; rc == SQLITE_OK && i < carried->processes.count; i++)
        rc = jm__insert(inserter, JM_TABLE_PROCESSES, &carried->processes.items[i]);
    for (size_t i = 0; rc == SQLITE_OK && i < carried->open.count; i++)
        if (carried->open.items[i].end_ns == -1)
            rc = jm__insert(inserter, JM_TABLE_SPANS, &carried->open.items[i]);
    for (size_t i = 0; rc == SQLITE_OK && i < carried->events.count; i++)
        rc = jm__insert(inserter, JM_TABLE_EVENTS, &carried->events.items[i]);
    if (rc == SQLITE_OK && carried->anchor.monotonic_ns != 0)
        rc = jm__insert(inserter, JM_TABLE_ANCHORS, &carried->anchor);
    if (rc == SQLITE_OK) rc = jm__carried_put_marks(carried, inserter);
    if (rc == SQLITE_OK) forget_texts_of_dead(carried);
    return rc;
}

void jm__carried_free(jm__carried *carried)
{
    for (size_t i = 0; i < carried->facts.count; i++) {
        jm__owned_free(carried->facts.items[i].key);
        jm__owned_free(carried->facts.items[i].value);
    }
    for (size_t i = 0; i < carried->processes.count; i++) {
        jm__owned_free(carried->processes.items[i].host);
        jm__owned_free(carried->processes.items[i].command);
    }
    jm__vec_free(&carried->facts);
    jm__vec_free(&carried->processes);
    jm__vec_free(&carried->events);
    jm__vec_free(&carried->open);
    jm__map_free(&carried->dead);
    jm__carried_free_marks(carried);
    *carried = (jm__carried){0};
}
