/* The options of `joulemap calibrate`: a table for joulemap and joulemap-calibrate. */
#include "cli/verb.h"

static const cli_option options[] = {
    {"--seconds", 0, "N", "how long the suite plays at most (default: 120)", NULL, false},
    {"--board", 'b', "N",
     "the GPU, by its index, as `joulemap list` counts (default: the first that CUDA shows; with --from, the "
     "one with counters)",
     NULL, false},
    {"--seed", 0, "N", "of the suite's data and order (default: 0)", NULL, false},
    CLI_SIM_OPTION,
    {"--output", 'o', "FILE", "the model to write (default: where reports look for this GPU's own)", NULL,
     false},
    {"--keep-recording", 'k', "FILE", "keep what the suite recorded as FILE", NULL, false},
    {"--force", 'f', NULL, "replace an existing recording", NULL, false},
    {"--from", 0, "FILE", "learn from this recording with hardware counters instead", NULL, false},
    {"--phase", 'p', "NAME", "with --from: the phase of it in which single kernels ran in bursts", NULL,
     false},
    {0},
};

const cli_verb cli_verb_calibrate = {
    .name = "calibrate",
    .usage = "[options]",
    .summary = "learn what hardware counters are worth on a GPU",
    .description =
        "Plays some 190 short kernels on the GPU for two minutes, records power and hardware counters, "
        "and learns how many watts each counter stands for. From then on reports of this GPU's "
        "recordings tell kernels apart that the power sensor alone cannot. The model is kept by the "
        "GPU's UUID below $XDG_DATA_HOME/joulemap/models (~/.local/share without it), or as FILE with "
        "-o, for `joulemap report --model FILE`. The recording is removed, unless something fails.\n"
        "\n"
        "What is printed says how well it does: each family of kernels in turn is left out, and its "
        "power told by the others.\n"
        "\n"
        "Needs a GPU that nothing else uses meanwhile, the right to read its counters (`joulemap "
        "doctor` tells), and Python with joulemap and PyTorch, built with CUDA: that of the installed "
        "package, or JOULEMAP_PYTHON, or python3.\n"
        "\n"
        "With --from, it learns from a recording of a program of one's own: a phase in which single "
        "kernels ran in bursts, each burst a span of kind window with the kernel's name.\n"
        "\n"
        "With --sim, tiny kernels on the CPU stand for the work of a simulated GPU, to try it all "
        "without one. Its model is kept with -o alone.\n"
        "\n"
        "  joulemap calibrate\n"
        "  joulemap calibrate --from suite.joulemap --phase suite -o model.json\n",
    .options = options,
    .looks_at_gpus = true,
};
