/* The spans of this process: a ring for each thread, and the names. Libc alone.
 *
 * Compiled into libjoulemap (writer 'c') and into libjoulemap_inject (writer 'n'), each
 * with a state of its own. Without a run, begin and end are a load and a branch. */
#ifndef JM_RECORD_TIMELINE_TRACK_H
#define JM_RECORD_TIMELINE_TRACK_H

#include <joulemap/run.h>
#include <joulemap/span.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which library this is, and what it does when a recorder calls (which_run.h); before its first span. It is
 * libjoulemap unless somebody says otherwise. */
struct jm__dormant_part;
void jm__track_part_set(const struct jm__dormant_part *other);

/* Write into this run from now on, in place of any other. 0 or an errno. */
int jm__track_open(const char *run_dir);
void jm__track_close(void);

/* A recorder calls this program, which was started dormant, into its run, until that is left. EBUSY: it is in
 * a run. A forked child is not in it: it is dormant by itself. */
int jm__track_join(const char *run_dir);
/* All spans are in their rings when it returns. Nothing, if this is not the run. */
void jm__track_leave(const char *run_dir);

/* The run that spans go into at present: another number for each; 0: they go nowhere. */
uint32_t jm__track_run(void);

/* Find out now, before the first span, whether this program is in a run or is to wait for one. */
void jm__track_look(void);

/* Longer texts are cut to `most` bytes at a character's edge. */
uint32_t jm__track_intern(const char *text, size_t most);

/* The same also where there is no run yet: the number will hold in those to come. */
uint32_t jm__track_register(const char *text, size_t most);

/* Record spans of the kinds whose bits are set, others begin nothing from now on; a run begins with all. Ends
 * and marks go on. */
#define JM_TRACK_ALL UINT32_MAX
void jm__track_keep(uint32_t kinds);

uint64_t jm__track_begin(uint8_t kind, uint32_t name, uint32_t type, uint32_t samples);
void jm__track_end(uint64_t span);
void jm__track_end_counted(uint64_t span, uint32_t samples, uint32_t tokens);

/* A number that the program gives with a span. */
typedef struct jm__track_number {
    jm_payload_kind kind; /* JM_PAYLOAD_NONE: there is none */
    jm_payload value;
} jm__track_number;

/* The same with such a number, which goes before it in the ring where there is room for both. */
uint64_t jm__track_begin_with(uint8_t kind, uint32_t name, uint32_t type, uint32_t samples,
                              const jm__track_number *payload);

/* Of CUDA graphs, for callbacks inside the driver's calls: no lock is waited for long, and what finds no ring
 * is counted in JM_LOST_NODES. `original`: the node that it is a clone of, 0: of none. */
void jm__track_node(uint64_t node, uint64_t original, uint32_t graph);
/* JM_RING_GRAPH_GONE, JM_RING_EXEC_BEGUN (`graph` 0) or JM_RING_EXEC_MADE. */
void jm__track_graph(uint8_t op, uint32_t graph);

/* Likewise, of a launch: `again`: how often CUPTI had been taken again. Without a ring its work has no
 * launch. */
void jm__track_launch(uint32_t correlation, uint32_t again);

void jm__track_mark(const char *name, const char *meta);
void jm__track_mark_number(uint32_t name);
void jm__track_mark_with(uint32_t name, const char *meta);

/* The text of a number, NULL of none; valid for ever. */
const char *jm__track_text(uint32_t number);

/* ---- Which run this process's spans go to. A child of `joulemap record` needs none of this: the first
 * span finds JOULEMAP_RUN by itself. */

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
