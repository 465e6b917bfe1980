/* Means over runs, between their own intervals and their spread. */
#include "report/runs_mean.h"

#include "attribute/fit/student.h"

#include <math.h>

double jm__runs_student(size_t runs)
{
    return jm__student_quantile(0.95, (double)(runs - 1));
}

/* The lower end of an interval may have been cut at 0, so the wider side tells. */
static double own_u(const jm__run_figure *run)
{
    return fmax(run->energy_j - run->low_j, run->high_j - run->energy_j) / JM_NORMAL_95;
}

static double square(double x)
{
    return x * x;
}

/* Half of the interval, and the deviation. `own_j2`: variance of one run by its own interval. */
static double half_of_mean(jm__runs_mean *mean, const jm__run_figure *runs, size_t count, double own_j2,
                           double t)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        if (runs[i].there) sum += square(runs[i].energy_j - mean->energy_j);
    double variance = sum / (double)(mean->runs - 1), beyond = own_j2 - variance;
    mean->deviation_j = sqrt(variance);
    return hypot(t * sqrt(variance / (double)mean->runs), beyond < 0 ? 0 : JM_NORMAL_95 * sqrt(beyond));
}

jm__runs_mean jm__runs_mean_of(const jm__run_figure *runs, size_t count, const double *student)
{
    jm__runs_mean mean = {.energy_j = NAN, .low_j = NAN, .high_j = NAN, .deviation_j = NAN};
    double sum = 0, own_j2 = 0;
    bool below_zero = false;
    for (size_t i = 0; i < count; i++) {
        if (!runs[i].there) continue;
        mean.runs++;
        sum += runs[i].energy_j;
        own_j2 += square(own_u(&runs[i]));
        below_zero = below_zero || runs[i].low_j < 0;
        mean.low_j = runs[i].low_j;
        mean.high_j = runs[i].high_j;
    }
    if (mean.runs == 0) return mean;
    mean.energy_j = sum / (double)mean.runs;
    if (mean.runs == 1) return mean;
    double half = half_of_mean(&mean, runs, count, own_j2 / (double)mean.runs, student[mean.runs]);
    mean.low_j = mean.energy_j - half;
    if (mean.low_j < 0 && !below_zero) mean.low_j = 0;
    mean.high_j = mean.energy_j + half;
    return mean;
}
