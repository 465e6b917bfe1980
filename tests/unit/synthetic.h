/* Recordings of known truth, in memory: kernels or spans with their watts, and what a sensor makes of them.
 * Of the test's own making: it shares no code with the estimator. */
#ifndef TEST_SYNTHETIC_H
#define TEST_SYNTHETIC_H

#include "all_kernels.h"
#include "base/clock.h"
#include "format/dataset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SYN_NAMES = 256, SYN_BOARDS = 4, SYN_IDLE_STEPS = 64 };

static const int64_t syn_idle_step_ns = 500 * JM_NS_PER_MS;

typedef struct synthetic {
    jm__dataset dataset;
    jm_board boards[SYN_BOARDS];
    jm_sensor sensors[2 * SYN_BOARDS];
    all_kernels kernels;
    jm__span *spans;
    jm_reading *readings;
    jm__kernel_class classes[SYN_NAMES];
    double class_w[SYN_NAMES];
    double *kernel_w; /* [capacity]: of each kernel; its class's unless the test has changed it */
    jm__stream streams[SYN_BOARDS];
    jm__process processes[SYN_BOARDS];
    const char *names[SYN_NAMES];
    char texts[SYN_NAMES][48];
    double idle_off_w[SYN_IDLE_STEPS]; /* what the board at rest draws more or less, step by step */
    double idle_w, noise_w, drift_w;   /* drift: first-order noise with a memory of 10 readings */
    double lag_ns, tau_ns;             /* the true ones */
    uint64_t random;
    size_t capacity;
} synthetic;

static inline double syn_uniform(synthetic *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return ((double)(s->random >> 11) + 0.5) / 9007199254740992.0;
}

static inline double syn_normal(synthetic *s)
{
    return sqrt(-2 * log(syn_uniform(s))) * cos(6.283185307179586 * syn_uniform(s));
}

static inline int64_t syn_name(synthetic *s, const char *text)
{
    for (size_t i = 0; i < s->dataset.name_count; i++)
        if (strcmp(s->names[i], text) == 0) return (int64_t)i;
    size_t id = s->dataset.name_count++;
    snprintf(s->texts[id], sizeof s->texts[id], "%s", text);
    s->names[id] = s->texts[id];
    return (int64_t)id;
}

static inline synthetic *syn_create(uint64_t seed, size_t boards, size_t capacity)
{
    synthetic *s = calloc(1, sizeof *s);
    s->kernels.items = calloc(capacity, sizeof *s->kernels.items);
    s->kernel_w = calloc(capacity, sizeof *s->kernel_w);
    s->spans = calloc(capacity, sizeof *s->spans);
    s->readings = calloc(capacity, sizeof *s->readings);
    s->capacity = capacity;
    s->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 88172645463325252u;
    for (int i = 0; i < 20; i++)
        syn_uniform(s);
    s->idle_w = 90;
    s->noise_w = 4;
    s->lag_ns = 3.5e6;
    s->tau_ns = 13e6;
    jm__dataset *d = &s->dataset;
    d->boards = s->boards;
    d->sensors = s->sensors;
    d->kernels = (jm__kernel_source){all_kernels_each, &s->kernels};
    d->spans = s->spans;
    d->readings = s->readings;
    d->classes = s->classes;
    d->streams = s->streams;
    d->processes = s->processes;
    d->names = s->names;
    d->cost = (jm__sampler_cost){-1, -1, -1};
    syn_name(s, "");
    for (size_t b = 0; b < boards; b++) {
        jm_board *board = &s->boards[d->board_count++];
        *board =
            (jm_board){.id = (int64_t)b + 1, .index = (int32_t)b, .backend = "nvml", .name = "Synthetic"};
        snprintf(board->uuid, sizeof board->uuid, "GPU-%zu", b);
        s->sensors[d->sensor_count++] = (jm_sensor){.id = 2 * (int64_t)b + 1,
                                                    .board_id = board->id,
                                                    .name = "power_ring",
                                                    .quantity = JM_QUANTITY_POWER,
                                                    .response = JM_RESPONSE_FIRST_ORDER,
                                                    .period_ns = 20000000,
                                                    .lag_ns = 3500000,
                                                    .lag_u_ns = 500000,
                                                    .tau_ns = 13000000,
                                                    .tau_u_ns = 1000000,
                                                    .noise = 4};
        s->sensors[d->sensor_count++] = (jm_sensor){.id = 2 * (int64_t)b + 2,
                                                    .board_id = board->id,
                                                    .name = "energy_counter",
                                                    .quantity = JM_QUANTITY_ENERGY,
                                                    .response = JM_RESPONSE_COUNTER,
                                                    .period_ns = 100000000,
                                                    .lag_u_ns = 1000000,
                                                    .noise = 0.1};
        s->streams[d->stream_count++] =
            (jm__stream){.id = (int64_t)b + 1, .process_id = 100 + (int64_t)b, .board_id = board->id};
        s->processes[d->process_count++] = (jm__process){
            .id = 100 + (int64_t)b, .pid = 100 + (int64_t)b, .rank = -1, .command = "synthetic"};
    }
    return s;
}

