/* What verbs need that run a Python program of the package: which Python, and a command line. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include "cli/verb.h"

/* The Python that has the package: JOULEMAP_PYTHON, which the package's launcher sets, else python3. */
const char *cli_python(void);

/* Is it there with the package, and with PyTorch if `what` is made with it: "the demo's program is", else
 * NULL? With a PyTorch built with CUDA if `cuda`? None of it is loaded for that. CLI_GO_ON, or the exit code
 * after what is missing was said. */
int cli_python_check(const cli_args *args, const char *what, bool cuda);

/* A program of ours lies beside this one; else it is looked for on PATH. */
void cli_find_beside(const char *name, char *path, size_t size);

/* The first program of that name on PATH; false: there is none, and `path` is undefined. */
bool cli_find_on_path(const char *name, char *path, size_t size);

/* How this command is called here: "joulemap" if that is on PATH, else its path, from the working folder on
 * if it lies in there. */
void cli_own_name(char *name, size_t size);

/* A command line that is being made. Words are copied, as main's own can be written to. */
typedef struct cli_line {
    char *words[32]; /* NULL-terminated */
    int count;
} cli_line;

void cli_line_add(cli_line *line, const char *word);
void cli_line_add_all(cli_line *line, const char *const *words); /* NULL-terminated */
void cli_line_add_number(cli_line *line, const char *option, long long number);
void cli_line_free(cli_line *line);

#endif
