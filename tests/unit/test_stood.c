/* Steps of which only the edges were recorded have the energy of traced ones of their kind. */
#include "duty.h"

static const char *const layers[DUTY_LAYERS] = {"attn", "mlp", "head"};

static duty_options usual(uint64_t seed, int one_in)
{
    return (duty_options){.seed = seed,
                          .run_s = one_in > 20 ? 300 : 120,
                          .one_in = one_in,
                          .turn_steps = 8,
                          .slower = 2,
                          .gap_us = 2000,
                          .kernel_ms = 4,
                          .step_u = 0.05};
}

static void look(duty_options of)
{
    int held[6] = {0}, rows[6] = {0};
    double square[6] = {0}, half[6] = {0};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        of.seed = seed;
        duty *d = duty_create(of);
        jm_report *report = syn_report(d->s, (jm_report_options){.by = JM_BY_LAYER});
        const jm_report_totals *t = jm_report_totals_get(report);
        double truth[6];
        for (int l = 0; l < 3; l++) truth[l] = d->layer_j[l];
        truth[3] = d->all_j - truth[0] - truth[1] - truth[2];
        truth[4] = d->tracing_s * 90;
        for (int i = 0; i < 5; i++) {
            const jm_row *row = duty_row(report, i < 3 ? layers[i] : i == 3 ? "(idle)" : "(idle)/made by tracing", NULL);
            if (row == NULL) continue;
            rows[i]++;
            held[i] += row->energy_low_j <= truth[i] && truth[i] <= row->energy_high_j;
            square[i] += pow(row->energy_j / truth[i] - 1, 2);
            half[i] += (row->energy_high_j - row->energy_low_j) / 2 / truth[i];
        }
        if (seed == 1) print_message("unresolved %.3f of %.1f (true %.1f), sum %.6f\n", t->unresolved_energy_j, t->total_energy_j, d->all_j, duty_sum_j(report) - t->total_energy_j);
        jm_report_free(report);
        duty_free(d);
    }
    for (int i = 0; i < 5; i++)
        print_message("  %d: held %d of %d, rms %.2f %%, half %.2f %%\n", i, held[i], rows[i], 100 * sqrt(square[i] / rows[i]), 100 * half[i] / rows[i]);
}

static void test_look(void **state)
{
    (void)state;
    static const int one_in[] = {1, 6, 12, 50};
    for (int i = 0; i < 4; i++) {
        print_message("one in %d\n", one_in[i]);
        look(usual(1, one_in[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
