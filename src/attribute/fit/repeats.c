/* Mean, spread, drift, warm-up and outliers of repeated measurements. */
#include "attribute/fit/student.h"
#include "base/order.h"
#include "base/status.h"

#include <joulemap/repeats.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_STEADY = 4, LEAST_FOR_OUTLIERS = 7 };

static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

static double deviation_of(const double *values, size_t count)
{
    double mean = mean_of(values, count), square = 0;
    for (size_t i = 0; i < count; i++)
        square += (values[i] - mean) * (values[i] - mean);
    return count > 1 ? sqrt(square / (double)(count - 1)) : NAN;
}

/* ---- figures ---- */

static bool find_order(jm_repeats *out, const double *values, size_t count)
{
    double *sorted = malloc(count * sizeof *sorted);
    if (sorted == NULL) return false;
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, jm__compare_doubles);
    out->least = sorted[0];
    out->most = sorted[count - 1];
    out->median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    free(sorted);
    return true;
}

/* A straight line by least squares, and the interval of its slope from what it leaves. */
static void find_slope(jm_repeats *out, const double *values, size_t count)
{
    double middle = ((double)count - 1) / 2, across = 0, along = 0, rest = 0;
    out->slope = out->slope_low = out->slope_high = NAN;
    if (count < 3) return;
    for (size_t i = 0; i < count; i++) {
        across += ((double)i - middle) * values[i];
        along += ((double)i - middle) * ((double)i - middle);
    }
    out->slope = across / along;
    for (size_t i = 0; i < count; i++)
        rest += pow(values[i] - out->mean - out->slope * ((double)i - middle), 2);
    double freedom = (double)count - 2;
    double half = jm__student_quantile(0.95, freedom) * sqrt(rest / freedom / along);
    out->slope_low = out->slope - half;
    out->slope_high = out->slope + half;
}

jm_status jm_repeats_of(const double *values, size_t count, jm_repeats *out, jm_error *err)
{
    *out = (jm_repeats){.count = count, .low = NAN, .high = NAN};
    if (count == 0) return jm__fail(err, JM_USAGE, 0, "jm_repeats_of", "nothing was measured");
    if (!find_order(out, values, count)) return jm__no_memory(err, "jm_repeats_of");
    out->mean = mean_of(values, count);
    out->deviation = deviation_of(values, count);
    if (count > 1) {
        double freedom = (double)count - 1;
        double half = jm__student_quantile(0.95, freedom) * out->deviation / sqrt((double)count);
        out->low = out->mean - half;
        out->high = out->mean + half;
    }
    find_slope(out, values, count);
    return JM_OK;
}

/* ---- warm-up ---- */

/* Of the values from one on: their number, mean, and sum of squares off it. */
typedef struct rest {
    double count, mean, square;
} rest;

/* Welford's way, from the last value to the first. */
static rest with(rest r, double value)
{
    double off = value - r.mean;
    r.count++;
    r.mean += off / r.count;
    r.square += off * (value - r.mean);
    return r;
}

/* Student's quantile is more than the normal distribution's, which mostly decides and costs nothing. */
static bool all_apart(const double *values, size_t first, rest r)
{
    const double normal_99 = 2.5758;
    double spread = sqrt(r.square / (r.count - 1)) * sqrt(1 + 1 / r.count);
    if (first > 0 && fabs(values[0] - r.mean) <= normal_99 * spread) return false;
    double half = jm__student_quantile(0.99, r.count - 1) * spread;
    for (size_t i = 0; i < first; i++)
        if (fabs(values[i] - r.mean) <= half) return false;
    return true;
}

/* The longest beginning that is one: of a shorter one, what is warm too hides in the spread of the rest. */
size_t jm_repeats_warm_up(const double *values, size_t count)
{
    rest r = {0};
    size_t warm = count / 3, at = count;
    if (count - warm < LEAST_STEADY) warm = count < LEAST_STEADY ? 0 : count - LEAST_STEADY;
    while (at > warm)
        r = with(r, values[--at]);
    for (; warm > 0 && !all_apart(values, warm, r); warm--)
        r = with(r, values[warm - 1]);
    return warm;
}

/* ---- outliers ---- */

/* The critical value for the most extreme of `left` values. */
static double critical(size_t left)
{
    double n = (double)left, t = jm__student_quantile(1 - 0.05 / n, n - 2);
    return (n - 1) * t / sqrt((n - 2 + t * t) * n);
}

static size_t most_extreme(const double *values, size_t count)
{
    double mean = mean_of(values, count);
    size_t most = 0;
    for (size_t i = 1; i < count; i++)
        if (fabs(values[i] - mean) > fabs(values[most] - mean)) most = i;
    return most;
}

/* One value after the other goes; all up to the last that was too far are outliers. */
static size_t find_outliers(double *left, size_t *number, size_t count, bool *outlier)
{
    size_t found = 0, gone = 0, most_gone = count / 4;
    for (; gone < most_gone; gone++) {
        size_t kept = count - gone, at = most_extreme(left, kept);
        double deviation = deviation_of(left, kept), value = left[at];
        size_t mine = number[at];
        if (deviation > 0 && fabs(value - mean_of(left, kept)) / deviation > critical(kept)) found = gone + 1;
        left[at] = left[kept - 1];
        number[at] = number[kept - 1];
        left[kept - 1] = value;
        number[kept - 1] = mine; /* those that are gone stand at the end, the first one last */
    }
    for (size_t i = 0; i < found; i++)
        outlier[number[count - 1 - i]] = true;
    return found;
}

jm_status jm_repeats_outliers(const double *values, size_t count, bool *outlier, size_t *found, jm_error *err)
{
    memset(outlier, 0, count * sizeof *outlier);
    *found = 0;
    if (count < LEAST_FOR_OUTLIERS) return JM_OK;
    double *left = malloc(count * sizeof *left);
    size_t *number = malloc(count * sizeof *number);
    for (size_t i = 0; left != NULL && number != NULL && i < count; i++) {
        left[i] = values[i];
        number[i] = i;
    }
    bool fine = left != NULL && number != NULL;
    if (fine) *found = find_outliers(left, number, count, outlier);
    free(left);
    free(number);
    return fine ? JM_OK : jm__no_memory(err, "jm_repeats_outliers");
}
