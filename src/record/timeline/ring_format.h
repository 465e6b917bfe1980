/* The layout of a ring file: how spans and kernels leave the profiled process.
 *
 * One file a writer thread, in the run's folder, mapped shared by its writer, by
 * the recorder (which consumes) and by the simulated board (which only looks).
 * The file outlives a crash of either side. One producer, one consumer:
 * `head` is published by the producer with release order, `tail` by the
 * consumer. Both count records since the start and never wrap; slot = count & (capacity - 1).
 * A full ring drops the new record and counts it in `lost`.
 *
 * Names: beside the rings of a writer lies `<pid>-<writer>.names`, append-only:
 * entries of { uint32 number, uint32 length, bytes }, each written whole with one
 * write(2) before a record may use its number. Numbers start at 1. A program that
 * replaces itself (exec) keeps its pid but not its numbers: the new one finds the file there and
 * writes `<pid>-<writer>-<k>.names`, k from 1; the ring's header says which is its own.
 *
 * This header is plain data, of use to anybody: it includes nothing of ours. */
#ifndef JM_RECORD_TIMELINE_RING_FORMAT_H
#define JM_RECORD_TIMELINE_RING_FORMAT_H

#include <stdatomic.h>
#include <stdint.h>

#define JM_RING_MAGIC       0x31474e524d4a0009ull /* changes with any change below */
#define JM_RING_HEADER_SIZE 4096u
#define JM_RING_SUFFIX      ".ring"  /* <pid>-<writer>-<thread number>.ring */
#define JM_NAMES_SUFFIX     ".names" /* <pid>-<writer>.names, see above */
#define JM_NAME_MAX         65535u   /* bytes of an entry of the names file */

#define JM_COMMUNICATOR "communicator " /* begins the type of a collective whose group has no other name */

/* Which library wrote it: one letter, as in the file's name. */
#define JM_WRITER_CORE   'c' /* libjoulemap: spans and marks of C and Python */
#define JM_WRITER_INJECT 'i' /* libjoulemap_inject: CUPTI's records */
#define JM_WRITER_NVTX   'n' /* libjoulemap_inject: NVTX ranges, launches, nodes of graphs */

typedef struct jm_ring_header {
    _Atomic uint64_t magic; /* stored last: a ring is valid once it is there */
    uint32_t record_size;   /* sizeof(jm_ring_span) or sizeof(jm_ring_kernel) */
    uint32_t capacity;      /* records, a power of two */
    int32_t pid;
    int32_t tid;        /* gettid of the (first) producer */
    uint32_t writer;    /* JM_WRITER_* */
    uint32_t realtime;  /* 1 if stamps are CLOCK_REALTIME (CUPTI's), 0 if CLOCK_MONOTONIC */
    int64_t created_ns; /* CLOCK_MONOTONIC */
    _Alignas(64) _Atomic uint64_t head;
    _Atomic uint64_t lost;
    _Alignas(64) _Atomic uint64_t tail;
    _Alignas(64) _Atomic uint32_t closed; /* 1: the producer will write no more */
    uint32_t names_file;                  /* k of the names file, 0: the plain one */
    _Atomic int64_t flushed_ns; /* writer 'i': work that ended before this is in the ring; CLOCK_MONOTONIC */
    _Atomic uint64_t names_refused; /* texts that got no number: records may bear 0 in their place */
    int64_t ahead_ns; /* CLOCK_MONOTONIC of its namespace of time, of the first one's: in all stamps of that
                         clock */
} jm_ring_header;

/* Who the writer is, at that byte: a recorder may find the ring when its process is gone. */
#define JM_RING_IDENTITY_AT 512u
typedef struct jm_ring_identity {
    uint64_t start_ticks; /* of /proc/self/stat; 0: none of this is known */
    /* Inodes: in another of pids its pid is another's here, in another of time its ticks are from elsewhere;
     * 0: unknown. */
    uint64_t pid_namespace, time_namespace;
    int32_t parent;
    int32_t rank;       /* among the processes of its program, as its launcher says; -1: it does not */
    char command[3552]; /* words with spaces between them, cut at the end; "": unknown */
} jm_ring_identity;

