/* From the words of a command line to cli_args, and the texts made from the tables of verbs. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "cli/verb.h"
#include <stddef.h>

/* Parse what stands after the verb. CLI_GO_ON: *args is filled, free it with
 * cli_args_free. Else the exit code: wrong usage was reported. */
int cli_args_parse(cli_args *args, const cli_verb *verb, int argc, char **argv);
void cli_args_free(cli_args *args);

const cli_verb *cli_verb_find(const cli_verb *const *verbs, const char *name); /* NULL if there is none */

/* Say that there is no such verb and which may be meant; returns the exit code. */
int cli_verb_unknown(const cli_verb *const *verbs, const cli_args *args, const char *name);

/* Which of `count` names somebody who wrote `wrong` may have meant; NULL if none is near. */
const char *cli_nearest(const char *wrong, const char *(*name)(const void *context, int index),
                        const void *context, int count);

/* One text of an "a|b|c" list: advances *list, returns its length, 0 at the end. */
size_t cli_choice_next(const char **list, const char **choice);

/* Whether the word after the option may be its argument. */
bool cli_takes_word(const cli_option *option);

/* The texts made from the tables. */
void cli_help_print(FILE *out, const cli_verb *const *verbs);
void cli_help_print_verb(FILE *out, const cli_verb *verb);
void cli_man_print(FILE *out, const cli_verb *const *verbs);
int cli_pkgconfig_folder_print(void); /* returns the exit code */
/* False: unknown shell. */
bool cli_completion_print(FILE *out, const cli_verb *const *verbs, const char *shell);

#endif
