/* The suite of joulemap-suite without a GPU: its list, its order, where its libraries are looked for; and,
 * where there is a libnvrtc, that its sources compile. */
#include "suite/compiler.h"
#include "suite/libraries.h"
#include "suite/needs.h"
#include "suite/sources.h"
#include "suite/stock.h"
#include "suite/turns.h"
#include "suite/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 512 };

/* ---- the list */

static size_t count_families(const suite_kernel *const *kernels, size_t count)
{
    size_t families = 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < i && strcmp(kernels[k]->family, kernels[i]->family) != 0)
            k++;
        families += k == i;
    }
    return families;
}

static void test_list_holds_80_kernels_of_12_families_and_each_name_once(void **state)
{
    (void)state;
    static char names[MOST][SUITE_NAME];
    const suite_kernel *all[MOST];
    assert_in_range(suite_kernel_count, 80, MOST);
    for (size_t i = 0; i < suite_kernel_count; i++) {
        all[i] = &suite_kernels[i];
        suite_kernel_name(all[i], all[i]->n, names[i], SUITE_NAME);
        assert_true(strlen(names[i]) + 1 < SUITE_NAME);
        assert_int_not_equal(all[i]->kinds, 0);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(names[i], names[k]);
    }
    assert_true(count_families(all, suite_kernel_count) >= 12);
    assert_string_equal(names[0], "product/wgmma-8192x4096x4096-bf16");
}

static void test_constants_and_zeros_are_of_a_handful_of_kernels(void **state)
{
    (void)state;
    size_t special = 0;
    for (size_t i = 0; i < suite_kernel_count; i++)
        special += (suite_kernels[i].kinds & SUITE_KIND_BIT(SUITE_ZEROS)) != 0;
    assert_in_range(special, 5, 15);
}

static void test_every_kernel_has_its_source(void **state)
{
    (void)state;
    for (size_t i = 0; i < suite_kernel_count; i++) {
        char *text = suite_source_text(suite_kernels[i].source);
        assert_non_null(text);
        assert_non_null(strstr(text, "#include \"common.cuh\""));
        free(text);
    }
    assert_null(suite_source_text("nothing"));
}

/* Operands of one kernel do not overlap, so together they fit into the rows. */
static void test_operands_fit_the_stock_of_large_and_small_boards(void **state)
{
    (void)state;
    for (double share = 1; share > 0.1; share /= 2)
        for (size_t i = 0; i < suite_kernel_count; i++) {
            const suite_kernel *kernel = &suite_kernels[i];
            uint64_t n[4];
            suite_kernel_scale(kernel, share, n);
            const suite_needs needs = kernel->needs(n);
            const suite_type type = kernel->type == SUITE_TF32 ? SUITE_FP32 : kernel->type;
            assert_true(n[0] >= 8 && n[0] <= kernel->n[0]);
            if (needs.a + needs.b + needs.c > suite_stock_length(type, share))
                fail_msg("%s/%s: its operands do not fit at %g of an H100", kernel->family, kernel->what,
                         share);
            assert_true(needs.index <= suite_stock_length(SUITE_INDEX, share));
            assert_true(needs.out > 0);
        }
}

static void test_sizes_follow_the_board_in_their_first_number(void **state)
{
    (void)state;
    const suite_kernel kernel = {.n = {16384, 4096, 64}}, few = {.n = {32, 64}};
    uint64_t n[4];
    suite_kernel_scale(&kernel, 0.5, n);
    assert_int_equal(n[0], 8192);
    assert_int_equal(n[1], 4096);
    suite_kernel_scale(&kernel, 0.01, n);
    assert_int_equal(n[0], 1024);
    suite_kernel_scale(&few, 0.3, n);
    assert_int_equal(n[0], 8);
    suite_kernel_scale(&few, 0.95, n);
    assert_int_equal(n[0], 32);
}

static void test_tensor_cores_are_for_chips_that_have_them(void **state)
{
    (void)state;
    const suite_kernel any = {.capability = 0}, ampere = {.capability = 80},
                       hopper = {.capability = SUITE_ONLY(90)};
    assert_true(suite_kernel_is_for(&any, 60));
    assert_false(suite_kernel_is_for(&ampere, 75));
    assert_true(suite_kernel_is_for(&ampere, 120));
    assert_false(suite_kernel_is_for(&hopper, 89));
    assert_true(suite_kernel_is_for(&hopper, 90));
    assert_false(suite_kernel_is_for(&hopper, 100));
}

