/* Internals of the collector, only for collector*.c. Dependencies: collector.c uses collector_process.c,
 * which uses collector_graphs.c.
 *
 * A reader empties one ring. A process has threads, each with a stack of open spans and a history of the
 * innermost span over time. Kernels arrive after their launch, so their span is looked up in the history. */
#ifndef JM_RECORD_TIMELINE_COLLECTOR_PARTS_H
#define JM_RECORD_TIMELINE_COLLECTOR_PARTS_H

#include "base/clock.h"
#include "base/kept_file.h"
#include "base/map.h"
#include "base/vec.h"
#include "record/timeline/collector_sink.h"
#include "record/timeline/ring_format.h"

#include <sys/types.h>

#define JM_OPEN_SPANS_MAX     (1u << 18) /* per process; more are an error of the program, and counted */
#define JM_HISTORY_MAX        (1u << 20) /* transitions per thread */
#define JM_HISTORY_KEPT_NS    (INT64_C(120) * JM_NS_PER_S)
#define JM_LAUNCHES           (1u << 20) /* newest launches per process, by correlation id */
#define JM_WAITING_MAX        (1u << 18)
#define JM_WAITING_NS         (INT64_C(10) * JM_NS_PER_S)
#define JM_KERNEL_CLASSES_MAX (1u << 20)
#define JM_NAMES_READ_MAX     (1u << 24)
#define JM_KERNEL_BATCH       4096
#define JM_CLOCK_SEGMENTS     8
#define JM_DEVICES_MAX        256 /* jm_ring_kernel.device is one byte */

/* CUDA graphs: */
#define JM_RECENT_SPANS         (1u << 19) /* 20 MiB once there is a graph: 3 s at 150,000 a second */
#define JM_INNER_GRAPHS_MAX     (1u << 16) /* inner graphs destroyed while executable graphs are made */
#define JM_GRAPH_NODES_MAX      (1u << 20) /* per process, 48 MiB: vLLM's 67 graphs have 400,000 */
#define JM_CAPTURED_MAX         (1u << 18) /* per process: distinct spans that were open at captures */
#define JM_CAPTURED_REPEATS_MAX 256u /* per parent, of equal kind, name and type; more share the last one */
#define JM_CAPTURED_DEPTH       64   /* innermost levels of a chain of captured spans */
#define JM_REPLAYED_MAX         (1u << 16)             /* newest spans of replays, in each of two maps */
#define JM_REPLAY_SPAN_NS       (JM_NS_PER_S / 100000) /* 100,000 such spans a second */
#define JM_REPLAY_BURST_NS      (4 * JM_NS_PER_S)

typedef struct collector_transition {
    int64_t t_ns;
    int64_t span_id; /* innermost from here, 0: none */
} collector_transition;

typedef struct collector_history {
    JM_VEC(collector_transition) steps;
    bool pruned; /* times before the first step are unknown */
} collector_history;

typedef struct collector_thread collector_thread;

/* A span for lookups by launches and captures, by row id. */
typedef struct collector_recent {
    int64_t id; /* 0: none */
    int64_t parent_id;
    int64_t name_id, type_id;
    uint32_t captured; /* index in collector_graphs.captured; 0: no graph node was made in it yet */
    uint8_t kind;
} collector_recent;

typedef struct collector_open_span {
    collector_recent recent; /* with its row id */
    int64_t start_ns;
    uint64_t key[2]; /* id; names file and writer, which identify the program of that pid */
    collector_thread *thread;
    bool process_wide;
} collector_open_span;

typedef JM_VEC(collector_open_span *) collector_stack;

struct collector_thread {
    int32_t tid;
    size_t readers; /* number of its rings */
    collector_stack stack;
    collector_history history;
};

typedef struct collector_name {
    char *text;
    int64_t row_id; /* 0: not passed to the sink yet */
} collector_name;

typedef struct collector_process collector_process;

typedef struct collector_names {
    collector_process *process;
    uint32_t writer;
    uint32_t file_number;
    jm__kept_file file;
    off_t offset;                 /* read up to here */
    off_t freed;                  /* its space is freed up to here */
    JM_VEC(collector_name) names; /* indexed by number */
} collector_names;

typedef struct collector_launch {
    int64_t t_ns; /* 0: unused slot */
    uint32_t correlation;
    int32_t tid;
    uint32_t replayed;     /* number of spans made for its replay */
    uint32_t subscription; /* collector_process.subscription at that time */
} collector_launch;

/* A span that was open when graph nodes were made. Equal chains of spans in several captures are one. */
typedef struct collector_captured {
    int64_t name_id, type_id;
    uint32_t parent; /* 0: none */
    uint8_t kind;
    int64_t last_parent_id; /* the parent span and the graph of the last capture in it */
    uint32_t last_graph;
    int64_t replay_id; /* its span in the newest replay, 0: none */
} collector_captured;

