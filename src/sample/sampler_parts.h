/* What sampler.c (thread, schedule, life) and sampler_boards.c share. All on the sampler's thread, or before
 * there is one. */
#ifndef JM_SAMPLE_SAMPLER_PARTS_H
#define JM_SAMPLE_SAMPLER_PARTS_H

#include "base/clock.h"
#include "sample/channel.h"
#include "sample/inventory.h"
#include "sample/sampler.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct sampled_board {
    int64_t id;
    bool lost;
    int64_t retry_ns;
    int64_t pause_ns; /* before it */
    int64_t lost_ns;  /* when it was lost last, or tried in vain */
    size_t first_channel, channel_count;
    char who[256]; /* uses it: pids */
} sampled_board;

struct jm__sampler {
    jm_inventory *inventory;
    jm__sampler_sink sink;
    sampled_board *boards;
    size_t board_count;
    jm__channel *channels;
    size_t channel_count;
    jm__channel_context context;
    jm__sampler_cost cost; /* the thread's own; published below */
    bool begun;            /* the first edge readings are in */
    jm__anchor anchor;     /* the newest */
    int64_t anchor_due_ns;
    int64_t who_due_ns;
    unsigned fork_generation;

    pthread_t thread;
    bool thread_runs;
    pthread_mutex_t lock; /* guards what follows, up to the atomics */
    pthread_cond_t wake;  /* the thread: something is wanted */
    pthread_cond_t done;  /* waiters: an edge is done */
    int64_t kick_ns, kick_edge_ns;
    int64_t stop_ns; /* 0: go on */
    bool edge_awaited;

    _Atomic int64_t fresh_ns;
    _Atomic int64_t cpu_ns, calls, call_ns;
};

void jm__sampler_event(const jm__sampler *sampler, jm_event_kind kind, int64_t board_id, double value,
                       const char *text);

/* Tell the sink of a board and its sensors; those that work become channels. */
void jm__sampler_announce(jm__sampler *sampler, size_t number, int64_t now_ns);

/* What is in the machine and will not be in the recording. */
void jm__sampler_tell_absent(const jm__sampler *sampler);

/* Nothing to sample at all: say what NVML said. */
jm_status jm__sampler_no_board(const jm_inventory *inventory, jm_error *err);

/* Read a channel that is due; its board may be lost by that, or found again. */
void jm__sampler_serve(jm__sampler *sampler, jm__channel *channel);

/* Now and then: who else uses a board. */
void jm__sampler_tell_who(jm__sampler *sampler);

#endif
