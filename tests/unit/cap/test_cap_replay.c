/* Recorded sweeps: whatever was measured, the search ends with the best cap that it may choose. */
#include "base/status.h"

#include "cap_found.h"

#include <joulemap/cap.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/joulemap-test-sweep-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static double uniform(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return ((double)(*random >> 11) + 0.5) / 9007199254740992.0;
}

typedef struct sweep {
    size_t count;
    double cap_w[40], time_s[40], power_w[40];
} sweep;

/* Time falls with the cap, as of a job that the cap slows down below some power; the one cap `just` is so
 * much slower than the highest, relative to it. */
static sweep ridge_share(uint64_t seed, size_t *just, double slowdown)
{
    uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    sweep s = {.count = 5 + (size_t)(uniform(&random) * 15)};
    double most_w = 200 + 500 * uniform(&random), knee = 0.5 + 0.5 * uniform(&random);
    double steep = 0.3 + 0.7 * uniform(&random);
    for (size_t i = 0; i < s.count; i++) {
        double share = 0.35 + 0.65 * (double)i / (double)(s.count - 1);
        s.cap_w[i] = most_w * share;
        s.time_s[i] = 10 * (share < knee ? pow(knee / share, steep) : 1) * (1 + 0.002 * uniform(&random));
        s.power_w[i] = most_w * fmin(share, knee) * (0.97 + 0.02 * uniform(&random));
    }
    *just = 1 + (size_t)(uniform(&random) * (double)(s.count - 2));
    s.time_s[*just] = s.time_s[s.count - 1] * (1 + slowdown);
    return s;
}

/* Each cap `repeats` times, which differ by a relative standard deviation. */
static void write_sweep(const sweep *s, int repeats, double deviation)
{
    uint64_t random = 4711;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "cap_w,time_s,power_w\n");
    for (int r = 0; r < repeats; r++)
        for (size_t i = 0; i < s->count; i++) {
            double off = deviation * sqrt(12) * (uniform(&random) - 0.5);
            fprintf(file, "%.9g,%.9g,%.9g\n", s->cap_w[i], s->time_s[i] * (1 + off),
                    s->power_w[i] * (1 - off / 2));
        }
    fclose(file);
}

static jm_cap_search *replay(jm_cap_objective objective, double max_slowdown)
{
    const jm_cap_plan_options options = {
        .size = sizeof options, .objective = objective, .max_slowdown = max_slowdown};
    jm_cap_search *search = NULL;
    jm_error err = {0};
    if (jm_cap_replay(&search, path, &options, &err) != JM_OK) fail_msg("%s", err.text);
    return search;
}

static void test_a_cap_just_over_the_bound_is_passed_over(void **state)
{
    (void)state;
    static const jm_cap_objective objectives[] = {JM_CAP_ENERGY, JM_CAP_EDP, JM_CAP_ED2P};
    for (uint64_t seed = 1; seed <= 100; seed++) {
        double bound = 0.01 * (double)(1 + seed % 10);
        size_t just;
        sweep s = ridge_share(seed, &just, bound * (1 + 0.02 * ((double)(seed % 7) - 3) / 3) + 1e-6);
        write_sweep(&s, 1, 0);
        jm_cap_search *search = replay(objectives[seed % 3], bound);
        jm_cap_found found;
        assert_int_equal(jm_cap_search_found(search, &found, NULL), JM_OK);
        found_kept(__BASE_FILE__, search, &found);
        size_t chosen = 0;
        while (fabs(s.cap_w[chosen] - found.choice.cap_w) > 1e-3)
            chosen++;
        assert_true(s.time_s[chosen] <= (1 + bound) * s.time_s[s.count - 1] + 1e-6);
        jm_cap_search_free(search);
    }
}

/* A mean is what is measured, and is asked for once. */
static void test_a_sweep_may_have_each_cap_several_times(void **state)
{
    (void)state;
    enum { REPEATS = 4 };
    static const double deviation = 0.01;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        size_t just;
        const sweep s = ridge_share(seed, &just, 0.02);
        write_sweep(&s, REPEATS, deviation);
        jm_cap_search *search = replay(JM_CAP_ENERGY, 0.05);
        size_t told = jm_cap_search_told_count(search);
        assert_in_range(told, 2, 5);
        for (size_t i = 0; i < told; i++) {
            const jm_cap_told *each = jm_cap_search_told(search, i);
            double u = each->probe.time_u_s / each->probe.time_s;
            assert_true(u > 0.5 * deviation / sqrt(REPEATS) && u < 2 * deviation / sqrt(REPEATS));
            assert_true(fabs(each->probe.power_u_w / each->probe.power_w - u / 2) < 0.2 * u);
            for (size_t k = 0; k < i; k++)
                assert_true(jm_cap_search_told(search, k)->probe.cap_w != each->probe.cap_w);
        }
        jm_cap_search_free(search);
    }
}

