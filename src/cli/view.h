/* Shared by `report`, `export` and other verbs that read a recording. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include "cli/verb.h"

#include <joulemap/status.h>
#include <stdio.h>

extern const char cli_view_keys[]; /* the texts of JM_BY_MAP, each after a "|" */

/* Options of these verbs; `keys`: the choices of --by. */
#define CLI_VIEW_OPTIONS(keys)                                                                               \
    CLI_RUN_VIEW_OPTIONS(keys),                                                                              \
    {                                                                                                        \
        "--process", 0, "PID", "only this process of the recording", NULL                                    \
    }

/* Options that apply to each of several recordings. */
#define CLI_RUN_VIEW_OPTIONS(keys)                                                                           \
    {"--by", 'b', "KEY", "what a row represents (default: layer)", keys},                                    \
        {"--phase", 'p', "NAME", "only what happened inside phases of this name", NULL},                     \
        {"--prior", 0, "FILE", "known powers, as a prior for the fit: a CSV file", NULL},                    \
        {"--model", 0, "FILE",                                                                               \
         "energy per hardware counter: a model of `joulemap calibrate`; none: leave counters out", NULL},    \
    {                                                                                                        \
        "--board", 0, "N", "only the GPU with this index, as in `joulemap list`", NULL                       \
    }

/* Fill `options` and open the recording named by this operand. CLI_GO_ON, or the exit code; then nothing is
 * open. */
int cli_view_open(const cli_args *args, int operand, jm_recording **recording, jm_report_options *options);

/* Report a usage error if one of `options` (NULL-terminated) is given, as `view` ignores them; `why` is in
 * the message. CLI_GO_ON if none is given, else the exit code. */
int cli_view_refuse(const cli_args *args, const char *view, const char *why, const char *const *options);

/* Report damage of the recording on stderr, for formats that have no place for it. Call it after reading. */
void cli_view_warn_of_damage(const cli_args *args, int operand, const jm_recording *recording);

/* The name of a run for display, with up to `folders` parent folders: "base" or "runs/base" for
 * "/data/runs/base.joulemap". */
void cli_view_name(char *out, size_t size, const char *path, int folders);

/* ---- The option --html: a run as a page. */

#define CLI_PAGE_OPTION                                                                                      \
    {                                                                                                        \
        "--html", 0, "FILE",                                                                                 \
            "write the page instead: one file for any browser, with charts, flame graphs and tables", NULL   \
    }

/* A run with the further reports that a page shows. */
typedef struct cli_page_run {
    jm_page_run run;
    jm_report *kernels;
    jm_report *spans;
} cli_page_run;

/* All arguments must outlive `page`. Free it also after an error. */
jm_status cli_page_run_make(cli_page_run *page, const char *name, jm_recording *recording,
                            const jm_report *report, jm_error *err);
void cli_page_run_free(cli_page_run *page);

/* Write the page into the file of --html ("-": standard output), which appears only when it is complete.
 * `other` and `diff`: NULL for a single run. Returns the exit code. */
int cli_page_write(const cli_args *args, const cli_page_run *page, const cli_page_run *other,
                   const jm_diff *diff);

/* ---- A file that appears only when it is complete: written under another name in the same folder, then
 * renamed. What is no regular file (a pipe, /dev/stdout) is written directly. */

typedef struct cli_whole_file {
    const char *path;
    char *temporary; /* NULL: written directly */
    FILE *stream;
} cli_whole_file;

jm_status cli_whole_file_open(cli_whole_file *file, const char *path, jm_error *err);

/* `status`: the result of writing; on failure the former file stays. Returns it, or the failure of closing.
 */
jm_status cli_whole_file_close(cli_whole_file *file, jm_status status, jm_error *err);

#endif
