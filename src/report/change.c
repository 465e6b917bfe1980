/* The mean of an energy over runs with its interval, and the change between two means. */
#include "report/change.h"

#include "attribute/fit/student.h"

#include <math.h>

/* The wider half of an interval, as its lower end may have been cut at 0. */
static double wider_half(double energy_j, double low_j, double high_j)
{
    return fmax(energy_j - low_j, high_j - energy_j);
}

static double square(double x)
{
    return x * x;
}

/* Half of the mean's interval; also sets the deviation. `own_j2`: mean variance by the runs' own intervals.
 */
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
    jm__runs_mean mean = {.energy_j = NAN, .low_j = NAN, .high_j = NAN, .deviation_j = NAN, .seconds = NAN};
    double sum = 0, sum_s = 0, own_j2 = 0;
    bool below_zero = false;
    for (size_t i = 0; i < count; i++) {
        if (!runs[i].there) continue;
        mean.runs++;
        sum += runs[i].energy_j;
        sum_s += runs[i].seconds;
        own_j2 += square(wider_half(runs[i].energy_j, runs[i].low_j, runs[i].high_j) / JM_NORMAL_95);
        below_zero = below_zero || runs[i].low_j < 0;
        mean.low_j = runs[i].low_j;
        mean.high_j = runs[i].high_j;
    }
    if (mean.runs == 0) return mean;
    mean.energy_j = sum / (double)mean.runs;
    mean.seconds = sum_s / (double)mean.runs;
    if (mean.runs == 1) return mean;
    double half = half_of_mean(&mean, runs, count, own_j2 / (double)mean.runs, student[mean.runs]);
    mean.low_j = mean.energy_j - half;
    if (mean.low_j < 0 && !below_zero) mean.low_j = 0;
    mean.high_j = mean.energy_j + half;
    return mean;
}

/* ---- the change between two energies with independent errors */

static double half_j(jm__figure f)
{
    return hypot(wider_half(f.energy_j, f.low_j, f.high_j), JM_NORMAL_95 * f.gain_u * f.energy_j);
}

jm__ratio jm__change_of(jm__figure a, jm__figure b)
{
    jm__ratio r = {NAN, NAN, NAN, 0};
    double wide_a = half_j(a), wide_b = half_j(b);
    double a_j = a.energy_j, b_j = b.energy_j, apart_j = b_j - a_j;
    if (isnan(a_j) || isnan(b_j)) return r;
    if (a_j > 0) r.change = b_j / a_j - 1;
    if (isnan(wide_a) || isnan(wide_b)) return r;
    if (fabs(apart_j) > hypot(wide_a, wide_b)) r.sign = apart_j > 0 ? 1 : -1;
    /* (b - r a)^2 <= wide_b^2 + r^2 wide_a^2 */
    double square = a_j * a_j - wide_a * wide_a;
    if (a_j <= 0 || square <= 0) return r;
    double root = sqrt(fmax(0, a_j * a_j * wide_b * wide_b + b_j * b_j * wide_a * wide_a -
                                   wide_a * wide_a * wide_b * wide_b));
    r.low = (a_j * b_j - root) / square - 1;
    r.high = (a_j * b_j + root) / square - 1;
    return r;
}
