/* Which run this process's spans go to. A child of `joulemap record` needs none of this: the first
 * span finds JOULEMAP_RUN by itself. */
#ifndef JM_TIMELINE_TIMELINE_H
#define JM_TIMELINE_TIMELINE_H

#include <joulemap/run.h>
#include <stdbool.h>

/* Write spans into `run_dir` from now on. Children of fork do so too. */
jm_status jm__timeline_open(const char *run_dir, jm_error *err);

/* Which spans are recorded from now on. */
void jm__timeline_trace(jm_tracing tracing);

/* Spans do nothing from now on. */
void jm__timeline_close(void);

/* This program was started dormant: recorders that attach to it are heard from now on. */
bool jm__timeline_is_dormant(void);

#endif
