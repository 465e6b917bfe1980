/* A command that is recorded into a file: shared by `record`, `attach`, `demo` and `cap search`. */
#ifndef CLI_RECORDER_H
#define CLI_RECORDER_H

#include "cli/child.h"
#include "cli/verb.h"

#include <joulemap/joulemap.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct cli_recorder {
    const cli_args *args;
    const char *path; /* of the recording */
    char name[PATH_MAX];
    jm_run *run;
    cli_child child;
    bool attached; /* the process ran already, so its exit code is not known */
    bool has_file; /* after cli_recorder_end: whether the recording exists */
} cli_recorder;

/* Options of all verbs that record. -o, --force and the verb's own come beside them. */
#define CLI_RECORDER_MEASURES                                                                                \
    {"--no-kernels", 0, NULL, "do not trace GPU kernels", NULL},                                             \
        {"--counters", 0, "[=SECONDS_A_MINUTE]",                                                             \
         "sample the GPU's hardware counters that much of each minute, 60: always (default: 2 s where that " \
         "works and kernels are traced)",                                                                    \
         NULL},                                                                                              \
        {"--no-counters", 0, NULL, "do not sample hardware counters", NULL},                                 \
        {"--keep", 0, "TIME",                                                                                \
         "condense older data (2h, 30m, 1d): a traced step a minute, means over a second", NULL},            \
        {"--max-size", 0, "SIZE",                                                                            \
         "condense more, and sooner, so that the recording stays below it (200M, 2G)", NULL},                \
    {                                                                                                        \
        "--no-cpu", 0, NULL, "do not read the CPU's energy", NULL                                            \
    }

/* Also the options of verbs that start the command themselves. */
#define CLI_RECORDER_OPTIONS                                                                                 \
    {"--openacc", 0, NULL, "record regions of OpenACC (sets ACC_PROFLIB)", NULL},                            \
        {"--nvtx-domain", 0, "LIST",                                                                         \
         "only NVTX ranges of these domains, with commas between (default: the unnamed one); with a - "      \
         "before each name: all but those (-CCCL,-NCCL)",                                                    \
         NULL},                                                                                              \
        {"--layers", 0, NULL,                                                                                \
         "find layers and steps of Python programs that do not use joulemap (`joulemap run` does)", NULL},   \
        {"--budget", 0, "SHARE",                                                                             \
         "trace only some steps, so that the command's sessions slow down by at most this share (1%)",       \
         NULL},                                                                                              \
        CLI_RECORDER_MEASURES

/* Call these in order. Each returns CLI_GO_ON (cli/verb.h), or the exit code of a failure that was reported;
 * then nothing is left to end.
 *
 * Start reading the boards. */
int cli_recorder_start(cli_recorder *recorder, const cli_args *args);

/* The same into a given file, which is borrowed. */
int cli_recorder_start_into(cli_recorder *recorder, const cli_args *args, const char *path);

/* The path that cli_recorder_start takes: what --output says, or a new one. */
int cli_recorder_path(const cli_args *args, char path[PATH_MAX]);

/* The same for a command that runs already. `command`: its command line as text; NULL: unknown. */
int cli_recorder_start_for(cli_recorder *recorder, const cli_args *args, const char *command);

/* Start the command. */
int cli_recorder_run(cli_recorder *recorder);

/* Or record a process that runs already. */
void cli_recorder_keep(cli_recorder *recorder, pid_t pid);

/* Or give up: stop reading and remove the recording. */
void cli_recorder_discard(cli_recorder *recorder);

/* Complete the recording after the command has ended (cli_child_wait). Returns the command's exit code, or
 * that of a failure if it is 0. */
int cli_recorder_end(cli_recorder *recorder);

/* Print one line: duration, energy, the recording's path and size, and the next command to type. */
void cli_recorder_print_summary(const cli_recorder *recorder);

/* ---- the energy of a run, in one line */

/* A report of the boards' totals between two times of a recording. */
jm_status cli_energy_report(jm_report **out, jm_recording *recording, int64_t from_ns, int64_t to_ns,
                            jm_error *err);

/* Print "144.1 J (±0.9), 28.7 W": energy with half of its 95 % interval, and mean power over `duration_s`,
 * the recorded time. A lost board or a full disk may have cut that time short. */
void cli_energy_print(FILE *out, double energy_j, double low_j, double high_j, double duration_s);

/* The same for a report's total. If less than `requested_s` was recorded, the recorded time is printed too.
 */
void cli_energy_print_total(FILE *out, const jm_report_totals *totals, double requested_s);

/* ---- A scratch recording in a folder of its own. A signal that ends this program removes it too. */

/* Make the folder TMPDIR/joulemap-VERB-XXXXXX; only one at a time. CLI_GO_ON, or the exit code. */
int cli_scratch_make(const cli_args *args);

/* The path for the recording: VERB.joulemap in that folder. */
const char *cli_scratch_recording(void);

/* Remove the folder and its files, if there is one. */
void cli_scratch_remove(void);

/* Keep the folder. */
void cli_scratch_keep(void);

#endif
