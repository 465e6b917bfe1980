/* The Python of the package's programs, and command lines for them. */
#include "cli/program.h"

#include "cli/verb.h"

#include <errno.h>
#include <libgen.h>
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

/* Bits of the exit code above EXIT_BASE. torch/version.py says whether PyTorch is built with CUDA. */
enum { EXIT_BASE = 100, NO_TORCH = 1, NO_JOULEMAP = 2, NO_CUDA = 4 };
static const char probe_script[] =
    "import importlib.util as u, runpy, sys\n"
    "torch, joulemap, cuda = u.find_spec('torch'), u.find_spec('joulemap'), ''\n"
    "try: cuda = runpy.run_path(torch.submodule_search_locations[0] + '/version.py').get('cuda', '')\n"
    "except Exception: pass\n"
    "sys.exit(100 + (torch is None) + 2 * (joulemap is None) + 4 * (cuda is None))\n";

/* What this Python lacks; -1: the script did not run. *error: errno if Python cannot be started, else 0. */
static int probe_python(const char *python, int *error)
{
    char name[PATH_MAX], words[sizeof probe_script];
    char *argv[] = {name, (char[]){"-c"}, words, NULL};
    pid_t pid;
    int status = 0;
    snprintf(name, sizeof name, "%s", python);
    memcpy(words, probe_script, sizeof probe_script);
    *error = posix_spawnp(&pid, name, NULL, NULL, argv, environ);
    if (*error != 0) return -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    const int missing = WIFEXITED(status) ? WEXITSTATUS(status) - EXIT_BASE : -1;
    return missing <= (NO_TORCH | NO_JOULEMAP | NO_CUDA) ? missing : -1;
}

int cli_python_check(const cli_args *args, const char *what, bool cuda)
{
    const char *name = cli_python();
    int error, missing = probe_python(name, &error);
    if (error != 0)
        return cli_error(args, JM_CHILD, "install Python 3.10 or newer, or set JOULEMAP_PYTHON to one",
                         "cannot run %s: %s", name, strerror(error));
    if (missing < 0)
        return cli_error(args, JM_CHILD, "set JOULEMAP_PYTHON to a Python 3.10 or newer", "%s does not work",
                         name);
    if (missing & NO_JOULEMAP)
        return cli_error(args, JM_NOT_SUPPORTED,
                         "pip install joulemap; or set JOULEMAP_PYTHON to the Python that has it",
                         "%s has no package joulemap", name);
    if (what != NULL && missing & NO_TORCH)
        return cli_error(args, JM_NOT_SUPPORTED,
                         "pip install torch; or set JOULEMAP_PYTHON to the Python that has it",
                         "%s has no PyTorch, which %s made with", name, what);
    if (cuda && missing & NO_CUDA)
        return cli_error(args, JM_NOT_SUPPORTED,
                         "pip install --force-reinstall torch; or set JOULEMAP_PYTHON to a Python whose "
                         "PyTorch has CUDA",
                         "the PyTorch of %s is built without CUDA", name);
    return CLI_GO_ON;
}

void cli_find_beside(const char *name, char *path, size_t size)
{
    char own[PATH_MAX];
    if (realpath("/proc/self/exe", own) == NULL ||
        (size_t)snprintf(path, size, "%s/%s", dirname(own), name) >= size)
        snprintf(path, size, "%s", name);
}

bool cli_find_on_path(const char *name, char *path, size_t size)
{
    const char *at = getenv("PATH");
    while (at != NULL && *at != '\0') {
        int length = (int)strcspn(at, ":");
        if (snprintf(path, size, "%.*s/%s", length, at, name) < (int)size && access(path, X_OK) == 0)
            return true;
        at += at[length] == ':' ? length + 1 : length;
    }
    return false;
}

void cli_own_name(char *name, size_t size)
{
    char folder[PATH_MAX], own[PATH_MAX], found[PATH_MAX];
    cli_find_beside("joulemap", own, sizeof own);
    const char *shown = own;
    if (cli_find_on_path("joulemap", found, sizeof found))
        shown = "joulemap";
    else if (getcwd(folder, sizeof folder) != NULL && strncmp(own, folder, strlen(folder)) == 0 &&
             own[strlen(folder)] == '/')
        shown = own + strlen(folder) + 1;
    snprintf(name, size, "%s", shown);
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
