/* The public API of spans and marks, on libjoulemap's own track. */
#include <joulemap/span.h>

#include "base/status.h"
#include "record/timeline/track.h"
#include "record/timeline/which_run.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

jm_name jm_name_intern(const char *text)
{
    return jm__track_intern(text);
}

static const jm__step_follower *_Atomic follower;

void jm__timeline_follow_steps(const jm__step_follower *new_follower)
{
    atomic_store(&follower, new_follower);
}

static const jm__track_number no_number = {.kind = JM_PAYLOAD_NONE};

jm_span_id jm_span_begin(jm_span_kind kind, jm_name name, jm_name type, uint32_t samples)
{
    const jm__step_follower *current = atomic_load_explicit(&follower, memory_order_relaxed);
    if (current != NULL && (kind == JM_SPAN_STEP || kind == JM_SPAN_BATCH || kind == JM_SPAN_PHASE))
        return current->begin(kind, name, type, samples, &no_number);
    return jm__track_begin((uint8_t)kind, name, type, samples);
}

jm_span_id jm_step_begin(jm_name name, uint32_t samples, uint64_t task)
{
    const jm__track_number number = {.kind = task == 0 ? JM_PAYLOAD_NONE : JM_PAYLOAD_NATURAL,
                                     .value = {.natural = task}};
    const jm__step_follower *current = atomic_load_explicit(&follower, memory_order_relaxed);
    if (current != NULL) return current->begin(JM_SPAN_STEP, name, 0, samples, &number);
    return jm__track_begin_with(JM_SPAN_STEP, name, 0, samples, &number);
}

jm_span_id jm_collective_begin(jm_name operation, jm_name group, int64_t bytes)
{
    const jm__track_number number = {.kind = bytes < 0 ? JM_PAYLOAD_NONE : JM_PAYLOAD_INTEGER,
                                     .value = {.integer = bytes}};
    return jm__track_begin_with(JM_SPAN_COLLECTIVE, operation, group, 0, &number);
}

void jm_span_end(jm_span_id span)
{
    jm_span_end_counted(span, 0, 0);
}

void jm_span_end_counted(jm_span_id span, uint32_t samples, uint32_t tokens)
{
    const jm__step_follower *current = atomic_load_explicit(&follower, memory_order_relaxed);
    jm__track_end_counted(span, samples, tokens);
    if (current != NULL) current->end(span, samples, tokens);
}

void jm_mark(const char *name, const char *meta)
{
    jm__track_mark(name, meta);
}

jm_status jm__timeline_open(const char *run_dir, jm_error *err)
{
    int error = jm__track_open(run_dir);
    if (error == 0) return JM_OK;
    return jm__fail(err, jm_status_of_errno(error), error, "open", "cannot write spans into %s: %s", run_dir,
                    strerror(error));
}

void jm__timeline_trace(jm_tracing tracing)
{
    static const uint32_t periods = 1u << JM_SPAN_PHASE | 1u << JM_SPAN_EPOCH;
    static const uint32_t steps =
        1u << JM_SPAN_STEP | 1u << JM_SPAN_BATCH | 1u << JM_SPAN_WINDOW | 1u << JM_SPAN_DATA;
    jm__track_keep(tracing == JM_TRACING_OFF     ? periods
                   : tracing == JM_TRACING_STEPS ? periods | steps
                                                 : JM_TRACK_ALL);
}

bool jm__timeline_is_dormant(void)
{
    if (!jm__dormant_requested()) return false;
    jm__track_look();
    return true;
}
