/* What `report`, `export` and other verbs that look at a recording have in common. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include "cli/verb.h"

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
        {"--belief", 0, "FILE", "what is known of powers beside the readings: a CSV file", NULL, false},       \
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

#endif
