/* What the collector is made of. Only for collector*.c: the graphs, on them the processes, on those
 * collector.c.
 *
 * A reader empties one ring. A process has threads, each with a stack of open spans and a history: which
 * span was innermost from when on. Kernels come later than their launch; they look into the history. */
#ifndef JM_RECORD_TIMELINE_COLLECTOR_PARTS_H
#define JM_RECORD_TIMELINE_COLLECTOR_PARTS_H

#include "base/clock.h"
#include "base/kept_file.h"
#include "base/map.h"
#include "base/vec.h"
#include "record/timeline/collector_sink.h"
#include "record/timeline/ring_format.h"

#include <sys/types.h>

#define JM_OPEN_SPANS_MAX     (1u << 18) /* in a process; more are a fault of the program, and counted */
#define JM_HISTORY_MAX        (1u << 20) /* transitions of a thread */
#define JM_HISTORY_KEPT_NS    (INT64_C(120) * JM_NS_PER_S)
#define JM_LAUNCHES           (1u << 20) /* newest launches of a process, found by correlation id */
#define JM_WAITING_MAX        (1u << 18)
#define JM_WAITING_NS         (INT64_C(10) * JM_NS_PER_S)
#define JM_KERNEL_CLASSES_MAX (1u << 20)
#define JM_NAMES_READ_MAX     (1u << 24)
#define JM_KERNEL_BATCH       4096
#define JM_CLOCK_SEGMENTS     8
#define JM_DEVICES_MAX        256 /* jm_ring_kernel.device is one byte */

/* CUDA graphs. */
#define JM_RECENT_SPANS                                                                                      \
    (1u << 19) /* 20 MiB, once a program has a graph: three seconds at 150,000 a second                      \
                */
#define JM_INNER_GRAPHS_MAX   (1u << 16) /* gone while executable graphs are made */
#define JM_GRAPH_NODES_MAX    (1u << 20) /* of a process, 48 MiB: vLLM's 67 graphs have 400,000 */
#define JM_CAPTURED_MAX       (1u << 18) /* of a process: spans open at captures, each content once */
#define JM_CAPTURED_ALIKE_MAX 256u /* of one parent, alike in kind, name and type; more share the last */
#define JM_CAPTURED_DEPTH     64   /* levels of spans of a captured chain, the innermost */
#define JM_REPLAYED_MAX       (1u << 16) /* newest spans of replays that are still looked for, twice */
#define JM_REPLAY_SPAN_NS     (JM_NS_PER_S / 100000) /* 100,000 such spans a second */
#define JM_REPLAY_BURST_NS    (4 * JM_NS_PER_S)

typedef struct collector_transition {
    int64_t t_ns;
    int64_t span_id; /* innermost from here on, 0: none */
} collector_transition;

typedef struct collector_history {
    JM_VEC(collector_transition) steps;
    bool pruned; /* what was before the first step is no longer known */
} collector_history;

typedef struct collector_thread collector_thread;

/* A span as kernels' launches look back at it, by its row id. */
typedef struct collector_recent {
    int64_t id; /* 0: none */
    int64_t parent_id;
    int64_t name_id, type_id;
    uint32_t captured; /* collector_graphs.captured; 0: no node of a graph was made in it yet */
    uint8_t kind;
} collector_recent;

typedef struct collector_open_span {
    collector_recent recent; /* with its row's id */
    int64_t start_ns;
    uint64_t key[2]; /* id; names file and writer: which program of that pid it is */
    collector_thread *thread;
    bool process_wide;
} collector_open_span;

typedef JM_VEC(collector_open_span *) collector_stack;

struct collector_thread {
    int32_t tid;
    size_t readers; /* rings that it writes into */
    collector_stack stack;
    collector_history history;
};

typedef struct collector_name {
    char *text;
    int64_t row_id; /* 0: not handed to the sink yet */
} collector_name;

typedef struct collector_process collector_process;

typedef struct collector_names {
    collector_process *process;
    uint32_t writer;
    uint32_t file_number;
    jm__kept_file file;
    off_t offset;                 /* all before it is read */
    off_t freed;                  /* and so much of it takes no room any more */
    JM_VEC(collector_name) names; /* by number */
} collector_names;

typedef struct collector_launch {
    int64_t t_ns; /* 0: free */
    uint32_t correlation;
    int32_t tid;
    uint32_t replayed; /* spans made for it */
    uint32_t taken;    /* of the process, then */
} collector_launch;

/* What was open when nodes of graphs were made, without repetition: the same chain of spans in another
 * capture is the same one. */
typedef struct collector_captured {
    int64_t name_id, type_id;
    uint32_t parent; /* 0: none */
    uint8_t kind;
    int64_t last_parent_id; /* the span around, and the graph, that it was last met in */
    uint32_t last_graph;
    int64_t replay_id; /* its span in the newest replay, 0: none */
} collector_captured;

