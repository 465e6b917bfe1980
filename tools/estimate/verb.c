/* Options of `joulemap estimate`, for joulemap and joulemap-estimate. */
#include "cli/verb.h"

static const cli_option options_table[] = {
    {"--csv", 0, "FILE",
     "output of Nsight Compute: ncu --csv --page raw (or details); or features, for a trained model", NULL},
    {"--model", 0, "MODEL",
     "file of a board's model (joulemap calibrate -o) or of a trained one, or h100, h200 (default: "
     "the one kept for the file's board, else the one shipped for its kind)",
     NULL},
    {"--clock", 0, "MHZ",
     "for this clock of the multiprocessors (default: the one they run at by themselves)", NULL},
    {"--board", 0, "NAME",
     "for another kind of board of the chip: h100, h200, h100-pcie, h100-nvl (marked extrapolated)", NULL},
    {"--program", 0, "SECONDS", "the program's time: gaps between kernels are counted as idle", NULL},
    {"--power-limit", 0, "WATTS",
     "limit of the mean of all kernels, or none (default: the board's usual limit)", NULL},
    {"--train", 0, "FEATURES", "learn a model: CSV, kernel,[family,][duration_s,]FEATURE...", NULL},
    {"--power", 0, "POWER",
     "power of these kernels: CSV, kernel,power_w[,u_w] (default: a column of FEATURES)", NULL},
    {"--output", 'o', "FILE", "write the trained model to FILE", NULL},
    {"--metrics", 0, NULL, "print the metrics that the model needs, for ncu's --metrics", NULL},
    {"--json", 0, NULL, "everything as JSON (docs/schema/estimate.schema.json)", NULL},
    {"--format", 0, "FORMAT",
     "text, json, csv (a line per kernel), features (the model's inputs per kernel, as CSV), none",
     "text|json|csv|features|none"},
    {"--keep-counters", 0, "FILE", "with -- COMMAND: keep ncu's counters in FILE", NULL},
    {"--page", 0, "PAGE", "with -- COMMAND: ncu's page (default: raw)", "raw|details"},
    {"--timeout", 0, "SECONDS", "with -- COMMAND: end it after this time", NULL},
    {"--ncu-options", 0, "WORDS", "with -- COMMAND: options for ncu: --ncu-options=\"--launch-count 100\"",
     NULL},
    {"--limit", 0, "ROWS", "number of kernels of most energy in the table (default: 50)", NULL},
    {"--all", 0, NULL, "all kernels in the table", NULL},
    {0},
};

const cli_verb cli_verb_estimate = {
    .name = "estimate",
    .usage =
        "--csv FILE [options] | [options] -- COMMAND [ARG...] | --train FEATURES [--power POWER] [-o MODEL]",
    .may_take_command = true,
    .summary = "power and energy of kernels from Nsight Compute's counters",
    .description =
        "Estimates the power of kernels without measuring it: from Nsight Compute's counters, and a model of "
        "the board (joulemap calibrate) with the watts per count. Rows are in the file's order. By default "
        "ncu runs kernels at the board's base clock and with cold caches; figures are for a normal run. "
        "Ranges hold 90 %; their lower end admits constant data, which draw less, and which no counter "
        "shows.\n\n"
        "  joulemap estimate -- ./program --size 4\n"
        "  ncu --csv --page raw --metrics \"$(joulemap estimate --metrics)\" ./program >counters.csv\n"
        "  joulemap estimate --csv counters.csv\n\n"
        "With --train it learns a model of any chip from features of kernels and their watts, and prints its "
        "error for kernels outside the training data.\n\n"
        "  joulemap estimate --train features.csv --power power.csv -o model.json\n"
        "  joulemap estimate --csv others.csv --model model.json\n",
    .options = options_table,
};