static void test_repeats_that_are_the_same_are_one(void **state)
{
    (void)state;
    size_t just;
    const sweep s = ridge_share(3, &just, 0.02);
    double cap_w[2];
    for (int repeats = 1; repeats <= 2; repeats++) {
        jm_cap_found found;
        write_sweep(&s, repeats, 0);
        jm_cap_search *search = replay(JM_CAP_EDP, 0.05);
        assert_int_equal(jm_cap_search_found(search, &found, NULL), JM_OK);
        found_kept(__BASE_FILE__, search, &found);
        assert_true(jm_cap_search_told(search, 0)->probe.time_u_s == 0);
        cap_w[repeats - 1] = found.choice.cap_w;
        jm_cap_search_free(search);
    }
    assert_true(cap_w[0] == cap_w[1]);
}

static jm_status replay_text(const char *text, jm_cap_search **search, jm_error *err)
{
    const jm_cap_plan_options options = {.size = sizeof options};
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return jm_cap_replay(search, path, &options, err);
}

static void test_caps_in_milliwatts_are_named(void **state)
{
    (void)state;
    static const char *const wrong[] = {"300000,10,280\n200000,11,190\n", "300,10,280000\n200,11,190000\n"};
    for (size_t i = 0; i < 2; i++) {
        char text[160];
        jm_cap_search *search;
        jm_error err = {0};
        snprintf(text, sizeof text, "cap_w,time_s,power_w\n%s", wrong[i]);
        assert_int_equal(replay_text(text, &search, &err), JM_BAD_DATA);
        assert_non_null(strstr(err.text, i == 0 ? "300000 W is more" : "280000 W is more"));
        assert_non_null(strstr(err.hint, "divide milliwatts by 1000"));
    }
}

static void test_rows_of_a_sweep_that_say_nothing_are_passed_over(void **state)
{
    (void)state;
    jm_cap_search *search;
    jm_error err = {0};
    if (replay_text("cap_w,time_s,power_w\n,,\n300,10,280\n250,N/A,240\n225,10.2,[Not Supported]\n"
                    "cap_w,time_s,power_w\n200,11,190\n150,14,145\n",
                    &search, &err) != JM_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < jm_cap_search_told_count(search); i++) {
        double cap_w = jm_cap_search_told(search, i)->probe.cap_w;
        assert_true(cap_w == 300 || cap_w == 200 || cap_w == 150);
    }
    jm_cap_search_free(search);
}

static void test_what_was_measured_with_a_spread_is_told_with_it(void **state)
{
    (void)state;
    size_t just;
    const sweep s = ridge_share(9, &just, 0.02);
    for (int repeats = 1; repeats <= 3; repeats += 2) {
        char *text, *json;
        write_sweep(&s, repeats, 0.01);
        jm_cap_search *search = replay(JM_CAP_EDP, 0.05);
        assert_int_equal(jm_cap_search_text(search, 80, &text, NULL), JM_OK);
        assert_int_equal(jm_cap_search_json(search, &json, NULL), JM_OK);
        assert_true((strstr(text, "of what was not") == NULL) == (repeats > 1));
        assert_non_null(strstr(text, "95"));
        assert_non_null(strstr(json, "\"time_u_s\""));
        said_kept(__BASE_FILE__, search, 80);
        assert_true((strstr(json, "\"time_u_s\": 0.0,") == NULL) == (repeats > 1));
        free(text);
        free(json);
        jm_cap_search_free(search);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cap_just_over_the_bound_is_passed_over),
        cmocka_unit_test(test_a_sweep_may_have_each_cap_several_times),
        cmocka_unit_test(test_repeats_that_are_the_same_are_one),
        cmocka_unit_test(test_caps_in_milliwatts_are_named),
        cmocka_unit_test(test_rows_of_a_sweep_that_say_nothing_are_passed_over),
        cmocka_unit_test(test_what_was_measured_with_a_spread_is_told_with_it),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
