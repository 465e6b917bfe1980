/* Programs of which one turn of steps in N is traced, with all that they really did. Steps have layers,
 * layers kernels, and between kernels the GPU waits for the host, which takes longer while it is traced. */
#ifndef TEST_DUTY_CYCLE_H
#define TEST_DUTY_CYCLE_H

#include "format/rows/marks.h"
#include "synthetic_report.h"

enum { DUTY_CYCLE_LAYERS = 3, DUTY_CYCLE_KERNELS = 2, DUTY_CYCLE_MARKS = 4000 };

/* How the tokens of steps go. */
typedef enum duty_cycle_counts {
    DUTY_CYCLE_UNMARKED,
    DUTY_CYCLE_PADDED,  /* 1100 to 1900, as it comes */
    DUTY_CYCLE_LOAD,    /* a load that comes and goes within a minute, 520 to 1000 */
    DUTY_CYCLE_BATCHES, /* 4 to 7 */
} duty_cycle_counts;

typedef struct duty_cycle_options {
    uint64_t seed;
    double run_s;       /* of each phase */
    int one_in;         /* of so many steps one is traced; 1: all are */
    int burst_steps;    /* that are traced one after the other */
    double slower;      /* gaps while traced, relative to the others */
    double gap_us;      /* between kernels */
    double between_us;  /* steps, more than 100 */
    double kernel_ms;   /* of layer 0; the others' are two and three times as long */
    double step_u;      /* what a layer takes differs from step to step, relative */
    double grows;       /* what layer 0 takes at the end of the run, relative to its beginning */
    bool eval;          /* every 200 steps, 20 of another phase, which has only layers 0 and 1 */
    bool untraced_eval; /* likewise with all layers, and turns never come in it */
    bool traced_eval;   /* every 200 steps, 100 of another phase, all traced; layer 0 is in that alone */
    double wanders;     /* what a layer takes differs from one hundred steps to the next, relative */
    bool bare_eval;     /* eval like that, each a piece without steps, of which every third is traced */
    int opening;        /* so many steps are traced at first; the first 5 take five times as long */
    bool requests;      /* two, one after the other */
    int odd_one_in;     /* so often a step has other samples, and half the work; 0: never */
    double odd_takes;   /* if not 0: at the usual samples all of layer 2, and nothing else, so many times as
                           long */
    duty_cycle_counts counts;
    double goes[DUTY_CYCLE_LAYERS]; /* the share of a layer's time that goes with tokens, at their mean */
    int64_t lag_ns;                 /* the GPU runs behind the host */
    double apart;                   /* what work draws more while it is not traced, relative */
    double quicker;                 /* what kernels take less while they are not traced, relative */
    int processes;                  /* each on its own board; 0: one */
} duty_cycle_options;

typedef struct duty_cycle {
    synthetic *s;
    duty_cycle_options of;
    jm__mark marks[DUTY_CYCLE_MARKS];
    size_t mark_count;
    int64_t begin_ns, end_ns;
    double layer_j[DUTY_CYCLE_LAYERS]; /* the truth, of all steps */
    double eval_j[DUTY_CYCLE_LAYERS];  /* of those, in the phase "eval" */
    double all_j;                      /* of all boards */
    double tracing_s;                  /* gaps made longer by tracing, also to get ready for it */
    double eval_s;                     /* all of their time */
    double request_j[2];               /* steps of theirs, without what tracing made */
    int64_t second_ns;                 /* when the second one began */
    int64_t steps, traced, odd, eval_steps;
    int64_t odd_ns;
    double wandered[DUTY_CYCLE_LAYERS];
    unsigned char *kept; /* [kernels]: it was recorded */
} duty_cycle;

static const double duty_cycle_w[DUTY_CYCLE_LAYERS] = {640, 450, 300};

static inline void duty_cycle_mark(duty_cycle *d, int64_t process_id, int64_t t_ns, const char *name)
{
    assert_true(d->mark_count < DUTY_CYCLE_MARKS);
    d->marks[d->mark_count++] = (jm__mark){
        .process_id = process_id, .thread_id = process_id, .t_ns = t_ns, .name_id = syn_name(d->s, name)};
}