static inline void syn_free(synthetic *s)
{
    free(s->kernels.items);
    free(s->kernel_w);
    free(s->spans);
    free(s->readings);
    free(s);
}

static inline int64_t syn_class(synthetic *s, const char *name, uint32_t grid, double power_w)
{
    size_t i = s->dataset.class_count++;
    s->classes[i] = (jm__kernel_class){.id = (int64_t)i + 1,
                                       .name_id = syn_name(s, name),
                                       .work = JM_WORK_KERNEL,
                                       .grid = {grid, 1, 1},
                                       .block = {128, 1, 1}};
    s->class_w[i] = power_w;
    return (int64_t)i + 1;
}

static inline int64_t syn_span(synthetic *s, jm_span_kind kind, const char *name, const char *type,
                               int64_t parent, int64_t start_ns, int64_t end_ns, int64_t process_id)
{
    size_t i = s->dataset.span_count++;
    s->spans[i] = (jm__span){.id = (int64_t)i + 1,
                             .process_id = process_id,
                             .thread_id = process_id,
                             .parent_id = parent,
                             .start_ns = start_ns,
                             .end_ns = end_ns,
                             .name_id = syn_name(s, name),
                             .type_id = syn_name(s, type),
                             .kind = kind};
    return (int64_t)i + 1;
}

static inline void syn_kernel(synthetic *s, int64_t class_id, size_t board, int64_t span_id, int64_t start_ns,
                              int64_t end_ns)
{
    s->kernel_w[s->kernels.count] = s->class_w[class_id - 1];
    s->kernels.items[s->kernels.count++] = (jm__kernel_run){.start_ns = start_ns,
                                                            .end_ns = end_ns,
                                                            .class_id = class_id,
                                                            .stream_id = (int64_t)board + 1,
                                                            .span_id = span_id,
                                                            .launch_ns = start_ns,
                                                            .calls = 1};
}

/* The true energy of a class on all boards within [from, to]. */
static inline double syn_energy_j(const synthetic *s, int64_t class_id, int64_t from_ns, int64_t to_ns)
{
    double sum_j = 0;
    for (size_t i = 0; i < s->kernels.count; i++) {
        const jm__kernel_run *k = &s->kernels.items[i];
        int64_t from = k->start_ns > from_ns ? k->start_ns : from_ns,
                to = k->end_ns < to_ns ? k->end_ns : to_ns;
        if (k->class_id == class_id && to > from) sum_j += (double)(to - from) * 1e-9 * s->kernel_w[i];
    }
    return sum_j;
}

/* What the board draws at rest, and when that changes next. */
static inline double syn_idle_w(const synthetic *s, int64_t t_ns, int64_t *until_ns)
{
    int64_t step = t_ns / syn_idle_step_ns - (t_ns % syn_idle_step_ns < 0);
    *until_ns = (step + 1) * syn_idle_step_ns;
    return s->idle_w + s->idle_off_w[(size_t)(step % SYN_IDLE_STEPS + SYN_IDLE_STEPS) % SYN_IDLE_STEPS];
}

/* The power of board b at `now`, constant until *until, which it brings forward; *next: the kernel that runs
 * or comes. */
