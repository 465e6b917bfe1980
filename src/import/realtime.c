/* From CLOCK_REALTIME to the clock of a recording. Both are slewed alike, so one anchor is as good as another
 * until somebody sets the clock: with the nearest one, windows of a millisecond would get the anchors' noise.
 */
#include "import/realtime.h"

#include "format/dataset_rows.h"

#include <stdlib.h>
#include <string.h>

static int64_t offset_of(const jm__anchor *anchor)
{
    return anchor->realtime_ns - anchor->monotonic_ns;
}

static bool take_anchor(void *context, const void *row)
{
    jm__realtime *realtime = context;
    jm__anchor anchor = *(const jm__anchor *)row;
    if (!jm__time_is_plausible(anchor.monotonic_ns) || !jm__time_is_plausible(anchor.realtime_ns))
        return true;
    if (realtime->anchors.count > 0) {
        const jm__anchor *last = &realtime->anchors.items[realtime->anchors.count - 1];
        if (llabs(offset_of(&anchor) - offset_of(last)) <= JM_CLOCK_STEP_NS) return true;
    }
    return jm__vec_push(&realtime->anchors, anchor);
}

static jm_status load(jm__realtime *realtime, jm_recording *recording, jm_error *err)
{
    sqlite3 *db;
    realtime->anchors.count = 0;
    JM_TRY(jm__recording_begin(recording, &db, err));
    jm_status status = jm__recording_rows(recording, db, JM_TABLE_ANCHORS, take_anchor, realtime, err);
    jm__recording_end(recording, db);
    return status;
}

jm_status jm__realtime_load(jm__realtime *realtime, jm_recording *recording, jm_error *err)
{
    static const jm__anchor own_clock = {0, 0};
    const char *source = jm_recording_meta(recording, "source");
    if (source != NULL && strcmp(source, "import") == 0)
        return jm__vec_push(&realtime->anchors, own_clock) ? JM_OK : jm__no_memory(err, "jm__realtime_load");
    jm_status status = load(realtime, recording, err);
    if (status != JM_OK) {
        JM_TRY(jm__recording_recover(recording, status, err));
        JM_TRY(load(realtime, recording, err));
    }
    if (realtime->anchors.count > 0) return JM_OK;
    return jm__fail(err, JM_BAD_DATA, 0, NULL,
                    "%s has no anchors: nothing says which time of day its times are",
                    jm__recording_path(recording));
}

/* Whether the clock was set before that time: it would come before others, or the next anchor was there. */
static bool lies_behind(const jm__realtime *realtime, int64_t monotonic_ns, int64_t after_ns)
{
    if (realtime->at + 1 == realtime->anchors.count) return false;
    return monotonic_ns < after_ns || monotonic_ns >= realtime->anchors.items[realtime->at + 1].monotonic_ns;
}

bool jm__realtime_convert(jm__realtime *realtime, int64_t realtime_ns, int64_t after_ns,
                          int64_t *monotonic_ns)
{
    if (!jm__time_is_plausible(realtime_ns)) return false;
    *monotonic_ns = realtime_ns - offset_of(&realtime->anchors.items[realtime->at]);
    while (lies_behind(realtime, *monotonic_ns, after_ns)) {
        realtime->at++;
        *monotonic_ns = realtime_ns - offset_of(&realtime->anchors.items[realtime->at]);
    }
    return jm__time_is_plausible(*monotonic_ns);
}

void jm__realtime_free(jm__realtime *realtime)
{
    jm__vec_free(&realtime->anchors);
}
