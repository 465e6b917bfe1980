/* Verbs of the command line, parsed arguments, and output. --help, the man page and shell completion are made
 * from the tables of verbs. */
#ifndef CLI_VERB_H
#define CLI_VERB_H

#include <jansson.h>
#include <joulemap/joulemap.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_option {
    const char *name;     /* "--output", NULL ends the table */
    char letter;          /* 'o', 0: none */
    const char *argument; /* "FILE"; NULL: a flag; "[=SECONDS]": optional, and only given with "=" */
    const char *help;     /* one sentence */
    const char *choices;  /* "csv|json", or NULL; completion offers them and others are refused */
} cli_option;

/* Common to all verbs that look at GPUs. */
#define CLI_SIM_OPTION                                                                                       \
    {                                                                                                        \
        "--sim", 0, "PROFILE", "use a simulated GPU: h200, h100, a100, rtx3090, v100, or a profile's file",  \
            NULL                                                                                             \
    }

typedef struct cli_args cli_args;

/* A step of a verb returns this in place of an exit code while all is well. */
#define CLI_GO_ON (-1)

typedef struct cli_verb {
    const char *name;
    const char *usage;       /* after the verb: "[options] -- COMMAND [ARG...]" */
    const char *summary;     /* one line */
    const char *description; /* paragraphs for --help and the man page, a blank line between them;
                              * lines that begin with two spaces stay as they are (examples) */
    const cli_option *options;
    const char *required;    /* the option that must be given; NULL: none */
    int min_operands;        /* without options */
    int max_operands;        /* -1: any */
    const char *subcommands; /* "show|set": choices of the first operand; NULL: anything */
    bool takes_command;      /* a command is required: after the options, or after "--" */
    bool may_take_command;   /* it is allowed */
    bool keeps_runs;    /* records into the store, and finds layers in programs that know nothing of it */
    bool looks_at_gpus; /* power caps of dead holders are put back before it runs */
    bool operands_are_verbs;          /* completion offers verbs, else files */
    const char *needs;                /* the package that its program is built with; NULL: it always is */
    bool takes_newest;                /* without an operand: the newest recording of the store (store.h) */
    int (*run)(const cli_args *args); /* returns the exit code; NULL: the program joulemap-NAME is run */
} cli_verb;

extern const cli_verb cli_verb_list, cli_verb_doctor, cli_verb_run, cli_verb_runs, cli_verb_stat,
    cli_verb_record, cli_verb_report, cli_verb_diff, cli_verb_export, cli_verb_plot, cli_verb_import,
    cli_verb_calibrate, cli_verb_cap, cli_verb_demo, cli_verb_estimate, cli_verb_help, cli_verb_dormant,
    cli_verb_attach, cli_verb_top, cli_verb_view;

/* All verbs in the order of --help, NULL-terminated (main.c). */
extern const cli_verb *const cli_verbs[];

/* Whether the first word that is no option begins the command. */
static inline bool cli_begins_command(const cli_verb *verb)
{
    return (verb->takes_command || verb->may_take_command) && verb->max_operands == 0;
}

/* An option as given. */
typedef struct cli_given {
    const cli_option *option;
    const char *value; /* "" for a flag */
} cli_given;

/* A parsed command line. */
struct cli_args {
    const cli_verb *const *verbs; /* table of all verbs */
    const cli_verb *verb;
    cli_given *given; /* in the order of the command line; the last one of a name counts */
    int given_count;
    const char **operands;
    int operand_count;
    int before_dashes;     /* number of operands before "--"; -1: no "--", or a command follows it */
    char **command;        /* NULL if there was none */
    char newest[PATH_MAX]; /* an operand of takes_newest */
};

/* The value of an option; NULL: not given. A flag has "". */
const char *cli_get(const cli_args *args, const char *name);
bool cli_has(const cli_args *args, const char *name);
const char *cli_operand(const cli_args *args, int index); /* NULL past the last */
char **cli_command(const cli_args *args);                 /* NULL-terminated */

/* All messages on stderr go through these. They replace control characters, so that none reaches the
 * terminal. */

