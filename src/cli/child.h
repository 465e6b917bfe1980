/* Starting the command of `record` and `stat`, waiting for it, and quoting command lines. */
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
    int exit_code;       /* as a shell reports it: 128 + signal if a signal ended the command */
    int signal;          /* the signal that ended it; 0: none */
    bool left_processes; /* processes that it started still ran at cli_child_release */
} cli_child;

/* Ignore SIGXFSZ: passing the file size limit (`ulimit -f`) becomes a failed write. The command gets the
 * signal's former disposition. Call this first. */
void cli_child_spare_file_limit(void);

/* Block the signals that end a program, so that cli_child_wait receives them. Threads started later inherit
 * the mask. */
void cli_child_prepare(void);

/* Start the command in the foreground. `environment` ("KEY=value", NULL-terminated) replaces variables of the
 * same name. JM_CHILD if it cannot be started; `exit_code` is then 127 (not found) or 126. */
jm_status cli_child_start(cli_child *child, char **command, const char *const *environment, jm_error *err);

/* Replace this process by `program` in the present environment. Returns only on failure: 127 or 126, as
 * above. */
int cli_child_become(const char *program, char **command, jm_error *err);

/* Wait for the command's end. SIGTERM, SIGHUP and the like that only we get are passed on to it; a key on the
 * terminal reaches it anyway. */
void cli_child_wait(cli_child *child);

/* The same until `until_ns` (CLOCK_MONOTONIC) at most. True if it has ended. */
bool cli_child_wait_until(cli_child *child, int64_t until_ns);

/* Pass pending signals on to the command, for a caller that does not wait in cli_child_wait. */
void cli_child_pass_signals_on(pid_t command);

/* Unblock signals; call it when the command has ended and the recording is complete. Signals for the command
 * that came too late are dropped. */
void cli_child_release(cli_child *child);

/* The parent of a living process, by its name in /proc; -1: it is gone or a zombie. */
pid_t cli_child_parent(const char *pid);

/* A command line quoted for a shell. The caller frees it; NULL if memory is out. */
char *cli_child_text(char **command);

/* A path quoted for a command that the user is to type; a leading "-" gets "./". The caller frees it; NULL if
 * memory is out. */
char *cli_typed_path(const char *path);

#endif
