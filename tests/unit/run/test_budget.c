/* When steps are traced within a budget, in virtual time: a program whose steps take as long as said, and
 * longer where they are traced. */
#include "chance.h"
#include "record/run/budget.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ranks.h"

#define MS JM_NS_PER_MS
enum { STEPS_MAX = 4000000, NAMES = 8 };

/* The step with this number that begins at t_s: fills in what it is, returns how long it takes untraced. */
typedef double step_of(uint64_t number, double t_s, jm__budget_step *step);

typedef struct program {
    step_of *step;
    double slower;   /* by what share of itself a traced step takes longer, ... */
    double after;    /* ... and one in the fifth of a second after a turn */
    double early_s;  /* the first step of a turn takes longer, the second half of that */
    double noise;    /* of each step: a share of it, up or down */
    double drift;    /* of the host: by that share, in waves of 40 s */
    double switch_s; /* each change of the level */
    double rush_s;   /* for so long after a turn a step takes half of its time */
    double length_s;
    double usual_s; /* a step that takes longer has no more to trace; 0: it has */
    bool leads;     /* it is the first rank of several */
} program;

typedef struct outcome {
    jm__budget budget;
    uint64_t steps, on[NAMES], warm, untraced;
    uint64_t bursts;            /* times that ON began, after the beginning */
    double burst_least_s;       /* the shortest of those that ended */
    double first_untraced_s;    /* when the first turn was over; 0: never */
    double last_burst_s, gap_s; /* begin of the last one; the longest time from one to the next */
    double on_after_s[NAMES];   /* when a step of the name was ON first; 0: never */
    double extra_s, total_s;    /* what tracing truly cost, of what */
    uint64_t told, sudden;      /* turns that were said to come; turns that came without */
    int64_t told_ns;            /* when it was said of the one that comes; 0: it was not */
    double ahead_least_s, ahead_most_s;
    bool straight; /* ON never began without WARM, nor ended in it */
} outcome;

static void note_level(outcome *o, jm_tracing before, jm_tracing level, double t_s, double *on_since_s)
{
    o->straight = o->straight && !(before == JM_TRACING_STEPS && level == JM_TRACING_ON) &&
                  !(before == JM_TRACING_ON && level == JM_TRACING_WARM) &&
                  !(before == JM_TRACING_WARM && level == JM_TRACING_STEPS);
    if (level == JM_TRACING_ON) {
        o->bursts++;
        if (o->last_burst_s > 0 && t_s - o->last_burst_s > o->gap_s) o->gap_s = t_s - o->last_burst_s;
        o->last_burst_s = *on_since_s = t_s;
    }
    if (before != JM_TRACING_ON) return;
    if (o->first_untraced_s == 0)
        o->first_untraced_s = t_s;
    else if (o->burst_least_s == 0 || t_s - *on_since_s < o->burst_least_s)
        o->burst_least_s = t_s - *on_since_s;
}

/* Of a step that begins: whether a turn was said to come, and whether it begins here. */
static void note_told(outcome *o, bool says, bool comes)
{
    o->told += says;
    if (says) o->told_ns = o->budget.now_ns;
    if (!comes) return;
    double ahead_s = (double)(o->budget.now_ns - o->told_ns) * 1e-9;
    o->sudden += o->told_ns == 0;
    if (o->told_ns == 0) return;
    if (o->ahead_least_s == 0 || ahead_s < o->ahead_least_s) o->ahead_least_s = ahead_s;
    if (ahead_s > o->ahead_most_s) o->ahead_most_s = ahead_s;
    o->told_ns = 0;
}

