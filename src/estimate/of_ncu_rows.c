/* Kernels of a file of ncu's as rows of an estimate. */
#include "estimate/of_ncu.h"

#include "attribute/work/kernel_family.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int capability(const jm__ncu_kernel *kernel)
{
    return 100 * kernel->cc_major + kernel->cc_minor;
}

static bool is_of_chip(const jm__of_ncu *m, const jm__ncu_kernel *kernel)
{
    return kernel->cc_major == 0 || capability(kernel) == 100 * m->words.cc_major + m->words.cc_minor;
}

static void note_missing(jm__of_ncu *m)
{
    size_t used = 0;
    if (m->missing[0] != '\0') return;
    for (size_t f = 0; f < m->bench.model->count; f++) {
        const jm__feature *feature = &m->bench.model->features[f];
        const jm__ncu_word *word = jm__ncu_word_of(&m->words, feature->metric);
        if (!(feature->weight_w > 0) || word == NULL || word->always || word->counter_count == 0) continue;
        double total =
            jm__ncu_sheet_total(&m->sheet, word->counters[0], word->peak, &(jm__ncu_scale){1, 1, 1, 1});
        if (!isnan(total)) continue;
        int added = snprintf(m->missing + used, sizeof m->missing - used, "%s%s", used > 0 ? ", " : "",
                             word->counters[0]);
        if (added < 0 || (size_t)added >= sizeof m->missing - used) {
            m->missing[used] = '\0';
            return;
        }
        used += (size_t)added;
    }
}

/* Fills in figures and their ranges; returns the energy's without what constant data spare. */
static jm__sides fill_row(jm__of_ncu *m, jm_estimated_kernel *row, const jm__kernel_power *power)
{
    const jm__board_model *model = m->bench.model;
    jm__sides of_w = jm__power_sides(model, &m->errors, power, m->features);
    jm__sides of_j = jm__energy_sides(model, &m->errors, power, m->features);
    double base_w = 0.5 * model->constant_w;
    row->power_w = power->power_w;
    row->power_low_w = fmax(power->power_w - hypot(of_w.down, power->data_w), base_w);
    row->power_high_w = power->power_w + of_w.up;
    row->energy_j = power->power_w * power->duration_s;
    row->energy_low_j = row->energy_j - hypot(of_j.down, power->data_w * power->duration_s);
    row->energy_low_j = fmax(row->energy_low_j, base_w * power->duration_s * (1 - fmin(power->time_u, 0.9)));
    row->energy_high_j = row->energy_j + of_j.up;
    row->beyond_w = power->beyond_w;
    row->missing_w = power->missing_w;
    return of_j;
}

static void count_row(jm__of_ncu *m, const jm_estimated_kernel *row, const jm__kernel_power *power)
{
    jm_estimated_range range = {row->power_w, row->power_low_w, row->power_high_w};
    m->no_clock += power->no_clock;
    m->with_missing += power->missing > 0;
    m->beyond += power->beyond_w > 0.05 * power->power_w;
    m->over_limit += row->power_w > m->to->total.limit_w;
    m->flushed_j += power->flushed_u_w * power->duration_s * (double)row->launches;
    if (!power->no_clock) m->ncu_clock_mhz = power->ncu_clock_mhz;
    if (m->to->total.estimated == 0 || range.value > m->peak.value) m->peak = range;
    if (m->to->total.estimated == 0 || range.value < m->least.value) m->least = range;
    m->to->total.estimated++;
    m->to->total.launches += row->launches;
}

/* What the model was asked with: rates at the kernel's clock, without what its voltage costs. */
static jm_status keep_rates(jm__of_ncu *m, const jm__kernel_power *power, jm_error *err)
{
    const jm__board_model *model = m->bench.model;
    double voltage = pow(power->clock_mhz / model->clock_mhz, model->clock_exponent);
    for (size_t f = 0; f < model->count; f++) {
        double rate = power->reason == NULL ? m->features[f] * model->features[f].reference / voltage : NAN;
        if (!jm__vec_push(&m->to->rates, rate)) return jm__no_memory(err, "jm_estimate_make");
    }
    return JM_OK;
}

jm_status jm__of_ncu_name_features(jm__of_ncu *m, jm_error *err)
{
    for (size_t f = 0; f < m->bench.model->count; f++) {
        const char *name = jm__estimate_text(m->to, jm__ncu_feature_name(m->bench.model->features[f].metric));
        if (name == NULL || !jm__vec_push(&m->to->features, name))
            return jm__no_memory(err, "jm_estimate_make");
    }
    return JM_OK;
}

jm_status jm__of_ncu_add_kernel(jm__of_ncu *m, const jm__ncu_kernel *kernel, jm_error *err)
{
    jm__kernel_power power = {.reason = "it ran on another chip"};
    jm_estimated_kernel row = jm__estimated_nothing();
    row.id = kernel->id;
    row.line = kernel->line;
    row.launches = kernel->launches;
    row.process_id = kernel->process_id;
    row.kernel = kernel->name;
    row.process = kernel->process;
    row.device = kernel->device;
    row.grid = kernel->grid;
    row.block = kernel->block;
    row.extrapolated = m->to->total.extrapolated;
    if (is_of_chip(m, kernel)) {
        jm__ncu_sheet_fill(&m->sheet, kernel);
        jm__kernel_power_find(&power, m->features, &m->bench, &m->sheet);
        row.duration_s = power.duration_s;
        row.ncu_duration_s = power.ncu_duration_s;
        row.ncu_clock_mhz = power.ncu_clock_mhz;
        row.clock_mhz = power.clock_mhz;
        if (power.missing > 0) note_missing(m);
    } else {
        m->other_chip++;
    }
    if (power.reason == NULL) {
        jm__sides row_j = fill_row(m, &row, &power);
        count_row(m, &row, &power);
        int family = (int)jm__kernel_family_of(kernel->name);
        JM_TRY(jm__estimate_sums_add(&m->sums, &power, m->features, family,
                                     (jm__same_kernel){kernel->name, kernel->grid}, (double)kernel->launches,
                                     row_j, err));
    } else {
        m->refused++;
        row.reason = power.reason;
    }
    m->to->total.kernels++;
    JM_TRY(keep_rates(m, &power, err));
    return jm__vec_push(&m->to->kernels, row) ? JM_OK : jm__no_memory(err, "jm_estimate_make");
}
