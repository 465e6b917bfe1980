/* The line that says what takes so long: on a terminal, after a while, and gone when the work is done. */
#include "cli/verb.h"

#include <dirent.h>
#include <pty.h>
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

static char shown[65536];
static size_t length;

/* Read what is shown until it holds a text behind `from`; the limit only ends a failed test. */
static size_t wait_for(int terminal, size_t from, const char *text)
{
    for (;;) {
        const char *found = strstr(shown + from, text);
        if (found != NULL) return (size_t)(found - shown) + strlen(text);
        ssize_t count = read(terminal, shown + length, sizeof shown - length - 1);
        if (count <= 0) fail_msg("no \"%s\" in \"%s\"", text, shown + from);
        length += (size_t)count;
        shown[length] = '\0';
    }
}

/* Until the test has seen what it waits for. */
static void pause_until(int told)
{
    char byte;
    if (read(told, &byte, 1) != 1) _exit(1);
}

/* Of the threads beside this one, how many a signal may find. */
static int open_to_signals(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int found = 0;
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[300], line[200];
        unsigned long long blocked = 0;
        if (task->d_name[0] == '.' || atoi(task->d_name) == getpid()) continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *status = fopen(path, "r");
        if (status == NULL) continue;
        while (fgets(line, sizeof line, status) != NULL)
            if (strncmp(line, "SigBlk:", 7) == 0) blocked = strtoull(line + 7, NULL, 16);
        fclose(status);
        found += (blocked >> (SIGTERM - 1) & 1) == 0 || (blocked >> (SIGINT - 1) & 1) == 0;
    }
    closedir(tasks);
    return found;
}

static void work(int told)
{
    alarm(100);
    cli_progress(NULL); /* nothing to end */
    cli_progress("reading kernels");
    pause_until(told);
    if (open_to_signals() != 0) _exit(2);
    cli_progress("fitting powers");
    pause_until(told);
    cli_progress(NULL);
    fputs("done.", stderr);
    cli_progress("quick work");
    cli_progress(NULL);
    fputs("And again.", stderr);
    cli_progress("more work");
    pause_until(told);
    cli_progress(NULL);
    fputs("The end.", stderr);
    _exit(0);
}

static void test_a_terminal_shows_what_is_done_until_it_is_done(void **state)
{
    (void)state;
    int terminal, told[2], how = -1;
    assert_int_equal(pipe(told), 0);
    pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    assert_true(child >= 0);
    if (child == 0) {
        close(told[1]);
        work(told[0]);
    }
    close(told[0]);
    size_t at = wait_for(terminal, 0, "\r\033[Kreading kernels ... ");
    wait_for(terminal, at, " s");
    wait_for(terminal, at, "\r\033[Kreading kernels ... 1 s"); /* it counts */
    assert_int_equal(write(told[1], "", 1), 1);
    at = wait_for(terminal, at, "\r\033[Kfitting powers ... ");
    assert_int_equal(write(told[1], "", 1), 1);
    at = wait_for(terminal, at, "\r\033[Kdone."); /* the line is gone */
    at = wait_for(terminal, at, "And again.");
    at = wait_for(terminal, at, "\r\033[Kmore work ... ");
    assert_int_equal(write(told[1], "", 1), 1);
    wait_for(terminal, at, "\r\033[KThe end.");
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    close(terminal);
    close(told[1]);
}

/* Into a file or a pipe nothing is written. */
static void test_without_a_terminal_nothing_is_shown(void **state)
{
    (void)state;
    int told[2], errors[2];
    char byte;
    assert_int_equal(pipe(told), 0);
    assert_int_equal(pipe(errors), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(errors[1], STDERR_FILENO);
        close(errors[1]);
        close(errors[0]);
        cli_progress("reading kernels");
        usleep(700000); /* longer than a terminal would wait */
        cli_progress(NULL);
        _exit(0);
    }
    close(errors[1]);
    assert_int_equal(read(errors[0], &byte, 1), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(errors[0]);
    close(told[0]);
    close(told[1]);
}

/* A name may hold what would move the cursor; into a file data go as they are. */
static void test_a_terminal_shows_data_and_does_not_obey_them(void **state)
{
    (void)state;
    int terminal, inside;
    char sent[900], expected[2000], got[4096] = "";
    assert_int_equal(openpty(&terminal, &inside, NULL, NULL, NULL), 0);
    FILE *to = fdopen(inside, "w");
    assert_non_null(to);
    memset(sent, 'x', 700); /* longer than what a line begins with */
    snprintf(sent + 700, sizeof sent - 700, "\n\n\033[2Ja\tb\r\t\n\xff\nthe end\007");
    snprintf(expected, sizeof expected,
             "%.700s\r\n\r\n\xef\xbf\xbd[2Ja\tb\xef\xbf\xbd\t\r\n\xef\xbf\xbd\r\nthe end\xef\xbf\xbd", sent);
    FILE *data = cli_data_open(to);
    assert_non_null(data);
    assert_ptr_not_equal(data, to);
    fputs(sent, data);
    cli_data_close(data, to);
    assert_int_equal(fflush(to), 0);
    for (size_t count = 0; count < strlen(expected);) {
        ssize_t more = read(terminal, got + count, sizeof got - 1 - count);
        assert_true(more > 0);
        count += (size_t)more;
    }
    for (char *tab; (tab = strstr(got, "        ")) != NULL;) /* where the terminal writes a tab as spaces */
        *tab = '\t', memmove(tab + 1, tab + 8, strlen(tab + 8) + 1);
    assert_string_equal(got, expected);
    fclose(to);
    close(terminal);
    FILE *file = tmpfile();
    assert_ptr_equal(cli_data_open(file), file);
    cli_data_close(file, file);
    fclose(file);
    assert_int_equal(cli_output_finish(7), 7);
}

int main(void)
{
    unsetenv("COLUMNS");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_terminal_shows_what_is_done_until_it_is_done),
        cmocka_unit_test(test_a_terminal_shows_data_and_does_not_obey_them),
        cmocka_unit_test(test_without_a_terminal_nothing_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