static outcome *run(const program *p, double share)
{
    outcome *o = calloc(1, sizeof *o);
    uint64_t state = 7;
    double t_s = 0, on_since_s = 0, off_since_s = -1, early_s = 0;
    char folder[] = RANKS_FOLDER;
    jm__bursts bursts = {0};
    if (p->leads) join_ranks(&bursts, folder);
    const int64_t zero_ns = 1000 * JM_NS_PER_S;
    assert_non_null(o);
    o->straight = true;
    jm__budget_init(&o->budget, share, zero_ns);
    jm_tracing level = JM_TRACING_ON;
    for (uint64_t i = 0; t_s < p->length_s && i < STEPS_MAX; i++) {
        jm__budget_step step = {.name = 1};
        double step_s = p->step(i, t_s, &step);
        jm__budget_step told = {
            .name = step.name, .phase = step.phase, .samples = step.samples, .is_phase = step.is_phase};
        jm_tracing before = level;
        int64_t soon_ns = o->budget.soon_ns;
        o->budget.lag_steps = p->leads ? JM_BURSTS_AHEAD : 0;
        level = jm__budget_begin(&o->budget, &told, zero_ns + (int64_t)(1e9 * t_s));
        bool says = jm__bursts_announce(&bursts, soon_ns == 0 && o->budget.soon_ns != 0);
        if (step.is_phase == 0) level = jm__bursts_agree(&bursts, o->budget.steps, before, level);
        note_told(o, says, before != JM_TRACING_ON && level == JM_TRACING_ON);
        jm__budget_set_level(&o->budget, level);
        if (level != before) {
            note_level(o, before, level, t_s, &on_since_s);
            if (level == JM_TRACING_STEPS) off_since_s = t_s;
            if (before == JM_TRACING_STEPS) early_s = p->early_s;
            o->extra_s += p->switch_s;
            t_s += p->switch_s;
            jm__budget_switched(&o->budget, zero_ns + (int64_t)(1e9 * t_s));
        }
        double wave = t_s / 40 - (double)(int64_t)(t_s / 40);
        double own_s = step_s * (1 + p->noise * (2 * chance_uniform(&state) - 1)) *
                       (1 + p->drift * (wave < 0.5 ? wave : 1 - wave));
        if (off_since_s >= 0 && t_s - off_since_s < p->rush_s) own_s /= 2;
        double after = off_since_s >= 0 && t_s - off_since_s < 0.2 ? p->after : 0;
        double extra_s = level == JM_TRACING_STEPS
                             ? own_s * after
                             : (p->usual_s > 0 && own_s > p->usual_s ? p->usual_s : own_s) * p->slower;
        if (level != JM_TRACING_STEPS) {
            extra_s += early_s;
            early_s = early_s == p->early_s ? early_s / 2 : 0;
        }
        if (level == JM_TRACING_ON) {
            o->on[step.name]++;
            if (o->on_after_s[step.name] == 0) o->on_after_s[step.name] = t_s;
        }
        o->warm += level == JM_TRACING_WARM;
        o->untraced += level == JM_TRACING_STEPS;
        o->extra_s += extra_s;
        t_s += own_s + extra_s;
        jm__budget_count(&o->budget, step.samples, step.tokens);
        o->steps++;
    }
    o->total_s = t_s;
    if (p->leads) leave_ranks(&bursts, folder);
    return o;
}

/* What tracing truly cost, as a share of the time without it. */
static double cost_of(const outcome *o)
{
    return o->extra_s / (o->total_s - o->extra_s);
}

/* ---- programs */

static double training(uint64_t number, double t_s, jm__budget_step *step)
{
    (void)t_s;
    step->samples = 8;
    return number == 0 ? 20 : number < 3 ? 1.0 / (double)number : 0.034; /* it compiles, and warms up */
}

static double launches(uint64_t number, double t_s, jm__budget_step *step)
{
    (void)number;
    (void)t_s;
    (void)step;
    return 50e-6;
}

static double steps_of_s; /* of the program below */

static double even(uint64_t number, double t_s, jm__budget_step *step)
{
    (void)number;
    (void)t_s;
    (void)step;
    return steps_of_s;
}

static double long_steps(uint64_t number, double t_s, jm__budget_step *step)
{
    (void)number;
    (void)t_s;
    (void)step;
    return 10;
}

