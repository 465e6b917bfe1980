/* `joulemap record`: run a command and record where its joules go. */
#include "cli/recorder.h"

#include "cli/verb.h"

static const cli_option options[] = {
    {"--output", 'o', "FILE", "the recording (default: joulemap-DATE-TIME-PID.joulemap)", NULL},
    {"--force", 'f', NULL, "replace an existing recording", NULL},
    CLI_SIM_OPTION,
    CLI_RECORDER_OPTIONS,
    {0},
};

static int run_record(const cli_args *args)
{
    cli_recorder recorder;
    int code = cli_recorder_start(&recorder, args);
    if (code == CLI_GO_ON) code = cli_recorder_run(&recorder);
    if (code != CLI_GO_ON) return code;
    cli_child_wait(&recorder.child);
    code = cli_recorder_end(&recorder);
    cli_recorder_print_summary(&recorder);
    return code;
}

const cli_verb cli_verb_record = {
    .name = "record",
    .usage = "[options] COMMAND [ARG...]",
    .summary = "run a command and record where its joules go",
    .description =
        "Runs COMMAND and records the power of all GPUs and of the CPU where it can be read, the spans and "
        "NVTX ranges of its processes, and the kernels they launch, into one file. The exit code is "
        "COMMAND's.\n\n"
        "A process of its own samples the GPU's hardware counters, a quarter of a second at a time, for at "
        "most 3 % of the time, starts and stops included, where the driver lets this user read them; its CPU "
        "time is about 3 % of the run's. With --counters it reports why, if it cannot.\n\n"
        "With --budget 1% the steps of Python sessions, and of C programs that call jm_run_start, are traced "
        "a few at a time, as often as a slowdown of 1 % allows; reports extrapolate to the other steps. "
        "Without it, or without steps, everything is traced.\n\n"
        "The file is whole up to the last second even if COMMAND or joulemap itself is killed. It is an "
        "SQLite database; docs/file-format.md describes it.\n\n"
        "When COMMAND ends, recording ends, also if processes that it started go on.\n\n"
        "  joulemap record -o train.joulemap -- python train.py\n"
        "  joulemap report train.joulemap --by layer",
    .options = options,
    .looks_at_gpus = true,
    .takes_command = true,
    .run = run_record,
};
