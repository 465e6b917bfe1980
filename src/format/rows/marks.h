/* Marks that joulemap itself puts among those of the program. */
#ifndef JM_FORMAT_ROWS_MARKS_H
#define JM_FORMAT_ROWS_MARKS_H

/* Of a process that is traced only at times (jm_run_trace): reports cover the traced time. */
#define JM_MARK_TRACED   "joulemap: traced from here"
#define JM_MARK_UNTRACED "joulemap: not traced from here"

/* Likewise, but steps, batches and other containers are still recorded; they are extrapolated from traced
 * ones of their kind. Until JM_MARK_TRACED or JM_MARK_UNTRACED. */
#define JM_MARK_STEPS "joulemap: steps alone from here"

/* Of a process with a tracing budget: tracing starts in about half a second, so that a recorder can prepare
 * hardware counters. */
#define JM_MARK_SOON "joulemap: to be traced soon"

/* Of a process with a tracing budget, at its end: {"budget_ppm": of its time, "cost_ppm": how much tracing
 * has slowed it down by its own measurement, "steps", "traced_steps"}. */
#define JM_MARK_BUDGET "joulemap: tracing budget"

/* Of each process, by the recorder: it has ended. Its marks no longer hold, and its open spans end here. */
#define JM_MARK_ENDED "joulemap: ended"

/* Of a process that launches graphs whose nodes were captured before the run, by the recorder. */
#define JM_MARK_GRAPHS_BEFORE "joulemap: graphs captured before the run"

/* Of a server (python/joulemap/request.py; docs/file-format.md describes the values): a request arrived; it
 * is done; what changed in the batch of a thread since its previous step. */
#define JM_MARK_REQUEST       "joulemap: request"
#define JM_MARK_REQUEST_ENDED "joulemap: request ended"
#define JM_MARK_BATCH         "joulemap: requests of a step"

/* The prefix of marks that name a module compiled by torch.compile: python/joulemap/torch.py. */
#define JM_MARK_COMPILED "torch.compile: "

#endif