static inline void duty_cycle_tell(duty_cycle *d, int64_t process_id, int64_t t_ns, const char *name,
                                   const char *meta)
{
    duty_cycle_mark(d, process_id, t_ns, name);
    d->marks[d->mark_count - 1].meta = meta;
}

static inline double duty_cycle_tokens(duty_cycle *d, int64_t t_ns, double *mean)
{
    double by_chance = syn_uniform(d->s), at_s = (double)(t_ns - d->begin_ns) * 1e-9;
    *mean = d->of.counts == DUTY_CYCLE_PADDED ? 1500 : d->of.counts == DUTY_CYCLE_LOAD ? 760 : 5.5;
    if (d->of.counts == DUTY_CYCLE_PADDED) return floor(1100 + 800 * by_chance);
    if (d->of.counts == DUTY_CYCLE_LOAD) return floor(760 + 220 * sin(at_s / 7) + 20 * (by_chance - 0.5));
    return floor(4 + 4 * by_chance);
}

/* A step of one process; returns where it ends. `level`: 0 steps alone, 1 warm, 2 traced. */
static inline int64_t duty_cycle_step(duty_cycle *d, size_t board, int64_t parent, bool eval, int64_t t_ns,
                                      int level, double grown)
{
    synthetic *s = d->s;
    int64_t pid = 100 + (int64_t)board, begin_ns = t_ns;
    static const char *const names[DUTY_CYCLE_LAYERS] = {"attn", "mlp", "head"};
    bool odd = d->of.odd_one_in > 0 && (d->steps + 1) % d->of.odd_one_in == 0;
    bool bare = eval && d->of.bare_eval;
    bool apart = d->of.apart != 0 && level == 0;
    int64_t step = bare ? parent : syn_span(s, JM_SPAN_STEP, "step", "", parent, t_ns, t_ns, pid);
    double usual = 1, tokens = d->of.counts == DUTY_CYCLE_UNMARKED ? 0 : duty_cycle_tokens(d, t_ns, &usual);
    if (!bare) s->spans[step - 1].samples = odd && d->of.odd_takes == 0 ? 3 : 8;
    if (!bare) s->spans[step - 1].tokens = (uint32_t)tokens;
    if (d->steps % 100 == 0)
        for (int l = 0; l < DUTY_CYCLE_LAYERS; l++)
            d->wandered[l] = d->of.wanders * syn_normal(s);
    for (int l = 0; l < (eval && d->of.eval ? DUTY_CYCLE_LAYERS - 1 : DUTY_CYCLE_LAYERS); l++) {
        if (d->of.traced_eval && eval != (l == 0)) continue;
        if (d->of.odd_takes > 0 && odd != (l == 2)) continue;
        double length =
            1e6 * d->of.kernel_ms * (l + 1) * (1 + d->of.step_u * syn_normal(s)) * (1 + d->wandered[l]);
        if (d->steps < 5 && d->of.opening > 0) length *= 5;
        if (l == 0) length *= 1 + (d->of.grows > 0 ? d->of.grows - 1 : 0) * grown;
        if (odd) length *= d->of.odd_takes > 0 ? d->of.odd_takes : 0.5;
        if (tokens > 0) length *= 1 + d->of.goes[l] * (tokens / usual - 1);
        if (level == 0) length *= 1 - d->of.quicker;
        double power_w = duty_cycle_w[l] * (1 + (apart ? d->of.apart : 0));
        int64_t span =
            level == 0 ? 0 : syn_span(s, JM_SPAN_FORWARD, names[l], "Linear", step, t_ns, t_ns, pid);
        for (int k = 0; k < DUTY_CYCLE_KERNELS; k++) {
            double gap = 1e3 * d->of.gap_us * (0.8 + 0.4 * syn_uniform(s));
            if (level > 0) gap *= d->of.slower;
            if (level > 0) d->tracing_s += gap * (1 - 1 / d->of.slower) * 1e-9;
            t_ns += (int64_t)gap;
            int64_t end_ns = t_ns + (int64_t)length;
            d->kept[s->kernels.count] = level > 0;
            syn_kernel(s, l + 1 + (apart ? DUTY_CYCLE_LAYERS : 0), board, span, t_ns + d->of.lag_ns,
                       end_ns + d->of.lag_ns);
            s->kernels.items[s->kernels.count - 1].launch_ns = t_ns;
            d->layer_j[l] += power_w * 1e-9 * (double)(end_ns - t_ns);
            if (eval) d->eval_j[l] += power_w * 1e-9 * (double)(end_ns - t_ns);
            t_ns = end_ns;
        }
        if (span > 0) s->spans[span - 1].end_ns = t_ns;
    }
    if (!bare) s->spans[step - 1].end_ns = t_ns;
    d->steps += !bare;
    d->eval_steps += eval;
    d->eval_s += eval ? (double)(t_ns - begin_ns) * 1e-9 : 0;
    d->traced += level == 2 && !bare;
    d->odd += odd;
    d->odd_ns += odd ? t_ns - begin_ns : 0;
    return t_ns + (int64_t)(1e3 * (100 + d->of.between_us) * (0.9 + 0.2 * syn_uniform(s)));
}

