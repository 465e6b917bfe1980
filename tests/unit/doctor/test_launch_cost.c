/* What tracing costs a launch: of bursts by turns, tried in a process of its own, kept for the machine it is
 * of. */
#include "doctor/probe.h"
#include "record/cupti/launch_cost.h"

#include <joulemap/joulemap.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/joulemap-test-cost-XXXXXX";
static char path[128];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/joulemap/launch-cost", folder);
    setenv("XDG_DATA_HOME", folder, 1);
    setenv("JOULEMAP_CUPTI", JM_BUILD_DIR "/tests/libfake_cupti_13.so", 1);
    setenv("JOULEMAP_SIM", "h200", 1);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void test_it_is_the_median_of_pairs_and_what_eight_of_ten_gave(void **state)
{
    (void)state;
    int64_t ns[20];
    for (int64_t i = 0; i < 10; i++) {
        ns[2 * i] = 2000 + 100 * i;                           /* a host that becomes slower meanwhile */
        ns[2 * i + 1] = ns[2 * i] + 1500 + 10 * (i * 7 % 10); /* 1,500 to 1,590 */
    }
    ns[1] = 90000; /* an interruption, in place of 1,500 */
    jm__launch_cost cost;
    assert_true(jm__launch_cost_of(&cost, ns, 10));
    assert_int_equal(cost.ns, 1555);
    assert_int_equal(cost.low_ns, 1520);
    assert_int_equal(cost.high_ns, 1590);
    assert_false(jm__launch_cost_of(&cost, ns, 0));
    ns[0] = 300, ns[1] = 200; /* chance: it is never below nothing */
    assert_true(jm__launch_cost_of(&cost, ns, 1));
    assert_int_equal(cost.ns, 0);
}

static void test_what_is_kept_holds_as_long_as_the_cupti_is_the_same(void **state)
{
    (void)state;
    jm__launch_cost kept;
    assert_false(jm__launch_cost_read(&kept));
    const jm__launch_cost cost = {1900, 1700, 2100};
    jm__launch_cost_keep(&cost);
    assert_true(jm__launch_cost_read(&kept));
    assert_memory_equal(&kept, &cost, sizeof cost);
    setenv("JOULEMAP_CUPTI", JM_BUILD_DIR "/tests/libfake_cupti_12.so", 1);
    assert_false(jm__launch_cost_read(&kept));
    setenv("JOULEMAP_CUPTI", JM_BUILD_DIR "/tests/libfake_cupti_13.so", 1);
    jm__launch_cost_keep(NULL);
    assert_true(jm__launch_cost_read(&kept));
    assert_true(kept.ns < 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("something else\n1 2", file);
    fclose(file);
    assert_false(jm__launch_cost_read(&kept));
    setenv("XDG_DATA_HOME", "/proc/nowhere", 1);
    jm__launch_cost_keep(&cost); /* nowhere to: nothing happens */
    assert_false(jm__launch_cost_read(&kept));
    setenv("XDG_DATA_HOME", folder, 1);
}

/* The stand-ins launch and trace nothing, so it costs nothing that could be told from chance. */
static void test_a_gpu_is_asked_in_a_process_of_its_own_and_once(void **state)
{
    (void)state;
    jm__launch_cost cost;
    unlink(path);
    setenv("JOULEMAP_CUDA", JM_BUILD_DIR "/tests/fake_cuda/libcuda.so.1", 1);
    jm_doctor_know_launch_cost();
    assert_true(jm__launch_cost_read(&cost));
    assert_true(cost.ns >= 0 && cost.ns < 1000000);
    const jm__launch_cost other = {7, 7, 7};
    jm__launch_cost_keep(&other);
    jm_doctor_know_launch_cost();
    assert_true(jm__launch_cost_read(&cost));
    assert_int_equal(cost.ns, 7);
}

static void test_a_recording_with_kernels_tells_it(void **state)
{
    (void)state;
    const jm__launch_cost cost = {1900, 1700, 2100};
    jm__launch_cost_keep(&cost);
    for (int kernels = 0; kernels < 2; kernels++) {
        char file[160];
        jm_run *run;
        jm_recording *recording;
        snprintf(file, sizeof file, "%s/r%d.joulemap", folder, kernels);
        jm_run_options options = {.size = sizeof options,
                                  .path = file,
                                  .no_cpu = true,
                                  .child_kernels = kernels > 0,
                                  .counters = -1};
        assert_int_equal(jm_run_start(&run, &options, NULL), JM_OK);
        jm_run_free(run);
        assert_int_equal(jm_recording_open(&recording, file, NULL), JM_OK);
        const char *told = jm_recording_meta(recording, "launch_cost_ns");
        if (kernels > 0)
            assert_string_equal(told, "1900");
        else
            assert_null(told);
        jm_recording_close(recording);
    }
}

static void test_why_it_could_not_be_measured_is_told(void **state)
{
    (void)state;
    jm__launch_cost cost;
    char why[256];
    unlink(path);
    setenv("JOULEMAP_CUDA", "/nowhere/libcuda.so.1", 1);
    assert_false(jm__launch_measure(&cost, why, sizeof why));
    assert_non_null(strstr(why, "/nowhere/libcuda.so.1"));
    setenv("JOULEMAP_CUDA", JM_BUILD_DIR "/tests/fake_cuda/libcuda.so.1", 1);
    setenv("JOULEMAP_CUPTI", "/nowhere/libcupti.so", 1);
    assert_false(jm__launch_measure(&cost, why, sizeof why));
    assert_non_null(strstr(why, "/nowhere/libcupti.so"));
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_the_median_of_pairs_and_what_eight_of_ten_gave),
        cmocka_unit_test(test_what_is_kept_holds_as_long_as_the_cupti_is_the_same),
        cmocka_unit_test(test_a_gpu_is_asked_in_a_process_of_its_own_and_once),
        cmocka_unit_test(test_a_recording_with_kernels_tells_it),
        cmocka_unit_test(test_why_it_could_not_be_measured_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