static void test_few_seconds_of_a_simulated_board_are_for_kernels_of_many_families(void **state)
{
    (void)state;
    const suite_kernel *chosen[MOST];
    const size_t few = suite_choose(8, 90, chosen);
    assert_int_equal(few, 17);
    assert_int_equal(count_families(chosen, few), few);
    assert_int_equal(suite_choose(1e4, 90, chosen), suite_kernel_count);
    assert_int_equal(suite_choose_all(chosen), suite_kernel_count);
    assert_int_equal(suite_choose(8, 75, chosen), few); /* without matrix products by tensor cores */
    for (size_t i = 0; i < few; i++)
        assert_true(suite_kernel_is_for(chosen[i], 75));
}

/* ---- the order */

static void make_entry(suite_entry *entry, bool heavy, double call_s, suite_chance *chance)
{
    double lengths_s[SUITE_LENGTHS];
    *entry = (suite_entry){.heavy = heavy, .call_s = call_s};
    suite_burst_lengths(chance, lengths_s);
    for (int i = 0; i < SUITE_LENGTHS; i++)
        entry->calls[i] = (uint32_t)fmax(1, round(lengths_s[i] / call_s));
}

static void test_bursts_last_1_to_20_ms_one_from_each_part(void **state)
{
    (void)state;
    suite_chance chance = {7};
    double lengths_s[SUITE_LENGTHS], edge_s[SUITE_LENGTHS + 1];
    for (int i = 0; i <= SUITE_LENGTHS; i++)
        edge_s[i] = 1e-3 * pow(20, i / (double)SUITE_LENGTHS);
    for (int round = 0; round < 100; round++) {
        suite_burst_lengths(&chance, lengths_s);
        for (int i = 0; i < SUITE_LENGTHS; i++)
            assert_true(lengths_s[i] >= edge_s[i] * (1 - 1e-9) && lengths_s[i] <= edge_s[i + 1] * (1 + 1e-9));
    }
}

static void test_all_kernels_get_equal_time_in_an_order_that_does_not_repeat(void **state)
{
    (void)state;
    enum { COUNT = 4 };
    static const double call_s[COUNT] = {10e-6, 200e-6, 1e-3, 3e-3};
    suite_chance chance = {3};
    suite_entry entries[COUNT];
    suite_turns turns;
    suite_turn turn;
    double seconds[COUNT] = {0};
    size_t pairs[COUNT][COUNT] = {0}, before = COUNT, kinds = 0;
    for (size_t i = 0; i < COUNT; i++)
        make_entry(&entries[i], false, call_s[i], &chance);
    assert_int_equal(suite_turns_open(&turns, entries, COUNT, &chance, NULL), JM_OK);
    while (suite_turns_next(&turns, &turn)) {
        const size_t number = (size_t)(turn.entry - entries);
        assert_true(turn.gap_s >= 0);
        seconds[number] += turn.calls * call_s[number];
        if (before < COUNT) kinds += pairs[before][number]++ == 0;
        before = number;
    }
    suite_turns_close(&turns);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(seconds[i] >= SUITE_ENOUGH_S && seconds[i] < SUITE_ENOUGH_S + 22e-3);
    assert_true(kinds > 10); /* of 12 */
}

/* Mean power, at 1.35 times the limit while playing and a quarter of it at rest. */
static void test_heavy_kernels_rest_enough_to_stay_below_the_limit(void **state)
{
    (void)state;
    enum { COUNT = 4 };
    suite_chance chance = {5};
    suite_entry entries[COUNT];
    suite_turns turns;
    suite_turn turn;
    double energy = 0, total_s = 0;
    for (size_t i = 0; i < COUNT; i++)
        make_entry(&entries[i], true, 500e-6, &chance);
    assert_int_equal(suite_turns_open(&turns, entries, COUNT, &chance, NULL), JM_OK);
    while (suite_turns_next(&turns, &turn)) {
        const double burst_s = turn.calls * 500e-6;
        energy += SUITE_REST_POWER * turn.gap_s + SUITE_HEAVY_POWER * burst_s;
        total_s += turn.gap_s + burst_s;
    }
    suite_turns_close(&turns);
    assert_true(total_s > COUNT * SUITE_ENOUGH_S);
    assert_true(energy / total_s <= 1);
}

