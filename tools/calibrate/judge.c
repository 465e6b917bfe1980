/* Kernels of a family are off alike: how much all of them together, and how much each by itself, are variance
 * components of the errors (one-way analysis of variance with unequal groups: Searle, Casella, McCulloch,
 * Variance Components, 1992, 3.6). */
#include "calibrate/judge.h"

#include "base/order.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kernel errs by this at least, however well all others do: the data that it works on (attribution.md). */
static const double least_relative_u = 0.03;

static double error_of(const jm__model_kernel *kernel)
{
    return kernel->predicted_w / kernel->power_w - 1;
}

/* Of one family, those kernels that are in the weights. */
typedef struct family {
    double count, sum, square;
} family;

static family family_of(const jm__board_model *model, const char *name)
{
    family f = {0};
    for (size_t k = 0; k < model->kernel_count; k++) {
        const jm__model_kernel *kernel = &model->kernels[k];
        if (kernel->left_out || strcmp(kernel->family, name) != 0) continue;
        f.count++;
        f.sum += error_of(kernel);
        f.square += pow(error_of(kernel), 2);
    }
    return f;
}

/* Is it the first kernel of its family that is in the weights? */
static bool is_first(const jm__board_model *model, size_t kernel)
{
    if (model->kernels[kernel].left_out) return false;
    for (size_t k = 0; k < kernel; k++)
        if (!model->kernels[k].left_out &&
            strcmp(model->kernels[k].family, model->kernels[kernel].family) == 0)
            return false;
    return true;
}

/* The root of the mean square of all errors, taken apart. */
static void take_apart(jm__board_model *model)
{
    double count = 0, sum = 0, square = 0, families = 0, counts = 0, means = 0;
    for (size_t k = 0; k < model->kernel_count; k++) {
        if (!is_first(model, k)) continue;
        const family f = family_of(model, model->kernels[k].family);
        families++;
        count += f.count;
        sum += f.sum;
        square += f.square;
        counts += f.count * f.count;
        means += f.sum * f.sum / f.count;
    }
    double within = count > families ? (square - means) / (count - families) : square / count;
    double between = 0, spread = count - counts / count;
    if (families > 1 && spread > 0)
        between = ((means - sum * sum / count) / (families - 1) - within) * (families - 1) / spread;
    model->family_u = sqrt(fmax(between, 0));
    model->relative_u = fmax(sqrt(within), least_relative_u);
    model->gain_u = hypot(model->gain_u, sum / count); /* what all kernels have in common */
}

static void find_worst(jm_learnt *learnt, const jm__board_model *model)
{
    for (size_t k = 0; k < model->kernel_count; k++) {
        if (!is_first(model, k)) continue;
        const family f = family_of(model, model->kernels[k].family);
        double error = sqrt(f.square / f.count);
        if (error <= learnt->worst_error) continue;
        learnt->worst_error = error;
        snprintf(learnt->worst_family, sizeof learnt->worst_family, "%.63s", model->kernels[k].family);
    }
}

jm_status jm__judge(jm__board_model *model, jm_learnt *learnt, jm_error *err)
{
    double *errors = calloc(model->kernel_count + 1, sizeof *errors);
    size_t count = 0;
    if (errors == NULL) return jm__no_memory(err, "jm_model_learn");
    for (size_t k = 0; k < model->kernel_count; k++) {
        learnt->left_out += model->kernels[k].left_out;
        if (model->kernels[k].left_out) continue;
        errors[count++] = fabs(error_of(&model->kernels[k]));
        learnt->mean_error += errors[count - 1];
    }
    qsort(errors, count, sizeof *errors, jm__compare_doubles);
    learnt->kernels = count;
    if (count > 0) {
        learnt->median_error = errors[count / 2];
        learnt->p95_error = errors[(size_t)(0.95 * (double)(count - 1) + 0.5)];
        learnt->mean_error /= (double)count;
        take_apart(model);
        find_worst(learnt, model);
    }
    free(errors);
    if (count > 0) return JM_OK;
    return jm__fail(err, JM_BAD_DATA, 0, NULL, "no kernel ran long enough to tell its power");
}
