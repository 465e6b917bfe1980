/* Faults on demand of the simulated board, each seen through NVML's calls. Times: seconds since the epoch. */
#include "test_sim_library.h"

#include <math.h>

static nvmlDevice_t open_with(const char *faults)
{
    setenv("JOULEMAP_SIM_FAULTS", faults, 1);
    setenv("JOULEMAP_SIM_SCRIPT", write_file("script.csv", "0,60,500,steady\n"), 1);
    return open_board(0);
}

static nvmlReturn_t ask_ring(nvmlDevice_t device)
{
    static nvmlSample_t samples[200];
    unsigned int type, count = 200;
    return nvml.samples(device, 0, 0, &type, &count, samples);
}

static void test_a_call_fails_from_a_time_on_and_until_another(void **state)
{
    (void)state;
    nvmlDevice_t device =
        open_with("nvmlDeviceGetSamples=GPU_IS_LOST@100ms; "
                  "nvmlDeviceGetPowerUsage=ERROR_TIMEOUT@0.1s-0.3s;nvmlDeviceGetName=UNKNOWN");
    unsigned int mw;
    char name[96];
    assert_int_equal(nvml.name(device, name, sizeof name), NVML_ERROR_UNKNOWN);
    assert_int_equal(ask_ring(device), NVML_SUCCESS);
    assert_int_equal(nvml.power(device, &mw), NVML_SUCCESS);
    sleep_to(0.15);
    assert_int_equal(ask_ring(device), NVML_ERROR_GPU_IS_LOST);
    assert_int_equal(nvml.power(device, &mw), NVML_ERROR_TIMEOUT);
    sleep_to(0.35);
    assert_int_equal(ask_ring(device), NVML_ERROR_GPU_IS_LOST);
    assert_int_equal(nvml.power(device, &mw), NVML_SUCCESS);
}

static void test_a_fault_may_be_that_of_one_board(void **state)
{
    (void)state;
    setenv("JOULEMAP_SIM", "h200,h200", 1);
    nvmlDevice_t first = open_with("nvmlDeviceGetPowerUsage=NO_PERMISSION#1");
    nvmlDevice_t second = open_board(1);
    unsigned int mw;
    assert_int_equal(nvml.power(first, &mw), NVML_SUCCESS);
    assert_int_equal(nvml.power(second, &mw), NVML_ERROR_NO_PERMISSION);
}

static void test_init_can_fail(void **state)
{
    (void)state;
    setenv("JOULEMAP_SIM_FAULTS", "nvmlInit*=DRIVER_NOT_LOADED", 1);
    assert_int_equal(nvml.init(), NVML_ERROR_DRIVER_NOT_LOADED);
    unsetenv("JOULEMAP_SIM_FAULTS");
    assert_int_equal(nvml.init(), NVML_SUCCESS);
}

static void test_a_symbol_can_be_missing(void **state)
{
    (void)state;
    nvmlDevice_t device = open_with("missing:nvmlDeviceGetSamples");
    assert_int_equal(nvml.missing("nvmlDeviceGetSamples"), 1);
    assert_int_equal(nvml.missing("nvmlDeviceGetName"), 0);
    assert_int_equal(ask_ring(device), NVML_ERROR_FUNCTION_NOT_FOUND); /* for loaders that do not ask */
}

static void test_a_board_is_lost_and_comes_back(void **state)
{
    (void)state;
    nvmlDevice_t device = open_with("lost@0.1s-0.3s");
    unsigned int mw;
    double from_s, to_s;
    assert_int_equal(nvml.power(device, &mw), NVML_SUCCESS);
    double from_j = counter_j(device, &from_s);
    sleep_to(0.15);
    assert_int_equal(nvml.power(device, &mw), NVML_ERROR_GPU_IS_LOST);
    assert_int_equal(nvml.handle(0, &device), NVML_ERROR_GPU_IS_LOST);
    sleep_to(0.45);
    assert_int_equal(nvml.power(device, &mw), NVML_SUCCESS);
    double spent_j = counter_j(device, &to_s) - from_j;
    assert_true(fabs(spent_j - 500 * to_s + 77 * from_s) < 0.01); /* the first tick lies before the script */
}

static void test_the_counter_sticks_and_goes_on(void **state)
{
    (void)state;
    nvmlDevice_t device = open_with("stuck@0.2s-0.6s");
    double tick_s;
    double start_j = counter_j(device, &tick_s) - 77 * tick_s;
    sleep_to(0.4);
    double one_j = counter_j(device, &tick_s);
    assert_true(tick_s > 0.2);
    /* what it showed last: a whole number of its periods of 0.1 s before, and no part of one */
    double shown_s = (one_j - start_j) / 500;
    assert_true(shown_s > 0.1 && shown_s <= 0.2);
    assert_true(fabs(remainder(tick_s - shown_s, 0.1)) < 1e-4);
    sleep_to(0.55);
    assert_true(counter_j(device, &tick_s) == one_j);
    sleep_to(0.8);
    assert_true(fabs(counter_j(device, &tick_s) - start_j - 500 * tick_s) < 0.01);
}

