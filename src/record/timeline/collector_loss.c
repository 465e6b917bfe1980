/* What the collector could not take, as rows. */
#include "record/timeline/collector_parts.h"
#include "record/timeline/lost.h"

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

void jm__collector_tell_unplaced(jm__collector *collector)
{
    static const char *const reasons[JM_LOST_KINDS] = {
        [JM_LOST_SPANS] = ("a thread had no ring for its spans and marks: no room in the run's folder, or no "
                           "descriptor left in its program"),
        [JM_LOST_NAMES] = "there were too many different names: these go without theirs",
        [JM_LOST_PROGRAMS] = "a program had no ring for its kernels: none of them are here",
        [JM_LOST_NODES] =
            ("nodes of CUDA graphs found no room: kernels of theirs belong to what was open when "
             "the graph was launched"),
    };
    uint64_t counts[JM_LOST_KINDS];
    if (!jm__lost_read(collector->run_dir, counts)) return;
    for (int kind = 0; kind < JM_LOST_KINDS; kind++) {
        if (counts[kind] <= collector->lost_told[kind]) continue;
        jm__collector_tell_loss(collector, 0, counts[kind] - collector->lost_told[kind], "ring",
                                reasons[kind]);
        collector->lost_told[kind] = counts[kind];
    }
}
