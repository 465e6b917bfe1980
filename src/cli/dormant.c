/* `joulemap dormant`: run a command so that a recorder can attach to it later. */
#include "cli/child.h"
#include "cli/program.h"
#include "cli/verb.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cli_option options[] = {
    {"--print", 0, "FORM",
     "run nothing: print the environment that makes programs dormant, as shell commands (for eval) or as "
     "lines of a file (systemd's EnvironmentFile, docker's --env-file)",
     "shell|file"},
    {0},
};

typedef struct variable {
    const char *name, *value;
    const char *what;  /* what another tool's value hides from us; NULL: never set by other tools */
    const char *older; /* an older name of the variable that takes precedence; NULL: none */
} variable;

static bool is_set(const char *name)
{
    const char *value = name == NULL ? NULL : getenv(name);
    return value != NULL && value[0] != '\0';
}

/* Another tool's injection stays: replacing it would break what the user set up. */
static bool is_taken(const cli_args *args, const variable *var)
{
    bool taken = is_set(var->older) || (is_set(var->name) && var->what != NULL &&
                                        strstr(getenv(var->name), "libjoulemap_inject.so") == NULL);
    if (taken)
        cli_message(args, "%s is set to %s already: %s cannot be traced later; unset it to trace them",
                    is_set(var->older) ? var->older : var->name,
                    getenv(is_set(var->older) ? var->older : var->name), var->what);
    return taken;
}

static void print(const char *form, const variable *var)
{
    char *quoted = cli_typed_path(var->value);
    if (quoted == NULL) return;
    if (strcmp(form, "shell") == 0)
        printf("export %s=%s\n", var->name, quoted);
    else
        printf("%s=%s\n", var->name, var->value);
    free(quoted);
}

static int run_dormant(const cli_args *args)
{
    char library[PATH_MAX];
    cli_find_beside("libjoulemap_inject.so", library, sizeof library);
    const char *form = cli_get(args, "--print");
    char **command = cli_command(args);
    if ((form == NULL) == (command == NULL))
        return cli_usage_error(args, form == NULL
                                         ? "the command is missing: joulemap dormant -- COMMAND [ARG...]"
                                         : "--print runs no command");
    const variable all[] = {
        {"JOULEMAP_DORMANT", "1", NULL, NULL},
        {"CUDA_INJECTION64_PATH", library, "kernels", NULL},
        {"NVTX_INJECTION64_PATH", library, "NVTX ranges", NULL},
        {"KOKKOS_TOOLS_LIBS", library, "kernels and regions of Kokkos", "KOKKOS_PROFILE_LIBRARY"},
    };
    bool there = access(library, R_OK) == 0;
    if (!there)
        cli_message(args, "%s is not there: kernels cannot be traced later, spans of joulemap can", library);
    for (size_t i = 0; i < (there ? sizeof all / sizeof *all : 1); i++) {
        if (is_taken(args, &all[i])) continue;
        if (form != NULL)
            print(form, &all[i]);
        else
            setenv(all[i].name, all[i].value, 1);
    }
    if (form != NULL) return 0;
    jm_error err;
    int code = cli_child_become(command[0], command, &err);
    cli_fail(args, &err);
    return code;
}

const cli_verb cli_verb_dormant = {
    .name = "dormant",
    .usage = "COMMAND [ARG...]",
    .summary = "run a command that can be recorded later, at no cost until then",
    .description =
        "Becomes COMMAND, in an environment in which `joulemap attach` can record it and the processes that "
        "it starts at any time: their kernels, their NVTX ranges and joulemap's spans. Until then nothing is "
        "recorded: CUDA loads joulemap's library, which waits in a thread that sleeps; CUPTI is not "
        "loaded.\n\n"
        "A joulemap.Session in such a program waits, too, and keeps no recording of its own.\n\n"
        "  joulemap dormant -- python -m vllm.entrypoints.openai.api_server ...\n"
        "  joulemap attach --seconds 60 -o minute.joulemap PID\n\n"
        "Where a program is started by something else, give that the environment:\n\n"
        "  eval \"$(joulemap dormant --print shell)\"\n"
        "  joulemap dormant --print file >dormant.env",
    .options = options,
    .may_take_command = true,
    .run = run_dormant,
};
