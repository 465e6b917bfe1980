/* The layout of a ring file: how spans and kernels leave the profiled process.
 *
 * One file per writer thread, in the run's folder, shared by its writer, by the recorder, which consumes it,
 * and by the simulated board, which only reads it. The file survives a crash of either side. One producer,
 * one consumer: the producer publishes `head` and the consumer `tail`, both with release order. Both count
 * records since the start and never wrap; slot = count & (capacity - 1). A full ring drops the new record and
 * counts it in `lost`.
 *
 * Names: the file `<pid>-<writer>.names` beside the rings of a writer is append-only, with entries { uint32
 * number, uint32 length, bytes }. Each entry is written with one write(2) before a record may use its number.
 * Numbers start at 1. After exec a program keeps its pid but not its numbers: it finds the existing file and
 * writes `<pid>-<writer>-<k>.names`, k from 1; the ring's header has its k.
 *
 * This header is plain data for any user and includes nothing else of joulemap. */
#ifndef JM_RECORD_TIMELINE_RING_FORMAT_H
#define JM_RECORD_TIMELINE_RING_FORMAT_H

#include <stdatomic.h>
#include <stdint.h>

#define JM_RING_MAGIC       0x31474e524d4a0009ull /* changes with every change of the format */
#define JM_RING_HEADER_SIZE 4096u
#define JM_RING_SUFFIX      ".ring"  /* <pid>-<writer>-<thread number>.ring */
#define JM_NAMES_SUFFIX     ".names" /* <pid>-<writer>.names, see above */
#define JM_NAME_MAX         65535u   /* bytes of an entry in the names file */

#define JM_COMMUNICATOR "communicator " /* prefix of a collective's type if its group has no other name */

/* The library that wrote it: one letter, as in the file name. */
#define JM_WRITER_CORE   'c' /* libjoulemap: spans and marks of C and Python */
#define JM_WRITER_INJECT 'i' /* libjoulemap_inject: CUPTI's records */
#define JM_WRITER_NVTX   'n' /* libjoulemap_inject: NVTX ranges, launches, nodes of graphs */

typedef struct jm_ring_header {
    _Atomic uint64_t magic; /* stored last: the ring is valid once it is set */
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
    _Alignas(64) _Atomic uint32_t closed; /* 1: nothing more will be written */
    uint32_t names_file;                  /* k of the names file, 0: without k */
    _Atomic int64_t flushed_ns; /* writer 'i': work that ended before this is in the ring; CLOCK_MONOTONIC */
    _Atomic uint64_t names_refused; /* texts without a number: records may have 0 instead */
    int64_t ahead_ns; /* by how much CLOCK_MONOTONIC of its time namespace is ahead of the first one; included
                         in all stamps of that clock */
} jm_ring_header;

/* The writer's identity, at this offset: the recorder may find the ring after its process has ended. */
#define JM_RING_IDENTITY_AT 512u
typedef struct jm_ring_identity {
    uint64_t start_ticks; /* of /proc/self/stat; 0: the whole identity is unknown */
    /* Inodes; 0: unknown. In another pid namespace its pid differs from the one here, in another time
     * namespace its ticks do. */
    uint64_t pid_namespace, time_namespace;
    int32_t parent;
    int32_t rank;       /* among the processes of its program, as its launcher set it; -1: none */
    char command[3552]; /* words separated by spaces, possibly cut; "": unknown */
} jm_ring_identity;

enum { /* jm_ring_span.op */
       JM_RING_BEGIN = 1,
       JM_RING_END = 2,
       JM_RING_MARK = 3, /* name; type: the number of its JSON text, 0 if none */
       JM_RING_THREAD =
           4, /* id: tid of the following records (a new thread reuses the ring of an ended one) */
       /* For CUDA graphs, writer 'n' only; ids are CUPTI's. */
       JM_RING_NODE = 5, /* id: a node that this thread makes now; samples: its graph; name and type: lower
                            and upper half of the id of the node that it clones, 0: none */
       JM_RING_GRAPH_GONE = 6, /* samples: a graph or executable graph that is destroyed now */
       JM_RING_EXEC_BEGUN = 7, /* this thread makes an executable graph from clones that it has reported */
       JM_RING_EXEC_MADE = 8,  /* samples: that graph; graphs destroyed since JM_RING_EXEC_BEGUN were inside
                                  it, and it now has their nodes */
       JM_RING_PAYLOAD = 9,    /* id: the span that this thread begins next; kind: jm_payload_kind; name and
                                  type: lower and upper half of its 64 bits */
       JM_RING_LAUNCH = 10, /* writer 'n': this thread launches work now; id: CUPTI's correlation id; samples:
                               the latest count of JM_RING_AGAIN */
};

/* 32 bytes: record of the writers 'c' and 'n'. */
typedef struct jm_ring_span {
    int64_t t_ns;     /* CLOCK_MONOTONIC */
    uint64_t id;      /* begin and end: the span; unique per process and writer */
    uint32_t name;    /* end: 0 */
    uint32_t type;    /* end: tokens, 0 if unknown */
    uint32_t samples; /* end: 0 keeps those of the begin */
    uint8_t op;
    uint8_t kind; /* jm_span_kind; JM_RING_PAYLOAD: see above */
    uint16_t reserved;
} jm_ring_span;

enum { /* jm_ring_kernel.op */
       JM_RING_KERNEL = 1,
       JM_RING_MEMCPY = 2,
       JM_RING_MEMSET = 3,
       JM_RING_DEVICE = 5, /* `device` is the board with the UUID text `name` ("GPU-...") */
       JM_RING_LOST = 6,   /* `bytes` records were lost; `name`: the reason */
       JM_RING_NOTE = 7,   /* `name` is a message to the user: CUPTI is absent, in use, too new */
       JM_RING_GRAPHS = 8, /* nodes of CUDA graphs are reported from here on */
       JM_RING_AGAIN =
           9, /* `bytes`: how often CUPTI was subscribed to again; correlation ids restart each time */
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

/* `lost`: a page that the recorder creates and all processes of the run share, for records that had no
 * ring. */
#define JM_LOST_FILE "lost"

typedef enum jm_lost_kind {
    JM_LOST_SPANS,    /* begins and marks in threads without a ring */
    JM_LOST_NAMES,    /* texts without a number that no ring counts */
    JM_LOST_PROGRAMS, /* programs without a ring for kernels */
    JM_LOST_NODES,    /* nodes of CUDA graphs */
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
