/* The spans of this process: a ring per thread, and the names. Needs only libc.
 *
 * Compiled into libjoulemap (writer 'c') and into libjoulemap_inject (writer 'n'), each with its own state.
 * Without a run, begin and end cost a load and a branch. */
#ifndef JM_RECORD_TIMELINE_TRACK_H
#define JM_RECORD_TIMELINE_TRACK_H

#include <joulemap/run.h>
#include <joulemap/span.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The library and its reaction to a recorder's call (which_run.h); set it before the first span. The default
 * is libjoulemap. */
struct jm__dormant_part;
void jm__track_part_set(const struct jm__dormant_part *other);

/* Writes into this run from now on, instead of any other. 0 or an errno. */
int jm__track_open(const char *run_dir);
void jm__track_close(void);

/* A recorder calls this program, which was started dormant, into its run. EBUSY: it is in a run. A forked
 * child is not in it, but dormant on its own. */
int jm__track_join(const char *run_dir);
/* Leaves the run; all spans are in their rings when it returns. No effect in another run. */
void jm__track_leave(const char *run_dir);

/* A number that differs for each run; 0: no run. */
uint32_t jm__track_run(void);

/* Finds out before the first span whether this program is in a run or should wait for one. */
void jm__track_look(void);

/* Longer texts are cut, between characters. */
#define JM_TRACK_NAME_MAX 4095u
uint32_t jm__track_intern(const char *text);

/* The same, also without a run: the number stays valid in later ones. Cut to `most` bytes. */
uint32_t jm__track_register(const char *text, size_t most);

/* Records only spans of the kinds whose bits are set; ends and marks are always recorded. A run begins with
 * all kinds. */
#define JM_TRACK_ALL UINT32_MAX
void jm__track_keep(uint32_t kinds);

uint64_t jm__track_begin(uint8_t kind, uint32_t name, uint32_t type, uint32_t samples);
void jm__track_end(uint64_t span);
void jm__track_end_counted(uint64_t span, uint32_t samples, uint32_t tokens);

/* A number that the program attaches to a span. */
typedef struct jm__track_number {
    jm_payload_kind kind; /* JM_PAYLOAD_NONE: no number */
    jm_payload value;
} jm__track_number;

/* The same with a number, which precedes the begin in the ring if there is space for both. */
uint64_t jm__track_begin_with(uint8_t kind, uint32_t name, uint32_t type, uint32_t samples,
                              const jm__track_number *payload);

/* For callbacks inside the driver's calls, for CUDA graphs: waits for locks only briefly; records without a
 * ring are counted in JM_LOST_NODES. `original`: the node that it clones, 0: none. */
void jm__track_node(uint64_t node, uint64_t original, uint32_t graph);
/* JM_RING_GRAPH_GONE, JM_RING_EXEC_BEGUN (`graph` 0) or JM_RING_EXEC_MADE. */
void jm__track_graph(uint8_t op, uint32_t graph);

/* Likewise, for a launch. `again`: how often CUPTI was subscribed to again. Without a ring its work has no
 * launch. */
void jm__track_launch(uint32_t correlation, uint32_t again);

/* `meta`: JSON, NULL: none */
void jm__track_mark(const char *name, const char *meta);
void jm__track_mark_with(uint32_t name, const char *meta);

/* The text of a number, NULL if unknown; valid for ever. */
const char *jm__track_text(uint32_t number);

/* ---- The run of this process's spans. A child of `joulemap record` needs none of this: its first span reads
 * JOULEMAP_RUN. */

/* Writes spans into `run_dir` from now on, also in forked children. */
jm_status jm__timeline_open(const char *run_dir, jm_error *err);

/* Selects which spans are recorded from now on. */
void jm__timeline_trace(jm_tracing tracing);

/* Handles begins of steps, batches and phases instead of recording them at once, and is notified of every
 * end. */
typedef struct jm__step_follower {
    uint64_t (*begin)(jm_span_kind kind, jm_name name, jm_name type, uint32_t samples,
                      const jm__track_number *payload);
    void (*end)(uint64_t span, uint32_t samples, uint32_t tokens);
} jm__step_follower;

/* NULL: none. `follower` must stay valid for ever: a thread may be in it. */
void jm__timeline_follow_steps(const jm__step_follower *follower);

/* Was this program started dormant? If so, attaching recorders are heard from now on. */
bool jm__timeline_is_dormant(void);

#endif