typedef struct collector_graph {
    uint64_t id;
    int64_t used_ns;
    int64_t gone_ns; /* 0: it is there */
    bool is_clone;
    uint64_t original; /* of a clone: the graph it was cloned from */
    size_t clones;     /* of it that are known: records may bear the ids of either */
    JM_VEC(uint64_t) nodes;
} collector_graph;

/* A graph that went while this thread made an executable graph; graph 0 tells that it makes one. */
typedef struct collector_inner {
    int32_t tid;
    uint32_t graph;
} collector_inner;

/* The CUDA graphs of a process. */
typedef struct collector_graphs {
    uint32_t program; /* names_file of its rings: nodes of another program of that pid are others */
    uint64_t first_node;
    bool forgot; /* there were too many nodes */
    jm__map nodes;
    jm__map graph_slots; /* by id */
    JM_VEC(collector_graph) graphs;
    JM_VEC(uint32_t) free_slots;
    size_t gone;
    JM_VEC(collector_inner) inner;
    jm__map captured_by_key;
    JM_VEC(collector_captured) captured; /* the first stands for none */
    jm__map replayed, replayed_before;   /* the spans of replays, by launch and captured span */
    uint64_t last_replayed[2];
    int64_t last_replayed_id;
    int64_t around_id; /* what `around` is the chain of */
    size_t around_count;
    collector_recent around[JM_CAPTURED_DEPTH];
} collector_graphs;

struct collector_process {
    int64_t row_id; /* a pid that comes again is a row of its own */
    pid_t pid;
    pid_t parent;
    int64_t rank;         /* -1: none */
    uint64_t start_ticks; /* tells a reused pid; 0: unknown */
    uint64_t pid_namespace;
    pid_t pid_here;   /* what it is called in the recorder's; 0: nobody here knows when it ends */
    bool other_clock; /* its ticks are not those that /proc says here */
    char *command;    /* NULL: unknown */
    bool dead;        /* seen before the drain that now takes the rest */
    int64_t dead_ns;  /* when it was seen */
    bool changed;
    size_t readers;
    int64_t first_ns, last_ns;
    int64_t flushed_ns; /* all that ended before is in what was read of its rings */
    JM_VEC(collector_thread *) threads;
    jm__map threads_by_tid;
    jm__map open_spans; /* by collector_open_span.key */
    collector_stack wide;
    collector_history wide_history;
    JM_VEC(collector_names *) names;
    collector_launch *launches; /* JM_LAUNCHES of them, once there is one */
    collector_graphs *graphs;   /* NULL: it has told of none */
    uint32_t taken;             /* how often it took CUPTI again */
    bool tells_graphs;
    bool graphs_before; /* it replays graphs that were captured before the recording began */
    char *board_uuids[JM_DEVICES_MAX];
    jm__map streams;
    uint64_t no_launch;  /* kernels of unknown launch, not reported yet */
    uint64_t no_history; /* kernels whose launch was before the history kept */
    uint64_t refused_spans;
    uint64_t refused_names;   /* the sink takes no more: what bears them has none */
    uint64_t unwritten_names; /* numbers that the names file does not have */
    uint64_t unmarked_nodes;
    uint64_t shared_replays;
    uint64_t refused_captures;
    uint64_t malformed;
};

typedef struct collector_reader {
    uint64_t file_key;
    char *name;             /* of its file, in the run's folder */
    jm_ring_header *header; /* here and in `records` nobody looks but through base/mapped.h */
    const char *records;
    size_t mapped_bytes;
    uint64_t capacity, record_size;
    char *chunk; /* copies of records; NULL: none */
    uint64_t chunk_from, chunk_count;
    uint64_t tail;      /* our own copy */
    uint64_t head;      /* as read at the beginning of this poll */
    int64_t flushed_ns; /* the header's, as read before `head` */
    uint64_t lost_told, names_refused_told;
    uint32_t writer;   /* JM_WRITER_* */
    bool realtime;     /* its stamps are CLOCK_REALTIME */
    uint64_t later_ns; /* how much later it is here than by its program's CLOCK_MONOTONIC */
    collector_process *process;
    collector_names *names;
    collector_thread *thread; /* span rings */
    uint64_t payload_of;      /* the span whose payload this is; 0: none is known */
    jm_payload_kind payload_kind;
    jm_payload payload;
    bool replaces; /* its program may have taken the place of another (exec) */
    bool ended;    /* closed or its process dead before `head` was read */
} collector_reader;

typedef struct collector_waiting {
    jm_ring_kernel record; /* times in CLOCK_MONOTONIC */
    uint32_t taken;        /* of the process, when it was read */
    int64_t since_ns;
    collector_process *process;
    collector_names *names;
} collector_waiting;

