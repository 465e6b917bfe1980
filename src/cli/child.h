/* The command that `record` and `stat` run. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct cli_child {
    pid_t pid;
    int64_t start_ns; /* CLOCK_MONOTONIC */
    int64_t end_ns;
    int exit_code;  /* as a shell gives it: 128 + signal if one ended it */
    int signal;     /* that ended it, 0 if none did */
    bool left_some; /* processes of its own still ran when it was released */
} cli_child;

/* A file that passes its limit (`ulimit -f`) is from now on an error of the write and no end of this program;
 * the command will have the signal as it was. First of all. */
void cli_child_spare_file_limit(void);

/* Take over the signals that end a program: from now on they wait for cli_child_wait. Threads started later
 * inherit that. */
void cli_child_prepare(void);

/* Start it in the foreground, with `environment` ("KEY=value", NULL-terminated) in place of what those keys
 * have here. JM_CHILD if it cannot be started: `exit_code` is then 127 (not found) or 126. */
jm_status cli_child_start(cli_child *child, char **command, const char *const *environment, jm_error *err);

/* Become the command, by this program, in the environment as it is. Returns only where that fails: 127 or
 * 126, as above. */
int cli_child_become(const char *program, char **command, jm_error *err);

/* Wait for its end. SIGTERM, SIGHUP and the like sent to us alone are passed on to it; a key on the terminal
 * reaches it anyway. */
void cli_child_wait(cli_child *child);

/* The same until `until_ns` (CLOCK_MONOTONIC) at most. Has it ended? */
bool cli_child_wait_until(cli_child *child, int64_t until_ns);

/* Signals that came to us alone, and wait, go to it: what cli_child_wait does meanwhile, for who waits
 * otherwise. */
void cli_child_pass_signals_on(pid_t command);

/* The command has ended, its recording is whole and nothing else of ours runs: signals end this program
 * again. Those that were meant for the command and came too late are dropped. */
void cli_child_release(cli_child *child);

/* The words of a command line, as a shell would take them; the caller frees it, NULL if memory is out. */
char *cli_child_text(char **command);

/* A file in a command that is told to be typed, which a shell is to take for one word and a verb for no
 * option; likewise. */
char *cli_typed_path(const char *path);

#endif
