/* Means over runs, between their own intervals and their spread. */
#include "report/runs_mean.h"

#include "attribute/fit/student.h"

#include <math.h>

void jm__student_table_make(jm__student_table *table)
{
    table->t[0] = JM_NORMAL_95;
    for (int i = 1; i <= JM_STUDENT_STEPS; i++)
        table->t[i] = fmax(JM_NORMAL_95, jm__student_quantile(0.95, (double)JM_STUDENT_STEPS / i));
}

/* Between two entries by a straight line: t is convex in 1 / freedom, so that is never too small. */
static double student(const jm__student_table *table, double freedom)
{
    double at = JM_STUDENT_STEPS / fmax(1, freedom);
    int before = (int)fmin(floor(at), JM_STUDENT_STEPS - 1);
    return table->t[before] + (at - before) * (table->t[before + 1] - table->t[before]);
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

static double half_of(const jm__runs_mean *mean, double t)
{
    return hypot(t * mean->scatter_j, JM_NORMAL_95 * mean->shared_j);
}

static void find_spread(jm__runs_mean *mean, const jm__run_figure *runs, size_t count, double own_j2)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        if (runs[i].there) sum += square(runs[i].energy_j - mean->energy_j);
    double variance = sum / (double)(mean->runs - 1);
    mean->deviation_j = sqrt(variance);
    mean->scatter_j = sqrt(variance / (double)mean->runs);
    mean->shared_j = isnan(own_j2) ? NAN : sqrt(fmax(0, own_j2 - variance));
}

jm__runs_mean jm__runs_mean_of(const jm__run_figure *runs, size_t count, const jm__student_table *table)
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
    own_j2 /= (double)mean.runs;
    mean.shared_j = sqrt(own_j2);
    if (mean.runs == 1) return mean;
    find_spread(&mean, runs, count, own_j2);
    double half = half_of(&mean, student(table, (double)(mean.runs - 1)));
    mean.low_j = below_zero ? mean.energy_j - half : fmax(0, mean.energy_j - half);
    if (isnan(half)) mean.low_j = NAN; /* fmax would make 0 of it */
    mean.high_j = mean.energy_j + half;
    return mean;
}

static double welch(const jm__runs_mean *a, const jm__runs_mean *b)
{
    double a_j2 = square(a->scatter_j), b_j2 = square(b->scatter_j), both = 0;
    if (a->runs > 1) both += square(a_j2) / (double)(a->runs - 1);
    if (b->runs > 1) both += square(b_j2) / (double)(b->runs - 1);
    return both > 0 ? square(a_j2 + b_j2) / both : INFINITY;
}

static jm__figure figure_of(const jm__runs_mean *mean, double t)
{
    double half = half_of(mean, t);
    return (jm__figure){mean->energy_j, mean->energy_j - half, mean->energy_j + half, 0};
}

void jm__runs_sides(const jm__runs_mean *a, const jm__runs_mean *b, const jm__student_table *table,
                    jm__figure *side_a, jm__figure *side_b)
{
    double t = student(table, welch(a, b));
    *side_a = figure_of(a, t);
    *side_b = figure_of(b, t);
}
