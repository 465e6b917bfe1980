/* Which run this process's spans go to. A child of `joulemap record` needs none of this: the first
 * span finds JOULEMAP_RUN by itself. */
#ifndef JM_RECORD_TIMELINE_TIMELINE_H
#define JM_RECORD_TIMELINE_TIMELINE_H

#include "record/timeline/track.h"

#include <joulemap/run.h>
#include <joulemap/span.h>
#include <stdbool.h>

/* Write spans into `run_dir` from now on. Children of fork do so too. */
jm_status jm__timeline_open(const char *run_dir, jm_error *err);

/* Which spans are recorded from now on. */
void jm__timeline_trace(jm_tracing tracing);

/* Who is asked as steps, batches and phases begin, in place of being recorded at once, and told of every end.
 */
typedef struct jm__step_follower {
    uint64_t (*begin)(jm_span_kind kind, jm_name name, jm_name type, uint32_t samples,
                      const jm__track_number *payload);
    void (*end)(uint64_t span, uint32_t samples, uint32_t tokens);
} jm__step_follower;

/* NULL: nobody. `follower` stays valid for ever: a thread may be in it. */
void jm__timeline_follow_steps(const jm__step_follower *follower);

/* Spans do nothing from now on. */
void jm__timeline_close(void);

/* This program was started dormant: recorders that attach to it are heard from now on. */
bool jm__timeline_is_dormant(void);

#endif