/* Print without a newline. */
void cli_message_part(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print the line "joulemap VERB: TEXT". */
void cli_message(const cli_args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Print "joulemap VERB: TEXT" and the hint. Returns the exit code of the status. */
int cli_fail(const cli_args *args, const jm_error *err);
int cli_error(const cli_args *args, jm_status status, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int cli_usage_error(const cli_args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fill in an error for cli_fail. Returns the status. */
jm_status cli_set_error(jm_error *err, jm_status status, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A whole number in [low, high]; false after a usage error was reported. *out stays as it is if the option
 * was not given. */
bool cli_get_number(const cli_args *args, const char *name, long long low, long long high, long long *out);

/* Likewise a number in (above, most]. An option without its optional argument leaves *out as it is. */
bool cli_get_real(const cli_args *args, const char *name, double above, double most, double *out);

/* Likewise a time in seconds and a size in bytes, with units: "2h", "200M". */
bool cli_get_duration(const cli_args *args, const char *name, double least_s, double *out_s);
bool cli_get_size(const cli_args *args, const char *name, double least_bytes, int64_t *out_bytes);

/* Likewise a share in [least, 1]: "3%" or "0.03". A plain number from 1 on is refused, as it was probably
 * meant in percent. */
bool cli_get_share(const cli_args *args, const char *name, double least, double *out);

/* The index of the given choice in the option's `choices`; `usual` if the option was not given. */
int cli_get_choice(const cli_args *args, const char *name, int usual);

/* Print a result on stdout. cli_output_finish reports a failed write. */
void cli_write(const char *text);

/* The same for data that other programs read (JSON, CSV). Names in it are raw, so a terminal gets it without
 * control characters. cli_data_open: a stream for that; NULL if memory is out, which cli_data_close notes. */
void cli_write_data(const char *text);
FILE *cli_data_open(FILE *to);
void cli_data_close(FILE *stream, const FILE *to);

/* Note that a write to stdout failed with this errno (0: unknown), for cli_output_finish. */
void cli_write_failed(int error);

/* Flush stdout and report failed writes. Returns `code`, or the exit code of the failure. */
int cli_output_finish(int code);

/* Width of the terminal behind `fd` in columns: COLUMNS, else what the terminal says, else 80. */
int cli_terminal_width(int fd);

/* Whether to print colours: `fd` is a terminal, and neither NO_COLOR nor CLICOLOR_FORCE says otherwise. */
bool cli_has_colour(int fd);

/* Give GPUs back their former power cap if the lease's holder died, and report each on stderr (dispatch.c).
 * Returns the number of such leases; *failed: those that could not be put back. */
size_t cli_put_back_lost(const cli_args *args, size_t *failed);

/* The holder of a lease for display: "sleep 60 (pid 12, user 0)", without control characters. Returns `text`.
 */
const char *cli_cap_holder_text(char *text, size_t size, const jm_cap_lease_info *lease);

/* Run one command line, such as "record", "-o", ...; for main and for verbs that run other verbs. A verb that
 * is not in the table is the program joulemap-VERB, beside this one or on PATH. */
int cli_run(const cli_verb *const *verbs, int argc, char **argv);

/* The main function of joulemap-VERB. `table` is compiled into joulemap too, for its --help and completion;
 * its `run` is NULL. */
int cli_tool_main(const cli_verb *table, int (*run)(const cli_args *args), int argc, char **argv);

/* Show a progress line with the seconds since it began, if stderr is a terminal and it takes over half a
 * second. NULL ends it. */
void cli_progress(const char *text);

/* ---- command lines */

/* Parse the words after the verb. CLI_GO_ON: *args is filled; free it with cli_args_free. Else the exit code
 * after wrong usage was reported. */
int cli_args_parse(cli_args *args, const cli_verb *verb, int argc, char **argv);
void cli_args_free(cli_args *args);

const cli_verb *cli_verb_find(const cli_verb *const *verbs, const char *name); /* NULL if there is none */

/* Report an unknown verb and the nearest known one. Returns the exit code. */
int cli_verb_unknown(const cli_verb *const *verbs, const cli_args *args, const char *name);

/* The next text of an "a|b|c" list. Advances *list and returns the text's length, 0 at the end. */
size_t cli_choice_next(const char **list, const char **choice);

/* Whether the verb needs this option. */
bool cli_is_required(const cli_verb *verb, const cli_option *option);

/* Whether the option takes the next word as its argument. */
bool cli_takes_word(const cli_option *option);

void cli_help_print(FILE *out, const cli_verb *const *verbs);
void cli_help_print_verb(FILE *out, const cli_verb *verb);

/* ---- JSON on stdout, for verbs that print a document */

/* A number; null for NAN. */
json_t *cli_json_number(double value);

/* Print the document and free it. Returns the exit code. */
int cli_json_write(const cli_args *args, json_t *document_take);

/* The same on one line and flushed, for a stream of documents. */
int cli_json_write_line(const cli_args *args, json_t *document_take);

#endif
