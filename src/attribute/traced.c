/* Out of the marks that jm_run_trace leaves. */
#include "attribute/traced.h"

#include "rows/marks.h"

#include <string.h>

/* What one process said, in order: an untraced stretch begins at the beginning of time. */
static bool add_process(jm__windows *untraced, const jm__dataset *d, int64_t process_id)
{
    int64_t since_ns = INT64_MIN; /* of the stretch; INT64_MAX: none is open */
    bool at_times = false, fine = true;
    for (size_t i = 0; fine && i < d->mark_count; i++) {
        const jm__mark *mark = &d->marks[i];
        if (mark->process_id != process_id) continue;
        const char *name = jm__dataset_text(d, mark->name_id);
        bool begins = strcmp(name, JM_MARK_UNTRACED) == 0, ends = strcmp(name, JM_MARK_TRACED) == 0;
        at_times = at_times || begins || ends;
        if (begins && since_ns == INT64_MAX) since_ns = mark->t_ns;
        if (!ends || since_ns == INT64_MAX) continue;
        fine = jm__windows_add(untraced, since_ns, mark->t_ns);
        since_ns = INT64_MAX;
    }
    return fine && (!at_times || jm__windows_add(untraced, since_ns, INT64_MAX));
}

bool jm__untraced_find(jm__windows *untraced, const jm__dataset *d)
{
    bool fine = true;
    for (size_t i = 0; fine && i < d->process_count; i++)
        fine = add_process(untraced, d, d->processes[i].id);
    jm__windows_normalise(untraced);
    return fine;
}