/* One process from begin to end. */
static inline void duty_cycle_process(duty_cycle *d, size_t board)
{
    int64_t pid = 100 + (int64_t)board, t_ns = d->begin_ns + 1000,
            cycle = (int64_t)d->of.burst_steps * d->of.one_in;
    if (d->of.requests) {
        duty_cycle_tell(d, pid, t_ns - 500, JM_MARK_REQUEST,
                        "{\"request\": 1, \"id\": \"first\", \"tokens\": 5}");
        duty_cycle_tell(d, pid, t_ns - 500, JM_MARK_REQUEST,
                        "{\"request\": 2, \"id\": \"second\", \"tokens\": 5}");
        duty_cycle_tell(d, pid, t_ns - 400, JM_MARK_BATCH,
                        "{\"n\": 1, \"all\": true, \"in\": {\"1\": [0, 1]}}");
    }
    int64_t until_ns = d->begin_ns + (int64_t)(d->of.run_s * 1e9);
    int64_t second_ns = 0;
    int level = d->of.one_in > 1 ? 0 : 2;
    int64_t phase = syn_span(d->s, JM_SPAN_PHASE, "train", "", 0, t_ns - 500, t_ns, pid), evaluated = 0;
    /* The processes' turns are not at the same time. */
    for (int64_t i = (int64_t)board * cycle / 3; t_ns < until_ns; i++) {
        int64_t in = i % cycle;
        int next = d->of.one_in == 1 || in >= cycle - d->of.burst_steps ? 2
                   : in == cycle - d->of.burst_steps - 1                ? 1
                                                                        : 0;
        if (i < d->of.opening) next = 2;
        bool eval = (d->of.eval || d->of.untraced_eval || d->of.bare_eval) && i % 200 >= 180;
        if (d->of.traced_eval) eval = i % 200 < 100;
        if (eval && d->of.bare_eval) next = i / 200 % 3 == 0 ? 2 : 0;
        if (eval && d->of.untraced_eval) next = 0;
        if (eval && d->of.traced_eval) next = 2;
        if (next != level || i == (int64_t)board * cycle / 3) {
            if (next == 2 && d->of.one_in > 1) duty_cycle_mark(d, pid, t_ns - 10, JM_MARK_TRACED);
            if (next == 0) duty_cycle_mark(d, pid, t_ns - 10, JM_MARK_STEPS);
            level = next;
        }
        if (eval && evaluated == 0)
            evaluated = syn_span(d->s, JM_SPAN_PHASE, "eval", "", 0, t_ns - 20000, 0, pid);
        if (!eval && evaluated != 0) {
            d->s->spans[evaluated - 1].end_ns = t_ns - 20000;
            d->s->spans[phase - 1].end_ns = d->s->spans[evaluated - 1].start_ns;
            phase = syn_span(d->s, JM_SPAN_PHASE, "train", "", 0, t_ns - 20000, 0, pid);
            evaluated = 0;
        }
        if (d->of.requests && second_ns == 0 && t_ns > (d->begin_ns + until_ns) / 2) {
            duty_cycle_tell(d, pid, t_ns - 5, JM_MARK_BATCH,
                            "{\"n\": 2, \"all\": true, \"in\": {\"2\": [0, 1]}}");
            second_ns = t_ns;
        }
        double grown = (double)(t_ns - d->begin_ns) / (double)(until_ns - d->begin_ns);
        t_ns = duty_cycle_step(d, board, eval ? evaluated : phase, eval, t_ns, level, grown);
    }
    if (evaluated != 0) d->s->spans[phase - 1].end_ns = d->s->spans[evaluated - 1].start_ns;
    d->s->spans[(evaluated != 0 ? evaluated : phase) - 1].end_ns = t_ns;
    d->second_ns = second_ns;
    if (d->of.one_in > 1) duty_cycle_mark(d, pid, t_ns, JM_MARK_ENDED);
    if (t_ns > d->end_ns) d->end_ns = t_ns;
}