static void test_a_call_says_one_number_for_a_while(void **state)
{
    (void)state;
    nvmlDevice_t device = open_with("glitch:nvmlDeviceGetPowerUsage=7@0.1s-0.3s");
    unsigned int mw;
    assert_int_equal(nvml.power(device, &mw), NVML_SUCCESS);
    assert_true(mw > 10000);
    sleep_to(0.15);
    assert_int_equal(nvml.power(device, &mw), NVML_SUCCESS);
    assert_int_equal(mw, 7);
    sleep_to(0.35);
    assert_int_equal(nvml.power(device, &mw), NVML_SUCCESS);
    assert_true(mw > 10000);
}

static void test_a_call_says_for_a_while_what_it_said(void **state)
{
    (void)state;
    nvmlDevice_t device = open_with("stuck:nvmlDeviceGetPowerUsage@0.1s-0.6s");
    unsigned int held, mw;
    sleep_to(0.15);
    assert_int_equal(nvml.power(device, &held), NVML_SUCCESS);
    sleep_to(0.5);
    assert_int_equal(nvml.power(device, &mw), NVML_SUCCESS);
    assert_int_equal(mw, held);
    sleep_to(0.8);
    assert_int_equal(nvml.power(device, &mw), NVML_SUCCESS);
    assert_true(mw > held + 10000); /* the mean over a second has gone on to rise */
}

static void test_a_ring_can_have_nothing_new(void **state)
{
    (void)state;
    nvmlDevice_t device = open_with("stuck:nvmlDeviceGetSamples@0.1s");
    nvmlSample_t samples[200];
    unsigned int type, count = 200;
    sleep_to(0.4);
    assert_int_equal(nvml.samples(device, 0, 0, &type, &count, samples), NVML_SUCCESS);
    assert_true(seconds_of_stamp(samples[count - 1].timeStamp) < 0.13);
}

static void test_the_counter_begins_at_zero_again(void **state)
{
    (void)state;
    nvmlDevice_t device = open_with("reset@0.2s");
    double tick_s;
    assert_true(counter_j(device, &tick_s) > 1e6);
    sleep_to(0.5);
    assert_true(fabs(counter_j(device, &tick_s) - 500 * (tick_s - 0.2)) < 0.01);
}

static void test_stamps_step(void **state)
{
    (void)state;
    nvmlDevice_t device = open_with("step=3s@0.2s");
    nvmlSample_t samples[200];
    unsigned int type, count = 200;
    sleep_to(0.5);
    assert_int_equal(nvml.samples(device, 0, 0, &type, &count, samples), NVML_SUCCESS);
    unsigned int steps = 0;
    for (unsigned int i = 1; i < count; i++) {
        long long apart_us = (long long)(samples[i].timeStamp - samples[i - 1].timeStamp);
        if (apart_us < 1000000) continue;
        assert_in_range(apart_us, 3009000, 3031000);
        steps++;
    }
    assert_int_equal(steps, 1);
    double last_s = seconds_of_stamp(samples[count - 1].timeStamp);
    assert_true(last_s > 3.4 && last_s < 3.6);
}

static void test_a_call_can_be_slow(void **state)
{
    (void)state;
    nvmlDevice_t device = open_with("slow:nvmlDeviceGetSamples=120ms@0.2s");
    int64_t from_ns = now_ns();
    assert_int_equal(ask_ring(device), NVML_SUCCESS);
    int64_t fast_ns = now_ns() - from_ns;
    sleep_to(0.25);
    from_ns = now_ns();
    assert_int_equal(ask_ring(device), NVML_SUCCESS);
    assert_true(now_ns() - from_ns >= 120000000);
    assert_true(fast_ns >= 500000); /* a read of the ring takes half a millisecond */
}

static void test_reading_the_counter_takes_its_time(void **state)
{
    (void)state;
    nvmlDevice_t device = open_board(0);
    unsigned long long mj;
    int64_t from_ns = now_ns();
    for (int i = 0; i < 10; i++)
        assert_int_equal(nvml.energy(device, &mj), NVML_SUCCESS);
    assert_true(now_ns() - from_ns >= 30000000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_a_call_fails_from_a_time_on_and_until_another),
        TEST(test_a_fault_may_be_that_of_one_board),
        TEST(test_init_can_fail),
        TEST(test_a_symbol_can_be_missing),
        TEST(test_a_board_is_lost_and_comes_back),
        TEST(test_the_counter_sticks_and_goes_on),
        TEST(test_a_call_says_one_number_for_a_while),
        TEST(test_a_call_says_for_a_while_what_it_said),
        TEST(test_a_ring_can_have_nothing_new),
        TEST(test_the_counter_begins_at_zero_again),
        TEST(test_stamps_step),
        TEST(test_a_call_can_be_slow),
        TEST(test_reading_the_counter_takes_its_time),
    };
    return cmocka_run_group_tests(tests, load_library, NULL);
}
