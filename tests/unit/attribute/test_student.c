/* Student's quantiles against those that others have computed. */
#include "attribute/fit/student.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* To 3, 4 or 6 decimals in any table (Abramowitz and Stegun, 26.10); to all these digits by the incomplete
 * beta function of mpmath 1.3 with 40 digits. */
static const struct {
    double probability, freedom, quantile;
} known[] = {
    {0.95, 1, 12.706204736},         {0.95, 10, 2.228138852},           {0.95, 120, 1.9799304051},
    {0.95, 200, 1.9718962236},       {0.95, 201, 1.9718365068},         {0.95, 1000, 1.9623390808},
    {0.95, 100000, 1.9599877075},    {0.95, 1000000, 1.9599663568},     {0.95, INFINITY, 1.9599639845},
    {0.99, 1, 63.656741163},         {0.99, 10, 3.1692726726},          {0.99, 120, 2.6174211451},
    {0.99, 200, 2.6006344362},       {0.99, 201, 2.6005099191},         {0.99, 1000, 2.5807546981},
    {0.99, 100000, 2.5758784699},    {0.99, 1000000, 2.5758342201},     {0.9999999, 201, 5.527637363},
    {0.9999999, 1000, 5.3660905534}, {0.9999999, 100000, 5.3271150791}, {0.9999999, 1000000, 5.3267630034},
};

static void test_quantiles_are_right_to_a_millionth(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double quantile = jm__student_quantile(known[i].probability, known[i].freedom);
        if (!(fabs(quantile - known[i].quantile) < 1e-6))
            fail_msg("P %g, %g degrees: %.9f, not %.9f", known[i].probability, known[i].freedom, quantile,
                     known[i].quantile);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles_are_right_to_a_millionth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
