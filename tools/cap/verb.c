/* The words and options of `joulemap cap`: a table for joulemap and joulemap-cap. */
#include "cli/verb.h"
#include "cli/recorder.h"

static const char objectives[] =
#define X(name, text, title, unit, time_power, watt_power) "|" text
    JM_CAP_OBJECTIVE_MAP(X);
#undef X

static const cli_option options_table[] = {
    {"--replay", 0, "CSV", "try the search on a recorded sweep: cap_w,time_s,power_w", NULL, false},
    {"--objective", 0, "WHAT", "what is to be least (default: ed2p, energy times time squared)",
     objectives + 1, false},
    {"--max-slowdown", 0, "SHARE", "at most so much slower than at the reference: 5% or 0.05", NULL, false},
    {"--probes", 'n', "N", "try at most N caps (default: 5; under a command 10)", NULL, false},
    {"--json", 'j', NULL, "show, search: print JSON in place of a table", NULL, false},
    {"--board", 0, "GPU", "show, set, reset: this one, by its index or UUID", NULL, false},
    {"--for", 0, "TIME", "set: put back after 30s, 10m, 2h", NULL, false},
    {"--clock", 0, "MHZ", "set: hold the SM clock at no more than this, too", NULL, false},
    {"--settle", 0, "S", "search: seconds to wait after each change (default: 2)", NULL, false},
    {"--window", 0, "S", "search: seconds to measure each time, longer where steps are (default: 5)", NULL,
     false},
    {"--sweep", 0, "N", "search: try N caps over the range, there and back, in place of a few chosen ones",
     NULL, false},
    {"--clocks", 0, NULL, "search: try bounds of the SM clock, too, at the cap that is best", NULL, false},
    {"--span", 0, "NAME", "search: a step is a span, range or mark of this name", NULL, false},
    {"--phases", 0, NULL, "search: say what is best for each phase by itself, too", NULL, false},
    {"--wait", 0, "S", "search: seconds to wait for the first steps (default: 120)", NULL, false},
    {"--stop", 0, NULL, "search: end the command when the search is over", NULL, false},
    {"--output", 'o', "FILE", "search: the recording (default: joulemap-DATE-TIME-PID.joulemap)", NULL,
     false},
    {"--force", 'f', NULL, "search: replace an existing recording", NULL, false},
    CLI_RECORDER_OPTIONS,
    CLI_SIM_OPTION,
    {0},
};

const cli_verb cli_verb_cap = {
    .name = "cap",
    .usage = "show|set|reset|restore|search [WATTS] [options] [-- COMMAND [ARG...]]",
    .summary = "show and set power caps, find the one that saves most",
    .description =
        "cap show tells each GPU's power cap, its default, what it keeps to, what can be set and by whom, "
        "and "
        "who holds it.\n"
        "\n"
        "cap set WATTS -- COMMAND runs COMMAND with the cap, and puts back what it found when that ends, "
        "however it ends. Without a command the cap stands until --for has passed or `joulemap cap reset`. "
        "With several GPUs --board says which.\n"
        "\n"
        "cap reset ends leases: what they found is put back. cap restore does so where a lease was lost, as "
        "after a power cut; joulemap's verbs that look at GPUs do that by themselves, too, and say so.\n"
        "\n"
        "cap search -- COMMAND runs COMMAND, records it as `joulemap record` does, and looks meanwhile for "
        "the "
        "power cap at which a step of it has the least energy, EDP (energy times time), ED2P (energy times "
        "time squared) or time. It begins with the cap as found, fits time and power over the cap, and goes "
        "on "
        "where another try is expected to gain most. Then reference and choice are measured in turns, which "
        "gives the saving an interval; a cap that does not keep --max-slowdown is not chosen. The board gets "
        "back what was found as soon as that is known, or COMMAND ends; its exit code is COMMAND's. A step "
        "is "
        "what the program tells as one (run.step() in Python), or what --span names.\n"
        "\n"
        "With --replay it looks in a sweep that was recorded before, and no GPU is asked for anything: a "
        "CSV "
        "file, plain or gzipped, with a line for each cap, the time of the same work at it in seconds and "
        "its "
        "mean power; other columns are ignored. The highest cap is the reference. JSON: `probes` in their "
        "order, `chosen_cap_w`, `predicted` (by the other probes, and over all caps), `found`; "
        "docs/caps.md.\n"
        "\n"
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
