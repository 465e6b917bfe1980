/* Generated recordings of four programs in which the power of a kind of work varies by layer, phase, the
 * kernel before it, and slow states of the board. Built on synthetic.h, so no code is shared with the
 * estimator. */
#ifndef TEST_PROGRAMS_H
#define TEST_PROGRAMS_H

#include "synthetic.h"

enum { PROG_KINDS = 8, PROG_LAYERS = 6, PROG_PHASES = 3, PROG_STATES = 64 };

/* The causes of variation of a kind's power. */
typedef enum prog_cause {
    BY_LAYER_CAUSE,
    BY_PHASE_CAUSE,
    BY_NEIGHBOUR_CAUSE,
    BY_TIME_CAUSE,
    CAUSES
} prog_cause;

typedef struct program_run {
    synthetic *s;
    double spread;                               /* of a kind's power, relative, standard deviation */
    double weight[CAUSES];                       /* their squares add up to 1 */
    double off[CAUSES][PROG_KINDS][PROG_STATES]; /* normal, variance 1 */
    int64_t layer_span[PROG_LAYERS], state_until;
    int kinds, layers, phase, state, before;
    int64_t now, end;
} program_run;

/* One kernel of `kind` in `layer`, then a gap. */
static inline void prog_issue(program_run *p, int kind, int layer, double length_ms, double gap_ms)
{
    synthetic *s = p->s;
    int64_t length = (int64_t)(1e6 * length_ms * (1 + 0.02 * syn_normal(s)));
    if (p->now + length > p->end || s->kernels.count + 2 > s->capacity) {
        p->now = p->end;
        return;
    }
    while (p->now >= p->state_until) {
        p->state = (p->state + 1) % PROG_STATES;
        p->state_until += (int64_t)(3e8 * pow(10, syn_uniform(s)));
    }
    const int key[CAUSES] = {layer, p->phase, p->before, p->state};
    double off = 0;
    for (int c = 0; c < CAUSES; c++)
        off += p->weight[c] * p->off[c][kind][key[c]];
    syn_kernel(s, kind + 1, 0, p->layer_span[layer], p->now, p->now + length);
    s->kernel_w[s->kernels.count - 1] *= fmax(0.1, 1 + p->spread * off);
    p->before = kind;
    p->now += length + (int64_t)(1e6 * gap_ms);
}

static inline void prog_mix(program_run *p)
{
    synthetic *s = p->s;
    double weight[PROG_KINDS], sum = 0;
    int layer = (int)(syn_uniform(s) * p->layers);
    for (int k = 0; k < p->kinds; k++)
        sum += weight[k] = pow(syn_uniform(s), 3) + 0.02;
    int64_t until = p->now + (int64_t)(6e7 * pow(5, syn_uniform(s)));
    while (p->now < until && p->now < p->end) {
        double pick = syn_uniform(s) * sum;
        int k = 0;
        while (k + 1 < p->kinds && (pick -= weight[k]) > 0)
            k++;
        prog_issue(p, k, layer, 0.2 * pow(50, syn_uniform(s)), 3 * pow(syn_uniform(s), 4));
    }
}

/* Inference of a transformer: always the same order, sometimes a pause for data. */
static inline void prog_transformer(program_run *p)
{
    static const struct {
        int kind;
        double ms;
    } block[] = {{0, 0.25}, {1, 1.2}, {2, 0.8}, {3, 0.5}, {0, 0.25}, {4, 1.5}, {5, 0.4}, {6, 1.5}};
    for (int layer = 0; layer < p->layers; layer++) {
        p->phase = layer % 2;
        for (size_t i = 0; i < sizeof block / sizeof *block; i++)
            prog_issue(p, block[i].kind, layer, block[i].ms, 0.004);
    }
    prog_issue(p, 7, p->layers - 1, 4, 0.5 + 2 * syn_uniform(p->s));
    if (syn_uniform(p->s) < 0.03) p->now += (int64_t)(1e8 * (1 + 2 * syn_uniform(p->s)));
}

/* Training: short kernels with gaps; forward, backward and the optimizer each have a mix of their own. */
static inline void prog_train(program_run *p)
{
    enum { DEPTH = 12 };
    p->phase = 0;
    for (int d = 0; d < DEPTH; d++)
        for (int i = 0; i < 6; i++)
            prog_issue(p, i % 4, d * p->layers / DEPTH, 0.08 + 0.05 * i, 0.012);
    p->phase = 1;
    for (int d = DEPTH; d-- > 0;)
        for (int i = 0; i < 9; i++)
            prog_issue(p, i % 3 == 2 ? 4 : i % 4, d * p->layers / DEPTH, 0.1 + 0.03 * i, 0.01);
    p->phase = 2;
    for (int i = 0; i < 40; i++)
        prog_issue(p, i % 4 == 3 ? 6 : 5, i * p->layers / 40, 0.06, 0.01);
    p->now += (int64_t)(3e6 * (1 + 0.3 * syn_uniform(p->s)));
}

