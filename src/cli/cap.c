/* `joulemap cap`: its words and options. */
#include "cli/cap.h"

#include "cli/args.h"

#include <string.h>

static int run(const cli_args *args)
{
    const char *what = cli_operand(args, 0);
    if (strcmp(what, "search") == 0) return cli_cap_search(args);
    return cli_usage_error(args, "unknown word \"%s\"; there is: search", what);
}

static const char objectives[] =
#define X(name, text, title, unit, time_power, watt_power) "|" text
    JM_CAP_OBJECTIVE_MAP(X);
#undef X

static const cli_option options_table[] = {
    {"--replay", 0, "CSV", "try the search on a recorded sweep: cap_w,time_s,power_w", NULL, false},
    {"--objective", 0, "WHAT", "what is to be least (default: ed2p, energy times time squared)",
     objectives + 1, false},
    {"--max-slowdown", 0, "SHARE", "at most so much slower than at the reference: 5% or 0.05", NULL, false},
    {"--probes", 'n', "N", "try at most N caps (default: 5)", NULL, false},
    {"--json", 'j', NULL, "print JSON in place of a table", NULL, false},
    {0},
};

const cli_verb cli_verb_cap = {
    .name = "cap",
    .usage = "search --replay CSV [options]",
    .summary = "find the power cap that saves most, with few tries",
    .description =
        "cap search looks for the power cap at which work has the least energy, EDP (energy times time), "
        "ED2P "
        "(energy times time squared) or time. It tries the highest cap first, fits time and power over the "
        "cap, and goes on where another try is expected to gain most, until that is less than 0.1 % or N "
        "caps "
        "were tried. The cap that it names was tried, and kept --max-slowdown; if none but the highest did, "
        "that is the one.\n"
        "\n"
        "With --replay it does so on a sweep that was recorded before, and no GPU is asked for anything: a "
        "CSV "
        "file, plain or gzipped, with a line for each cap, the time of the same work at it in seconds and "
        "its "
        "mean power; other columns are ignored. The highest cap is the reference. JSON: `probes` in their "
        "order, `chosen_cap_w`, `predicted` (by the other probes, and over all caps), `found`; "
        "docs/caps.md.\n"
        "\n"
        "  joulemap cap search --replay sweep.csv\n"
        "  joulemap cap search --replay sweep.csv --objective energy --max-slowdown 5%\n",
    .options = options_table,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
