/* A run from the inside. Locks, in the order in which they are taken: `writer_lock`, then the queue's. */
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

/* ---- What the threads of the samplers hand to the writer's: bounded, so that a disk that stands still does
 * not eat the memory. Off the program's path; a mutex held for a copy is all it needs. */

/* Eight boards with 150 readings a second each (docs/sensors.md) fill it in 14 minutes: 25 MB. */
#define JM_QUEUE_READINGS_MAX ((size_t)1 << 20)
/* Events are rare, anchors come once a second: four hours of them. */
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
    int64_t lost_samples; /* of counters */
} jm__run_rows;

typedef struct jm__run_queue {
    pthread_mutex_t lock;
    jm__run_rows rows;
} jm__run_queue;

void jm__run_queue_init(jm__run_queue *queue);
void jm__run_queue_free(jm__run_queue *queue);

void jm__run_queue_add_readings(jm__run_queue *queue, const jm_reading *readings, size_t count);
void jm__run_queue_add_event(jm__run_queue *queue, const jm__event *event);
void jm__run_queue_add_anchor(jm__run_queue *queue, const jm__anchor *anchor);
void jm__run_queue_add_counter_block(jm__run_queue *queue, const jm__counter_block *block);
void jm__run_queue_add_fact(jm__run_queue *queue, const char *key, const char *value);

/* Exchange what waits for `rows`, which must be empty: its memory is used next. */
void jm__run_queue_swap(jm__run_queue *queue, jm__run_rows *rows);
void jm__run_rows_clear(jm__run_rows *rows);
void jm__run_rows_free(jm__run_rows *rows);

/* ---- Facts about a run for the table `meta`: which machine, which command. */

/* `command` NULL: that of this process. */
void jm__run_facts_write(jm__writer *writer, const char *command);

/* What was found of each library and interface, and what was missing. */
void jm__run_facts_write_findings(jm__writer *writer, const jm_inventory *inventory);

void jm__run_facts_write_number(jm__writer *writer, const char *key, int64_t value);

/* ---- The run. */

/* A library of another process that records into this run. */
typedef struct jm__followed {
    pid_t pid;
    char writer;
    int line; /* to its socket: when it breaks, one of us has ended */
} jm__followed;

enum { JM_RUN_BURST_MARKS = 5, JM_RUN_STRANGERS = 16 };

struct jm_run {
    pid_t owner; /* in a forked child the run is dead: no thread came along */
    bool attached;
    bool dormant;       /* attached, but there is no recorder, or not yet: this program was started dormant */
    _Atomic bool waits; /* it is dormant, and was not stopped */
    _Atomic bool stopped; /* the stop has begun; `ended`: it is done */
    bool has_rings;       /* this process's spans go into this run */
    char *path;           /* absolute; NULL: in memory, or an attached run's parent keeps it in memory */
    jm__run_folder folder;
    char **environment;
    jm__sampler *sampler;
    jm__collector *collector; /* NULL without rings */
    jm__run_queue queue;
    jm__run_rows taken;          /* the writer thread's half of the queue */
    pthread_mutex_t writer_lock; /* the writer and the list of boards */
    jm__writer *writer;
    JM_VEC(jm_board) boards; /* that the sampler told of */
    bool refused;            /* there was no memory for a board or a sensor */
    jm_recording *recording;
    jm__counter_source *counters;      /* NULL: none are sampled */
    JM_VEC(int64_t) boards_of_streams; /* by the stream's number - 1; of the writer's thread */
    int64_t
        burst_marks[JM_RUN_BURST_MARKS]; /* names of marks that say when work is traced, 0: not yet told */

    void (*flush_kernels)(void); /* of the injected library in this process; NULL if it is not there */
    void (*stop_kernels)(void);
    int (*trace_kernels)(int on);
    int (*kernels_busy)(void);
    bool kernels_unmarked;     /* it did not do as it was told last */
    char kernels_missing[512]; /* why kernels that were asked for are not traced; "": they are */

    JM_VEC(jm__followed) followed;
    pid_t strangers[JM_RUN_STRANGERS]; /* that were told of; of the writer's thread */
    size_t stranger_count;
    jm__strbuf sockets; /* that dormant programs listen at, of then */
    int64_t sockets_ns;

    pthread_t thread;
    bool thread_started;
    pthread_mutex_t lock; /* what follows */
    pthread_cond_t changed;
    bool stop;            /* the writer's thread is to end */
    bool ended;           /* nothing more will be committed; `failure` is that of the last of it */
    int64_t requested_ns; /* somebody waits until all before this is committed */
    int64_t complete_ns;  /* all before this is committed */
    jm_error failure;     /* of the last commit, JM_OK if it worked */
};

jm__sampler_sink jm__run_sampler_sink(jm_run *run);
jm__collector_sink jm__run_collector_sink(jm_run *run);

/* A forked child has a copy of the run, whose threads did not come along. */
static inline bool jm__run_is_foreign(const jm_run *run)
{
    return run->owner != getpid();
}

/* Empty queue and rings into the writer. Returns how many records came from the rings. */
size_t jm__run_take_rows(jm_run *run);

/* What rings still hold when all has ended. */
void jm__run_take_last(jm_run *run);

/* The writer's thread; its argument is the run. */
void *jm__run_write(void *context);

/* Trace the kernels of this very process. What stands in the way becomes an event; NOT_SUPPORTED if they are
 * required. */
jm_status jm__run_kernels_start(jm_run *run, bool required, jm_error *err);

/* NVTX ranges of this process without its kernels; none where the library is not there. */
void jm__run_ranges_start(jm_run *run);

/* A run begins with everything, whatever an earlier one of this process left behind in the recorder above. */
void jm__run_trace_begin(jm_run *run);

/* Nothing is left of what was said: everything is traced. */
void jm__run_trace_end(void);

/* A dormant run begins to wait for recorders, or is over, be it told so more than once. */
void jm__run_wait(jm_run *run, bool wait);

/* USAGE: it is no share of the time. */
jm_status jm__budget_check(double share, jm_error *err);

/* Trace this process's steps within that share of its time from now on; 0: no budget. */
void jm__budget_start(jm_run *run, double share);

/* Do so no longer; the level stays. Nothing happens if the budget is another run's. */
void jm__budget_leave(jm_run *run);

/* The same at the end of a run, and say what it came to. */
void jm__budget_end(jm_run *run);

/* Sample the hardware counters of the boards, as far as it is wanted. What stands in the way becomes an
 * event, unless nobody asked and nothing lacks them. */
void jm__run_counters_start(jm_run *run, const jm_run_options *options);

/* An event that is of one process; with writer_lock held. */
void jm__run_tell_of_process(jm_run *run, jm_event_kind kind, int64_t pid, const char *text);

/* What the collector's rows tell the duty cycle; with writer_lock held. */
void jm__run_counters_saw_name(jm_run *run, int64_t name_id, const char *text);
void jm__run_counters_saw_mark(jm_run *run, const jm__mark *mark);
void jm__run_counters_saw_stream(jm_run *run, const jm__stream *stream);
void jm__run_counters_saw_kernels(jm_run *run, const jm__kernel *kernels, size_t count);

/* All processes that were called into this run leave it; their records are in the rings then. */
void jm__run_let_go(jm_run *run);

/* Environment for children; run->environment. */
jm_status jm__run_environment_make(jm_run *run, const jm_run_options *options, jm_error *err);

#endif
