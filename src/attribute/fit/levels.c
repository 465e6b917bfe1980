/* What is assumed of each column, with an error of its own and errors that several share. */
#include "attribute/fit/levels.h"

#include "attribute/fit/calibrate.h"
#include "attribute/fit/discrepancy.h"
#include "attribute/work/tally.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static jm_status prior_of_class(jm__prior *weakest, const jm__columns *columns, size_t class, double *shared,
                                jm_error *err)
{
    const double differs_w = fmax(JM_DIFFERENCE_LEAST_W, JM_DISCREPANCY_USUAL_U * weakest->value[class]);
    size_t places = 0;
    memset(shared, 0, weakest->rows * sizeof *shared);
    for (size_t k = 0; k < columns->class_columns; k++) {
        if (columns->first_of[k] != class) continue;
        weakest->value[k] = weakest->value[class];
        shared[k] = weakest->u[class];
        if (k != class) weakest->u[k] = differs_w;
        places++;
    }
    if (places == 1) return JM_OK;
    weakest->u[class] = differs_w;
    return jm__prior_share(weakest, shared, err);
}

jm_status jm__hierarchical_prior(jm__prior *weakest, const jm__columns *columns, jm_error *err)
{
    double *shared = calloc(weakest->rows + 1, sizeof *shared);
    jm_status status = shared == NULL ? jm__no_memory(err, "jm__hierarchical_prior") : JM_OK;
    for (size_t k = 0; status == JM_OK && k < columns->class_columns; k++)
        if (columns->first_of[k] == k) status = prior_of_class(weakest, columns, k, shared, err);
    free(shared);
    return status;
}

/* Two powers, busy and idle, from a fit of two columns; every column then starts from its share of one of
 * them.
 */

/* Where nothing is expected of a kind. */
static const jm__expectation nothing_expected = {.share = 1, .own_u = JM_KINDS_RELATIVE_U};

/* Gaps between bursts draw more than the board at rest (H200: 77 W without a context, 123 with one, 130 to
 * 165 in gaps) and far less than work: loose, but it keeps an idle state that was hardly seen below the work.
 */
static const double idle_over_least = 1.4, idle_share = 0.3, idle_u_share = 0.15, idle_relative_u = 0.6;

/* Where the fit of two columns starts, so loosely (by all of the mean) that a second of readings decides. */
static const double idle_of_mean = 0.4;

/* Two minutes of the ring, in blocks from all over the run: kinds that run at one end of it count as well. */
enum { LEVEL_READINGS = 6000 };

/* A busy level below this share of the mean is none: nothing was busy, or nothing told the two apart. */
static const double busy_least_of_mean = 0.1;

static double mean_of(const jm__reading_list *readings)
{
    double mean_w = 0;
    for (size_t i = 0; i < readings->count; i++)
        mean_w += readings->items[i].value / (double)readings->count;
    return fmax(mean_w, JM_POWER_LEAST_W);
}

/* Also outside of what is learnt from: the board may have rested only there. */
static double least_of(const jm__fit_input *input, double mean_w)
{
    double least_w = mean_w;
    for (size_t i = 0; i < input->reading_count; i++)
        if (input->readings[i].value > 0 && input->readings[i].value < least_w)
            least_w = input->readings[i].value;
    return least_w;
}

/* The prior of the fit of two columns. */
static jm_status start(jm__joint_prior *joint_prior, const jm_sensor *sensor, double mean_w, jm_error *err)
{
    jm__prior prior = {.provenance = JM_PROVENANCE_WEAK, .columns = 2};
    jm_status status = jm__prior_add_power(&prior, 0, mean_w, mean_w, err);
    if (status == JM_OK) status = jm__prior_add_power(&prior, 1, idle_of_mean * mean_w, mean_w, err);
    if (status == JM_OK)
        status = jm__joint_prior_make(joint_prior, &prior, NULL, 0, jm__noise_of(sensor), err);
    jm__prior_free(&prior);
    return status;
}

static const jm__expectation *expected_of(const jm__fit_input *input, size_t column)
{
    return input->expected != NULL ? &input->expected[column] : &nothing_expected;
}

