/* `joulemap cap search`: which power cap saves most. */
#include "cli/cap.h"

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

int cli_cap_search(const cli_args *args)
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
