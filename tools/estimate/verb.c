/* The options of `joulemap estimate`: a table for joulemap and joulemap-estimate. */
#include "cli/verb.h"

static const cli_option options_table[] = {
    {"--csv", 0, "FILE",
     "what Nsight Compute printed: ncu --csv --page raw (or details); or features, for a trained model", NULL,
     false},
    {"--model", 0, "MODEL",
     "file of a board's model (joulemap calibrate -o) or of a trained one, or h100, h200 (default: "
     "what calibrate keeps for the file's board, else what is shipped for its kind)",
     NULL, false},
    {"--clock", 0, "MHZ", "for this clock of the multiprocessors (default: what they run at by themselves)",
     NULL, false},
    {"--board", 0, "NAME",
     "what if it ran on another kind of board of the chip: h100, h200, h100-pcie, h100-nvl (marked "
     "extrapolated)",
     NULL, false},
    {"--program", 0, "SECONDS", "how long the program takes: gaps between kernels are counted as idle", NULL,
     false},
    {"--power-limit", 0, "WATTS",
     "that the mean of all kernels does not pass, or none (default: usual on the board)", NULL, false},
    {"--train", 0, "FEATURES", "learn a model: CSV, kernel,[family,][duration_s,]FEATURE...", NULL, false},
    {"--power", 0, "POWER",
     "what those kernels draw: CSV, kernel,power_w[,u_w] (default: a column of FEATURES)", NULL, false},
    {"--output", 'o', "FILE", "write the trained model to FILE", NULL, false},
    {"--metrics", 0, NULL, "print what ncu has to count for the model, for its --metrics", NULL, false},
    {"--json", 0, NULL, "everything as JSON (docs/schema/estimate.schema.json)", NULL, false},
    {"--format", 0, "FORMAT",
     "text, json, csv (a line a kernel), features (what the model asks of each kernel, as CSV), none",
     "text|json|csv|features|none", false},
    {"--keep-counters", 0, "FILE", "with -- COMMAND: keep there what ncu counted", NULL, false},
    {"--page", 0, "PAGE", "with -- COMMAND: which page of ncu's (default: raw)", "raw|details", false},
    {"--timeout", 0, "SECONDS", "with -- COMMAND: end it after so long", NULL, false},
    {"--ncu-options", 0, "WORDS", "with -- COMMAND: for ncu: --ncu-options=\"--launch-count 100\"", NULL,
     false},
    {"--limit", 0, "ROWS", "so many kernels of most energy in the table (default: 50)", NULL, false},
    {"--all", 0, NULL, "all kernels in the table", NULL, false},
    {0},
};

const cli_verb cli_verb_estimate = {
    .name = "estimate",
    .usage =
        "--csv FILE [options] | [options] -- COMMAND [ARG...] | --train FEATURES [--power POWER] [-o MODEL]",
    .may_take_command = true,
    .summary = "power and energy of kernels from Nsight Compute's counters",
    .description =
        "Says what kernels draw without measuring it: Nsight Compute has counted what they do, and a model "
        "of the board "
        "(joulemap calibrate) knows what that is worth in watts. Rows are in the file's order. ncu runs "
        "kernels at the "
        "board's base clock and with cold caches, unless it was told otherwise; figures are for a normal "
        "run. Ranges hold "
        "90 %; their lower end admits constant data, which draw less and which no counter sees.\n"
        "\n"
        "  joulemap estimate -- ./program --size 4\n"
        "  ncu --csv --page raw --metrics \"$(joulemap estimate --metrics)\" ./program >counters.csv\n"
        "  joulemap estimate --csv counters.csv\n"
        "\n"
        "With --train it learns a model of any chip from features of kernels and their watts, and says how "
        "far off such a "
        "model is for kernels that it has not seen.\n"
        "\n"
        "  joulemap estimate --train features.csv --power power.csv -o model.json\n"
        "  joulemap estimate --csv others.csv --model model.json\n",
    .options = options_table,
};
