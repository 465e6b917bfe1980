/* Turns of a budget and the sampler of hardware counters, together in virtual time: what is sampled has to
 * lie in the turns, however long steps are. */
#include "chance.h"
#include "record/counters/duty_cycle.h"
#include "record/run/budget.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ranks.h"

#define MS JM_NS_PER_MS
enum { TICK_MS = 10, TOLD_LATE_TICKS = 80, SAMPLER_MS = 200, LENGTH_S = 1800, OPENING_S = 60 };
#define SAMPLER_CPU_SHARE 0.8 /* while it samples */
enum { SAMPLER_START_CPU_MS = 500 };
enum { TICKS = (LENGTH_S + 100) * 1000 / TICK_MS };

typedef struct simulation {
    jm__budget budget;
    jm__duty_cycle duty_cycle;
    jm__bursts bursts;
    int64_t zero_ns;
    int64_t tick;
    int64_t cpu_ns; /* of the sampler */
    jm_tracing levels[TICKS];
    bool sampling;
    int requested_ms;
    int burst_count, sampled_bursts; /* after the opening */
    double sampled_s, traced_s;      /* likewise, and what of it lay in turns */
    double in_burst_s;               /* of the one that goes on */
} simulation;

/* The board is always busy; kernels are told late, those of warm steps, too. */
static void run_board(simulation *s, int64_t until_ns, jm_tracing level)
{
    const int64_t tick_ns = TICK_MS * MS;
    for (; s->zero_ns + s->tick * tick_ns < until_ns; s->tick++) {
        int64_t now_ns = s->zero_ns + s->tick * tick_ns, told = s->tick - TOLD_LATE_TICKS;
        s->levels[s->tick] = level;
        if (told >= 0 && s->levels[told] != JM_TRACING_STEPS)
            jm__duty_cycle_kernel(&s->duty_cycle, 1, s->zero_ns + told * tick_ns,
                                  s->zero_ns + (told + 1) * tick_ns, now_ns);
        bool wants = jm__duty_cycle_should_sample(&s->duty_cycle, now_ns, s->cpu_ns);
        s->requested_ms = wants ? s->requested_ms + TICK_MS : 0;
        wants = s->requested_ms > SAMPLER_MS;
        if (wants && !s->sampling) {
            jm__duty_cycle_began(&s->duty_cycle, now_ns);
            s->cpu_ns += SAMPLER_START_CPU_MS * MS;
        }
        if (!wants && s->sampling) jm__duty_cycle_ended(&s->duty_cycle, now_ns);
        s->sampling = wants;
        if (wants) s->cpu_ns += (int64_t)(SAMPLER_CPU_SHARE * (double)tick_ns);
        if (!wants || s->tick * TICK_MS < OPENING_S * 1000) continue;
        s->sampled_s += TICK_MS * 1e-3;
        if (level == JM_TRACING_ON) s->in_burst_s += TICK_MS * 1e-3;
    }
}

static void tell_level(simulation *s, jm_tracing before, jm_tracing level, int64_t t_ns)
{
    if (level == JM_TRACING_ON) jm__duty_cycle_note_burst(&s->duty_cycle, JM_DUTY_CYCLE_TRACED, t_ns);
    if (before != JM_TRACING_ON) return;
    jm__duty_cycle_note_burst(&s->duty_cycle, JM_DUTY_CYCLE_UNTRACED, t_ns);
    bool counts = t_ns - s->zero_ns > OPENING_S * JM_NS_PER_S;
    s->burst_count += counts;
    s->sampled_bursts += counts && s->in_burst_s > 0;
    s->traced_s += s->in_burst_s;
    s->in_burst_s = 0;
}

/* Steps that take five hundredths longer where they are traced. */
static simulation *simulate(double step_s, bool ranks)
{
    static simulation s;
    uint64_t state = 7;
    char folder[] = RANKS_FOLDER;
    s = (simulation){.zero_ns = 1000 * JM_NS_PER_S};
    if (ranks) join_ranks(&s.bursts, folder);
    jm__budget_init(&s.budget, 0.01, s.zero_ns);
    jm__duty_cycle_init(&s.duty_cycle, JM_DUTY_CYCLE_DEFAULT_S, s.zero_ns);
    jm_tracing level = JM_TRACING_ON;
    for (int64_t t_ns = s.zero_ns; t_ns < s.zero_ns + LENGTH_S * JM_NS_PER_S;) {
        const jm__budget_step step = {.name = 1};
        jm_tracing before = level;
        int64_t soon_ns = s.budget.soon_ns;
        run_board(&s, t_ns, before);
        s.budget.lag_steps = ranks ? JM_BURSTS_AHEAD : 0;
        jm_tracing requested = jm__budget_begin(&s.budget, &step, t_ns);
        if (jm__bursts_announce(&s.bursts, soon_ns == 0 && s.budget.soon_ns != 0))
            jm__duty_cycle_note_burst(&s.duty_cycle, JM_DUTY_CYCLE_SOON, t_ns);
        level = jm__bursts_agree(&s.bursts, s.budget.steps, before, requested);
        jm__budget_set_level(&s.budget, level);
        if (level != before) {
            tell_level(&s, before, level, t_ns);
            jm__budget_switched(&s.budget, t_ns += 3 * MS);
        }
        double noise = 0.05 * (chance_uniform(&state) - 0.5);
        double slower = level == JM_TRACING_STEPS ? 1 : 1.05;
        t_ns += (int64_t)(1e9 * step_s * slower * (1 + noise));
    }
    if (ranks) leave_ranks(&s.bursts, folder);
    return &s;
}

/* A fifth of a second for each half minute, where there are turns for it and the processor time that a
 * sampler may use does, and of what is sampled a quarter lies in turns. */
static void check(double step_s, bool ranks)
{
    const simulation *s = simulate(step_s, ranks);
    const double cpu_s = (double)s->cpu_ns * 1e-9;
    print_message("steps of %.3f s%s: %d of %d turns with samples, %.1f of %.1f s in turns, %.1f s of CPU\n",
                  step_s, ranks ? ", ranks" : "", s->sampled_bursts, s->burst_count, s->traced_s,
                  s->sampled_s, cpu_s);
    assert_true(s->burst_count >= 7);
    int requested = s->burst_count < 30 ? s->burst_count : 30;
    assert_true(s->sampled_bursts >= 0.85 * requested);
    assert_true(s->traced_s >= 0.2 * s->sampled_bursts && s->traced_s >= 0.25 * s->sampled_s);
    assert_true(s->sampled_s <= 2 * JM_DUTY_CYCLE_DEFAULT_S * LENGTH_S / 60);
    assert_true(cpu_s <=
                JM_DUTY_CYCLE_DEFAULT_S / 60 * (LENGTH_S + 100) + 1e-9 * (double)JM_DUTY_CYCLE_CPU_START_NS);
}

static void test_what_is_sampled_lies_in_bursts_however_long_steps_are(void **state)
{
    (void)state;
    const double lengths_s[] = {0.034, 0.3, 0.7, 1.05, 1.5, 3, 6};
    for (size_t i = 0; i < sizeof lengths_s / sizeof *lengths_s; i++) {
        check(lengths_s[i], false);
        check(lengths_s[i], true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_sampled_lies_in_bursts_however_long_steps_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
