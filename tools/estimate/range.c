/* Ranges of powers and energies. */
#include "estimate/range.h"

#include "base/order.h"
#include "base/status.h"
#include "estimate/estimate.h"

#include <math.h>
#include <stdlib.h>

/* An error of so much of the power that is would make it ten times what is told: no range goes further. */
static const double relative_most = 0.9;

/* A quantile of errors stands for kernels to come if it is that of one more kernel than there are (split
 * conformal: Lei and others, Journal of the American Statistical Association 113, 2018). 0: too few tell it.
 */
static size_t rank_of(size_t count)
{
    size_t rank = (size_t)ceil((double)(count + 1) * JM_ESTIMATE_COVERS);
    return rank <= count ? rank : 0;
}

/* Errors of kernels are no normal distribution: most are small, a few large ones make the most of their mean
 * square. So the model's own kernels, each told by the other families, say how many standard deviations hold
 * them. `errors`: room for all. */
static double holding(const jm__board_model *model, double *errors)
{
    double square = 0;
    size_t count = 0;
    for (size_t i = 0; i < model->kernel_count; i++) {
        const jm__model_kernel *kernel = &model->kernels[i];
        double error = fabs(kernel->predicted_w / kernel->power_w - 1);
        if (kernel->left_out || !isfinite(error)) continue;
        square += error * error;
        errors[count++] = error;
    }
    qsort(errors, count, sizeof *errors, jm__compare_doubles);
    size_t rank = rank_of(count);
    return rank > 0 && square > 0 ? errors[rank - 1] / sqrt(square / (double)count) : JM_ESTIMATE_Z;
}

jm_status jm__errors_find(jm__errors *errors, const jm__board_model *model, double board_u, double clock_u,
                          jm_error *err)
{
    double *room = calloc(model->kernel_count + 1, sizeof *room);
    if (room == NULL) return jm__no_memory(err, "jm_estimate_make");
    *errors = (jm__errors){.kernel_u = model->relative_u,
                           .family_u = model->family_u,
                           .gain_u = hypot(model->gain_u, board_u),
                           .clock_u = clock_u,
                           .kernel_z = holding(model, room)};
    free(room);
    return JM_OK;
}

jm__sides jm__sides_of(const jm__errors *errors, double value, double model, double rest)
{
    double relative = fmin(hypot(model, JM_ESTIMATE_Z * errors->gain_u), relative_most);
    double clock = JM_ESTIMATE_Z * errors->clock_u, rest_z = JM_ESTIMATE_Z * rest;
    /* told = true * (1 + error): the power that is lies between told / (1 + most) and told / (1 - most). */
    return (jm__sides){
        .down = hypot(hypot(value * relative / (1 + relative), value * (1 - exp(-clock))), rest_z),
        .up = hypot(hypot(value * relative / (1 - relative), value * (exp(clock) - 1)), rest_z),
    };
}

double jm__model_part(double left_out, double weights)
{
    return fmax(left_out, JM_ESTIMATE_Z * weights);
}
