/* Steps of which only the edges were recorded have the energy of traced ones of their kind. */
#include "duty.h"

static const char *const layers[DUTY_LAYERS] = {"attn", "mlp", "head"};

static duty_options usual(uint64_t seed, int one_in)
{
    return (duty_options){.seed = seed,
                          .run_s = one_in > 20 ? 240 : 60,
                          .one_in = one_in,
                          .turn_steps = 40,
                          .slower = 2,
                          .gap_us = 300,
                          .step_u = 0.05};
}

static void print_report(const jm_report *report)
{
    const jm_report_totals *t = jm_report_totals_get(report);
    print_message("total %.1f J, %.2f s, steps %lld, traced %lld, missing %lld, slower %.3f, %.3f s, %.2f J, unresolved %.3f\n",
                  t->total_energy_j, t->duration_s, (long long)t->steps, (long long)t->traced_steps,
                  (long long)t->unmatched_steps, t->tracing_slow_down, t->tracing_s, t->tracing_energy_j, t->unresolved_energy_j);
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        print_message("%*s%-30s %-10s %8lld calls %9.4f s %9.2f J [%.2f, %.2f] %s\n", row->depth * 2, "", row->path, row->kind,
                      (long long)row->calls, row->busy_s, row->energy_j, row->energy_low_j, row->energy_high_j,
                      jm_provenance_text(row->provenance));
    }
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        print_message("* %s\n", jm_report_note(report, i));
}

static void test_look(void **state)
{
    (void)state;
    duty *d = duty_create(usual(1, 6));
    for (jm_by by = 0; by < JM_BY_COUNT; by++) {
        if (by == JM_BY_SPAN || by == JM_BY_REQUEST) continue;
        jm_report *report = syn_report(d->s, (jm_report_options){.by = by});
        print_message("by %s; truth %.2f %.2f %.2f of %.2f J; tracing %.4f s; steps %lld traced %lld\n", jm_by_text(by),
                      d->layer_j[0], d->layer_j[1], d->layer_j[2], d->all_j, d->tracing_s, (long long)d->steps, (long long)d->traced);
        print_report(report);
        jm_report_free(report);
    }
    duty_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_look),
    };
    (void)layers;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
