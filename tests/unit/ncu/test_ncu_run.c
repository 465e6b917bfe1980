/* Where ncu is looked for, and a program under it: on a stand-in that does with its arguments what ncu does.
 */
#include "import/ncu/run.h"

#include <errno.h>
#include <joulemap/estimate.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/joulemap-test-XXXXXX";
static jm_error err;

/* A path in the folder; valid until eight more were asked for. */
static const char *in(const char *name)
{
    static char paths[8][256];
    static size_t next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(in(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void get(const char *name, char *text, size_t size)
{
    FILE *file = fopen(in(name), "r");
    assert_non_null(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void put_program(const char *folder_of_it, const char *text)
{
    char command[512], name[128];
    snprintf(command, sizeof command, "mkdir -p '%s'", in(folder_of_it));
    assert_int_equal(system(command), 0);
    snprintf(name, sizeof name, "%s/ncu", folder_of_it);
    put(name, text);
    assert_int_equal(chmod(in(name), 0755), 0);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* ---- where */

static void assert_found(const char *where)
{
    char path[256];
    if (jm__ncu_find(path, sizeof path, in("root"), &err) != JM_OK) fail_msg("%s", err.text);
    assert_string_equal(path, in(where));
}

static void test_the_nearest_ncu_is_found_and_its_absence_is_told(void **state)
{
    (void)state;
    char path[256], *before = strdup(getenv("PATH"));
    setenv("CUDA_HOME", in("home"), 1);
    setenv("CUDA_PATH", in("other"), 1);
    setenv("PATH", in("tools"), 1);
    assert_int_equal(jm__ncu_find(path, sizeof path, in("root"), &err), JM_NOT_FOUND);
    assert_non_null(strstr(err.text, "CUDA_HOME"));
    assert_non_null(strstr(err.hint, "toolkit"));
    setenv("PATH", before, 1); /* of mkdir */
    static const char *const places[] = {"root/opt/nvidia/nsight-compute/2024.3.2",
                                         "root/opt/nvidia/nsight-compute/2025.10.1",
                                         "root/opt/nvidia/nsight-compute/2025.9.0",
                                         "root/usr/local/cuda-12.4/bin",
                                         "root/usr/local/cuda-13.0/bin",
                                         "other/bin",
                                         "home/bin",
                                         "tools"};
    static const char *const nearest[] = {"root/opt/nvidia/nsight-compute/2024.3.2/ncu",
                                          "root/opt/nvidia/nsight-compute/2025.10.1/ncu",
                                          "root/opt/nvidia/nsight-compute/2025.10.1/ncu",
                                          "root/usr/local/cuda-12.4/bin/ncu",
                                          "root/usr/local/cuda-13.0/bin/ncu",
                                          "other/bin/ncu",
                                          "home/bin/ncu",
                                          "tools/ncu"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        put_program(places[i], "");
        setenv("PATH", in("tools"), 1);
        assert_found(nearest[i]);
        setenv("PATH", before, 1);
    }
    assert_int_equal(chmod(in("tools/ncu"), 0644), 0); /* a file that is no program */
    setenv("PATH", in("tools"), 1);
    assert_found("home/bin/ncu");
    setenv("PATH", before, 1);
    free(before);
}

/* ---- running */

#define TABLE "\"ID\",\"Kernel Name\"\n\"0\",\"k\"\n"

/* What ncu was told stands in `seen`, a word a line. */
#define STAND_IN(then)                                                                                       \
    "#!/bin/bash\nhere=$(dirname \"$0\")/..\nprintf '%s\\n' \"$@\" >\"$here/seen\"\n"                        \
    "while [ \"$1\" != --log-file ]; do shift; done\nlog=$2\nshift 2\n" then

static jm_status run_with(const jm__ncu_job *given, int *code)
{
    jm__ncu_job all = *given;
    all.page = "raw";
    all.metrics = "a,b";
    all.csv = in("out.csv");
    err = (jm_error){0};
    return jm__ncu_run(in("fake/ncu"), &all, code, &err);
}

static void assert_kept(const char *text)
{
    char is[256];
    char command[256];
    get("out.csv", is, sizeof is);
    assert_string_equal(is, text);
    snprintf(command, sizeof command, "test -z \"$(ls %s | grep part)\"", folder);
    assert_int_equal(system(command), 0);
}

static void test_a_program_gets_its_arguments_and_its_exit_code_back(void **state)
{
    (void)state;
    char seen[1024];
    int code;
    put_program("fake", STAND_IN("\"$@\"\ncode=$?\nprintf '==PROF== x\\n" TABLE "' >\"$log\"\nexit $code\n"));
    const char *const command[] = {"sh", "-c", "exit $1", "a word", "3", NULL};
    const char *const options[] = {"--kernel-name", "regex:a b", NULL};
    const jm__ncu_job given = {.command = command, .options = options};
    if (run_with(&given, &code) != JM_OK) fail_msg("%s", err.text);
    assert_int_equal(code, 3);
    assert_kept("==PROF== x\n" TABLE);
    get("seen", seen, sizeof seen);
    assert_non_null(strstr(seen, "--csv\n--page\nraw\n--metrics\na,b\n"));
    assert_non_null(strstr(seen, "--clock-control\nnone\n--cache-control\nnone\n--kernel-name\nregex:a b\n"));
    assert_non_null(strstr(seen, "\nsh\n-c\nexit $1\na word\n3\n"));
}

static void test_what_was_there_stays_when_nothing_was_counted(void **state)
{
    (void)state;
    int code;
    const char *const command[] = {"true", NULL};
    put("out.csv", "before");
    put_program("fake",
                STAND_IN("printf '==ERROR== ERR_NVGPUCTRPERM - no permission\\n' >\"$log\"\nexit 1\n"));
    assert_int_equal(run_with(&(jm__ncu_job){.command = command}, &code), JM_BAD_DATA);
    assert_non_null(strstr(err.text, "exit code 1"));
    assert_non_null(strstr(err.text, "NVreg_RestrictProfilingToAdminUsers=0"));
    assert_non_null(strstr(err.text, "ERR_NVGPUCTRPERM - no permission"));
    assert_kept("before");
    put_program("fake", "not a program");
    assert_int_equal(run_with(&(jm__ncu_job){.command = command}, &code), JM_CHILD);
    put_program("fake", "#!/bin/sh\nexit 0\n"); /* it writes nothing at all */
    assert_int_equal(run_with(&(jm__ncu_job){.command = command}, &code), JM_BAD_DATA);
    assert_kept("before");
}

static bool has_started(void *context, int64_t ncu_pid)
{
    (void)ncu_pid;
    int *queried = context;
    ++*queried;
    return access(in("child"), F_OK) != 0;
}

static void assert_gone(const char *name)
{
    char text[32];
    get(name, text, sizeof text);
    pid_t pid = (pid_t)atoi(text);
    assert_true(pid > 1);
    /* Killed, it may stay a moment as a zombie of init's. */
    for (int i = 0; i < 1000 && kill(pid, 0) == 0; i++) {
        char about[64], state[256] = "";
        snprintf(about, sizeof about, "/proc/%d/stat", (int)pid);
        FILE *file = fopen(about, "r");
        if (file == NULL) return;
        if (fgets(state, sizeof state, file) == NULL) state[0] = '\0';
        fclose(file);
        const char *end = strrchr(state, ')');
        if (end != NULL && end[2] == 'Z') return;
        usleep(10000);
    }
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
}

static void test_ended_it_takes_along_all_that_it_started(void **state)
{
    (void)state;
    int code, queried = 0;
    const char *const command[] = {"sleep", "600", NULL};
    put("out.csv", "before");
    unlink(in("child"));
    put_program("fake", STAND_IN("echo $$ >\"$here/parent\"\n\"$@\" &\necho $! >\"$here/number\"\n"
                                 "mv \"$here/number\" \"$here/child\"\nwait\n"));
    const jm__ncu_job stopped = {.command = command, .goes_on = has_started, .context = &queried};
    assert_int_equal(run_with(&stopped, &code), JM_BUSY);
    assert_true(queried > 0);
    assert_gone("parent");
    assert_gone("child");
    assert_kept("before");
}

static void test_time_that_is_out_ends_it_with_the_cure(void **state)
{
    (void)state;
    int code;
    const char *const command[] = {"sleep", "600", NULL};
    put("out.csv", "before");
    put_program("fake", STAND_IN("\"$@\"\n"));
    assert_int_equal(run_with(&(jm__ncu_job){.command = command, .timeout_s = 0.2}, &code), JM_BUSY);
    assert_non_null(strstr(err.text, "0.2 s"));
    assert_non_null(strstr(err.hint, "--launch-count"));
    assert_kept("before");
}

static void test_wrong_given_are_told_before_anything_runs(void **state)
{
    (void)state;
    int code;
    const char *const command[] = {"true", NULL}, *const nothing[] = {NULL};
    jm_estimate_profile_options options = {.size = sizeof options, .command = nothing, .csv = in("out.csv")};
    assert_int_equal(jm_estimate_profile(&options, &code, &err), JM_USAGE);
    options.command = command;
    options.page = "source";
    assert_int_equal(jm_estimate_profile(&options, &code, &err), JM_USAGE);
    assert_non_null(strstr(err.text, "source"));
    options.page = NULL;
    options.timeout_s = -1;
    assert_int_equal(jm_estimate_profile(&options, &code, &err), JM_USAGE);
    options.timeout_s = 0;
    options.csv = NULL;
    assert_int_equal(jm_estimate_profile(&options, &code, &err), JM_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_nearest_ncu_is_found_and_its_absence_is_told),
        cmocka_unit_test(test_a_program_gets_its_arguments_and_its_exit_code_back),
        cmocka_unit_test(test_what_was_there_stays_when_nothing_was_counted),
        cmocka_unit_test(test_ended_it_takes_along_all_that_it_started),
        cmocka_unit_test(test_time_that_is_out_ends_it_with_the_cure),
        cmocka_unit_test(test_wrong_given_are_told_before_anything_runs),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
