/* A passive observer of the span rings in a run's folder.
 *
 * It finds rings by itself, reads them with a cursor of its own, never writes to them, and counts
 * the records that were overwritten before it came. Times: CLOCK_MONOTONIC. */
#ifndef SIM_RING_WATCH_H
#define SIM_RING_WATCH_H

#include "record/timeline/ring_format.h"

#include <stdbool.h>
#include <stddef.h>

/* One (process, library, program) that writes rings; its names. */
typedef struct sim_writer {
    int32_t pid;
    uint32_t letter;
    uint32_t program; /* number of the names file: counts the programs that replaced one another (exec) */
    int board;        /* on which board its work runs */
    char **names;
    uint32_t name_size;
    int names_fd;
    char *names_path;
    int64_t names_offset;
    int64_t created_ns; /* of its first ring */
    int64_t dead_ns;    /* when the process was found dead, INT64_MAX: it lives */
} sim_writer;

typedef struct sim_ring {
    char *path;
    const jm_ring_header
        *header; /* NULL: done with, or not yet valid; looked at through base/mapped.h alone */
    size_t mapped;
    uint64_t capacity;
    int64_t created_ns;
    bool done;
    int writer; /* index */
    uint64_t cursor;
    bool announced; /* its beginning was handed over */
    bool broken;    /* records are missing before the next one */
} sim_ring;

typedef struct sim_ring_watch {
    char *run_dir;
    sim_writer *writers;
    int writer_count;
    sim_ring *rings;
    int ring_count;
    int64_t scanned_ns;
    bool waiting; /* a ring was not yet valid */
    uint64_t overtaken;
} sim_ring_watch;

typedef struct sim_record {
    jm_ring_span span;
    int ring;
    uint32_t order;
    bool broken; /* records of this ring are missing before it */
} sim_record;

bool sim_ring_watch_open(sim_ring_watch *watch, const char *run_dir);
void sim_ring_watch_close(sim_ring_watch *watch);

/* Look for new rings; with `deaths`, also which processes are gone. */
void sim_ring_watch_scan(sim_ring_watch *watch, int64_t now_ns, bool deaths);

/* Take the records of one ring up to until_ns into `records` (room for `size`); returns how many.
 * Fewer than `size`: there are no more. The first has the op SIM_RING_OPENED: a thread is there from then on.
 */
#define SIM_RING_OPENED 0
size_t sim_ring_watch_take(sim_ring_watch *watch, int ring, int64_t until_ns, sim_record *records,
                           size_t size);

/* The text of a number of this writer; "" if unknown. */
const char *sim_writer_name(sim_writer *writer, uint32_t number);

/* Nothing more will come of this ring. */
void sim_ring_watch_drop(sim_ring_watch *watch, int ring);

#endif