/* A prompt of 40 ms, then 90 to 109 tokens of 12 ms. */
static double generation(uint64_t number, double t_s, jm__budget_step *step)
{
    (void)t_s;
    static uint64_t until;
    static bool decodes;
    if (number == 0) until = 0;
    decodes = number != until;
    if (!decodes) until = number + 91 + number * 7919 % 20;
    step->name = decodes ? 2 : 1;
    step->phase = decodes ? 4 : 3;
    step->tokens = decodes ? 8 : 4096;
    return decodes ? 0.012 : 0.040;
}

static double with_validation(uint64_t number, double t_s, jm__budget_step *step)
{
    (void)number;
    bool validates = t_s > 600 && t_s < 660;
    step->phase = validates ? 2 : 1;
    step->name = validates ? 2 : 1;
    return validates ? 0.015 : 0.034;
}

static double longer_from_500_s(uint64_t number, double t_s, jm__budget_step *step)
{
    (void)number;
    (void)step;
    return t_s < 500 ? 0.034 : 0.051;
}

/* On a host that is ten times as slow at first: others have just begun to leave it. */
static double slow_until_s;
static double generation_on_a_host_slow_at_first(uint64_t number, double t_s, jm__budget_step *step)
{
    return generation(number, t_s, step) * (t_s < slow_until_s ? 10 : 1);
}

/* Ten minutes of training, then a minute of something that tells no steps: one phase. */
static double with_phases(uint64_t number, double t_s, jm__budget_step *step)
{
    (void)number;
    bool whole = (int)(t_s / 60) % 11 == 10;
    step->phase = whole ? 2 : 1;
    step->name = whole ? 2 : 1;
    step->is_phase = whole;
    return whole ? 60 : 0.034;
}

/* ---- promises */

/* A budget is of the whole time: what the first second cost is paid back. */
static void test_tracing_costs_no_more_than_the_budget(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        program program;
        double share, most;
    } cases[] = {
        {"training",
         {.step = training,
          .slower = 0.3,
          .noise = 0.05,
          .switch_s = 0.003,
          .length_s = 600,
          .usual_s = 0.034},
         0.01,
         0.0105},
        {"training, 3 %",
         {.step = training,
          .slower = 0.8,
          .noise = 0.05,
          .switch_s = 0.003,
          .length_s = 600,
          .usual_s = 0.034},
         0.03,
         0.0315},
        {"a host that drifts",
         {.step = training,
          .slower = 0.3,
          .noise = 0.03,
          .drift = 0.4,
          .switch_s = 0.003,
          .length_s = 600,
          .usual_s = 0.034},
         0.01,
         0.0115},
        {"a loop of launches",
         {.step = launches, .slower = 0.6, .noise = 0.1, .switch_s = 0.003, .length_s = 150},
         0.01,
         0.0105},
        {"generation",
         {.step = generation,
          .slower = 0.35,
          .noise = 0.05,
          .drift = 0.1,
          .switch_s = 0.003,
          .length_s = 600},
         0.01,
         0.0115},
        {"long steps",
         {.step = long_steps, .slower = 0.3, .noise = 0.02, .switch_s = 0.003, .length_s = 20000},
         0.01,
         0.0115},
        {"validation",
         {.step = with_validation, .slower = 0.5, .noise = 0.05, .switch_s = 0.003, .length_s = 1200},
         0.01,
         0.0115},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outcome *o = run(&cases[i].program, cases[i].share);
        double cost = cost_of(o), told = jm__budget_cost(&o->budget, o->budget.now_ns);
        print_message("%s: cost %.4f, as it measured itself %.4f, %llu turns, %llu of %llu steps on\n",
                      cases[i].what, cost, told, (unsigned long long)o->bursts,
                      (unsigned long long)o->budget.traced_steps, (unsigned long long)o->steps);
        assert_true(cost <= cases[i].most);
        assert_true(cost >= 0.4 * cases[i].share); /* and it is used */
        assert_true(told > 0.8 * cost && told < 1.25 * cost);
        assert_true(o->straight);
        assert_true(o->told <= o->bursts + 5); /* nothing is told again and again */
        free(o);
    }
}

