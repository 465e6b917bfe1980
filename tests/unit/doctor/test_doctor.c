/* doctor names the libcupti that the injected library takes: both look in a program of each case, on fake
 * libcuptis. */
#include <joulemap/doctor.h>

#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_cupti/fake_cupti.h"

#define INJECT     JM_BUILD_DIR "/libjoulemap_inject.so"
#define FAKE(name) JM_BUILD_DIR "/tests/libfake_cupti_" name ".so"
#define CU13       "lib/python3.11/site-packages/nvidia/cu13/lib/libcupti.so.13"
#define CU12       "lib/python3.11/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12"
#define TOOLKIT    "extras/CUPTI/lib64/libcupti.so.12"

/* ---- the program: this executable, with the injected library as the CUDA driver would load it ---- */

static int print_used(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    fake_subscribed_function *subscribed = NULL;
    void *library = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
    void *address = library == NULL ? NULL : dlsym(library, "fake_subscribed");
    memcpy(&subscribed, &address, sizeof address);
    if (subscribed != NULL && subscribed()) printf("%s\n", info->dlpi_name);
    return 0;
}

static int be_the_program(void)
{
    char folder[] = "/dev/shm/joulemap-test-doctor-XXXXXX", command[128];
    if (mkdtemp(folder) == NULL) return 99;
    const char *loaded = getenv("LOADED");
    if (loaded != NULL && dlopen(loaded, RTLD_NOW | RTLD_LOCAL) == NULL) return 97;
    if (dlopen(JM_BUILD_DIR "/tests/fake_cuda/libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == NULL) return 96;
    void *inject = dlopen(INJECT, RTLD_NOW | RTLD_LOCAL);
    void *address = inject == NULL ? NULL : dlsym(inject, "jm_inject_start");
    if (address == NULL) return 98;
    int (*start)(const char *);
    memcpy(&start, &address, sizeof start);
    start(folder);
    dl_iterate_phdr(print_used, NULL);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* ---- the cases ---- */

static char tree[] = "/tmp/joulemap-test-doctor-XXXXXX";
static jm_doctor *doctor;

static void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void shell(const char *format, ...)
{
    char command[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    assert_int_equal(system(command), 0);
}

/* A file of the tree is this library. */
static void put(const char *file, const char *library)
{
    shell("mkdir -p $(dirname %s/%s) && ln -s '%s' %s/%s", tree, file, library, tree, file);
}

static void set(const char *variable, const char *below)
{
    char value[256];
    snprintf(value, sizeof value, "%s/%s", tree, below);
    setenv(variable, value, 1);
}

static const jm_finding *find_if_any(const char *subject, const char *words)
{
    for (size_t i = 0; i < jm_doctor_finding_count(doctor); i++) {
        const jm_finding *finding = jm_doctor_finding(doctor, i);
        if (strcmp(finding->subject, subject) == 0 && strstr(finding->detail, words) != NULL) return finding;
    }
    return NULL;
}

static const jm_finding *find(const char *subject, const char *words)
{
    const jm_finding *finding = find_if_any(subject, words);
    if (finding == NULL) fail_msg("no finding \"%s\" says \"%s\"", subject, words);
    return finding;
}

static void ask_doctor(void)
{
    jm_error err = {0};
    if (jm_doctor_create(&doctor, "h200", &err) != JM_OK) fail_msg("%s", err.text);
}

/* What the injected library uses in `program`; "" if none. */
static void ask_program(const char *program, char *used, size_t size)
{
    char command[512];
    snprintf(command, sizeof command, "'%s' --program", program);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    if (fgets(used, (int)size, out) == NULL) used[0] = '\0';
    assert_int_equal(pclose(out), 0);
    used[strcspn(used, "\n")] = '\0';
}

/* `program` takes `library`, and doctor says so. */
static void assert_both_take(const char *program, const char *library)
{
    char used[512], words[600];
    ask_program(program, used, sizeof used);
    assert_string_equal(used, library);
    ask_doctor();
    snprintf(words, sizeof words, "%s (", library);
    assert_true(find("CUPTI", words)->works);
    assert_null(find_if_any("CUPTI: not needed", words));
}

static const char *own(void)
{
    return JM_BUILD_DIR "/tests/test_doctor";
}

static const char *in_tree(const char *file)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", tree, file);
    return path;
}

static int set_up(void **state)
{
    (void)state;
    memcpy(tree + sizeof tree - 7, "XXXXXX", 6);
    doctor = NULL;
    return mkdtemp(tree) == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const variables[] = {"JOULEMAP_CUPTI", "VIRTUAL_ENV",  "CUDA_HOME",
                                            "CUDA_PATH",      "LOADED",       "JOULEMAP_CUDA",
                                            "FAKE_CUDA_UUID", "FAKE_PM_ERROR"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
    jm_doctor_free(doctor);
    shell("rm -r %s", tree);
    return 0;
}

static void test_an_override_is_taken_before_all_else(void **state)
{
    (void)state;
    put("env/" CU13, FAKE("13"));
    set("VIRTUAL_ENV", "env");
    setenv("JOULEMAP_CUPTI", FAKE("12"), 1);
    assert_both_take(own(), FAKE("12"));
    find("CUPTI", "(JOULEMAP_CUPTI)");
}

/* On the simulated board, as CUDA's first. */
static void test_hardware_counters_are_tried(void **state)
{
    (void)state;
    jm_inventory *inventory;
    assert_int_equal(jm_inventory_create(&inventory, "h200", NULL), JM_OK);
    setenv("FAKE_CUDA_UUID", jm_inventory_board(inventory, 0)->uuid, 1);
    jm_inventory_free(inventory);
    setenv("JOULEMAP_CUDA", JM_BUILD_DIR "/tests/fake_cuda/libcuda.so.1", 1);
    setenv("JOULEMAP_CUPTI", FAKE("13"), 1);
    ask_doctor();
    assert_true(find("hardware counters", "GH100, 23 metrics in one pass")->works);
    jm_doctor_free(doctor);
    setenv("FAKE_PM_ERROR", "cuptiPmSamplingEnable=35", 1);
    ask_doctor();
    const jm_finding *finding = find("hardware counters", "this user may not read hardware counters");
    assert_false(finding->works);
    assert_non_null(strstr(finding->cure, "NVreg_RestrictProfilingToAdminUsers=0"));
}

static void test_an_environment_comes_before_the_toolkit(void **state)
{
    (void)state;
    put("env/" CU12, FAKE("12"));
    put("cuda/" TOOLKIT, FAKE("12_1"));
    set("VIRTUAL_ENV", "env");
    set("CUDA_HOME", "cuda");
    assert_both_take(own(), in_tree("env/" CU12));
    find("CUPTI", "(VIRTUAL_ENV)");
    assert_true(find("CUPTI: not needed", in_tree("cuda/" TOOLKIT))->works);
}

static void test_the_newer_package_of_an_environment_is_taken(void **state)
{
    (void)state;
    put("env/" CU12, FAKE("12"));
    put("env/" CU13, FAKE("13"));
    set("VIRTUAL_ENV", "env");
    assert_both_take(own(), in_tree("env/" CU13));
}

static void test_the_toolkit_is_taken_where_there_is_no_package(void **state)
{
    (void)state;
    put("cuda/" TOOLKIT, FAKE("12"));
    set("CUDA_HOME", "cuda");
    assert_both_take(own(), in_tree("cuda/" TOOLKIT));
    find("CUPTI", "(CUDA_HOME)");
}

static void test_one_that_will_not_do_is_passed_over_with_the_reason(void **state)
{
    (void)state;
    put("env/" CU13, FAKE("broken"));
    put("cuda/" TOOLKIT, FAKE("12"));
    set("VIRTUAL_ENV", "env");
    set("CUDA_HOME", "cuda");
    assert_both_take(own(), in_tree("cuda/" TOOLKIT));
    assert_false(find("CUPTI: not taken", "libcupti.so.13 lacks cuptiEnableCallback")->works);
}

/* No variable names it: the program is an interpreter, and doctor asks for the one on PATH. */
static void test_the_packages_of_the_python_on_the_path_are_found(void **state)
{
    (void)state;
    char before[4096], path[4400];
    put("prefix/" CU12, FAKE("12"));
    shell("mkdir %s/prefix/bin && cp '%s' %s/prefix/bin/python3", tree, own(), tree);
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    snprintf(path, sizeof path, "%s/prefix/bin:%s", tree, before);
    setenv("PATH", path, 1);
    assert_both_take("python3", in_tree("prefix/" CU12));
    find("CUPTI", "(the program's Python)");
    setenv("PATH", before, 1);
}

static void test_an_override_that_is_not_there_is_not_replaced_by_a_guess(void **state)
{
    (void)state;
    char used[512];
    put("env/" CU12, FAKE("12"));
    set("VIRTUAL_ENV", "env");
    set("JOULEMAP_CUPTI", "none/libcupti.so.12");
    ask_program(own(), used, sizeof used);
    assert_string_equal(used, "");
    ask_doctor();
    const jm_finding *finding = find("CUPTI", in_tree("none/libcupti.so.12"));
    assert_false(finding->works);
    assert_string_not_equal(finding->cure, "");
}

/* A name that the loader does not find is no file that was passed over. */
static void test_a_name_that_leads_nowhere_is_not_found(void **state)
{
    (void)state;
    setenv("JOULEMAP_CUPTI", "libcupti.so.1999", 1);
    ask_doctor();
    assert_false(find("CUPTI", "no libcupti was found")->works);
    assert_null(find_if_any("CUPTI: not taken", ""));
}

static void test_the_newer_file_of_a_folder_is_taken(void **state)
{
    (void)state;
    put("cuda/lib64/libcupti.so.12", FAKE("12"));
    put("cuda/lib64/libcupti.so.13", FAKE("13"));
    set("CUDA_HOME", "cuda");
    assert_both_take(own(), in_tree("cuda/lib64/libcupti.so.13"));
}

/* The program's own profiler has it: a second copy beside it would see nothing of the program's work. */
static void test_beside_one_that_is_loaded_no_other_is_taken(void **state)
{
    (void)state;
    char used[512];
    put("loaded/libcupti.so.12", FAKE("broken"));
    put("env/" CU12, FAKE("12"));
    set("VIRTUAL_ENV", "env");
    set("LOADED", "loaded/libcupti.so.12");
    ask_program(own(), used, sizeof used);
    assert_string_equal(used, "");
    void *loaded = dlopen(getenv("LOADED"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(loaded);
    ask_doctor();
    dlclose(loaded);
    assert_false(find("CUPTI", "loaded/libcupti.so.12 lacks")->works);
    assert_non_null(find("CUPTI: not taken", "already loaded"));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--program") == 0) return be_the_program();
    static const char *const variables[] = {"JOULEMAP_CUPTI", "VIRTUAL_ENV", "CUDA_HOME", "CUDA_PATH",
                                            "LOADED"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_an_override_is_taken_before_all_else),
        TEST(test_hardware_counters_are_tried),
        TEST(test_an_environment_comes_before_the_toolkit),
        TEST(test_the_newer_package_of_an_environment_is_taken),
        TEST(test_the_toolkit_is_taken_where_there_is_no_package),
        TEST(test_one_that_will_not_do_is_passed_over_with_the_reason),
        TEST(test_the_packages_of_the_python_on_the_path_are_found),
        TEST(test_an_override_that_is_not_there_is_not_replaced_by_a_guess),
        TEST(test_a_name_that_leads_nowhere_is_not_found),
        TEST(test_the_newer_file_of_a_folder_is_taken),
        TEST(test_beside_one_that_is_loaded_no_other_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
