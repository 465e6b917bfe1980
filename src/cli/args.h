/* Behind verb.h: a parsed command line, and running one. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "cli/verb.h"
#include <stddef.h>

typedef struct cli_given {
    const cli_option *option;
    const char *value; /* "" for a flag */
} cli_given;

struct cli_args {
    const cli_verb *verb;
    cli_given *given; /* in the order of the command line; the last one of a name counts */
    int given_count;
    const char **operands;
    int operand_count;
    int before_dashes; /* so many operands stand before "--"; -1: there is none, or a command follows it */
    char **command;    /* after "--"; NULL if there was none */
};

/* Parse what stands after the verb. CLI_GO_ON: *args is filled, free it with
 * cli_args_free. Else the exit code: wrong usage was reported. */
#define CLI_GO_ON (-1)
int cli_args_parse(cli_args *args, const cli_verb *verb, int argc, char **argv);
void cli_args_free(cli_args *args);

const cli_verb *cli_verb_find(const char *name); /* NULL if there is none */

/* Say that there is no such verb and which may be meant; returns the exit code. */
int cli_verb_unknown(const cli_args *args, const char *name);

/* Which of `count` names somebody who wrote `wrong` may have meant; NULL if none is near. */
const char *cli_nearest(const char *wrong, const char *(*name)(const void *context, int index),
                        const void *context, int count);

/* One text of an "a|b|c" list: advances *list, returns its length, 0 at the end. */
size_t cli_choice_next(const char **list, const char **choice);

/* Whether the word after the option may be its argument. */
bool cli_takes_word(const cli_option *option);

/* The texts made from the tables. */
void cli_help_print(FILE *out);
void cli_help_print_verb(FILE *out, const cli_verb *verb);
void cli_man_print(FILE *out);
int cli_pkgconfig_folder_print(void);                    /* returns the exit code */
bool cli_completion_print(FILE *out, const char *shell); /* false: unknown shell */

/* Note that stdout failed with this errno (0: not known); cli_output_finish tells it. */
void cli_write_failed(int error);

/* Flush stdout and say if that failed. Returns `code`, or the exit code of the failure. */
int cli_output_finish(int code);

/* Columns of the terminal behind `fd`: COLUMNS, else what it says; 80 where there is none. */
int cli_terminal_width(int fd);

/* Does the terminal behind `fd` show colours, and does nobody mind (NO_COLOR; CLICOLOR_FORCE: in any case)?
 */
bool cli_has_colour(int fd);

#endif