/* Launches that cost more until CUPTI is let go, after each turn. */
static void test_what_is_left_of_tracing_after_a_burst_is_spent_too(void **state)
{
    (void)state;
    static const program programs[] = {
        {generation, .slower = 0.4, .after = 0.15, .length_s = 600, .noise = 0.05},
        {training, .slower = 0.4, .after = 0.15, .length_s = 600, .noise = 0.1, .drift = 0.2,
         .usual_s = 0.034},
        {launches, .slower = 0.3, .after = 0.2, .length_s = 130, .noise = 0.1},
    };
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        outcome *o = run(&programs[i], 0.01);
        double cost = o->extra_s / o->total_s,
               said = jm__budget_cost(&o->budget, 1000 * JM_NS_PER_S + (int64_t)(1e9 * o->total_s));
        print_message("%zu: %.4f, said %.4f, %" PRIu64 " turns\n", i, cost, said, o->bursts);
        assert_true(o->bursts > 5);
        assert_true(cost < 0.0105);
        assert_true(fabs(said / cost - 1) < 0.1);
        free(o);
    }
}

/* Steps that become quicker beside a turn are no sign that tracing pays. */
static void test_a_program_that_becomes_quicker_keeps_its_budget(void **state)
{
    (void)state;
    const program slow = {.step = generation_on_a_host_slow_at_first,
                          .slower = 0.3,
                          .after = 0.3,
                          .early_s = 0.015,
                          .noise = 0.1,
                          .switch_s = 0.003,
                          .length_s = 120};
    double most = 0;
    for (slow_until_s = 1; slow_until_s < 20; slow_until_s += 0.1) {
        outcome *o = run(&slow, 0.01);
        double cost = cost_of(o);
        if (cost > most) most = cost;
        free(o);
    }
    print_message("cost %.4f at most\n", most);
    assert_true(most <= 0.02); /* and of the opening a second may be owed */
}

/* What CUPTI, rings and hooks have to make anew: as on an H100, where it is a quarter of what a turn costs.
 */
static void test_what_the_first_steps_of_a_burst_take_longer_is_spent_too(void **state)
{
    (void)state;
    const program programs[] = {
        {.step = training,
         .slower = 0.3,
         .early_s = 0.03,
         .noise = 0.05,
         .switch_s = 0.003,
         .length_s = 600,
         .usual_s = 0.034},
        {.step = generation,
         .slower = 0.3,
         .early_s = 0.015,
         .noise = 0.1,
         .switch_s = 0.003,
         .length_s = 600},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        outcome *o = run(&programs[i], 0.01);
        double cost = cost_of(o), told = jm__budget_cost(&o->budget, o->budget.now_ns);
        print_message("cost %.4f, as it measured itself %.4f, %llu turns\n", cost, told,
                      (unsigned long long)o->bursts);
        assert_true(cost <= 0.0115 && cost >= 0.004);
        assert_true(told > 0.93 * cost && told < 1.1 * cost);
        free(o);
    }
}

/* A host that waited for its GPU as CUPTI was let go runs ahead of it. */
static void test_steps_that_rush_after_a_burst_are_no_measure(void **state)
{
    (void)state;
    const program rushing = {.step = training,
                             .slower = 0.02,
                             .noise = 0.02,
                             .switch_s = 0.003,
                             .rush_s = 0.4,
                             .length_s = 60,
                             .usual_s = 0.034};
    outcome *o = run(&rushing, 0.01);
    double cost = cost_of(o), told = jm__budget_cost(&o->budget, o->budget.now_ns);
    print_message("cost %.4f, as it measured itself %.4f, %" PRIu64 " turns\n", cost, told, o->bursts);
    assert_true(cost <= 0.01 && told < 1.2 * cost);
    assert_true(o->bursts > 10);
    free(o);
}

