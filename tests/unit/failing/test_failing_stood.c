/* Memory that runs out while traced steps are found to stand for others: an error, or the same report. */
#include "failing_report.h"

#include "duty.h"

static jm_status make_report(void *context, jm_error *err)
{
    void *const *both = context;
    const jm_report_options options = {.size = sizeof options, .by = *(jm_by *)both[2]};
    return jm__report_from_dataset(both[0], both[1], &options, err);
}

static char *tell_report(void *context)
{
    return failing_tell_report(*(void **)context);
}

static void drop_report(void *context)
{
    failing_drop_report(*(void **)context);
}

static void test_memory_that_runs_out_is_told(void **state)
{
    (void)state;
    const duty_cycle_options of = {.seed = 16,
                                   .run_s = 5,
                                   .one_in = 6,
                                   .burst_steps = 4,
                                   .slower = 2,
                                   .gap_us = 2000,
                                   .kernel_ms = 2,
                                   .step_u = 0.05,
                                   .untraced_eval = true};
    duty_cycle *d = duty_cycle_create(of);
    jm_by by[] = {JM_BY_PHASE, JM_BY_SPAN, JM_BY_LAYER};
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        jm_report *report = NULL;
        void *context[] = {&report, &d->s->dataset, &by[i]};
        const failing_trial trial = {.name = jm_by_text(by[i]),
                                     .context = context,
                                     .work = make_report,
                                     .tell = tell_report,
                                     .drop = drop_report,
                                     .may_end_so = failing_for_memory};
        failing_each_of(&trial, FAILING_MEMORY, 7 * failing_step());
    }
    duty_cycle_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_that_runs_out_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
