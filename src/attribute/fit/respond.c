/* Few classes stay as they are; many are put together by what a first fit says of their power. */
#include "attribute/fit/respond.h"

#include "attribute/fit/stretch.h"
#include "base/status.h"

#include <stdlib.h>

/* Groups of classes while lag and width are looked for: the search costs their square, and members of one
 * group, each with a 60th of the busy time, are no more than a few watts apart. */
enum { GROUPS = 60 };

typedef struct power_rank {
    double power_w;
    size_t column;
} power_rank;

static int weakest_first(const void *a, const void *b)
{
    const power_rank *left = a, *right = b;
    if (left->power_w != right->power_w) return left->power_w < right->power_w ? -1 : 1;
    return (left->column > right->column) - (left->column < right->column);
}

/* Classes of about the same power, each group with about the same share of the time: what is lost by
 * fitting them as one is little, and does not look like another response. */
static void group_by_power(uint32_t *group, const jm__respond_input *input, const double *power_w,
                           power_rank *ranks)
{
    double all_s = 0, sum_s = 0;
    for (size_t k = 0; k < input->class_columns; k++) {
        ranks[k] = (power_rank){power_w[k], k};
        all_s += input->seconds[k];
    }
    qsort(ranks, input->class_columns, sizeof *ranks, weakest_first);
    for (size_t i = 0; i < input->class_columns; i++) {
        size_t k = ranks[i].column;
        double middle_s = sum_s + input->seconds[k] / 2;
        size_t number = all_s > 0 ? (size_t)(middle_s / all_s * GROUPS) : 0;
        group[k] = (uint32_t)(number < GROUPS ? number : GROUPS - 1);
        sum_s += input->seconds[k];
    }
}

static jm__pass pass_of(const jm__respond_input *input, const jm__reading_list *readings)
{
    jm__pass pass = {
        .design = input->design,
        .readings = readings->items,
        .count = readings->count,
        .columns = input->prior->columns,
    };
    return pass;
}

/* What a fit with the response of the sensor's profile says of each power. */
static jm_status first_fit(jm__posterior *powers, const jm__respond_input *input,
                           const jm__reading_list *learn, jm_error *err)
{
    jm__reading_list sample = {0};
    jm__qr qr = {0};
    size_t columns = input->prior->columns;
    jm_status status = jm__readings_sample(&sample, learn, jm__stretch_sample_size(columns), err);
    jm__pass pass = pass_of(input, &sample);
    if (status == JM_OK) status = jm__qr_init(&qr, columns, err);
    if (status == JM_OK) status = jm__pass_fold(&pass, jm__calibration_of(input->sensor).response, &qr, err);
    if (status == JM_OK) status = jm__posterior_solve(powers, &qr, input->prior, err);
    jm__qr_free(&qr);
    jm__vec_free(&sample);
    return status;
}

/* group[k] of each column; idle states stay alone. Returns the number of groups through `groups`. */
static jm_status make_groups(uint32_t *group, size_t *groups, const jm__respond_input *input,
                             const jm__reading_list *learn, jm_error *err)
{
    size_t columns = input->prior->columns;
    *groups = input->class_columns;
    for (size_t k = 0; k < columns; k++)
        group[k] = (uint32_t)k;
    if (input->class_columns > GROUPS) {
        jm__posterior powers = {0};
        power_rank *ranks = calloc(input->class_columns, sizeof *ranks);
        jm_status status = jm__posterior_init(&powers, columns, err);
        if (status == JM_OK && ranks == NULL) status = jm__no_memory(err, "jm__respond");
        if (status == JM_OK) status = first_fit(&powers, input, learn, err);
        if (status == JM_OK) group_by_power(group, input, powers.power_w, ranks);
        free(ranks);
        jm__posterior_free(&powers);
        if (status != JM_OK) return status;
        *groups = GROUPS;
    }
    for (size_t k = input->class_columns; k < columns; k++)
        group[k] = (uint32_t)(*groups)++;
    return JM_OK;
}

/* A group starts from the belief about one of its columns; one that stayed empty from any. */
static jm_status group_prior(jm__prior *out, const uint32_t *group, size_t groups, const jm__prior *prior,
                             jm_error *err)
{
    jm__belief belief;
    JM_TRY(jm__belief_init(&belief, JM_PROVENANCE_WEAK, groups, err));
    jm_status status = JM_OK;
    for (size_t g = 0; status == JM_OK && g < groups; g++) {
        size_t member = 0;
        for (size_t k = 0; k < prior->columns; k++)
            if (group[k] == g) member = k;
        status = jm__belief_add_power(&belief, g, prior->power_w[member], prior->u_w[member], err);
    }
    const jm__belief *all = &belief;
    if (status == JM_OK) status = jm__prior_make(out, &all, 1, prior->noise, err);
    jm__belief_free(&belief);
    return status;
}

jm_status jm__respond(jm__calibration *out, const jm__respond_input *input, const jm__reading_list *learn,
                      jm_error *err)
{
    jm__reading_list sample = {0};
    jm__prior grouped = {0};
    size_t groups = 0;
    uint32_t *group = calloc(input->prior->columns + 1, sizeof *group);
    jm_status status = group == NULL ? jm__no_memory(err, "jm__respond") : JM_OK;
    if (status == JM_OK) status = make_groups(group, &groups, input, learn, err);
    if (status == JM_OK) status = group_prior(&grouped, group, groups, input->prior, err);
    if (status == JM_OK) status = jm__readings_sample(&sample, learn, JM_CALIBRATE_READINGS, err);
    jm__pass pass = pass_of(input, &sample);
    pass.group = group;
    pass.columns = groups;
    if (status == JM_OK) status = jm__calibrate(out, input->sensor, &pass, &grouped, err);
    jm__prior_free(&grouped);
    jm__vec_free(&sample);
    free(group);
    return status;
}