/* `group`, `scale`: room for [columns]. */
static jm_status fit_two(jm__posterior *levels, const jm__fit_input *input, jm__design *design,
                         const jm__reading_list *sample, uint32_t *group, double *scale, double mean_w,
                         jm_error *err)
{
    for (size_t k = 0; k < input->columns; k++) {
        bool samples = k >= input->class_columns + JM_IDLE_STATES;
        group[k] = k >= input->class_columns;
        scale[k] = k < input->class_columns ? expected_of(input, k)->share : samples ? 0 : 1;
    }
    const jm__pass pass = {
        .design = design,
        .readings = sample->items,
        .count = sample->count,
        .group = group,
        .scale = scale,
        .columns = 2,
    };
    jm__joint_prior joint_prior = {0};
    jm_status status = start(&joint_prior, input->sensor, mean_w, err);
    if (status == JM_OK)
        status = jm__pass_solve(levels, &pass, jm__calibration_of(input->sensor).response, &joint_prior, err);
    jm__joint_prior_free(&joint_prior);
    return status;
}

/* Columns whose errors go together: a family, or a kin. */
typedef struct together {
    uint32_t name;
    double relative_u;
} together;

static together together_of(const jm__expectation *expected, bool kin)
{
    return kin ? (together){expected->kin, expected->kin_u}
               : (together){expected->family, expected->family_u};
}

/* The error that the columns together with column `first` share. The mean of all is known, so a family that
 * draws more than expected leaves less for all: a family that is all of the run has no error. False if
 * `first` is not the first of them. */
static bool shared_error(double *error, const jm__prior *prior, const jm__fit_input *input, size_t first,
                         bool kin)
{
    const together mine = together_of(expected_of(input, first), kin);
    double weight = 0;
    if (mine.relative_u == 0) return false;
    for (size_t k = 0; k < input->class_columns; k++) {
        if (together_of(expected_of(input, k), kin).name != mine.name) continue;
        if (k < first) return false;
        weight += expected_of(input, k)->weight;
    }
    for (size_t k = 0; k < input->class_columns; k++) {
        bool in = together_of(expected_of(input, k), kin).name == mine.name;
        error[k] = mine.relative_u * prior->value[k] * ((in ? 1 : 0) - weight);
    }
    return true;
}

/* What is assumed of idle states: powers, what each is off by itself, and what all gaps are off together, as
 * they do not differ much from each other. Before anything has run there may be no context yet, which is
 * another matter. */
typedef struct idle_levels {
    double power_w[JM_IDLE_STATES], own_w[JM_IDLE_STATES], together_w[JM_IDLE_STATES];
} idle_levels;

/* From the least reading. */
static idle_levels rough_idle(double least_w, double busy_w)
{
    double idle_w = fmin(idle_over_least * least_w, idle_share * busy_w);
    double idle_u_w = fmax(idle_relative_u * idle_w, idle_u_share * busy_w);
    idle_levels out;
    for (int s = 0; s < JM_IDLE_STATES; s++) {
        bool gap = s >= JM_IDLE_FIRST_GAP;
        out.power_w[s] = idle_w;
        out.own_w[s] = gap ? JM_GAP_RELATIVE_U * idle_w : idle_u_w;
        out.together_w[s] = gap ? idle_u_w : 0;
    }
    return out;
}

/* Gaps of which nothing is known are like the others. */
static void know_idle(idle_levels *out, const jm__idle_known *known)
{
    double mean_w = 0, count = 0;
    for (int s = JM_IDLE_FIRST_GAP; s < JM_IDLE_STATES; s++) {
        if (!isfinite(known->power_w[s])) continue;
        mean_w += known->power_w[s];
        count++;
    }
    if (count == 0) return;
    mean_w /= count;
    for (int s = JM_IDLE_FIRST_GAP; s < JM_IDLE_STATES; s++) {
        bool is_known = isfinite(known->power_w[s]);
        out->power_w[s] = is_known ? known->power_w[s] : mean_w;
        out->own_w[s] = fmax(is_known ? known->u_w[s] : JM_GAP_RELATIVE_U * mean_w, JM_POWER_LEAST_W);
        out->together_w[s] = known->together_u * out->power_w[s];
    }
}

static jm_status share_errors(jm__prior *prior, const jm__fit_input *input, const idle_levels *idle,
                              double *error, jm_error *err)
{
    memset(error, 0, input->columns * sizeof *error);
    for (size_t s = 0; s < JM_IDLE_STATES && input->class_columns + s < input->columns; s++)
        error[input->class_columns + s] = idle->together_w[s];
    if (input->columns > input->class_columns + JM_IDLE_FIRST_GAP) JM_TRY(jm__prior_share(prior, error, err));
    memset(error, 0, input->columns * sizeof *error); /* idle states have no part in those of kernels */
    for (size_t k = 0; k < input->class_columns; k++)
        for (int kin = 0; kin < 2; kin++)
            if (shared_error(error, prior, input, k, kin)) JM_TRY(jm__prior_share(prior, error, err));
    return JM_OK;
}

