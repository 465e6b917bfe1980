/* What of the noise of a fit the surroundings of kernels are charged with. */
#include "attribute/fit/misfit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void check_seen(jm__noise noise, double sensor_noise_w, double wanted_w2)
{
    double seen_w2 = jm__misfit_seen(&noise, sensor_noise_w);
    if (!(fabs(seen_w2 - wanted_w2) < 1e-9)) fail_msg("%.9g is not %.9g", seen_w2, wanted_w2);
}

static void test_what_is_new_in_each_reading_beyond_the_sensors_own_noise_is_misfit(void **state)
{
    (void)state;
    /* Of a drift of 80 W^2 that keeps 0.6, 64 % are new in each reading; the sensor's 5 W may be 32.5 W^2. */
    check_seen((jm__noise){.white = 90, .drift = 80, .keep = 0.6}, 5, 80 * 0.64);
    check_seen((jm__noise){.white = 2, .drift = 80, .keep = 0.6}, 5,
               2 + 80 - 32.5);                                                /* no more than the excess */
    check_seen((jm__noise){.white = 2, .drift = 30, .keep = 0.6}, 5, 0);      /* there is none */
    check_seen((jm__noise){.white = 90, .drift = 80, .keep = 1}, 5, 0);       /* all of it lasts */
    check_seen((jm__noise){.white = 90, .drift = 80, .keep = 0}, 5, 80);      /* nothing does */
    check_seen((jm__noise){.white = 0.5, .drift = 0.25, .keep = 0}, 0, 0.25); /* less than 1 W^2 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_new_in_each_reading_beyond_the_sensors_own_noise_is_misfit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