static void test_rest_before_a_burst_brings_the_mean_to_the_limit_and_not_below(void **state)
{
    (void)state;
    suite_account account = {0.94};
    const double rest_s = suite_account_rest_before(&account, SUITE_HEAVY_POWER, 10e-3);
    assert_true(rest_s > 0);
    suite_account_add(&account, SUITE_REST_POWER, rest_s);
    suite_account_add(&account, SUITE_HEAVY_POWER, 10e-3);
    assert_true(fabs(account.level - SUITE_MEAN_POWER) < 1e-9);
    account.level = SUITE_REST_POWER;
    assert_true(suite_account_rest_before(&account, SUITE_LIGHT_POWER, 10e-3) == 0);
}

/* ---- what is left out */

static char target[48]; /* what was compiled for last */

static int create_program(suite_program *program, const char *source, const char *name, int count,
                          const char *const *headers, const char *const *names)
{
    (void)source, (void)name, (void)count, (void)headers, (void)names;
    *program = NULL;
    return 0;
}

static int fail_to_compile(suite_program program, int count, const char *const *options)
{
    (void)program, (void)count;
    snprintf(target, sizeof target, "%s", options[0]);
    return 6;
}

static int have_no_log(suite_program program, size_t *size)
{
    (void)program, (void)size;
    return 1;
}

static bool go_on(double share)
{
    (void)share;
    return true;
}

/* On a GPU of this capability, by a compiler that compiles nothing. */
static jm_status make_all(suite_ready *ready, int capability, const suite_kernel *const *kernels,
                          size_t count, jm_error *err)
{
    suite_driver driver = {.capability = capability, .multiprocessors = 132};
    const suite_compiler compiler = {.nvrtcCreateProgram = create_program,
                                     .nvrtcCompileProgram = fail_to_compile,
                                     .nvrtcGetProgramLogSize = have_no_log,
                                     .capability = capability,
                                     .binary = true};
    suite_modules modules = {.driver = &driver, .compiler = &compiler};
    suite_stock stock = {.driver = &driver, .modules = &modules, .share = 1};
    suite_chance chance = {11};
    target[0] = '\0';
    return suite_make_ready(ready, kernels, count, true, &stock, &chance, go_on, err);
}

static void test_kernels_for_other_chips_are_left_out_by_what_they_need(void **state)
{
    (void)state;
    const suite_kernel newer = {.family = "sum", .what = "wide", .n = {64}, .capability = 80, .kinds = 1},
                       other = {.family = "sum", .what = "far", .n = {32}, .capability = 80, .kinds = 3},
                       own = {.family = "product", .what = "deep", .capability = SUITE_ONLY(90), .kinds = 1};
    const suite_kernel *const kernels[] = {&newer, &own, &other};
    suite_ready ready;
    jm_error err = {0};
    assert_int_equal(make_all(&ready, 75, kernels, 3, &err), JM_NOT_SUPPORTED);
    assert_string_equal(err.text, "no kernel of the suite runs here: needs compute capability 8.0");
    assert_string_equal(target, ""); /* nothing of theirs is compiled */
    assert_int_equal(ready.left_out, 4);
    assert_int_equal(ready.reason_count, 2);
    assert_int_equal(ready.reasons[0].count, 3);
    assert_string_equal(ready.reasons[0].names[0], "sum/wide-64-bf16");
    assert_string_equal(ready.reasons[0].names[2], "sum/far-32-bf16");
    assert_string_equal(ready.reasons[1].text, "needs compute capability 9.0 itself");
    suite_ready_free(&ready);
    assert_int_equal(make_all(&ready, 100, &kernels[1], 1, &err), JM_NOT_SUPPORTED);
    assert_string_equal(err.text, "no kernel of the suite runs here: needs compute capability 9.0 itself");
    suite_ready_free(&ready);
}

