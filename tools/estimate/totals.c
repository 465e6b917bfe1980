/* Sums of kernels and their covariance. */
#include "estimate/totals.h"

#include "attribute/fit/nnls.h"
#include "attribute/work/classes.h"
#include "base/status.h"
#include "import/ncu/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

jm_status jm__estimate_sums_init(jm__estimate_sums *sums, const jm__board_model *model,
                                 const jm__errors *errors, jm_error *err)
{
    *sums = (jm__estimate_sums){
        .model = model,
        .errors = errors,
        .features_s = calloc(model->count + 1, sizeof *sums->features_s),
        .family_j = calloc(JM_KERNEL_FAMILY_COUNT, sizeof *sums->family_j),
        .same = {.key_size = sizeof(jm__same_kernel)},
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
    jm__map_free(&sums->same);
    jm__map_free(&sums->own);
    *sums = (jm__estimate_sums){0};
}

static bool add_to(jm__map *map, const jm__same_kernel *same, double value)
{
    const jm__map_value *known = jm__map_find(map, same);
    return jm__map_put(map, same, (jm__map_value){.number = (known != NULL ? known->number : 0) + value});
}

static double squares(const jm__map *map)
{
    double sum = 0;
    for (size_t i = 0; i < map->slots; i++)
        if (map->marks[i] != 0) sum += pow(map->values[i].number, 2);
    return sum;
}

jm_status jm__estimate_sums_add(jm__estimate_sums *sums, const jm__kernel_power *power,
                                const double *features, int family, jm__same_kernel same, double launches,
                                jm__sides row_j, jm_error *err)
{
    double seconds = power->duration_s * launches, energy_j = power->power_w * seconds;
    double time_w = power->time_u * (power->power_w - sums->model->constant_w);
    for (size_t f = 0; f <= sums->model->count; f++)
        sums->features_s[f] += features[f] * seconds;
    sums->energy_j += energy_j;
    sums->seconds += seconds;
    sums->data_j += power->data_w * seconds;
    sums->time_w2 += pow(sums->model->constant_w * power->time_u * seconds, 2);
    sums->rows_j.down += row_j.down * launches;
    sums->rows_j.up += row_j.up * launches;
    if (family == JM_KERNEL_FAMILY_OTHER)
        sums->other_j2 += energy_j * energy_j;
    else
        sums->family_j[family] += energy_j;
    bool put = add_to(&sums->same, &same, energy_j) &&
               add_to(&sums->own, &same, hypot(power->own_w, time_w) * seconds);
    return put ? JM_OK : jm__no_memory(err, "jm_estimate_make");
}

jm__sides jm__estimate_sums_sides(const jm__estimate_sums *sums)
{
    const jm__errors *errors = sums->errors;
    size_t n = sums->model->count + 1;
    double weights_j2 = jm__matrix_between(sums->features_s, sums->model->covariance, sums->features_s, n);
    double families_j2 = sums->other_j2;
    for (int f = 0; f < JM_KERNEL_FAMILY_COUNT; f++)
        families_j2 += pow(sums->family_j[f], 2);
    double left_out_j =
        hypot(errors->family_u * sqrt(families_j2), errors->kernel_u * sqrt(squares(&sums->same)));
    double model_j = jm__model_part(JM_ESTIMATE_Z * left_out_j, sqrt(fmax(weights_j2, 0)));
    double rest_j = sqrt(squares(&sums->own) + sums->time_w2);
    jm__sides sides = jm__sides_of(errors, sums->energy_j, model_j / sums->energy_j, rest_j);
    /* Errors of many kernels add up to a normal one, those of a few do not: no sum is less sure than if all
     * of them were off to one side. */
    return (jm__sides){fmin(sides.down, sums->rows_j.down), fmin(sides.up, sums->rows_j.up)};
}

static double model_part(const jm__board_model *model, const jm__errors *errors,
                         const jm__kernel_power *power, const double *features)
{
    double weights_w2 = jm__matrix_between(features, model->covariance, features, model->count + 1);
    double left_out = errors->kernel_z * hypot(errors->kernel_u, errors->family_u);
    return jm__model_part(left_out, sqrt(fmax(weights_w2, 0)) / power->power_w);
}

jm__sides jm__power_sides(const jm__board_model *model, const jm__errors *errors,
                          const jm__kernel_power *power, const double *features)
{
    double time_w = power->time_u * (power->power_w - model->constant_w);
    return jm__sides_of(errors, power->power_w, model_part(model, errors, power, features),
                        hypot(power->own_w, time_w));
}

/* What a kernel does is counted; its time decides how long the rest of the board draws power meanwhile. */
jm__sides jm__energy_sides(const jm__board_model *model, const jm__errors *errors,
                           const jm__kernel_power *power, const double *features)
{
    double rest_w = hypot(power->own_w, power->time_u * model->constant_w);
    return jm__sides_of(errors, power->power_w * power->duration_s,
                        model_part(model, errors, power, features), rest_w * power->duration_s);
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
