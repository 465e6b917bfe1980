/* Options of `joulemap calibrate`, for joulemap and joulemap-calibrate. */
#include "cli/verb.h"

static const cli_option options[] = {
    {"--response", 'r', NULL, "learn how the power sensor answers, in half a minute and without counters",
     NULL},
    {"--seconds", 0, "N", "longest run of the suite (default: 120); with --response, its run (default: 25)",
     NULL},
    {"--board", 'b', "N",
     "the GPU, by its index in `joulemap list` (default: the first CUDA device; with --from, the one with "
     "counters)",
     NULL},
    {"--seed", 0, "N", "seed of the suite's data and order (default: 0)", NULL},
    CLI_SIM_OPTION,
    {"--output", 'o', "FILE", "the model to write (default: where reports look for this GPU's own)", NULL},
    {"--keep-recording", 'k', "FILE", "keep the suite's recording as FILE", NULL},
    {"--force", 'f', NULL, "replace an existing recording", NULL},
    {"--from", 0, "FILE", "learn from this recording instead", NULL},
    {"--phase", 'p', "NAME", "with --from: its phase with bursts of single kernels", NULL},
    {0},
};

const cli_verb cli_verb_calibrate = {
    .name = "calibrate",
    .usage = "[options]",
    .summary = "learn a GPU's power model, and how its sensor answers",
    .description =
        "Runs some 190 short kernels on the GPU for two minutes, records power and hardware counters, and "
        "learns how many watts each counter represents. Reports of this GPU's recordings then separate "
        "kernels that the power sensor alone cannot. The model is kept under the GPU's UUID in "
        "$XDG_DATA_HOME/joulemap/models (~/.local/share without it), or as FILE with -o, for `joulemap "
        "report --model FILE`. The recording is removed, unless something fails.\n\n"
        "It prints the model's errors: each family of kernels in turn is left out, and its power predicted "
        "from the others.\n\n"
        "Needs a GPU that nothing else uses, permission to read its counters (`joulemap doctor` shows it), "
        "and Python with joulemap and PyTorch, built with CUDA: that of the installed package, or "
        "JOULEMAP_PYTHON, or python3.\n\n"
        "With --response it learns the lag and the averaging time of the power sensor, in half a minute. "
        "That needs neither counters nor rights, and works on any GPU. Reports of this GPU then have "
        "narrower intervals. Both are kept in the model of the GPU; a whole calibration learns them too.\n\n"
        "With --from, it learns from a recording of your own program: a phase with bursts of single kernels, "
        "each burst a span of kind window with the kernel's name; with --response, a kernel that runs and "
        "rests for random times.\n\n"
        "With --sim, tiny kernels on the CPU represent the work of a simulated GPU, to try it without one. "
        "Its model is kept only with -o.\n\n"
        "  joulemap calibrate\n"
        "  joulemap calibrate --response\n"
        "  joulemap calibrate --from suite.joulemap --phase suite -o model.json\n",
    .options = options,
    .looks_at_gpus = true,
};
