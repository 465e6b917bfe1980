/* A command that is recorded into a file: what `record` does, and whoever does more meanwhile. */
#ifndef CLI_RECORDER_H
#define CLI_RECORDER_H

#include "cli/child.h"
#include "cli/verb.h"

#include <joulemap/joulemap.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct cli_recorder {
    const cli_args *args;
    const char *path; /* of the recording */
    char name[64];
    jm_run *run;
    cli_child child;
    const char *role; /* "child": it is ours; its exit code is then the command's */
    bool has_file;    /* once it has ended: the recording is there */
} cli_recorder;

/* The options that all who record have; -o, --force and the verb's own stand beside them. */
#define CLI_RECORDER_MEASURES                                                                                \
    {"--no-kernels", 0, NULL, "do not trace GPU kernels", NULL, false},                                      \
        {"--counters",                                                                                       \
         0,                                                                                                  \
         "[=SECONDS_A_MINUTE]",                                                                              \
         "sample the GPU's hardware counters that much of each minute, 60: always (default: 2 s where that " \
         "works and kernels are traced)",                                                                    \
         NULL,                                                                                               \
         false},                                                                                             \
        {"--no-counters", 0, NULL, "do not sample hardware counters", NULL, false},                          \
        {"--keep", 0,                                                                                        \
         "TIME",   "condense what is older (2h, 30m, 1d): a traced step a minute, means over a second",      \
         NULL,     false},                                                                                   \
        {"--max-size", 0,                                                                                    \
         "SIZE",       "condense more, and sooner, so that the recording stays below it (200M, 2G)",         \
         NULL,         false},                                                                               \
    {                                                                                                        \
        "--no-cpu", 0, NULL, "do not read the CPU's energy", NULL, false                                     \
    }

/* ... and those for which the command is started by us. */
#define CLI_RECORDER_OPTIONS                                                                                 \
    {"--openacc", 0, NULL, "record regions of OpenACC (sets ACC_PROFLIB)", NULL, false},                     \
        {"--nvtx-domain",                                                                                    \
         0,                                                                                                  \
         "LIST",                                                                                             \
         "NVTX ranges of these domains alone, commas between (default: the one without a name); with - "     \
         "before: of all but those (-CCCL,-NCCL)",                                                           \
         NULL,                                                                                               \
         false},                                                                                             \
        {"--budget",                                                                                         \
         0,                                                                                                  \
         "SHARE",                                                                                            \
         "trace some steps now and then, such that it slows the command's sessions down by no more than "    \
         "that (1%)",                                                                                        \
         NULL,                                                                                               \
         false},                                                                                             \
        CLI_RECORDER_MEASURES

/* In this order. Each returns CLI_GO_ON (cli/verb.h) or the exit code of a failure that was reported, after
 * which there is nothing to end. First the boards are read ... */
int cli_recorder_start(cli_recorder *recorder, const cli_args *args);

/* The same for a command that runs already; `command` is its text, NULL: unknown. */
int cli_recorder_start_for(cli_recorder *recorder, const cli_args *args, const char *command);

/* ... then the command runs. */
int cli_recorder_run(cli_recorder *recorder);

/* ... or runs already: from here on it is recorded. `role` begins the facts that are noted of it. */
void cli_recorder_keep(cli_recorder *recorder, const char *role, pid_t pid);

/* In place of that: nothing is wanted of it. */
void cli_recorder_discard(cli_recorder *recorder);

/* The command has ended (cli_child_wait): whole the recording. Returns the command's exit code, or that of a
 * failure where it is 0. */
int cli_recorder_end(cli_recorder *recorder);

/* One line: how long, how much, where it is, what to do next. */
void cli_recorder_print_summary(const cli_recorder *recorder);

/* ---- What a run took, in one line. */

/* The boards' totals between two times of a recording. */
jm_status cli_energy_report(jm_report **out, jm_recording *recording, int64_t from_ns, int64_t to_ns,
                            jm_error *err);

/* "144.1 J (±0.9), 28.7 W": energy with half of its 95 % interval, mean power over `duration_s`: the time
 * that is recorded, which a lost board or a full disk may have cut short. */
void cli_energy_print(FILE *out, double energy_j, double low_j, double high_j, double duration_s);

/* The same of a report's total, and how much of the time asked for it is of, if not all. */
void cli_energy_print_total(FILE *out, const jm_report_totals *totals, double requested_s);

/* ---- A recording that nobody keeps, in a folder of its own. A signal that ends this program takes it away
 * too. */

/* TMPDIR/joulemap-VERB-XXXXXX, for one recording; one at a time. CLI_GO_ON, or the exit code. */
int cli_scratch_make(const cli_args *args);

/* Where the recording is to be: VERB.joulemap in that folder. */
const char *cli_scratch_recording(void);

/* All of it; nothing where no folder was made. */
void cli_scratch_remove(void);

/* From now on it stays. */
void cli_scratch_keep(void);

#endif
