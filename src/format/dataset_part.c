/* A part of a run: which time is its own, and which rows. */
#include "format/dataset_part.h"

#include "base/status.h"
#include "format/part_name.h"
#include "format/rows/marks.h"

#include <string.h>

int64_t jm__meta_ns(const jm_recording *recording, const char *key, int64_t otherwise)
{
    const char *value = jm_recording_meta(recording, key);
    int64_t t_ns = value == NULL ? otherwise : strtoll(value, NULL, 10);
    return jm__time_is_plausible(t_ns) ? t_ns : otherwise;
}

/* Is there that part of this run? It begins where this one's time ends: on the nanosecond, which no other
 * file of that name does. One that cannot be read at present is taken for it. */
static jm_status is_there(bool *there, const jm_recording *recording, const char *name, int64_t cut_ns,
                          jm_error *err)
{
    const char *path = jm__recording_path(recording);
    jm_recording *next = NULL;
    jm_error cause = {0};
    *there = false;
    if (path == NULL || strchr(name, '/') != NULL) return JM_OK;
    char *beside = jm__part_beside(path, name);
    if (beside == NULL) return jm__no_memory(err, "jm__part_facts");
    jm_status status = jm_recording_open(&next, beside, &cause);
    free(beside);
    if (status == JM_NO_MEMORY) return jm__no_memory(err, "jm__part_facts");
    *there = status == JM_OK ? jm__meta_ns(next, "start_ns", INT64_MIN) == cut_ns
                             : status != JM_NOT_FOUND && status != JM_BAD_DATA;
    if (status == JM_OK) jm_recording_close(next);
    return JM_OK;
}

/* Of a part that was closed its end tells. One that is written has all, and needs no next one; its recorder
 * may have been killed when there was one: what that has counts there. */
static jm_status goes_on(bool *out, const jm_recording *recording, int64_t cut_ns, int64_t end_ns,
                         jm_error *err)
{
    const char *after = jm_recording_meta(recording, "part_after");
    *out = false;
    if (after == NULL || cut_ns > end_ns || jm__recording_is_written(recording)) return JM_OK;
    if (cut_ns < end_ns) return is_there(out, recording, after, cut_ns, err);
    *out = true;
    return JM_OK;
}

jm_status jm__part_facts(jm__dataset *view, const jm_recording *recording, int64_t *end_ns, jm_error *err)
{
    int64_t cut_ns = jm__meta_ns(recording, "cut_ns", INT64_MAX);
    const char *number = jm_recording_meta(recording, "part");
    view->part = number == NULL ? 0 : strtoll(number, NULL, 10);
    view->follows = jm_recording_meta(recording, "part_before") != NULL;
    JM_TRY(goes_on(&view->goes_on, recording, cut_ns, *end_ns, err));
    if (view->goes_on) *end_ns = cut_ns;
    view->whole_from_ns = view->follows ? jm__meta_ns(recording, "whole_from_ns", INT64_MIN) : INT64_MIN;
    view->whole_to_ns = view->goes_on ? jm__meta_ns(recording, "complete_ns", INT64_MAX) : INT64_MAX;
    return JM_OK;
}

static bool is_own_time(const jm__dataset *view, int64_t t_ns)
{
    return (!view->follows || t_ns >= view->start_ns) && (!view->goes_on || t_ns < view->end_ns);
}

/* Marks by which later rows are read hold from before (carried.h). */
static bool is_of_ours(const jm__loading *loading, const jm__mark *mark)
{
    const char *name = mark->name_id > 0 ? loading->names.items[mark->name_id] : "";
    return jm__mark_is_ours(name);
}

/* So do events that tell of more than a moment. */
static bool holds(const jm__event *event)
{
    switch (event->kind) {
    case JM_EVENT_CLOCK_STEP:
    case JM_EVENT_GAP:
    case JM_EVENT_COUNTER_RESET:
    case JM_EVENT_THROTTLE:
    case JM_EVENT_RECORDER:
        return false;
    default:
        return true;
    }
}

#define KEEP(vec, row, condition)                                                                            \
    do {                                                                                                     \
        size_t kept_ = 0;                                                                                    \
        for (size_t i_ = 0; i_ < loading->vec.count; i_++) {                                                 \
            (row) = &loading->vec.items[i_];                                                                 \
            if (condition) loading->vec.items[kept_++] = *(row);                                             \
        }                                                                                                    \
        loading->vec.count = kept_;                                                                          \
    } while (0)

void jm__part_keep_own(jm__loading *loading)
{
    const jm__dataset *view = &loading->view;
    const jm__span *span;
    const jm__mark *mark;
    const jm__loss *loss;
    const jm__event *event;
    if (!view->follows && !view->goes_on) return;
    KEEP(spans, span, !view->goes_on || span->start_ns < view->end_ns);
    KEEP(marks, mark,
         is_own_time(view, mark->t_ns) || (mark->t_ns < view->start_ns && is_of_ours(loading, mark)));
    KEEP(losses, loss, is_own_time(view, loss->t_ns));
    KEEP(events, event, is_own_time(view, event->t_ns) || (event->t_ns < view->start_ns && holds(event)));
}
