/* Traced intervals by the marks of jm_run_trace. */
#include "attribute/input/traced.h"

#include "format/rows/marks.h"

#include <stdlib.h>
#include <string.h>

typedef enum level { NOTHING, STEPS, ON, GONE, NO_LEVEL } level;

/* A process by its marks so far. */
typedef struct process_state {
    jm__traced *out;
    level now;
    int64_t since_ns;
} process_state;

static int64_t earliest_ns(const jm__dataset *d)
{
    int64_t earliest = INT64_MAX;
    for (size_t i = 0; i < d->process_count; i++)
        if (d->processes[i].start_ns < earliest) earliest = d->processes[i].start_ns;
    return earliest;
}

/* A process begins untraced; the first one at INT64_MIN, since the recorder started before it. */
static void begin(process_state *states, jm__traced *traced, const jm__dataset *d)
{
    int64_t earliest = earliest_ns(d);
    for (size_t i = 0; i < d->process_count; i++) {
        int64_t start_ns = d->processes[i].start_ns;
        states[i] = (process_state){&traced[i], NOTHING, start_ns > earliest ? start_ns : INT64_MIN};
    }
}

static level level_of(const char *name, bool partly)
{
    if (strcmp(name, JM_MARK_TRACED) == 0) return ON;
    if (strcmp(name, JM_MARK_UNTRACED) == 0) return NOTHING;
    if (strcmp(name, JM_MARK_STEPS) == 0) return STEPS;
    return partly && strcmp(name, JM_MARK_ENDED) == 0 ? GONE : NO_LEVEL;
}

static bool close_interval(process_state *t, int64_t to_ns)
{
    jm__intervals *const of[] = {[NOTHING] = &t->out->nothing, [STEPS] = &t->out->steps, [ON] = &t->out->on};
    return t->now == GONE || jm__intervals_add(of[t->now], t->since_ns, to_ns);
}

/* False if memory is out. */
static bool apply_mark(process_state *t, const char *name, int64_t t_ns)
{
    level next = level_of(name, t->out->partly);
    if (next == NO_LEVEL) return true;
    t->out->partly = true;
    if (next == t->now) return true;
    bool fine = close_interval(t, t_ns);
    t->now = next;
    t->since_ns = t_ns;
    return fine;
}

static bool find_all(jm__traced *traced, process_state *states, const jm__dataset *d)
{
    bool fine = true;
    begin(states, traced, d);
    for (size_t i = 0; fine && i < d->mark_count; i++) {
        const jm__process *process = jm__dataset_process(d, d->marks[i].process_id);
        if (process == NULL) continue;
        fine = apply_mark(&states[process - d->processes], jm__dataset_text(d, d->marks[i].name_id),
                          d->marks[i].t_ns);
    }
    for (size_t i = 0; fine && i < d->process_count; i++) {
        fine = !traced[i].partly || close_interval(&states[i], INT64_MAX);
        jm__intervals_normalise(&traced[i].nothing);
        jm__intervals_normalise(&traced[i].steps);
        jm__intervals_normalise(&traced[i].on);
    }
    return fine;
}

jm__traced *jm__traced_find(const jm__dataset *d)
{
    jm__traced *traced = calloc(d->process_count + 1, sizeof *traced);
    process_state *states = calloc(d->process_count + 1, sizeof *states);
    bool fine = traced != NULL && states != NULL && find_all(traced, states, d);
    free(states);
    if (fine) return traced;
    jm__traced_free(traced, d);
    return NULL;
}

void jm__traced_free(jm__traced *traced, const jm__dataset *d)
{
    for (size_t i = 0; traced != NULL && i < d->process_count; i++) {
        jm__vec_free(&traced[i].on);
        jm__vec_free(&traced[i].steps);
        jm__vec_free(&traced[i].nothing);
    }
    free(traced);
}
