/* Student's t by bisection on its distribution, which is integrated in the angle that makes it smooth. */
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
    double log_constant = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - 0.5 * log(3.14159265358979323846);
    return 2 * integral * exp(log_constant);
}

double jm__student_quantile(double probability, double freedom)
{
    if (!(freedom >= 1)) freedom = 1;
    if (freedom > 1e6) freedom = 1e6; /* normal to six digits */
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