typedef struct collector_clock_segment {
    int64_t from_ns;   /* CLOCK_MONOTONIC */
    int64_t offset_ns; /* monotonic - realtime */
} collector_clock_segment;

typedef struct jm__collector {
    char *run_dir;
    char host[65];                          /* "": unknown */
    uint64_t pid_namespace, time_namespace; /* the recorder's */
    int64_t ahead_ns;                       /* jm_ring_header.ahead_ns of its own rings */
    jm__collector_sink sink;
    JM_VEC(collector_process *) processes;
    JM_VEC(collector_reader *) readers;
    JM_VEC(collector_reader *) heap; /* span readers with something left, earliest first */
    jm__map files;                   /* key: pid, writer, number */
    jm__map classes;
    JM_VEC(collector_waiting) waiting;
    jm__kernel batch[JM_KERNEL_BATCH];
    size_t batch_count;
    collector_clock_segment segments[JM_CLOCK_SEGMENTS];
    size_t segment_count;
    int64_t clock_checked_ns; /* when the newest segment was last seen to hold */
    int64_t last_process_id;
    int64_t last_span_id;
    collector_recent *recent; /* JM_RECENT_SPANS of them, by row id, once a program has a graph */
    int64_t replay_span_ns;   /* one span of a replay in this time, in the long run */
    int64_t replays_until_ns; /* ...which those so far have used up to here */
    int64_t now_ns;           /* of this poll */
    int64_t spans_done_ns;    /* spans stamped before this are in */
    int64_t complete_ns;
    int64_t life_checked_ns;
    uint64_t lost_told[JM_LOST_KINDS]; /* of the page `lost` */
    bool final;                        /* nothing will come any more: nothing waits */
    bool out_of_memory;                /* in this poll */
    size_t taken;
} jm__collector;

/* Stamps that no clock gives (a damaged file) are refused before anything is added to them. */
static inline bool jm__collector_is_stamp(int64_t t_ns)
{
    return t_ns >= 0 && t_ns <= INT64_MAX / 2;
}

/* ---- collector_graphs.c */

/* Look back at this span. */
void jm__collector_recent_put(jm__collector *collector, const collector_recent *recent);
void jm__collector_graph_record(jm__collector *collector, collector_reader *reader, int64_t span_id,
                                const jm_ring_span *record);
/* The span that work of this node belongs to, of a graph launched then in the span `around_id`. */
int64_t jm__collector_replayed(jm__collector *collector, collector_process *process, collector_launch *launch,
                               uint64_t node, int64_t around_id);
void jm__collector_graphs_prune(jm__collector *collector, collector_process *process); /* those gone */
void jm__collector_graphs_free(collector_process *process);

/* ---- collector_process.c */

/* process_id: 0 for none */
void jm__collector_tell_loss(jm__collector *collector, int64_t process_id, uint64_t count, const char *source,
                             const char *reason);
collector_process *jm__collector_process_of(jm__collector *collector, pid_t pid, int64_t first_ns,
                                            const jm_ring_identity *told);
collector_thread *jm__collector_thread_of(jm__collector *collector, collector_process *process, int32_t tid);
collector_names *jm__collector_names_of(jm__collector *collector, collector_process *process, uint32_t writer,
                                        uint32_t file_number);
int64_t jm__collector_name_row(jm__collector *collector, collector_names *names, uint32_t number);
const char *jm__collector_name_text(jm__collector *collector, collector_names *names, uint32_t number);
void jm__collector_processes_check(jm__collector *collector); /* which are dead */
void jm__collector_processes_tell(jm__collector *collector);  /* rows that changed, and losses */
void jm__collector_processes_reap(jm__collector *collector);  /* dead and drained: forget */
void jm__collector_process_free(collector_process *process);

static inline void jm__collector_process_saw(collector_process *process, int64_t from_ns, int64_t to_ns)
{
    if (from_ns < process->first_ns) process->first_ns = from_ns;
    if (to_ns > process->last_ns) process->last_ns = to_ns;
    process->changed = true;
}

void jm__collector_span_record(jm__collector *collector, collector_reader *reader,
                               const jm_ring_span *record);
/* NULL: it is not known. `taken`: as of the process, when its work was read. */
collector_launch *jm__collector_launch_find(const collector_process *process, uint32_t correlation,
                                            uint32_t taken);
bool jm__collector_innermost(const collector_process *process, int32_t tid, int64_t t_ns, int64_t *span_id);
void jm__collector_histories_prune(jm__collector *collector);

/* ---- collector.c */

/* CUPTI's CLOCK_REALTIME stamp in CLOCK_MONOTONIC. */
int64_t jm__collector_clock_convert(const jm__collector *collector, int64_t realtime_ns);

#endif