static void check_told(const program *p, double most_s)
{
    outcome *o = run(p, 0.01);
    print_message("%" PRIu64 " turns, %" PRIu64 " told, %" PRIu64 " sudden, %.3f to %.3f s ahead\n",
                  o->bursts, o->told, o->sudden, o->ahead_least_s, o->ahead_most_s);
    assert_true(o->bursts > 5 && o->sudden == 0);
    assert_true(o->told >= o->bursts && o->told <= o->bursts + 5);
    assert_true(o->ahead_least_s >= 0.3 && o->ahead_most_s < most_s);
    free(o);
}

/* Hardware counters are ready by then, and not long before. */
static void test_a_burst_is_told_half_a_second_ahead(void **state)
{
    (void)state;
    const program programs[] = {
        {.step = training, .slower = 0.1, .noise = 0.1, .switch_s = 0.003, .length_s = 600, .usual_s = 0.034},
        {.step = launches, .slower = 0.2, .noise = 0.1, .length_s = 100},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        check_told(&programs[i], 0.8);
}

/* Of what ranks agree on ahead, and of long steps, too; never so long before that counters give up. */
static void test_bursts_of_long_steps_and_of_ranks_are_told_on_their_way(void **state)
{
    (void)state;
    const double lengths_s[] = {0.034, 0.2, 0.3, 0.7, 1.05, 1.2};
    program p = {.step = even, .slower = 0.1, .noise = 0.05, .switch_s = 0.003, .length_s = 3600};
    for (size_t i = 0; i < 2 * sizeof lengths_s / sizeof *lengths_s; i++) {
        steps_of_s = lengths_s[i / 2];
        p.leads = i % 2 == 1;
        check_told(&p, 1.8);
    }
}

/* Steps of 0.3 s; three times a phase of 200 s that stands for a step, and comes as ranks have agreed on a
 * turn: it is no part of that. */
static void test_a_long_phase_is_no_burst_because_one_is_on_its_way(void **state)
{
    (void)state;
    const int64_t zero_ns = 1000 * JM_NS_PER_S;
    jm__budget b;
    int64_t t_ns = zero_ns;
    int phases = 0, traced = 0;
    jm__budget_init(&b, 0.01, zero_ns);
    for (int i = 0; i < 20000 && phases < 3; i++) {
        bool whole = phases == 0 ? i == 100 : b.on_step > b.steps && b.level == JM_TRACING_STEPS;
        const jm__budget_step step = {.name = whole ? 0 : 1, .phase = whole ? 2 : 0, .is_phase = whole};
        jm_tracing before = b.level;
        b.lag_steps = JM_BURSTS_AHEAD;
        jm_tracing level = jm__budget_begin(&b, &step, t_ns);
        if (whole && phases > 0) traced += level == JM_TRACING_ON;
        phases += whole;
        /* The agreement holds two steps later; here it is on its way for good. */
        jm__budget_set_level(&b, whole || before == JM_TRACING_ON ? level : before);
        int64_t own_ns = (whole ? 200000 : 300) * MS;
        t_ns += b.level == JM_TRACING_STEPS ? own_ns : own_ns + own_ns / 20;
        if (whole) jm__budget_rest(&b, t_ns);
    }
    assert_int_equal(phases, 3);
    assert_int_equal(traced, 0);
}

static void test_bursts_of_steps_of_many_seconds_are_not_told(void **state)
{
    (void)state;
    program p = {.step = even, .slower = 0.1, .noise = 0.05, .switch_s = 0.003, .length_s = 20000};
    for (int i = 0; i < 4; i++) {
        steps_of_s = i < 2 ? 3 : 8;
        p.leads = i % 2 == 1;
        outcome *o = run(&p, 0.01);
        assert_true(o->bursts > 5);
        assert_int_equal(o->told, 0);
        free(o);
    }
}

static void test_the_first_second_after_warming_up_is_traced(void **state)
{
    (void)state;
    const program p = {.step = training, .slower = 0.3, .switch_s = 0.003, .length_s = 60, .usual_s = 0.034};
    outcome *o = run(&p, 0.01);
    assert_true(o->first_untraced_s > 21.5 + 5 * 0.034); /* 20 + 1 + 0.5 s of it are warming up */
    assert_true(o->first_untraced_s < 21.5 + 10 * 0.034 + 0.1);
    free(o);
    const program fast = {.step = launches, .slower = 0.6, .noise = 0.1, .switch_s = 0.003, .length_s = 5};
    o = run(&fast, 0.01);
    assert_true(o->first_untraced_s > 0.99 && o->first_untraced_s < 1.1);
    free(o);
}

/* The sensor's readings, 20 ms apart, have to lie inside of it. */
static void test_a_burst_lasts_a_quarter_of_a_second_or_more(void **state)
{
    (void)state;
    const program programs[] = {
        {.step = training, .slower = 0.3, .noise = 0.05, .switch_s = 0.003, .length_s = 600},
        {.step = launches, .slower = 0.6, .noise = 0.1, .switch_s = 0.003, .length_s = 120}};
    for (size_t i = 0; i < 2; i++) {
        outcome *o = run(&programs[i], 0.01);
        assert_true(o->bursts >= 2);
        assert_true(o->burst_least_s > 0.249 && o->burst_least_s < 0.4);
        free(o);
    }
}

static void test_where_tracing_is_cheap_all_but_a_few_steps_are_traced(void **state)
{
    (void)state;
    const program programs[] = {
        {.step = training, .slower = 0.002, .noise = 0.004, .switch_s = 0.001, .length_s = 600},
        {.step = long_steps, .slower = 0.002, .noise = 0.002, .switch_s = 0.003, .length_s = 20000}};
    for (size_t i = 0; i < 2; i++) {
        outcome *o = run(&programs[i], 0.01);
        print_message("%llu of %llu\n", (unsigned long long)o->untraced, (unsigned long long)o->steps);
        assert_true((double)o->untraced < 0.07 * (double)o->steps);
        free(o);
    }
}

static void test_a_new_phase_is_traced_from_its_second_step_on(void **state)
{
    (void)state;
    const program p = {
        .step = with_validation, .slower = 0.5, .noise = 0.05, .switch_s = 0.003, .length_s = 1200};
    outcome *o = run(&p, 0.01);
    assert_true(o->on[2] >= JM_BUDGET_OPENED_STEPS);
    assert_true(o->on_after_s[2] > 600 && o->on_after_s[2] < 600.2);
    free(o);
}

/* One step in a hundred, of another kind than those around it. */
static void test_prompts_between_tokens_are_traced_too(void **state)
{
    (void)state;
    const program p = {.step = generation, .slower = 0.35, .noise = 0.05, .switch_s = 0.003, .length_s = 600};
    outcome *o = run(&p, 0.01);
    print_message("%llu prompts, %llu tokens\n", (unsigned long long)o->on[1], (unsigned long long)o->on[2]);
    assert_true(o->on[1] >= JM_BUDGET_OPENED_STEPS);
    assert_true(o->on[2] >= 100);
    free(o);
}

/* Nothing is launched before it that it would have to wait for. */
static void test_a_phase_without_steps_is_traced_from_its_beginning(void **state)
{
    (void)state;
    const program p = {.step = with_phases, .slower = 0.1, .noise = 0.02, .switch_s = 0.003, .length_s = 700};
    outcome *o = run(&p, 0.01);
    assert_int_equal(o->on[2], 1);
    assert_false(o->straight); /* it was not warm before */
    assert_true(o->budget.phase_steps == 1 && o->budget.traced_steps < o->budget.steps / 10);
    free(o);
}

static void test_steps_that_take_another_time_are_traced_early(void **state)
{
    (void)state;
    program p = {.step = longer_from_500_s, .slower = 0.5, .noise = 0.02, .switch_s = 0.003, .length_s = 499};
    outcome *o = run(&p, 0.01);
    double gap_s = o->gap_s, before_s = o->last_burst_s;
    free(o);
    p.length_s = 500 + 0.5 * gap_s;
    o = run(&p, 0.01);
    print_message("gap %.1f s, last %.1f then %.1f\n", gap_s, before_s, o->last_burst_s);
    assert_true(o->last_burst_s > 500);
    free(o);
}

/* A program that calls its steps "step 1", "step 2": the names say nothing, and the budget holds. */
static void test_a_name_for_each_step_does_not_break_the_budget(void **state)
{
    (void)state;
    const int64_t zero_ns = 1000 * JM_NS_PER_S;
    jm__budget b;
    int64_t t_ns = zero_ns, extra_ns = 0;
    jm__budget_init(&b, 0.01, zero_ns);
    for (uint32_t i = 0; i < 20000; i++) {
        const jm__budget_step step = {.name = i + 1};
        jm_tracing level = jm__budget_begin(&b, &step, t_ns);
        jm__budget_set_level(&b, level);
        int64_t extra = level == JM_TRACING_STEPS ? 0 : 10 * MS;
        t_ns += 34 * MS + extra;
        extra_ns += extra;
    }
    assert_true(extra_ns < (t_ns - zero_ns) / 100 + JM_BUDGET_DEBT_NS);
    assert_true(extra_ns > (t_ns - zero_ns) / 300);
}

static void test_samples_and_tokens_that_vary_are_kinds_by_powers_of_two(void **state)
{
    (void)state;
    const int64_t zero_ns = 1000 * JM_NS_PER_S;
    jm__budget b;
    int64_t t_ns = zero_ns, extra_ns = 0;
    uint64_t seed = 1;
    jm__budget_init(&b, 0.01, zero_ns);
    for (uint32_t i = 0; i < 20000; i++) {
        const jm__budget_step step = {.name = 1, .samples = 8};
        jm_tracing level = jm__budget_begin(&b, &step, t_ns);
        jm__budget_set_level(&b, level);
        uint32_t tokens = 1024 + (uint32_t)(3000 * chance_uniform(&seed));
        int64_t own_ns = (int64_t)tokens * 20000;
        int64_t extra = level == JM_TRACING_STEPS ? 0 : own_ns / 3;
        jm__budget_count(&b, 0, tokens);
        t_ns += own_ns + extra;
        extra_ns += extra;
    }
    double cost = (double)extra_ns / (double)(t_ns - zero_ns);
    print_message("cost %.4f\n", cost);
    assert_true(cost < 0.013 && cost > 0.004);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tracing_costs_no_more_than_the_budget),
        cmocka_unit_test(test_what_is_left_of_tracing_after_a_burst_is_spent_too),
        cmocka_unit_test(test_a_program_that_becomes_quicker_keeps_its_budget),
        cmocka_unit_test(test_what_the_first_steps_of_a_burst_take_longer_is_spent_too),
        cmocka_unit_test(test_steps_that_rush_after_a_burst_are_no_measure),
        cmocka_unit_test(test_a_burst_is_told_half_a_second_ahead),
        cmocka_unit_test(test_bursts_of_long_steps_and_of_ranks_are_told_on_their_way),
        cmocka_unit_test(test_a_long_phase_is_no_burst_because_one_is_on_its_way),
        cmocka_unit_test(test_bursts_of_steps_of_many_seconds_are_not_told),
        cmocka_unit_test(test_the_first_second_after_warming_up_is_traced),
        cmocka_unit_test(test_a_burst_lasts_a_quarter_of_a_second_or_more),
        cmocka_unit_test(test_where_tracing_is_cheap_all_but_a_few_steps_are_traced),
        cmocka_unit_test(test_a_new_phase_is_traced_from_its_second_step_on),
        cmocka_unit_test(test_prompts_between_tokens_are_traced_too),
        cmocka_unit_test(test_a_phase_without_steps_is_traced_from_its_beginning),
        cmocka_unit_test(test_steps_that_take_another_time_are_traced_early),
        cmocka_unit_test(test_a_name_for_each_step_does_not_break_the_budget),
        cmocka_unit_test(test_samples_and_tokens_that_vary_are_kinds_by_powers_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
