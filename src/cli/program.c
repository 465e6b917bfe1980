/* The Python of the package's programs, and command lines for them. */
#include "cli/program.h"

#include "cli/args.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *cli_python(void)
{
    const char *own = getenv("JOULEMAP_PYTHON");
    return own != NULL && own[0] != '\0' ? own : "python3";
}

int cli_python_check(const cli_args *args, const char *what)
{
    enum { BASE = 100, NO_TORCH = 1, NO_JOULEMAP = 2 };
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s", cli_python());
    char *argv[] = {name, (char[]){"-c"},
                    (char[]){"import importlib.util as u, sys; have = lambda n: u.find_spec(n) is not None; "
                             "sys.exit(100 + (not have('torch')) + 2 * (not have('joulemap')))"},
                    NULL};
    pid_t pid;
    int status, error = posix_spawnp(&pid, name, NULL, NULL, argv, environ);
    if (error != 0) {
        return cli_error(args, JM_CHILD, "install Python 3.10 or newer", "cannot run %s: %s", name,
                         strerror(error));
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    int lacks = WIFEXITED(status) ? WEXITSTATUS(status) - BASE : -1;
    if (lacks == 0) return CLI_GO_ON;
    if (lacks > 0 && (lacks & NO_JOULEMAP) != 0) {
        return cli_error(args, JM_NOT_SUPPORTED,
                         "pip install joulemap; or set JOULEMAP_PYTHON to the Python that has it",
                         "%s has no package joulemap", name);
    }
    if (lacks == NO_TORCH) {
        return cli_error(args, JM_NOT_SUPPORTED, "pip install torch", "%s has no PyTorch, which %s made with",
                         name, what);
    }
    return cli_error(args, JM_CHILD, "set JOULEMAP_PYTHON to a Python 3.10 or newer", "%s does not work",
                     name);
}

void cli_line_add(cli_line *line, const char *word)
{
    enum { MOST = sizeof line->words / sizeof *line->words - 1 };
    if (line->count == MOST) return;
    line->words[line->count] = strdup(word);
    if (line->words[line->count] != NULL) line->count++;
}

void cli_line_add_all(cli_line *line, const char *const *words)
{
    for (; *words != NULL; words++)
        cli_line_add(line, *words);
}

void cli_line_add_number(cli_line *line, const char *option, long long number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", number);
    cli_line_add(line, option);
    cli_line_add(line, text);
}

void cli_line_free(cli_line *line)
{
    while (line->count > 0)
        free(line->words[--line->count]);
}