/* Decoding: the board waits for its host most of the time, and for requests. */
static inline void prog_decode(program_run *p)
{
    int tokens = 30 + (int)(120 * syn_uniform(p->s));
    for (int t = 0; t < tokens && p->now < p->end; t++) {
        p->phase = t > 0;
        double longer = t == 0 ? 30 : 1;
        for (int layer = 0; layer < p->layers; layer++)
            for (int i = 0; i < 5; i++)
                prog_issue(p, i, layer, longer * (0.03 + 0.02 * (i * 3 % 5)), 0.1 + 0.08 * syn_uniform(p->s));
        prog_issue(p, 5, p->layers - 1, 0.3, 2 + 4 * syn_uniform(p->s));
    }
    p->now += (int64_t)(5e7 * pow(10, syn_uniform(p->s)));
}

typedef struct prog_kind {
    const char *name;
    int kinds, layers;
    void (*round)(program_run *p);
} prog_kind;

static const prog_kind programs[] = {
    {"mix", 8, 4, prog_mix},
    {"transformer", 8, 6, prog_transformer},
    {"training", 7, 4, prog_train},
    {"decoding", 6, 4, prog_decode},
};

enum { PROGRAMS = sizeof programs / sizeof *programs };

/* One cause alone, or all of them; drawn for each recording. */
static inline void prog_draw_causes(program_run *p)
{
    int only = (int)(syn_uniform(p->s) * (CAUSES + 1));
    for (int c = 0; c < CAUSES; c++) {
        p->weight[c] = only == CAUSES ? 1 / sqrt(CAUSES) : c == only;
        for (int k = 0; k < PROG_KINDS; k++)
            for (int i = 0; i < PROG_STATES; i++)
                p->off[c][k][i] = syn_normal(p->s);
    }
}

typedef struct prog_options {
    const prog_kind *which;
    double spread;      /* of a kind's power, relative */
    double idle_spread; /* of the board's idle power, from one half second to the next; relative */
    double seconds;     /* of the program */
    double rest_s;      /* after it */
    uint64_t seed;
} prog_options;

/* The sensor's response differs from its profile by 1.2 of the profile's uncertainty; its noise drifts. */
static inline synthetic *prog_make(prog_options options)
{
    const prog_kind *which = options.which;
    double seconds = options.seconds;
    synthetic *s = syn_create(options.seed, 1, (size_t)(seconds * 12000));
    program_run p = {.s = s, .spread = options.spread, .kinds = which->kinds, .layers = which->layers};
    int64_t start = 10 * JM_NS_PER_S;
    s->lag_ns += 1.2 * 0.5e6 * syn_normal(s);
    s->tau_ns += 1.2 * 1e6 * syn_normal(s);
    s->drift_w = 3 * syn_uniform(s);
    p.now = p.state_until = start + JM_NS_PER_S;
    p.end = start + (int64_t)(seconds * 1e9);
    for (int k = 0; k < p.kinds; k++) {
        char name[16];
        snprintf(name, sizeof name, "kind%d", k);
        syn_class(s, name, 8, 550 * fmax(0.3, 1 + 0.3 * syn_normal(s)));
    }
    /* A phase with a step with nearly all of the work. */
    int64_t phase = syn_span(s, JM_SPAN_PHASE, "run", "", 0, start + JM_NS_PER_S, p.end, 100);
    int64_t step = syn_span(s, JM_SPAN_STEP, "step", "", phase, start + JM_NS_PER_S, p.end, 100);
    int64_t net = syn_span(s, JM_SPAN_FORWARD, "net", "Net", step, start + JM_NS_PER_S, p.end, 100);
    for (int l = 0; l < p.layers; l++) {
        char name[16];
        snprintf(name, sizeof name, "net.%d", l);
        p.layer_span[l] = syn_span(s, JM_SPAN_FORWARD, name, "Part", net, start + JM_NS_PER_S, p.end, 100);
    }
    prog_draw_causes(&p);
    while (p.now < p.end)
        which->round(&p);
    for (int i = 0; i < SYN_IDLE_STEPS && options.idle_spread > 0; i++)
        s->idle_off_w[i] = s->idle_w * options.idle_spread * fmax(-3, fmin(3, syn_normal(s)));
    syn_measure(s, 0, start, p.end + (int64_t)(options.rest_s * 1e9));
    double gain = 1 + 0.003 * syn_normal(s); /* of the counter against the ring: docs/accuracy.md */
    for (size_t i = 0; i < s->dataset.reading_count; i++)
        if (s->readings[i].sensor_id == 2) s->readings[i].value *= gain;
    syn_finish(s);
    return s;
}

static inline synthetic *prog_record(const prog_kind *which, double spread, uint64_t seed, double seconds)
{
    return prog_make(
        (prog_options){.which = which, .spread = spread, .seconds = seconds, .rest_s = 1, .seed = seed});
}

/* True energy of a kind (0: any) in a layer's span (0: any). */
static inline double prog_truth_j(const synthetic *s, int64_t class_id, int64_t span_id)
{
    double sum_j = 0;
    for (size_t i = 0; i < s->kernels.count; i++) {
        const jm__kernel_run *k = &s->kernels.items[i];
        if ((class_id == 0 || k->class_id == class_id) && (span_id == 0 || k->span_id == span_id))
            sum_j += (double)(k->end_ns - k->start_ns) * 1e-9 * s->kernel_w[i];
    }
    return sum_j;
}

#endif