static void test_what_one_chip_alone_has_is_compiled_for_that_chip(void **state)
{
    (void)state;
    const suite_kernel
        any = {.family = "sum", .what = "wide", .source = "norm", .kinds = 1},
        newer = {.family = "sum", .what = "far", .source = "norm", .capability = 80, .kinds = 1},
        own = {.family = "sum", .what = "deep", .source = "hopper", .capability = SUITE_ONLY(90), .kinds = 1};
    const suite_kernel *const kernels[] = {&any, &newer, &own};
    static const char *const targets[] = {"--gpu-architecture=sm_90", "--gpu-architecture=sm_90",
                                          "--gpu-architecture=sm_90a"};
    for (size_t i = 0; i < 3; i++) {
        suite_ready ready;
        jm_error err = {0};
        assert_int_equal(make_all(&ready, 90, &kernels[i], 1, &err), JM_NOT_SUPPORTED);
        assert_string_equal(target, targets[i]);
        assert_non_null(strstr(err.text, ".cu does not compile: error 6 of NVRTC"));
        suite_ready_free(&ready);
    }
}

/* ---- its end */

/* A process that waits for an hour; a signal comes before or while it does. Its exit code, 0 if all is right.
 */
static int wait_and_be_ended(int number)
{
    const struct itimerspec soon = {.it_value = {0, 5000000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    timer_t timer;
    suite_watch_signals();
    if (suite_ended() != 0 || !suite_sleep(1e-3)) return 1;
    alarm(20); /* kills one that no signal ends */
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 2;
    if (timer_settime(timer, 0, &soon, NULL) != 0) return 3;
    if (suite_sleep(3600)) return 4;
    return suite_ended() == number && !suite_sleep(1e-3) ? 0 : 5;
}

static void test_a_signal_that_asks_for_the_end_ends_a_wait_and_is_told(void **state)
{
    (void)state;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < 3; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) _exit(wait_and_be_ended(numbers[i]));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* ---- libraries */

static bool has_path(const suite_paths *paths, const char *path)
{
    for (size_t i = 0; i < paths->count; i++)
        if (strcmp(paths->items[i], path) == 0) return true;
    return false;
}

static void make_file(char *path, size_t size, const char *folder, const char *parts)
{
    char command[512];
    snprintf(path, size, "%s/%s", folder, parts);
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\" && : >'%s'", path, path);
    assert_int_equal(system(command), 0);
}

static void test_libnvrtc_is_looked_for_in_toolkits_and_packages(void **state)
{
    (void)state;
    static suite_paths paths;
    const char *given = getenv("JOULEMAP_NVRTC");
    char *kept = given != NULL ? strdup(given) : NULL;
    char folder[] = "/tmp/joulemap-suite-XXXXXX", command[64];
    char toolkit[256], of_13[256], of_12[256], of_python[256], builtins[256], python[256];
    assert_non_null(mkdtemp(folder));
    make_file(toolkit, sizeof toolkit, folder, "cuda/lib64/libnvrtc.so.12");
    make_file(builtins, sizeof builtins, folder, "cuda/lib64/libnvrtc-builtins.so.12.4");
    make_file(of_13, sizeof of_13, folder, "env/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
    make_file(of_12, sizeof of_12, folder,
              "env/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
    make_file(of_python, sizeof of_python, folder,
              "own/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
    make_file(python, sizeof python, folder, "own/bin/python3");
    snprintf(command, sizeof command, "%s/cuda", folder);
    setenv("CUDA_HOME", command, 1);
    snprintf(command, sizeof command, "%s/env", folder);
    setenv("VIRTUAL_ENV", command, 1);
    setenv("JOULEMAP_PYTHON", python, 1);
    unsetenv("JOULEMAP_NVRTC");
    suite_libnvrtc_paths(&paths, false);
    assert_true(has_path(&paths, "libnvrtc.so.13"));
    assert_true(has_path(&paths, toolkit));
    assert_false(has_path(&paths, builtins));
    assert_true(has_path(&paths, of_13));
    assert_true(has_path(&paths, of_12));
    snprintf(of_python, sizeof of_python,
             "%s/own/bin/../lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13", folder);
    assert_true(has_path(&paths, of_python));
    setenv("JOULEMAP_NVRTC", "/nowhere/libnvrtc.so", 1);
    suite_libnvrtc_paths(&paths, false);
    assert_int_equal(paths.count, 1);
    assert_string_equal(paths.items[0], "/nowhere/libnvrtc.so");
    unsetenv("JOULEMAP_NVRTC");
    if (kept != NULL) setenv("JOULEMAP_NVRTC", kept, 1);
    free(kept);
    unsetenv("CUDA_HOME");
    unsetenv("VIRTUAL_ENV");
    unsetenv("JOULEMAP_PYTHON");
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void test_stand_ins_of_the_simulated_board_lie_beside_the_program(void **state)
{
    (void)state;
    static suite_paths paths;
    char path[SUITE_PATH];
    if (getenv("JOULEMAP_NVRTC") != NULL) skip(); /* that or none */
    unsetenv("JOULEMAP_CUDA");
    suite_libcuda_path(path, sizeof path, true);
    assert_int_equal(access(path, R_OK), 0);
    suite_libcuda_path(path, sizeof path, false);
    assert_string_equal(path, "libcuda.so.1");
    suite_libnvrtc_paths(&paths, true);
    assert_int_equal(paths.count, 1);
}

/* ---- compiling */

static void compile_for(int capability)
{
    enum { ANY_DRIVER = 99000 };
    suite_compiler compiler;
    jm_error err = {0};
    const char *source;
    if (suite_compiler_load(&compiler, capability, ANY_DRIVER, false, &err) != JM_OK) {
        print_message("compute capability %d is not tried: %s\n", capability, err.text);
        skip();
    }
    for (size_t i = 0; (source = suite_source_name(i)) != NULL; i++) {
        char *image;
        size_t size;
        const bool own = strcmp(source, "hopper") == 0;
        if (own && capability != 90) continue;
        if (suite_compiler_compile(&compiler, source, own, &image, &size, &err) != JM_OK)
            fail_msg("%s", err.text);
        for (size_t k = 0; k < suite_kernel_count; k++) {
            const suite_kernel *kernel = &suite_kernels[k];
            char function[SUITE_NAME];
            if (strcmp(kernel->source, source) != 0 || !suite_kernel_is_for(kernel, capability)) continue;
            suite_kernel_function(kernel, function, sizeof function);
            if (memmem(image, size, function, strlen(function)) == NULL)
                fail_msg("%s.cu has no %s", source, function);
        }
        free(image);
    }
}

static void test_all_sources_compile_for_ampere(void **state)
{
    (void)state;
    compile_for(80);
}

static void test_all_sources_compile_for_hopper(void **state)
{
    (void)state;
    compile_for(90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_holds_80_kernels_of_12_families_and_each_name_once),
        cmocka_unit_test(test_constants_and_zeros_are_of_a_handful_of_kernels),
        cmocka_unit_test(test_every_kernel_has_its_source),
        cmocka_unit_test(test_operands_fit_the_stock_of_large_and_small_boards),
        cmocka_unit_test(test_sizes_follow_the_board_in_their_first_number),
        cmocka_unit_test(test_tensor_cores_are_for_chips_that_have_them),
        cmocka_unit_test(test_few_seconds_of_a_simulated_board_are_for_kernels_of_many_families),
        cmocka_unit_test(test_bursts_last_1_to_20_ms_one_from_each_part),
        cmocka_unit_test(test_all_kernels_get_equal_time_in_an_order_that_does_not_repeat),
        cmocka_unit_test(test_heavy_kernels_rest_enough_to_stay_below_the_limit),
        cmocka_unit_test(test_rest_before_a_burst_brings_the_mean_to_the_limit_and_not_below),
        cmocka_unit_test(test_kernels_for_other_chips_are_left_out_by_what_they_need),
        cmocka_unit_test(test_what_one_chip_alone_has_is_compiled_for_that_chip),
        cmocka_unit_test(test_a_signal_that_asks_for_the_end_ends_a_wait_and_is_told),
        cmocka_unit_test(test_libnvrtc_is_looked_for_in_toolkits_and_packages),
        cmocka_unit_test(test_stand_ins_of_the_simulated_board_lie_beside_the_program),
        cmocka_unit_test(test_all_sources_compile_for_ampere),
        cmocka_unit_test(test_all_sources_compile_for_hopper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
