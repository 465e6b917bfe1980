/* The parts of it, one after the other. */
#include "attribute/sampling/find.h"

#include "base/status.h"

#include <math.h>

static bool any_steps(const jm__traced *traced, size_t processes)
{
    for (size_t p = 0; p < processes; p++)
        if (traced[p].steps.count > 0) return true;
    return false;
}

jm_status jm__stands_find(jm__stands *out, const jm__stands_wanted *wanted, jm_error *err)
{
    size_t processes = wanted->spans->dataset->process_count;
    *out = (jm__stands){.slow_down = NAN};
    if (!any_steps(wanted->traced, processes)) return JM_OK;
    out->processes = processes;
    bool fine = jm__laps_find(out, wanted) && jm__warm_up_find(out, wanted) && jm__counts_part(out, wanted) &&
                jm__turns_find(out, wanted) && jm__slowed_find(out, wanted) && jm__lone_find(out);
    return fine ? JM_OK : jm__no_memory(err, "jm__stands_find");
}
