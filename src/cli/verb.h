/* A verb of the command line: one file a verb, one table for all.
 *
 * --help, the man page and shell completion are all made from these tables. */
#ifndef CLI_VERB_H
#define CLI_VERB_H

#include <jansson.h>
#include <joulemap/joulemap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_option {
    const char *name; /* "--output", NULL ends the table */
    char letter;      /* 'o', 0: none */
    const char
        *argument;    /* "FILE", NULL: a flag; "[=SECONDS]": may be left out, and is given with "=" alone */
    const char *help; /* one sentence */
    const char *choices; /* "csv|json", or NULL; completion offers them and others are refused */
    bool required;
} cli_option;

/* The same option of all verbs that look at GPUs. */
#define CLI_SIM_OPTION                                                                                       \
    {                                                                                                        \
        "--sim", 0, "PROFILE", "use a simulated GPU: h200, h100, a100, rtx3090, v100, or a profile's file",  \
            NULL, false                                                                                      \
    }

typedef struct cli_args cli_args;

/* What a step of a verb returns, in place of an exit code, while all is well. */
#define CLI_GO_ON (-1)

typedef struct cli_verb {
    const char *name;
    const char *usage;       /* after the verb: "[options] -- COMMAND [ARG...]" */
    const char *summary;     /* one line */
    const char *description; /* paragraphs for --help and the man page, a blank line between them;
                              * lines that begin with two spaces stay as they are (examples) */
    const cli_option *options;
    int min_operands;                 /* without options */
    int max_operands;                 /* -1: any */
    const char *words;                /* "show|set": what the first operand may be; NULL: anything */
    bool takes_command;               /* "-- COMMAND ..." is required */
    bool may_take_command;            /* ... may be given */
    bool looks_at_gpus;               /* lost leases of power caps are put back before it runs */
    bool operands_are_verbs;          /* completion offers these, else files */
    int (*run)(const cli_args *args); /* returns the exit code; NULL: the program joulemap-NAME is run */
} cli_verb;

extern const cli_verb cli_verb_list, cli_verb_doctor, cli_verb_stat, cli_verb_record, cli_verb_report,
    cli_verb_diff, cli_verb_export, cli_verb_plot, cli_verb_import, cli_verb_calibrate, cli_verb_cap,
    cli_verb_demo, cli_verb_estimate, cli_verb_help, cli_verb_dormant, cli_verb_attach;

/* All verbs in the order of --help, NULL-terminated: main.c's, which hands them to all that need them. */
extern const cli_verb *const cli_verbs[];

/* A parsed command line. */
typedef struct cli_given {
    const cli_option *option;
    const char *value; /* "" for a flag */
} cli_given;

struct cli_args {
    const cli_verb *const *verbs; /* all of them */
    const cli_verb *verb;
    cli_given *given; /* in the order of the command line; the last one of a name counts */
    int given_count;
    const char **operands;
    int operand_count;
    int before_dashes; /* so many operands stand before "--"; -1: there is none, or a command follows it */
    char **command;    /* after "--"; NULL if there was none */
};

/* Value of an option, NULL if not given; for a flag "" if given. */
const char *cli_get(const cli_args *args, const char *name);
bool cli_has(const cli_args *args, const char *name);
const char *cli_operand(const cli_args *args, int index); /* NULL past the last */
char **cli_command(const cli_args *args);                 /* NULL-terminated, after "--" */

/* All words on stderr go through these: whatever a name holds, no control character reaches the terminal. */

/* Some words, as they are; the end of the line is the caller's. */
void cli_words(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line "joulemap VERB: TEXT". */
void cli_tell(const cli_args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Print "joulemap VERB: TEXT" and the hint; returns the exit code for it. */
int cli_fail(const cli_args *args, const jm_error *err);
int cli_error(const cli_args *args, jm_status status, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int cli_usage_error(const cli_args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A whole number that an option must be, within [low, high]; false after a usage error was
 * reported. *out stays as it is if the option was not given. */
bool cli_get_number(const cli_args *args, const char *name, long long low, long long high, long long *out);

/* Likewise a number in (above, most]; an option whose argument was left out leaves *out as it is. */
bool cli_get_real(const cli_args *args, const char *name, double above, double most, double *out);

/* Likewise a time in seconds and a size in bytes, with the units that people write: "2h", "200M". */
bool cli_get_duration(const cli_args *args, const char *name, double least_s, double *out_s);
bool cli_get_size(const cli_args *args, const char *name, double least_bytes, int64_t *out_bytes);

/* Likewise a share in [least, 1], "3%" or "0.03": a plain number from 1 on was meant in percent, and is
 * refused. */
bool cli_get_share(const cli_args *args, const char *name, double least, double *out);

/* Print a result on stdout; whether it got there is checked when the program ends. */
void cli_write(const char *text);

/* The same of what other programs read (JSON, CSV), in which names stand as they are: a terminal gets them
 * without their control characters. cli_data_open: a stream for that; NULL if memory is out, which
 * cli_data_close notes. */
void cli_write_data(const char *text);
FILE *cli_data_open(FILE *to);
void cli_data_close(FILE *stream, const FILE *to);

/* Note that stdout failed with this errno (0: not known); cli_output_finish tells it. */
void cli_write_failed(int error);

/* Flush stdout and say if that failed. Returns `code`, or the exit code of the failure. */
int cli_output_finish(int code);

/* Columns of the terminal behind `fd`: COLUMNS, else what it says; 80 where there is none. */
int cli_terminal_width(int fd);

/* Does the terminal behind `fd` show colours, and does nobody mind (NO_COLOR; CLICOLOR_FORCE: in any case)?
 */
bool cli_has_colour(int fd);

/* Put back what lost leases of power caps found, and say so on stderr (run.c). Returns how many there
 * were; *failed: of how many it could not be done. */
size_t cli_put_back_lost(const cli_args *args, size_t *failed);

/* "sleep 60 (pid 12, user 0)" for people, without control characters. Returns `text`. */
const char *cli_cap_holder_text(char *text, size_t size, const jm_cap_lease_info *lease);

/* Run one command line, "record", "-o", ...: for main, and for a verb that is made of others. A verb that is
 * not in the table is the program joulemap-VERB, beside this one or on PATH. */
int cli_run(const cli_verb *const *verbs, int argc, char **argv);

/* The main of joulemap-VERB: its command line as if it were the verb's of joulemap. `table` is also in
 * joulemap, which knows its words and options by it, and has no `run`. */
int cli_tool_main(const cli_verb *table, int (*run)(const cli_args *args), int argc, char **argv);

/* A progress line on stderr with the seconds since it began, only if that is a
 * terminal and it takes longer than half a second. NULL ends it. */
void cli_progress(const char *text);

/* ---- From the words of a command line to cli_args, and the texts made from the tables of verbs. */

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

/* ---- JSON on stdout, for verbs that answer with a document of their own. */

/* A number, null where there is none (NAN). */
json_t *cli_json_number(double value);

/* Print the document and free it; returns the exit code. */
int cli_json_write(const cli_args *args, json_t *document_take);

/* The same on one line, at once: one of several documents. */
int cli_json_write_line(const cli_args *args, json_t *document_take);

#endif
