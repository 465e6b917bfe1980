/* Marks of our own among those of the program. */
#ifndef JM_FORMAT_ROWS_MARKS_H
#define JM_FORMAT_ROWS_MARKS_H

#include <stdbool.h>
#include <string.h>

/* Of a process that does not trace all of the time (jm_run_trace): reports are of what lies between. */
#define JM_MARK_TRACED   "joulemap: traced from here"
#define JM_MARK_UNTRACED "joulemap: not traced from here"

/* Likewise, but steps, batches and what else only says when are recorded on: what lies in them is told by
 * traced ones of their kind. Until JM_MARK_TRACED, or JM_MARK_UNTRACED. */
#define JM_MARK_STEPS "joulemap: steps alone from here"

/* Of one that keeps a budget: it will be traced in half a second or so, and a recorder can have hardware
 * counters ready by then. */
#define JM_MARK_SOON "joulemap: to be traced soon"

/* All of ours but JM_MARK_COMPILED begin so. */
#define JM_MARK_OURS "joulemap: "

/* Of one that kept a budget for tracing, at its end, with what came of it: {"budget_ppm": of its time,
 * "cost_ppm": by how much tracing has slowed it down as it measured itself, "steps", "traced_steps"}. */
#define JM_MARK_BUDGET "joulemap: tracing budget"

/* Of each process, by the recorder: it was found to have ended. What comes is no business of its, its marks
 * hold no longer, and spans that it left open do not go on. */
#define JM_MARK_ENDED "joulemap: ended"

/* Of a process that launches graphs whose nodes were captured earlier, by the recorder. */
#define JM_MARK_GRAPHS_BEFORE "joulemap: graphs captured before the run"

/* Of a server (python/joulemap/request.py; docs/file-format.md has their values): a request came, is done;
 * and what changed in the batch of a thread since its step before. */
#define JM_MARK_REQUEST       "joulemap: request"
#define JM_MARK_REQUEST_ENDED "joulemap: request ended"
#define JM_MARK_BATCH         "joulemap: requests of a step"

/* Names that begin so name a module that torch.compile has compiled: python/joulemap/torch.py. */
#define JM_MARK_COMPILED "torch.compile: "

/* Whether a mark of that name, which may be NULL, is ours. */
static inline bool jm__mark_is_ours(const char *name)
{
    return name != NULL && (strncmp(name, JM_MARK_OURS, sizeof JM_MARK_OURS - 1) == 0 ||
                            strncmp(name, JM_MARK_COMPILED, sizeof JM_MARK_COMPILED - 1) == 0);
}

#endif