typedef struct level {
    double power_w, u_w;
} level;

/* What the board draws while the program works, gaps of milliseconds and all: the mean of readings above the
 * mean of all. */
static double working_of(const jm__reading_list *readings, double mean_w)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < readings->count; i++) {
        if (readings->items[i].value < mean_w) continue;
        sum += readings->items[i].value;
        count++;
    }
    return count > 0 ? sum / count : mean_w;
}

/* At the power limit so much of a sampler's draw is not drawn, and so unsure is the rest: 7 and 18 W more on
 * an H200 that was at it for 97 and 66 % of the time (bench/results/sampler_draw.txt). */
static const double limit_share = 0.75, limit_u = 0.3;

static level draw_of(const jm__fit_input *input, const jm__reading_list *sample, double mean_w, size_t state)
{
    const jm__sampler_known *sampler = &input->sampler;
    if (state == JM_SAMPLER_IDLE) return (level){sampler->rest_w, sampler->rest_u_w};
    double draw_w = fmax(0, sampler->rest_w - sampler->per_w * working_of(sample, mean_w));
    return (level){draw_w * (1 - limit_share * sampler->limited),
                   hypot(sampler->busy_u_w, limit_u * sampler->limited * draw_w)};
}

/* Relative variance of the mean power of all work, of what its members are off each alone. */
static double mean_variance(const jm__fit_input *input)
{
    double sum = 0;
    for (size_t k = 0; k < input->class_columns; k++)
        sum += pow(expected_of(input, k)->weight * expected_of(input, k)->own_u, 2);
    return sum;
}

/* How far a column is from its share of the mean, which is known: what it is off alone, and what the mean is
 * because of all others; a column that is most of the mean is taken to be off alone. */
static double own_error(const jm__fit_input *input, double of_mean, size_t k)
{
    const jm__expectation *of = expected_of(input, k);
    double variance = of->own_u * of->own_u;
    return sqrt(variance + fmax(0, of_mean - 2 * of->weight * variance));
}

static level level_of(const jm__fit_input *input, const idle_levels *idle, double busy_w, double of_mean,
                      size_t k)
{
    if (k < input->class_columns) {
        double power_w = expected_of(input, k)->share * busy_w;
        return (level){power_w, own_error(input, of_mean, k) * power_w};
    }
    size_t state = k - input->class_columns;
    return (level){idle->power_w[state], idle->own_w[state]};
}

static jm_status assume(jm__prior *prior, const jm__fit_input *input, jm__design *design,
                        const jm__reading_list *sample, uint32_t *group, double *room, jm_error *err)
{
    double mean_w = mean_of(sample), least_w = least_of(input, mean_w);
    jm__posterior levels = {0};
    jm_status status = fit_two(&levels, input, design, sample, group, room, mean_w, err);
    double busy_w = status == JM_OK ? levels.power_w[0] : 0;
    jm__posterior_free(&levels);
    if (status != JM_OK) return status;
    if (!(busy_w > busy_least_of_mean * mean_w)) busy_w = mean_w;
    idle_levels idle = rough_idle(least_w, busy_w);
    if (input->idle != NULL) know_idle(&idle, input->idle);
    double of_mean = mean_variance(input);
    for (size_t k = 0; k < input->columns; k++) {
        level of = k < input->class_columns + JM_IDLE_STATES
                       ? level_of(input, &idle, busy_w, of_mean, k)
                       : draw_of(input, sample, mean_w, k - input->class_columns - JM_IDLE_STATES);
        JM_TRY(jm__prior_add_power(prior, k, of.power_w, of.u_w, err));
    }
    return share_errors(prior, input, &idle, room, err);
}

jm_status jm__levels_prior(jm__prior *prior, const jm__fit_input *input, jm__design *design,
                           const jm__reading_list *learn, jm_error *err)
{
    jm__reading_list sample = {0};
    uint32_t *group = calloc(input->columns + 1, sizeof *group);
    double *room = calloc(input->columns + 1, sizeof *room);
    bool fine = group != NULL && room != NULL;
    jm_status status = fine ? JM_OK : jm__no_memory(err, "jm__levels_prior");
    *prior = (jm__prior){.provenance = JM_PROVENANCE_WEAK, .columns = input->columns};
    if (status == JM_OK) status = jm__readings_sample(&sample, learn, LEVEL_READINGS, err);
    if (status == JM_OK) status = assume(prior, input, design, &sample, group, room, err);
    jm__vec_free(&sample);
    free(group);
    free(room);
    return status;
}
