/* Student's t by bisection on its distribution, which is integrated in the angle that makes it smooth; of
 * many degrees of freedom, where that loses digits, from the normal distribution. */
#include "attribute/fit/student.h"

#include <math.h>

/* P(|T| <= t): with t = sqrt(n) tan(a) the density becomes cos(a)^(n-1), which has no tail. */
static double inside(double t, double freedom)
{
    const int steps = 200; /* Simpson: error below 1e-9 for the smooth integrand */
    double end = atan(t / sqrt(freedom)), sum = 0;
    for (int i = 0; i <= steps; i++) {
        double weight = i == 0 || i == steps ? 1 : (i % 2 ? 4 : 2);
        sum += weight * pow(cos(end * i / steps), freedom - 1);
    }
    double integral = sum * end / (3.0 * steps);
    int sign; /* lgamma() has it in a global, which threads would share */
    double log_constant =
        lgamma_r((freedom + 1) / 2, &sign) - lgamma_r(freedom / 2, &sign) - 0.5 * log(3.14159265358979323846);
    return 2 * integral * exp(log_constant);
}

/* From here on four terms of the expansion are right to 1e-6 up to P = 1 - 1e-7. */
static const double many = 200;

/* The x with P(|X| <= x) = probability, X normal: Newton's method from the left on erfc, which is convex. */
static double normal_quantile(double probability)
{
    const double root_of_half = 0.70710678118654752440, density_at_0 = 0.79788456080286535588; /* of |X| */
    double x = 0, step = 1;
    for (int i = 0; i < 100 && step > 1e-15 * x; i++) {
        step = (erfc(x * root_of_half) - (1 - probability)) / (density_at_0 * exp(-x * x / 2));
        x += step;
    }
    return x;
}

/* Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5. */
static double quantile_of_many(double probability, double freedom)
{
    double x = normal_quantile(probability), y = x * x, n = freedom;
    double first = x * (y + 1) / 4;
    double second = x * ((5 * y + 16) * y + 3) / 96;
    double third = x * (((3 * y + 19) * y + 17) * y - 15) / 384;
    double fourth = x * ((((79 * y + 776) * y + 1482) * y - 1920) * y - 945) / 92160;
    return x + (first + (second + (third + fourth / n) / n) / n) / n;
}

double jm__student_quantile(double probability, double freedom)
{
    if (!(freedom >= 1)) freedom = 1;
    if (freedom > many) return quantile_of_many(probability, freedom);
    double low = 0, high = 1;
    while (inside(high, freedom) < probability && high < 1e6)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (inside(middle, freedom) < probability)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}
