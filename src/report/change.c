/* From two energies that err independently to their change. */
#include "report/change.h"

#include "attribute/fit/student.h"

#include <math.h>

/* Half of the interval. Its lower end may have been cut at 0, so the wider side tells. */
static double half_j(jm__figure f)
{
    double own_j = fmax(f.energy_j - f.low_j, f.high_j - f.energy_j);
    return hypot(own_j, JM_NORMAL_95 * f.gain_u * f.energy_j);
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
