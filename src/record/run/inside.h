/* A run from the inside. Locks, in the order in which they are taken: `writer_lock`, then the queue's. */
#ifndef JM_RECORD_RUN_INSIDE_H
#define JM_RECORD_RUN_INSIDE_H

#include "base/strbuf.h"
#include "format/writer.h"
#include "record/counters/source.h"
#include "record/run/folder.h"
#include "record/run/queue.h"
#include "record/run/row_sink.h"
#include "record/sample/sampler.h"
#include "record/timeline/collector.h"

#include <joulemap/run.h>
#include <sys/types.h>
#include <unistd.h>

/* A library of another process that records into this run. */
typedef struct jm__followed {
    pid_t pid;
    char writer;
    int line; /* to its socket: when it breaks, one of us has ended */
} jm__followed;

enum { JM_RUN_TURN_MARKS = 5, JM_RUN_STRANGERS = 16 };

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
    pthread_mutex_t writer_lock; /* the sinks and the list of boards */
    jm__writer *writer;
    jm__sinks sinks;         /* the writer is the first */
    JM_VEC(jm_board) boards; /* that the sampler told of */
    bool refused;            /* there was no memory for a board or a sensor */
    jm_recording *recording;
    jm__counter_source *counters;          /* NULL: none are sampled */
    JM_VEC(int64_t) boards_of_streams;     /* by the stream's number - 1; of the writer's thread */
    int64_t turn_marks[JM_RUN_TURN_MARKS]; /* names of marks that say when work is traced, 0: not yet told */

    void (*flush_kernels)(void); /* of the injected library in this process; NULL if it is not there */
    void (*stop_kernels)(void);
    int (*trace_kernels)(int on);
    int (*kernels_busy)(void);
    bool kernels_untold;       /* it did not do as it was told last */
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
    bool stop;           /* the writer's thread is to end */
    bool ended;          /* nothing more will be committed; `failure` is that of the last of it */
    int64_t wanted_ns;   /* somebody waits until all before this is committed */
    int64_t complete_ns; /* all before this is committed */
    jm_error failure;    /* of the last commit, JM_OK if it worked */
};

jm__sampler_sink jm__run_sampler_sink(jm_run *run);
jm__collector_sink jm__run_collector_sink(jm_run *run);

/* jm_run_start, with sinks beside the recording. They must stand until the run is free; an attached run tells
 * them nothing. LIMIT: they are too many. */
jm_status jm__run_start_with(jm_run **out, const jm_run_options *options, const jm__row_sink *more,
                             size_t count, jm_error *err);

/* A forked child has a copy of the run, whose threads did not come along. */
static inline bool jm__run_is_foreign(const jm_run *run)
{
    return run->owner != getpid();
}

/* Empty queue and rings into the sinks. Returns how many records came from the rings. */
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

/* Go without them, or with them again. False: kernels were traced, and cannot be again. */
bool jm__run_kernels_trace(jm_run *run, bool on);

/* The injected library of this process, which a driver may have loaded meanwhile, for the recorder above. */
void jm__run_kernels_find(jm_run *run);

/* A start or a stop is under way in it, for which jm__run_kernels_trace would wait. */
bool jm__run_kernels_are_busy(const jm_run *run);

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