typedef struct collector_graph {
    uint64_t id;
    int64_t used_ns;
    int64_t gone_ns; /* 0: it exists */
    bool is_clone;
    uint64_t original; /* of a clone: its original */
    size_t clones;     /* known clones of it: records may have ids of either */
    JM_VEC(uint64_t) nodes;
} collector_graph;

/* A graph that was destroyed while this thread made an executable graph; graph 0 marks the begin of the
 * making. */
typedef struct collector_inner {
    int32_t tid;
    uint32_t graph;
} collector_inner;

/* A span of a replay: the captured span and its launch. */
typedef struct collector_replay_key {
    uint32_t correlation, captured;
    int64_t launch_ns;
} collector_replay_key;

/* The CUDA graphs of a process. */
typedef struct collector_graphs {
    uint32_t program; /* names_file of its rings: another program of that pid has other nodes */
    uint64_t first_node;
    bool forgot; /* nodes were dropped, there were too many */
    jm__map nodes;
    jm__map graph_slots; /* by id */
    JM_VEC(collector_graph) graphs;
    JM_VEC(uint32_t) free_slots;
    size_t gone;
    JM_VEC(collector_inner) inner;
    jm__map captured_by_key;
    JM_VEC(collector_captured) captured; /* index 0 is unused */
    jm__map replayed, replayed_before;   /* spans of replays by launch and captured span */
    collector_replay_key last_replayed;
    int64_t last_replayed_id;
    int64_t launch_span_id; /* the span whose chain is in `launch_chain` */
    size_t launch_chain_count;
    collector_recent launch_chain[JM_CAPTURED_DEPTH];
} collector_graphs;

struct collector_process {
    int64_t row_id; /* a reused pid has a row of its own */
    pid_t pid;
    pid_t parent;
    int64_t rank;         /* -1: none */
    uint64_t start_ticks; /* distinguishes reused pids; 0: unknown */
    uint64_t pid_namespace;
    pid_t pid_here;   /* its pid in the recorder's namespace; 0: its end cannot be seen from here */
    bool other_clock; /* in another time namespace: its ticks differ from /proc here */
    char *command;    /* NULL: unknown */
    bool dead;        /* seen before the current drain, which takes the rest */
    int64_t dead_ns;  /* when that was seen */
    bool changed;
    size_t readers;
    int64_t first_ns, last_ns;
    int64_t flushed_ns; /* work that ended before this was read from its rings */
    JM_VEC(collector_thread *) threads;
    jm__map threads_by_tid;
    jm__map open_spans; /* by collector_open_span.key */
    collector_stack wide;
    collector_history wide_history;
    JM_VEC(collector_names *) names;
    collector_launch *launches; /* [JM_LAUNCHES], allocated at the first launch */
    collector_graphs *graphs;   /* NULL: it reported none */
    uint32_t subscription;      /* how often it has subscribed to CUPTI again */
    bool reports_graphs;
    bool graphs_before; /* it replays graphs that were captured before the recording */
    char *board_uuids[JM_DEVICES_MAX];
    jm__map streams;
    uint64_t no_launch;  /* kernels without a launch, not reported yet */
    uint64_t no_history; /* kernels whose launch precedes the history */
    uint64_t refused_spans;
    uint64_t refused_names;   /* refused by the sink: their records have no name */
    uint64_t unwritten_names; /* numbers missing in the names file */
    uint64_t unreported_nodes;
    uint64_t shared_replays;
    uint64_t refused_captures;
    uint64_t malformed;
};

typedef struct collector_reader {
    uint64_t file_key;
    char *name;             /* file name in the run's folder */
    jm_ring_header *header; /* this and `records` are accessed only through base/mapped.h */
    const char *records;
    size_t mapped_bytes;
    uint64_t capacity, record_size;
    char *chunk; /* copied records; NULL: none */
    uint64_t chunk_from, chunk_count;
    uint64_t tail;      /* our own copy */
    uint64_t head;      /* as read at the beginning of this poll */
    int64_t flushed_ns; /* from the header, read before `head` */
    uint64_t lost_reported, names_refused_reported;
    uint32_t writer;         /* JM_WRITER_* */
    bool realtime;           /* its stamps are CLOCK_REALTIME */
    uint64_t clock_shift_ns; /* our CLOCK_MONOTONIC minus the program's */
    collector_process *process;
    collector_names *names;
    collector_thread *thread; /* span rings */
    uint64_t payload_of;      /* the span of this payload; 0: none */
    jm_payload_kind payload_kind;
    jm_payload payload;
    bool replaces; /* its program may have replaced another one by exec */
    bool ended;    /* closed, or its process was dead, before `head` was read */
} collector_reader;

