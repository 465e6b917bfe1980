/* What `report`, `export` and other verbs that look at a recording have in common. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include "cli/verb.h"

#include <joulemap/status.h>
#include <stdio.h>

extern const char cli_view_keys[]; /* the texts of JM_BY_MAP, each after a "|" */

/* Their options, for the table of a verb; `keys`: of --by. */
#define CLI_VIEW_OPTIONS(keys)                                                                               \
    CLI_RUN_VIEW_OPTIONS(keys),                                                                              \
    {                                                                                                        \
        "--process", 0, "PID", "only this process of the recording", NULL, false                             \
    }

/* Those that mean the same for any run. */
#define CLI_RUN_VIEW_OPTIONS(keys)                                                                             \
    {"--by", 'b', "KEY", "what a row stands for (default: layer)", keys, false},                               \
        {"--phase", 'p', "NAME", "only what happened inside phases of this name", NULL, false},                \
        {"--prior", 0, "FILE", "what is known of powers beside the readings: a CSV file", NULL, false},        \
        {"--model", 0,                                                                                         \
         "FILE",    "what hardware counters are worth: a model of `joulemap calibrate`; none: leave them out", \
         NULL,      false},                                                                                    \
    {                                                                                                          \
        "--board", 0, "N", "only the GPU of this index, as `joulemap list` counts", NULL, false                \
    }

/* Fill `options` and open the recording that this operand names. CLI_GO_ON, or the exit code; then nothing is
 * open. */
int cli_view_open(const cli_args *args, int operand, jm_recording **recording, jm_report_options *options);

/* Refuse what a view would not obey: these options (the last one NULL) with `view`, and why. CLI_GO_ON: none
 * is given; else the exit code. */
int cli_view_refuse(const cli_args *args, const char *view, const char *why, const char *const *options);

/* What is damaged of the recording that this operand names, on stderr: for formats that have no place for it.
 * After it was read. */
void cli_view_warn_of_damage(const cli_args *args, int operand, const jm_recording *recording);

/* The name of a run for people: "base" of "runs/base.joulemap". */
void cli_view_name(char *out, size_t size, const char *path);

/* The same with so many folders around it, as far as the path has them: "runs/base" with one. */
void cli_view_long_name(char *out, size_t size, const char *path, int folders);

/* ---- The option --html: a run as a page. */

#define CLI_PAGE_OPTION                                                                                      \
    {                                                                                                        \
        "--html", 0, "FILE",                                                                                 \
            "write the page instead: one file for any browser, with charts, flame graphs and tables", NULL,  \
            false                                                                                            \
    }

/* What a page shows of a run beside its report. */
typedef struct cli_page_run {
    jm_page_run run;
    jm_report *kernels;
    jm_report *spans;
} cli_page_run;

/* `name`: of the run; all that is given outlives the run. Free also after an error. */
jm_status cli_page_run_make(cli_page_run *page, const char *name, jm_recording *recording,
                            const jm_report *report, jm_error *err);
void cli_page_run_free(cli_page_run *page);

/* Write the page into the file that --html names ("-": standard output), which appears only when it is whole.
 * `other` and `diff`: NULL for a single run. Returns the exit code. */
int cli_page_write(const cli_args *args, const cli_page_run *page, const cli_page_run *other,
                   const jm_diff *diff);

/* ---- A file that is there only when it is whole: written under another name in the same folder, then
 * renamed. What is no regular file (a pipe, /dev/stdout) is written as it is. */

typedef struct cli_whole_file {
    const char *path;
    char *temporary; /* NULL: written directly */
    FILE *stream;
} cli_whole_file;

jm_status cli_whole_file_open(cli_whole_file *file, const char *path, jm_error *err);

/* `status`: how writing went; if not well, what was there before stays. Returns it, or how closing went. */
jm_status cli_whole_file_close(cli_whole_file *file, jm_status status, jm_error *err);

#endif