static inline int duty_cycle_spans_by_time(const void *a, const void *b)
{
    const jm__span *left = a, *right = b;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return (left->id > right->id) - (left->id < right->id);
}

static inline int duty_cycle_marks_by_time(const void *a, const void *b)
{
    const jm__mark *left = a, *right = b;
    return (left->t_ns > right->t_ns) - (left->t_ns < right->t_ns);
}

static inline duty_cycle *duty_cycle_create(duty_cycle_options of)
{
    duty_cycle *d = calloc(1, sizeof *d);
    size_t boards = of.processes > 0 ? (size_t)of.processes : 1;
    size_t room =
        boards * (size_t)(of.run_s / (5e-3 * of.kernel_ms)) * (DUTY_CYCLE_LAYERS * DUTY_CYCLE_KERNELS + 1);
    d->s = syn_create(of.seed, boards, room);
    d->kept = calloc(room, 1);
    d->of = of;
    d->begin_ns = d->end_ns = 2 * JM_NS_PER_S;
    for (size_t l = 0; l < (of.apart != 0 ? 2 : 1) * DUTY_CYCLE_LAYERS; l++) {
        char name[16];
        snprintf(name, sizeof name, "kernel%zu", l);
        syn_class(d->s, name, 8,
                  duty_cycle_w[l % DUTY_CYCLE_LAYERS] * (l < DUTY_CYCLE_LAYERS ? 1 : 1 + of.apart));
    }
    for (size_t b = 0; b < boards; b++)
        duty_cycle_process(d, b);
    d->end_ns += 100 * JM_NS_PER_MS;
    for (size_t b = 0; b < boards; b++) {
        syn_measure(d->s, b, d->begin_ns, d->end_ns);
        d->all_j += syn_total_j(d->s, b, d->begin_ns, d->end_ns);
    }
    syn_finish(d->s);
    qsort(d->s->spans, d->s->dataset.span_count, sizeof *d->s->spans, duty_cycle_spans_by_time);
    if (d->mark_count > 0) qsort(d->marks, d->mark_count, sizeof *d->marks, duty_cycle_marks_by_time);
    d->s->dataset.marks = d->marks;
    d->s->dataset.mark_count = d->mark_count;
    for (int r = 0; of.requests && r < 2; r++)
        for (size_t i = 0; i < d->s->dataset.span_count; i++) {
            const jm__span *step = &d->s->spans[i];
            if (step->kind == JM_SPAN_STEP && (step->start_ns >= d->second_ns) == (r == 1))
                d->request_j[r] += syn_total_j(d->s, 0, step->start_ns, step->end_ns);
        }
    for (int r = 0; r < 2; r++)
        d->request_j[r] -= d->s->idle_w * d->tracing_s / 2;
    size_t kept = 0;
    for (size_t i = 0; i < d->s->kernels.count; i++)
        if (d->kept[i]) d->s->kernels.items[kept++] = d->s->kernels.items[i];
    d->s->kernels.count = kept;
    return d;
}

static inline void duty_cycle_free(duty_cycle *d)
{
    syn_free(d->s);
    free(d->kept);
    free(d);
}

/* The row of this path and kind; NULL: there is none. */
static inline const jm_row *duty_cycle_row(const jm_report *report, const char *path, const char *kind)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (strcmp(row->path, path) == 0 && (kind == NULL || strcmp(row->kind, kind) == 0)) return row;
    }
    return NULL;
}

static inline double duty_cycle_sum_j(const jm_report *report)
{
    double sum_j = 0;
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        sum_j += jm_report_row(report, i)->energy_self_j;
    return sum_j;
}

#endif
