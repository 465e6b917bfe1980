/* Sums of kernels and their covariance. */
#include "estimate/totals.h"

#include "attribute/fit/matrix.h"
#include "attribute/work/kernel_family.h"
#include "base/status.h"
#include "ncu/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

jm_status jm__estimate_sums_init(jm__estimate_sums *sums, const jm__board_model *model, jm_error *err)
{
    *sums = (jm__estimate_sums){
        .model = model,
        .features_s = calloc(model->count + 1, sizeof *sums->features_s),
        .family_j = calloc(JM_KERNEL_FAMILY_COUNT, sizeof *sums->family_j),
        .own = {.key_size = sizeof(jm__same_kernel)},
    };
    if (sums->features_s != NULL && sums->family_j != NULL) return JM_OK;
    jm__estimate_sums_free(sums);
    return jm__no_memory(err, "jm_estimate_make");
}

void jm__estimate_sums_free(jm__estimate_sums *sums)
{
    free(sums->features_s);
    free(sums->family_j);
    jm__map_free(&sums->own);
    *sums = (jm__estimate_sums){0};
}

jm_status jm__estimate_sums_add(jm__estimate_sums *sums, const jm__kernel_power *power,
                                const double *features, int family, jm__same_kernel same, double launches,
                                jm_error *err)
{
    double seconds = power->duration_s * launches;
    for (size_t f = 0; f <= sums->model->count; f++)
        sums->features_s[f] += features[f] * seconds;
    sums->energy_j += power->power_w * seconds;
    sums->seconds += seconds;
    sums->data_j += power->data_w * seconds;
    sums->time_w2 += pow(sums->model->constant_w * power->u_duration * seconds, 2);
    double own_w = power->own_w;
    if (family == JM_KERNEL_FAMILY_OTHER)
        own_w = hypot(own_w, sums->model->family_u * power->power_w);
    else
        sums->family_j[family] += power->power_w * seconds;
    jm__map_value *known = jm__map_find(&sums->own, &same);
    jm__map_value value = {.number = (known != NULL ? known->number : 0) + own_w * seconds};
    return jm__map_put(&sums->own, &same, value) ? JM_OK : jm__no_memory(err, "jm_estimate_make");
}

double jm__estimate_sums_u(const jm__estimate_sums *sums)
{
    size_t n = sums->model->count + 1;
    double variance =
        jm__matrix_between(sums->features_s, sums->model->covariance, sums->features_s, n) + sums->time_w2;
    for (int f = 0; f < JM_KERNEL_FAMILY_COUNT; f++)
        variance += pow(sums->model->family_u * sums->family_j[f], 2);
    for (size_t i = 0; i < sums->own.slots; i++)
        if (sums->own.marks[i] != 0) variance += pow(sums->own.values[i].number, 2);
    variance += pow(hypot(sums->model->gain_u, sums->extra_gain_u) * sums->energy_j, 2);
    return sqrt(fmax(variance, 0));
}

double jm__power_u(const jm__board_model *model, const jm__kernel_power *power, const double *features,
                   double extra_gain_u)
{
    double variance = jm__matrix_between(features, model->covariance, features, model->count + 1);
    double shared_u = hypot(hypot(model->family_u, model->gain_u), extra_gain_u);
    variance += pow(shared_u * power->power_w, 2) + pow(power->own_w, 2);
    return sqrt(fmax(variance, 0));
}

static const char *part_of(const char *metric)
{
    const char *name = jm__ncu_feature_name(metric);
    if (strstr(name, "pipe_tensor") != NULL) return "tensor cores";
    if (strncmp(name, "dram", 4) == 0) return "memory";
    if (strncmp(name, "lts__", 5) == 0 || strstr(name, "xbar") != NULL) return "L2 cache";
    if (strncmp(name, "l1tex__", 7) == 0) return "L1 and shared memory";
    if (strstr(name, "fp64") != NULL) return "double precision";
    if (strncmp(name, "sm", 2) == 0 && strstr(name, "inst") != NULL) return "instructions";
    return "multiprocessors";
}

static void add_part(jm_estimate *estimate, const char *name, double energy_j)
{
    size_t i = 0;
    if (!(energy_j > 0)) return;
    while (i < estimate->part_count && strcmp(estimate->parts[i].name, name) != 0)
        i++;
    if (i == JM_ESTIMATE_PARTS) i--;
    if (i == estimate->part_count) estimate->parts[estimate->part_count++] = (jm_estimate_part){.name = name};
    estimate->parts[i].energy_j += energy_j;
}

static int dearer(const void *a, const void *b)
{
    double x = ((const jm_estimate_part *)a)->energy_j, y = ((const jm_estimate_part *)b)->energy_j;
    return (x < y) - (x > y);
}

void jm__estimate_sums_parts(const jm__estimate_sums *sums, jm_estimate *estimate)
{
    const jm__board_model *model = sums->model;
    for (size_t f = 0; f < model->count; f++)
        add_part(estimate, part_of(model->features[f].metric),
                 model->features[f].weight_w * sums->features_s[f]);
    add_part(estimate, "base", model->constant_w * sums->features_s[model->count]);
    qsort(estimate->parts, estimate->part_count, sizeof *estimate->parts, dearer);
    for (size_t i = 0; i < estimate->part_count; i++)
        estimate->parts[i].share = estimate->parts[i].energy_j / sums->energy_j;
}
