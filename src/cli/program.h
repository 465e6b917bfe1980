/* For verbs that run a Python program of the package: the interpreter, and command lines. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include "cli/verb.h"

/* The interpreter: JOULEMAP_PYTHON, which the package's launcher sets, else python3. */
const char *cli_python(void);

/* Check that the interpreter runs and has the package. `what`: "the demo's program is" if PyTorch is needed
 * too, else NULL. `cuda`: PyTorch must be built with CUDA. Neither package is loaded. CLI_GO_ON, or the exit
 * code after a message. */
int cli_python_check(const cli_args *args, const char *what, bool cuda);

/* The path of file `name` in the folder of this program; just `name` if that folder is unknown. */
void cli_find_beside(const char *name, char *path, size_t size);

/* The first program of that name on PATH; false: there is none, and `path` is undefined. */
bool cli_find_on_path(const char *name, char *path, size_t size);

/* How the user can call this command: "joulemap" if it is on PATH, else its path, relative if it is below the
 * working folder. */
void cli_own_name(char *name, size_t size);

/* A command line under construction. Words are copied, because main's own are writable. */
typedef struct cli_line {
    char *words[32]; /* NULL-terminated */
    int count;
} cli_line;

void cli_line_add(cli_line *line, const char *word);
void cli_line_add_all(cli_line *line, const char *const *words); /* NULL-terminated */
void cli_line_add_number(cli_line *line, const char *option, long long number);
void cli_line_free(cli_line *line);

#endif
