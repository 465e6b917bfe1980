/* The public spans and marks: libjoulemap's own track. */
#include <joulemap/span.h>

#include "base/status.h"
#include "timeline/ring_format.h"
#include "timeline/timeline.h"
#include "timeline/track.h"

#include <string.h>

const uint32_t jm__track_writer = JM_WRITER_CORE;

jm_name jm_name_intern(const char *text)
{
    return jm__track_intern(text, 4095);
}

jm_span_id jm_span_begin(jm_span_kind kind, jm_name name, jm_name type, uint32_t samples)
{
    return jm__track_begin((uint8_t)kind, name, type, samples);
}

void jm_span_end(jm_span_id span)
{
    jm__track_end(span);
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

void jm__timeline_trace(bool all)
{
    jm__track_keep(all ? JM_TRACK_ALL : 1u << JM_SPAN_PHASE | 1u << JM_SPAN_EPOCH);
}

void jm__timeline_close(void)
{
    jm__track_close();
}
