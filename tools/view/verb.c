/* Options of `joulemap view`, for joulemap and joulemap-view. */
#include "cli/verb.h"

static const cli_option options_table[] = {
    {"--port", 0, "N", "listen on this port (default: one that is free)", NULL},
    {"--no-browser", 0, NULL, "only print the address", NULL},
    {"--prior", 0, "FILE", "known powers, as a prior for the fit: a CSV file", NULL},
    {"--model", 0, "FILE",
     "energy per hardware counter: a model of `joulemap calibrate`; none: leave counters out", NULL},
    {0},
};

const cli_verb cli_verb_view = {
    .name = "view",
    .usage = "[FILE [FILE]] [options]",
    .summary = "show a recording in a browser, also while it grows",
    .description =
        "Serves the page of `report --html` on 127.0.0.1 and opens a browser. Unlike the file, it computes "
        "anew: brush a time in the power chart, choose a phase, a process or a GPU, click a layer, and all "
        "figures follow. The choice is in the address, which can be kept or sent.\n\n"
        "While the recording is being written, the page follows it. Of two recordings it shows what changed. "
        "\"Save\" writes the page as one file that needs no server.\n\n"
        "Only programs of this machine reach it, and only with the token in its address. It changes "
        "nothing. Ctrl-C ends it.\n\n"
        "  joulemap view\n"
        "  joulemap view gpt.joulemap --port 8080 --no-browser\n"
        "  joulemap view base.joulemap fused.joulemap\n",
    .options = options_table,
    .takes_newest = true,
    .max_operands = 2,
    .needs = "libmicrohttpd-dev",
};