typedef struct collector_waiting {
    jm_ring_kernel record; /* times in CLOCK_MONOTONIC */
    uint32_t subscription; /* collector_process.subscription when it was read */
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
    uint64_t pid_namespace, time_namespace; /* of the recorder */
    int64_t ahead_ns;                       /* as jm_ring_header.ahead_ns, for the recorder */
    jm__collector_sink sink;
    JM_VEC(collector_process *) processes;
    JM_VEC(collector_reader *) readers;
    JM_VEC(collector_reader *) heap; /* span readers with records, earliest first */
    jm__map files;                   /* key: pid, writer, number */
    jm__map classes;
    JM_VEC(collector_waiting) waiting;
    jm__kernel batch[JM_KERNEL_BATCH];
    size_t batch_count;
    collector_clock_segment segments[JM_CLOCK_SEGMENTS];
    size_t segment_count;
    int64_t clock_checked_ns; /* when the newest segment was last confirmed */
    int64_t last_process_id;
    int64_t last_span_id;
    collector_recent *recent; /* [JM_RECENT_SPANS] by row id, once a program has a graph */
    int64_t replay_span_ns;   /* average time per span of replays */
    int64_t replays_until_ns; /* ... of which the spans so far have used up to here */
    int64_t now_ns;           /* time of this poll */
    int64_t spans_done_ns;    /* spans before this were taken */
    int64_t complete_ns;
    int64_t life_checked_ns;
    uint64_t lost_reported[JM_LOST_KINDS]; /* counts of the page `lost` that were reported */
    bool final;                            /* nothing more will come, so nothing waits */
    bool out_of_memory;                    /* during this poll */
    size_t taken;
} jm__collector;

/* Rejects impossible stamps (of a damaged file), to which nothing can be added safely. */
static inline bool jm__collector_is_stamp(int64_t t_ns)
{
    return t_ns >= 0 && t_ns <= INT64_MAX / 2;
}

/* ---- collector_graphs.c */

/* Makes this span available to lookups. */
void jm__collector_recent_put(jm__collector *collector, const collector_recent *recent);
void jm__collector_graph_record(jm__collector *collector, collector_reader *reader, int64_t span_id,
                                const jm_ring_span *record);
/* The span of work of this node, in a graph that was launched in the span `launch_span_id`. */
int64_t jm__collector_replayed(jm__collector *collector, collector_process *process, collector_launch *launch,
                               uint64_t node, int64_t launch_span_id);
void jm__collector_graphs_prune(jm__collector *collector,
                                collector_process *process); /* forgets destroyed graphs */
void jm__collector_graphs_free(collector_process *process);

/* ---- collector_process.c */

/* process_id 0: none */
void jm__collector_report_loss(jm__collector *collector, int64_t process_id, uint64_t count,
                               const char *source, const char *reason);
collector_process *jm__collector_process_of(jm__collector *collector, pid_t pid, int64_t first_ns,
                                            const jm_ring_identity *identity);
collector_thread *jm__collector_thread_of(jm__collector *collector, collector_process *process, int32_t tid);
collector_names *jm__collector_names_of(jm__collector *collector, collector_process *process, uint32_t writer,
                                        uint32_t file_number);
int64_t jm__collector_name_row(jm__collector *collector, collector_names *names, uint32_t number);
const char *jm__collector_name_text(jm__collector *collector, collector_names *names, uint32_t number);
void jm__collector_processes_check(jm__collector *collector);  /* finds dead ones */
void jm__collector_processes_report(jm__collector *collector); /* sends changed rows and losses */
void jm__collector_processes_reap(jm__collector *collector);   /* forgets dead and drained ones */
void jm__collector_process_free(collector_process *process);

static inline void jm__collector_process_saw(collector_process *process, int64_t from_ns, int64_t to_ns)
{
    if (from_ns < process->first_ns) process->first_ns = from_ns;
    if (to_ns > process->last_ns) process->last_ns = to_ns;
    process->changed = true;
}

void jm__collector_span_record(jm__collector *collector, collector_reader *reader,
                               const jm_ring_span *record);
/* NULL: unknown. `subscription`: of the process when its work was read. */
collector_launch *jm__collector_launch_find(const collector_process *process, uint32_t correlation,
                                            uint32_t subscription);
bool jm__collector_innermost(const collector_process *process, int32_t tid, int64_t t_ns, int64_t *span_id);
void jm__collector_histories_prune(jm__collector *collector);

/* ---- collector.c */

/* Converts CUPTI's CLOCK_REALTIME stamp to CLOCK_MONOTONIC. */
int64_t jm__collector_clock_convert(const jm__collector *collector, int64_t realtime_ns);

#endif
