/* A driver may hang or crash when it is tried: that is an answer, and nothing to the program that asks. */
#include "base/clock.h"
#include "doctor/probe.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define FAKE(name) JM_BUILD_DIR "/tests/libfake_driver_" name ".so"
#define LIMIT_NS   (30 * JM_NS_PER_S)

static jm__probe_answer answer;

static void ask(const char *what, const char *library, int64_t limit_ns)
{
    memset(&answer, 0xff, sizeof answer);
    jm__probe_run(&answer, what, library, limit_ns);
    assert_null(dlopen(library, RTLD_NOW | RTLD_NOLOAD)); /* it was not loaded here */
}

static void assert_no_child_is_left(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_a_driver_is_queried_in_a_clean_process(void **state)
{
    (void)state;
    setenv("CUDA_INJECTION64_PATH", JM_BUILD_DIR "/libjoulemap_inject.so", 1);
    setenv("JOULEMAP_RUN", "/dev/shm/no-run", 1);
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    signal(SIGUSR2, SIG_IGN);
    int inherited[4];
    for (int i = 0; i < 4; i++)
        inherited[i] = open("/dev/null", O_RDONLY); /* not closed by exec */
    ask(JM_PROBE_CUDA, FAKE("answers"), LIMIT_NS);
    for (int i = 0; i < 4; i++)
        close(inherited[i]);
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGUSR2, SIG_DFL);
    unsetenv("CUDA_INJECTION64_PATH");
    unsetenv("JOULEMAP_RUN");
    assert_string_equal(answer.why, "");
    assert_true(answer.called);
    assert_int_equal(answer.number, 100);
    assert_no_child_is_left();
}

static void test_a_driver_that_hangs_is_given_up(void **state)
{
    (void)state;
    int64_t begin_ns = jm__now_ns();
    ask(JM_PROBE_CUDA, FAKE("hangs"), JM_NS_PER_S / 2);
    assert_true(jm__now_ns() - begin_ns >= JM_NS_PER_S / 2);
    assert_false(answer.called);
    assert_non_null(strstr(answer.why, "libfake_driver_hangs.so took longer than 0.5 s"));
    assert_no_child_is_left();
}

static void test_a_driver_that_crashes_is_named_with_its_signal(void **state)
{
    (void)state;
    ask(JM_PROBE_CUDA, FAKE("crashes"), LIMIT_NS);
    assert_false(answer.called);
    assert_non_null(strstr(answer.why, "libfake_driver_crashes.so crashed: Segmentation fault"));
    assert_no_child_is_left();
}

static void test_a_driver_that_ends_the_process_is_told(void **state)
{
    (void)state;
    ask(JM_PROBE_CUDA, FAKE("exits"), LIMIT_NS);
    assert_false(answer.called);
    assert_non_null(strstr(answer.why, "libfake_driver_exits.so ended without an answer, code 3"));
}

static void test_a_library_that_is_not_there_says_so(void **state)
{
    (void)state;
    ask(JM_PROBE_CUDA, "/nowhere/libcuda.so.1", LIMIT_NS);
    assert_false(answer.called);
    assert_non_null(strstr(answer.why, "/nowhere/libcuda.so.1: cannot open"));
    ask(JM_PROBE_CUPTI, "libcupti.so.1999", LIMIT_NS);
    assert_true(answer.absent && !answer.called);
}

/* As in a server that does not care for its children. */
static void test_a_program_that_ignores_its_children_gets_its_answers_too(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    ask(JM_PROBE_CUDA, FAKE("answers"), LIMIT_NS);
    assert_true(answer.called);
    ask(JM_PROBE_CUDA, FAKE("crashes"), LIMIT_NS);
    signal(SIGCHLD, SIG_DFL);
    assert_false(answer.called);
    assert_non_null(strstr(answer.why, "libfake_driver_crashes.so"));
}

/* A copy of this program in a folder of its own, where no command lies beside it. */
static void test_without_the_command_nothing_is_tried(void **state)
{
    (void)state;
    char folder[] = "/tmp/joulemap-test-probe-XXXXXX", command[512], line[512] = "";
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command,
             "mkdir %s/in && cp '" JM_BUILD_DIR
             "/tests/test_probe' %s/in/ && %s/in/test_probe --ask; rm -r %s",
             folder, folder, folder, folder);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    assert_non_null(fgets(line, sizeof line, out));
    pclose(out);
    assert_non_null(strstr(line, "not tried: the command that tries it"));
    assert_non_null(strstr(line, "/in/joulemap, is not there"));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--ask") == 0) {
        jm__probe_run(&answer, JM_PROBE_CUDA, FAKE("answers"), LIMIT_NS);
        printf("%s\n", answer.why);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_driver_is_queried_in_a_clean_process),
        cmocka_unit_test(test_a_driver_that_hangs_is_given_up),
        cmocka_unit_test(test_a_driver_that_crashes_is_named_with_its_signal),
        cmocka_unit_test(test_a_driver_that_ends_the_process_is_told),
        cmocka_unit_test(test_a_library_that_is_not_there_says_so),
        cmocka_unit_test(test_a_program_that_ignores_its_children_gets_its_answers_too),
        cmocka_unit_test(test_without_the_command_nothing_is_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
