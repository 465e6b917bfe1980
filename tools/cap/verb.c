/* Subcommands and options of `joulemap cap`, for joulemap and joulemap-cap. */
#include "cli/verb.h"
#include "cli/recorder.h"

static const char objectives[] =
#define X(name, text, title, unit, time_power, watt_power) "|" text
    JM_CAP_OBJECTIVE_MAP(X);
#undef X

static const cli_option options_table[] = {
    {"--replay", 0, "CSV", "try the search on a recorded sweep: cap_w,time_s,power_w", NULL},
    {"--objective", 0, "WHAT", "what to minimise (default: ed2p, energy times time squared)", objectives + 1},
    {"--max-slowdown", 0, "SHARE", "largest slowdown against the reference: 5% or 0.05", NULL},
    {"--probes", 'n', "N", "try at most N caps (default: 5; under a command 10)", NULL},
    {"--json", 'j', NULL, "show, search: print JSON instead of a table", NULL},
    {"--board", 0, "GPU", "show, set, reset: this GPU, by its index or UUID", NULL},
    {"--for", 0, "TIME", "set: put back after 30s, 10m, 2h", NULL},
    {"--clock", 0, "MHZ", "set: limit the SM clock, too", NULL},
    {"--settle", 0, "S", "search: seconds to wait after each change (default: 2)", NULL},
    {"--window", 0, "S", "search: seconds of each measurement, more if steps are long (default: 5)", NULL},
    {"--sweep", 0, "N", "search: try N caps over the range, there and back, instead of a few chosen ones",
     NULL},
    {"--clocks", 0, NULL, "search: at the best cap, try limits of the SM clock, too", NULL},
    {"--span", 0, "NAME", "search: a step is a span, range or mark with this name", NULL},
    {"--phases", 0, NULL, "search: show the best cap of each phase, too", NULL},
    {"--wait", 0, "S", "search: seconds to wait for the first steps (default: 120)", NULL},
    {"--stop", 0, NULL, "search: end the command when the search is over", NULL},
    {"--output", 'o', "FILE", "search: the recording (default: joulemap-DATE-TIME-PID.joulemap)", NULL},
    {"--force", 'f', NULL, "search: replace an existing recording", NULL},
    CLI_RECORDER_OPTIONS,
    CLI_SIM_OPTION,
    {0},
};

const cli_verb cli_verb_cap = {
    .name = "cap",
    .usage = "show|set|reset|restore|search [WATTS] [options] [-- COMMAND [ARG...]]",
    .summary = "show and set power caps, find the one that saves most",
    .description =
        "cap show prints each GPU's power cap, its default, the enforced limit, the range that can be set "
        "and by whom, and who holds it.\n\n"
        "cap set WATTS -- COMMAND runs COMMAND with the cap, and puts back the previous cap when COMMAND "
        "ends, however it ends. Without a command the cap holds until --for has passed or `joulemap cap "
        "reset`. With several GPUs, --board selects one.\n\n"
        "cap reset ends leases and puts back the caps from before. cap restore does so for lost leases; "
        "joulemap's verbs that read GPUs do that by themselves, too, and report it.\n\n"
        "cap search -- COMMAND runs COMMAND and records it like `joulemap record`. Meanwhile it searches the "
        "power cap at which a step has the least energy, EDP (energy times time), ED2P (energy times time "
        "squared) or time. It starts with the present cap, fits time and power over the cap, and continues "
        "where another try has the largest expected gain. Then it measures reference and choice in turns, "
        "which gives the saving an interval. A cap that exceeds --max-slowdown is not chosen. The previous "
        "cap is put back when the search is over or COMMAND ends. The exit code is COMMAND's. A step is what "
        "the program marks as one (run.step() in Python), or what --span names.\n\n"
        "With --replay it searches a recorded sweep and uses no GPU: a CSV file, plain or gzipped, with a "
        "line for each cap: the cap, the time of the same work in seconds, and its mean power; other columns "
        "are ignored. The highest cap is the reference. JSON: `probes` in their order, `chosen_cap_w`, "
        "`predicted` (by the other probes, and over all caps), `found`; docs/caps.md.\n\n"
        "  joulemap cap show\n"
        "  joulemap cap set 400 -- python train.py\n"
        "  joulemap cap set 400 --board 1 --for 10m\n"
        "  joulemap cap search --objective energy --max-slowdown 5% -- python train.py\n"
        "  joulemap cap search --replay sweep.csv\n"
        "  joulemap cap search --replay sweep.csv --objective energy --max-slowdown 5%\n",
    .options = options_table,
    .min_operands = 1,
    .max_operands = 2,
    .subcommands = "show|set|reset|restore|search",
    .may_take_command = true,
};