static inline double syn_power_w(const synthetic *s, size_t b, int64_t now, size_t *next, int64_t *until)
{
    while (*next < s->kernels.count &&
           (s->kernels.items[*next].end_ns <= now || s->kernels.items[*next].stream_id != (int64_t)b + 1))
        (*next)++;
    const jm__kernel_run *k = *next < s->kernels.count ? &s->kernels.items[*next] : NULL;
    int64_t changes = INT64_MAX;
    double power_w = k != NULL && k->start_ns <= now ? s->kernel_w[*next] : syn_idle_w(s, now, &changes);
    if (k != NULL && k->start_ns <= now) changes = k->end_ns;
    if (k != NULL && k->start_ns > now && k->start_ns < changes) changes = k->start_ns;
    if (changes < *until) *until = changes;
    return power_w;
}

/* The true energy of a board within [from, to]. */
static inline double syn_total_j(const synthetic *s, size_t b, int64_t from_ns, int64_t to_ns)
{
    double sum_j = 0;
    size_t next = 0;
    while (from_ns < to_ns) {
        int64_t until = to_ns;
        double power_w = syn_power_w(s, b, from_ns, &next, &until);
        sum_j += power_w * (double)(until - from_ns) * 1e-9;
        from_ns = until;
    }
    return sum_j;
}

/* Ring every 20 ms and counter every 5 s and at the ends, from kernels that do not overlap and are sorted on
 * each board. Exact for power that is constant between changes. */
static inline void syn_measure(synthetic *s, size_t b, int64_t start_ns, int64_t end_ns)
{
    double state = s->idle_w, drift = 0, joules = 1000, gain = 1 - exp(-0.1);
    size_t next = 0;
    int64_t now = start_ns - 1000000000;
    jm__dataset *d = &s->dataset;
    int64_t lag = (int64_t)s->lag_ns;
    for (int64_t t = start_ns; t <= end_ns + 100000000; t += 20000000) {
        while (now < t - lag) { /* filter state up to t - lag */
            int64_t until = t - lag;
            double power_w = syn_power_w(s, b, now, &next, &until);
            double keep = exp(-(double)(until - now) / s->tau_ns);
            state = state * keep + power_w * (1 - keep);
            now = until;
        }
        drift = drift * (1 - gain) + s->drift_w * sqrt(1 - (1 - gain) * (1 - gain)) * syn_normal(s);
        s->readings[d->reading_count++] =
            (jm_reading){2 * (int64_t)b + 1, t, state + drift + s->noise_w * syn_normal(s)};
    }
    for (int64_t at = start_ns, last = start_ns;; at += 5000000000) { /* the counter: exact at its stamps */
        int64_t until = at < end_ns ? at : end_ns;
        joules += syn_total_j(s, b, last, until);
        s->readings[d->reading_count++] = (jm_reading){2 * (int64_t)b + 2, until, joules};
        last = until;
        if (until == end_ns) break;
    }
    d->start_ns = start_ns;
    d->end_ns = end_ns;
}

/* By time, as a dataset has them; stable for one sensor since no two of its readings have the same stamp. */
static inline int syn_by_time(const void *a, const void *b)
{
    const jm_reading *left = a, *right = b;
    if (left->t_ns != right->t_ns) return left->t_ns < right->t_ns ? -1 : 1;
    return (left->sensor_id > right->sensor_id) - (left->sensor_id < right->sensor_id);
}

static inline void syn_finish(synthetic *s)
{
    qsort(s->readings, s->dataset.reading_count, sizeof *s->readings, syn_by_time);
}

/* Random work of `classes` classes back to back with gaps, from start to end on one board. Durations are
 * 0.2-20 ms; the mix changes every half second, as in real programs. */
static inline void syn_random_work(synthetic *s, size_t b, int64_t first_class, size_t classes,
                                   int64_t span_id, int64_t start_ns, int64_t end_ns)
{
    int64_t now = start_ns, mix_until = start_ns;
    double weight[16], sum = 0;
    while (now < end_ns && s->kernels.count + 2 < s->capacity) {
        if (now >= mix_until) {
            sum = 0;
            for (size_t c = 0; c < classes; c++)
                sum += weight[c] = pow(syn_uniform(s), 3) + 0.02;
            mix_until += 500000000;
        }
        double pick = syn_uniform(s) * sum;
        size_t c = 0;
        while (c + 1 < classes && (pick -= weight[c]) > 0)
            c++;
        int64_t length = (int64_t)(0.2e6 * pow(100, syn_uniform(s)));
        if (now + length > end_ns) break;
        syn_kernel(s, first_class + (int64_t)c, b, span_id, now, now + length);
        now += length + (int64_t)(3e6 * pow(syn_uniform(s), 4));
    }
}

#endif
