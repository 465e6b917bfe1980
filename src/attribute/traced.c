/* Out of the marks that jm_run_trace leaves. */
#include "attribute/traced.h"

#include "rows/marks.h"

#include <stdlib.h>
#include <string.h>

/* What one process said so far. */
typedef struct teller {
    bool at_times;
    int64_t since_ns; /* of the untraced stretch; INT64_MAX: none is open */
} teller;

static int64_t earliest_ns(const jm__dataset *d)
{
    int64_t earliest = INT64_MAX;
    for (size_t i = 0; i < d->process_count; i++)
        if (d->processes[i].start_ns < earliest) earliest = d->processes[i].start_ns;
    return earliest;
}

/* An untraced stretch begins with its process; of the first one with the beginning of time, for the recorder
 * started before it. */
static void begin(teller *tellers, const jm__dataset *d)
{
    int64_t earliest = earliest_ns(d);
    for (size_t i = 0; i < d->process_count; i++) {
        int64_t start_ns = d->processes[i].start_ns;
        tellers[i].since_ns = start_ns > earliest ? start_ns : INT64_MIN;
    }
}

/* False if memory is out. */
static bool take(jm__windows *untraced, teller *t, const char *name, int64_t t_ns)
{
    bool begins = strcmp(name, JM_MARK_UNTRACED) == 0, ends = strcmp(name, JM_MARK_TRACED) == 0;
    bool is_gone = t->at_times && strcmp(name, JM_MARK_ENDED) == 0;
    t->at_times = t->at_times || begins || ends;
    if (begins && t->since_ns == INT64_MAX) t->since_ns = t_ns;
    if (!(ends || is_gone) || t->since_ns == INT64_MAX) return true;
    int64_t since_ns = t->since_ns;
    t->since_ns = INT64_MAX;
    return jm__windows_add(untraced, since_ns, t_ns);
}

bool jm__untraced_find(jm__windows *untraced, const jm__dataset *d)
{
    teller *tellers = calloc(d->process_count + 1, sizeof *tellers);
    bool fine = tellers != NULL;
    if (fine) begin(tellers, d);
    for (size_t i = 0; fine && i < d->mark_count; i++) {
        const jm__process *process = jm__dataset_process(d, d->marks[i].process_id);
        if (process == NULL) continue;
        fine = take(untraced, &tellers[process - d->processes], jm__dataset_text(d, d->marks[i].name_id),
                    d->marks[i].t_ns);
    }
    for (size_t i = 0; fine && i < d->process_count; i++)
        fine = !tellers[i].at_times || jm__windows_add(untraced, tellers[i].since_ns, INT64_MAX);
    jm__windows_normalise(untraced);
    free(tellers);
    return fine;
}
