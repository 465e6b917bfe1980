/* What the collector could not take, as rows. */
#include "timeline/collector_parts.h"

void jm__collector_tell_loss(jm__collector *collector, int64_t process_id, uint64_t count, const char *source,
                             const char *reason)
{
    if (count == 0) return;
    jm__loss loss = {.t_ns = collector->now_ns,
                     .process_id = process_id,
                     .count = count <= INT64_MAX ? (int64_t)count : INT64_MAX,
                     .source = source,
                     .reason = reason};
    collector->sink.loss(collector->sink.context, &loss);
}