enum { /* jm_ring_span.op */
       JM_RING_BEGIN = 1,
       JM_RING_END = 2,
       JM_RING_MARK = 3,   /* name; type holds the number of its JSON text, 0 if none */
       JM_RING_THREAD = 4, /* id: tid whose records follow (a new thread took over the ring of a gone one) */
       /* Of CUDA graphs, writer 'n' alone; ids are CUPTI's. */
       JM_RING_NODE = 5, /* id: a node that this thread makes now; samples: its graph; name and type: the
                            lower and the upper half of the node's id that it is a clone of, 0: of none */
       JM_RING_GRAPH_GONE = 6, /* samples: a graph, or an executable one, that is destroyed now */
       JM_RING_EXEC_BEGUN = 7, /* this thread makes an executable graph of clones that it has told of */
       JM_RING_EXEC_MADE = 8,  /* samples: that graph; the ones gone since were inside of it, and their nodes
                                  are its own now */
       JM_RING_PAYLOAD = 9,    /* id: the span that this thread begins next; kind: jm_payload_kind; name and
                                  type: the lower and the upper half of its 64 bits */
       JM_RING_LAUNCH = 10,    /* writer 'n': this thread starts work now; id: CUPTI's correlation id of it;
                                  samples: how often CUPTI had been taken again (JM_RING_AGAIN) */
};

/* 32 bytes: record of the writers 'c' and 'n'. */
typedef struct jm_ring_span {
    int64_t t_ns;     /* CLOCK_MONOTONIC */
    uint64_t id;      /* begin and end: the span; unique in the process and writer */
    uint32_t name;    /* end: 0 */
    uint32_t type;    /* end: tokens, 0 if unknown */
    uint32_t samples; /* end: 0 for those of the begin */
    uint8_t op;
    uint8_t kind; /* jm_span_kind; payload: see above */
    uint16_t reserved;
} jm_ring_span;

enum { /* jm_ring_kernel.op */
       JM_RING_KERNEL = 1,
       JM_RING_MEMCPY = 2,
       JM_RING_MEMSET = 3,
       JM_RING_DEVICE = 5, /* `device` is the board whose UUID text ("GPU-...") is `name` */
       JM_RING_LOST = 6,   /* `bytes` records are not there; `name` says why */
       JM_RING_NOTE = 7,   /* `name` is a sentence for the user: CUPTI absent, taken, too new */
       JM_RING_GRAPHS = 8, /* nodes of CUDA graphs are told from here on */
       JM_RING_AGAIN = 9, /* `bytes`: how often CUPTI was taken again: correlation ids begin anew each time */
};

/* 64 bytes: record of the writer 'i'. */
typedef struct jm_ring_kernel {
    int64_t start_ns; /* see jm_ring_header.realtime */
    int64_t end_ns;
    uint64_t bytes; /* copies and sets: bytes moved; kernels: graph node id or 0 */
    uint32_t name;
    uint32_t correlation;
    uint32_t context; /* CUDA context */
    uint32_t stream;
    uint32_t grid[3]; /* copies and sets: lower and upper half of the graph node id or 0 */
    uint16_t block[3];
    uint8_t op;
    uint8_t device; /* CUDA ordinal in that process */
} jm_ring_kernel;

/* `lost`: one page that the recorder makes and all processes of the run share, for what found no ring. */
#define JM_LOST_FILE "lost"

typedef enum jm_lost_kind {
    JM_LOST_SPANS,    /* begins and marks of threads without a ring */
    JM_LOST_NAMES,    /* texts that got no number where no ring counts them */
    JM_LOST_PROGRAMS, /* programs without a ring for their kernels */
    JM_LOST_NODES,    /* of CUDA graphs */
    JM_LOST_KINDS
} jm_lost_kind;

typedef struct jm_lost_counts {
    _Atomic uint64_t of[JM_LOST_KINDS];
} jm_lost_counts;

_Static_assert(sizeof(jm_ring_span) == 32, "ring layout");
_Static_assert(sizeof(jm_ring_kernel) == 64, "ring layout");
_Static_assert(sizeof(jm_ring_header) <= JM_RING_IDENTITY_AT, "ring layout");
_Static_assert(JM_RING_IDENTITY_AT + sizeof(jm_ring_identity) == JM_RING_HEADER_SIZE, "ring layout");

#endif
