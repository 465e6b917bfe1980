/* `joulemap cap`: which power cap saves most. */
#include "cli/args.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_options(const cli_args *args, jm_cap_plan_options *options)
{
    *options = (jm_cap_plan_options){.size = sizeof *options, .objective = JM_CAP_ED2P};
    static const double least_slowdown = 1e-4; /* 0 would be no bound */
    long long probes = 0;
    const char *objective = cli_get(args, "--objective");
    if (objective != NULL && jm_cap_objective_parse(objective, &options->objective, NULL) != JM_OK)
        return jm_status_exit_code(JM_USAGE); /* the table of options lets no other through */
    if (!cli_get_share(args, "--max-slowdown", least_slowdown, &options->max_slowdown) ||
        !cli_get_number(args, "--probes", 1, JM_CAP_MOST_PROBES, &probes))
        return jm_status_exit_code(JM_USAGE);
    options->most_probes = (size_t)probes;
    return CLI_GO_ON;
}

static int print_search(const cli_args *args, jm_cap_search *search)
{
    char *text = NULL;
    jm_error err = {0};
    jm_status status =
        cli_has(args, "--json")
            ? jm_cap_search_json(search, &text, &err)
            : jm_cap_search_text(search, (size_t)cli_terminal_width(STDOUT_FILENO), &text, &err);
    if (status != JM_OK) return cli_fail(args, &err);
    cli_write(text);
    free(text);
    return 0;
}

static int search(const cli_args *args)
{
    jm_cap_plan_options options;
    int code = read_options(args, &options);
    if (code != CLI_GO_ON) return code;
    const char *path = cli_get(args, "--replay");
    if (path == NULL) return cli_usage_error(args, "search needs --replay SWEEP.csv");
    jm_cap_search *found;
    jm_error err = {0};
    if (jm_cap_replay(&found, path, &options, &err) != JM_OK) return cli_fail(args, &err);
    code = print_search(args, found);
    jm_cap_search_free(found);
    return code;
}

static int run(const cli_args *args)
{
    const char *what = cli_operand(args, 0);
    if (strcmp(what, "search") == 0) return search(args);
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
