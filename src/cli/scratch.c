/* The folder, and the handler that may remove it: so what it needs stands here beforehand. */
#include "cli/scratch.h"

#include "cli/verb.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a recorder keeps beside its file (format/claim.c). */
static const char *const beside[] = {"", "-wal", "-journal", "-shm", ".truth.csv"};
enum { BESIDE = sizeof beside / sizeof *beside };

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { ENDS = sizeof ends / sizeof *ends };

static char folder[PATH_MAX / 2];

static struct {
    char paths[BESIDE][PATH_MAX];
    volatile sig_atomic_t there;
    struct sigaction before[ENDS];
} scratch;

static void remove_all(void)
{
    for (int i = 0; i < BESIDE; i++)
        unlink(scratch.paths[i]);
    rmdir(folder);
}

static void on_end(int number)
{
    if (scratch.there) remove_all();
    signal(number, SIG_DFL);
    raise(number); /* comes once this returns */
}

static void watch_signals(void)
{
    struct sigaction action = {.sa_handler = on_end};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < ENDS; i++) {
        sigaction(ends[i], NULL, &scratch.before[i]);
        if (scratch.before[i].sa_handler != SIG_IGN) sigaction(ends[i], &action, NULL);
    }
}

static void forget(void)
{
    scratch.there = 0;
    for (int i = 0; i < ENDS; i++)
        sigaction(ends[i], &scratch.before[i], NULL);
}

int cli_scratch_make(const cli_args *args)
{
    const char *tmp = getenv("TMPDIR");
    int length = snprintf(folder, sizeof folder, "%s/joulemap-%s-XXXXXX",
                          tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp", args->verb->name);
    if (length >= (int)sizeof folder)
        return cli_error(args, JM_LIMIT, "set TMPDIR to another folder", "TMPDIR is too long a path");
    if (mkdtemp(folder) == NULL) {
        return cli_error(args, JM_IO, "set TMPDIR to a folder that can be written",
                         "cannot make a folder %s: %s", folder, strerror(errno));
    }
    for (int i = 0; i < BESIDE; i++)
        snprintf(scratch.paths[i], PATH_MAX, "%s/%s.joulemap%s", folder, args->verb->name, beside[i]);
    watch_signals();
    scratch.there = 1;
    return CLI_GO_ON;
}

const char *cli_scratch_recording(void)
{
    return scratch.paths[0];
}

void cli_scratch_remove(void)
{
    if (!scratch.there) return;
    remove_all();
    forget();
}

void cli_scratch_keep(void)
{
    if (scratch.there) forget();
}
