/* The command that `record` runs, and the signals around it. */
#include "cli/child.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Runs a command to its end and then presses Ctrl-C, too late for the command; which step went wrong, 0:
 * none. */
static int run_and_press_too_late(void)
{
    char *command[] = {(char[]){"true"}, NULL};
    const char *const none[] = {NULL};
    cli_child child;
    jm_error err;
    sigset_t blocked;
    cli_child_prepare();
    if (cli_child_start(&child, command, none, &err) != JM_OK) return 1;
    cli_child_wait(&child);
    if (child.exit_code != 0 || child.signal != 0) return 2;
    raise(SIGINT);
    raise(SIGTERM);
    cli_child_release(&child); /* it outlives those */
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    if (sigismember(&blocked, SIGINT) || sigismember(&blocked, SIGTERM) || sigismember(&blocked, SIGQUIT))
        return 3;
    raise(SIGTERM); /* but not this one */
    return 4;
}

static void test_after_the_command_a_signal_ends_what_is_left_to_do(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) _exit(run_and_press_too_late());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_false(WIFEXITED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_after_the_command_a_signal_ends_what_is_left_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
