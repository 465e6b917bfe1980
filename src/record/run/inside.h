/* Internals of a run. Order of locks: `writer_lock`, then the queue's. */
#ifndef JM_RECORD_RUN_INSIDE_H
#define JM_RECORD_RUN_INSIDE_H

#include "base/strbuf.h"
#include "format/batch.h"
#include "format/rows/rows.h"
#include "format/writer.h"
#include "record/counters/source.h"
#include "record/run/folder.h"
#include "record/sample/sampler.h"
#include "record/timeline/collector.h"

#include <joulemap/run.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

/* ---- Rows from the samplers' threads to the writer's thread: bounded, so that a hanging disk does not use
 * up memory. Off the program's path, so a mutex held for a copy is enough. */

/* Eight boards with 150 readings a second each (docs/sensors.md) fill it in 14 minutes: 25 MB. */
#define JM_QUEUE_READINGS_MAX ((size_t)1 << 20)
/* Events are rare, anchors come once a second: four hours. */
#define JM_QUEUE_EVENTS_MAX ((size_t)1 << 14)
/* A thousand samples a second of 19 counters are 170 kB: six minutes of a board. */
#define JM_QUEUE_COUNTERS_BYTES ((size_t)64 << 20)

typedef struct jm__run_rows {
    jm__readings readings;
    JM_VEC(jm__event) events;
    JM_VEC(jm__anchor) anchors;
    JM_VEC(jm__counter_block) counter_blocks; /* own their data */
    JM_VEC(jm__meta) facts;                   /* own their texts */
    size_t counter_bytes;
    int64_t lost_readings;
    int64_t lost_events;
    int64_t lost_samples; /* counter samples */
} jm__run_rows;

typedef struct jm__run_queue {
    pthread_mutex_t lock;
    jm__run_rows rows;
} jm__run_queue;

/* Functions of sinks, whose context is the run. */
void jm__run_queue_readings(void *run, const jm_reading *readings, size_t count);
void jm__run_queue_event(void *run, const jm__event *event);
void jm__run_queue_anchor(void *run, const jm__anchor *anchor);
void jm__run_queue_counter_block(void *run, const jm__counter_block *block);
void jm__run_queue_fact(void *run, const char *key, const char *value);

/* Swaps the waiting rows with `rows`, which must be empty; its memory is reused. */
void jm__run_queue_swap(jm__run_queue *queue, jm__run_rows *rows);
void jm__run_rows_clear(jm__run_rows *rows);
void jm__run_rows_free(jm__run_rows *rows);

/* ---- Properties of a run for the table `meta`: machine and command. */

/* `command` NULL: that of this process. */
void jm__run_facts_write(jm__writer *writer, const char *command);

/* Writes which libraries and interfaces were found or missing. */
void jm__run_facts_write_findings(jm__writer *writer, const jm_inventory *inventory);

void jm__run_facts_write_number(jm__writer *writer, const char *key, int64_t value);

/* ---- The run. */

/* A library of another process that records into this run. */
typedef struct jm__followed {
    pid_t pid;
    char writer;
    int line; /* link to its socket; it breaks when either side ends */
} jm__followed;

enum { JM_RUN_STRANGERS = 16 };

struct jm_run {
    pid_t owner; /* in a forked child the run is unusable: its threads were not copied */
    bool attached;
    bool dormant;         /* attached without a recorder so far: this program was started dormant */
    _Atomic bool waits;   /* dormant and not stopped */
    _Atomic bool stopped; /* the stop has begun; `ended`: it has finished */
    bool has_rings;       /* spans of this process go into this run */
    char *path;           /* absolute; NULL: in memory, also that of an attached run's recorder */
    jm__run_folder folder;
    char **environment;
    jm__sampler *sampler;
    jm__collector *collector; /* NULL without rings */
    jm__run_queue queue;
    jm__run_rows taken;          /* the rows that the writer's thread works on */
    pthread_mutex_t writer_lock; /* protects the writer and the list of boards */
    jm__writer *writer;
    JM_VEC(jm_board) boards; /* from the sampler */
    bool refused;            /* a board or sensor found no memory */
    jm_recording *recording;
    jm__counter_source *counters; /* NULL: not sampled */

    void (*flush_kernels)(void); /* of the injected library in this process; NULL if missing */
    void (*stop_kernels)(void);
    int (*trace_kernels)(int on);
    int (*kernels_busy)(void);
    bool kernel_switch_failed; /* its last switching failed */
    char kernels_missing[512]; /* why requested kernels are not traced; "": they are */

    JM_VEC(jm__followed) followed;
    pid_t strangers[JM_RUN_STRANGERS]; /* reported processes of other users; for the writer's thread */
    size_t stranger_count;
    jm__strbuf sockets; /* sockets of dormant programs, as of sockets_ns */
    int64_t sockets_ns;

    pthread_t thread;
    bool thread_started;
    pthread_mutex_t lock; /* protects the following members */
    pthread_cond_t changed;
    bool stop;            /* the writer's thread should end */
    bool ended;           /* no more commits; `failure` is the result of the last one */
    int64_t requested_ns; /* a caller waits until everything before it is committed */
    int64_t complete_ns;  /* everything before it is committed */
    jm_error failure;     /* of the last commit, JM_OK on success */
};

jm__sampler_sink jm__run_sampler_sink(jm_run *run);
jm__collector_sink jm__run_collector_sink(jm_run *run);

/* Is this a forked child's copy of the run, without its threads? */
static inline bool jm__run_is_foreign(const jm_run *run)
{
    return run->owner != getpid();
}

/* Moves queue and rings into the writer. Returns the number of records from rings. */
size_t jm__run_take_rows(jm_run *run);

/* Takes the rest of the rings after everything has ended. */
void jm__run_take_last(jm_run *run);

/* The writer's thread; its argument is the run. */
void *jm__run_write(void *context);

/* Traces the kernels of this process. Obstacles become an event; NOT_SUPPORTED if kernels are required. */
jm_status jm__run_kernels_start(jm_run *run, bool required, jm_error *err);

/* Records NVTX ranges of this process without its kernels; nothing without the library. */
void jm__run_ranges_start(jm_run *run);

/* Begins with everything traced, whatever an earlier run of this process has set in the recorder above. */
void jm__run_trace_begin(jm_run *run);

/* Forgets all settings: everything is traced. */
void jm__run_trace_reset(void);

/* A dormant run begins to wait for recorders, or has ended; repeated calls have no effect. */
void jm__run_wait(jm_run *run, bool wait);

/* USAGE: not a share of the time. */
jm_status jm__budget_check(double share, jm_error *err);

/* Traces this process's steps within that share of its time from now on; 0: no budget. */
void jm__budget_start(jm_run *run, double share);

/* Ends the budget; the level stays. No effect on another run's budget. */
void jm__budget_leave(jm_run *run);

/* The same at the end of a run, with a mark of the result. */
void jm__budget_end(jm_run *run);

/* Samples the boards' hardware counters as requested. Obstacles become an event if counters were requested or
 * needed. */
void jm__run_counters_start(jm_run *run, const jm_run_options *options);

/* Writes an event of one process; with writer_lock held. */
void jm__run_report_process(jm_run *run, jm_event_kind kind, int64_t pid, const char *text);

/* Releases all processes that were called into this run; their records are in the rings then. */
void jm__run_release_followed(jm_run *run);

/* Fills run->environment for children. */
jm_status jm__run_environment_make(jm_run *run, const jm_run_options *options, jm_error *err);

#endif
