/* `joulemap report`: a recording as a table, or as JSON. */
#include "cli/recorder.h"
#include "cli/verb.h"
#include "cli/view.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_ROWS = 25 }; /* a screen */

static const char by_keys[] =
#define X(name, text) "|" text
    JM_BY_MAP(X) "|time";
#undef X

static bool is_by_time(const cli_args *args)
{
    return cli_get_choice(args, "--by", JM_BY_LAYER) == JM_BY_COUNT;
}

static json_t *sum_json(const jm_report *report, const char *pattern, size_t rows, const jm_sum *sum)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    return json_pack("{s:s, s:I, s:o, s:o, s:o, s:o}", "pattern", pattern, "rows", (json_int_t)rows,
                     "energy_j", cli_json_number(sum->energy_j), "energy_low_j", cli_json_number(sum->low_j),
                     "energy_high_j", cli_json_number(sum->high_j), "share",
                     cli_json_number(sum->energy_j / totals->total_energy_j));
}

static int print_sum(const cli_args *args, const jm_report *report, const char *pattern)
{
    jm_sum sum, step;
    size_t rows;
    jm_error err = {0};
    if (jm_report_sum_paths(report, pattern, &sum, &rows, &err) != JM_OK ||
        jm_report_sum_paths_step(report, pattern, &step, &err) != JM_OK)
        return cli_fail(args, &err);
    cli_progress(NULL);
    if (cli_has(args, "--json")) return cli_json_write(args, sum_json(report, pattern, rows, &sum));
    const jm_report_totals *totals = jm_report_totals_get(report);
    printf("%s: ", pattern);
    cli_energy_print(stdout, sum.energy_j, sum.low_j, sum.high_j, 0);
    if (totals->total_energy_j > 0)
        printf(", %.1f %% of the total", 100 * sum.energy_j / totals->total_energy_j);
    if (totals->steady_steps > 1 && !isnan(step.energy_j)) printf(", %.4g J a step", step.energy_j);
    printf("; %zu row%s\n", rows, rows == 1 ? "" : "s");
    return 0;
}

static jm_status make_text(const cli_args *args, const jm_report *report, const jm_text_options *shown,
                           char **text, jm_error *err)
{
    enum { BINS = 1000 };
    bool json = cli_has(args, "--json");
    if (is_by_time(args))
        return json ? jm_report_power_json(report, BINS, text, err)
                    : jm_report_power_text(report, shown, text, err);
    return json ? jm_report_json(report, text, err) : jm_report_text(report, shown, text, err);
}

static int print_report(const cli_args *args, const jm_report *report, const jm_text_options *shown)
{
    char *text = NULL;
    jm_error err = {0};
    jm_status status = make_text(args, report, shown, &text, &err);
    if (status != JM_OK) return cli_fail(args, &err);
    cli_progress(NULL);
    cli_has(args, "--json") ? cli_write_data(text) : cli_write(text);
    free(text);
    return 0;
}

static int write_page(const cli_args *args, jm_recording *recording, const jm_report *report)
{
    char name[64];
    cli_page_run page;
    jm_error err = {0};
    cli_view_name(name, sizeof name, cli_operand(args, 0), 0);
    int code = cli_page_run_make(&page, name, recording, report, &err) == JM_OK
                   ? cli_page_write(args, &page, NULL, NULL)
                   : cli_fail(args, &err);
    cli_page_run_free(&page);
    return code;
}

/* Show the report as a sum, a page, a table or JSON. */
static int show(const cli_args *args, jm_recording *recording, const jm_report *report,
                const jm_text_options *shown)
{
    const char *pattern = cli_get(args, "--sum");
    if (pattern != NULL) return print_sum(args, report, pattern);
    if (cli_has(args, "--html")) return write_page(args, recording, report);
    return print_report(args, report, shown);
}

static const char sort_texts[] =
#define X(name, text) "|" text
    JM_SORT_MAP(X);
#undef X

/* A kernel by name, or by the number that a table shows beside similar names. */
static void select_kernel(jm_text_options *shown, const char *kernel)
{
    const char *digits = kernel + (kernel[0] == '#');
    if (digits[0] == '\0' || digits[strspn(digits, "0123456789")] != '\0')
        shown->match = kernel;
    else
        shown->row = strtoull(digits, NULL, 10);
}

/* Options that only a table obeys. */
#define ROW_OPTIONS "--layer", "--kernel", "--sort", "--depth", "--limit"

static int check_view(const cli_args *args)
{
    static const char *const rows[] = {ROW_OPTIONS, NULL};
    static const char *const presentation[] = {ROW_OPTIONS, "--expand", "--total", NULL};
    int code = CLI_GO_ON;
    if (cli_has(args, "--html") && (cli_has(args, "--json") || cli_has(args, "--sum") || is_by_time(args)))
        return cli_usage_error(args, "\"--html\" excludes \"--json\", \"--sum\" and \"--by time\"");
    if (cli_has(args, "--sum") && is_by_time(args))
        return cli_usage_error(args, "\"--sum\" excludes \"--by time\"");
    if (cli_has(args, "--html"))
        code = cli_view_refuse(args, "--html", "a page sorts and opens its rows itself", presentation);
    else if (is_by_time(args))
        code = cli_view_refuse(args, "--by time", "it has no rows", presentation);
    else if (cli_has(args, "--sum"))
        code = cli_view_refuse(args, "--sum", "its pattern says which rows", rows);
    else if (cli_has(args, "--json"))
        code = cli_view_refuse(args, "--json", "it is always whole", rows);
    return code;
}

static int read_shown(const cli_args *args, jm_text_options *shown)
{
    long long limit = USUAL_ROWS, depth = 0;
    const char *kernel = cli_get(args, "--kernel");
    if (!cli_get_number(args, "--limit", 0, INT_MAX, &limit)) return jm_status_exit_code(JM_USAGE);
    if (!cli_get_number(args, "--depth", 1, INT_MAX, &depth)) return jm_status_exit_code(JM_USAGE);
    if (kernel != NULL && (cli_has(args, "--layer") || cli_has(args, "--by")))
        return cli_usage_error(args, "--kernel shows kernels, so there is no place for --layer or --by");
    int code = check_view(args);
    if (code != CLI_GO_ON) return code;
    *shown = (jm_text_options){.size = sizeof *shown,
                               .width = cli_has(args, "--wide") ? 0 : cli_terminal_width(STDOUT_FILENO),
                               .limit = (uint64_t)limit,
                               .depth = (uint64_t)depth,
                               .total = cli_has(args, "--total"),
                               .expand = cli_has(args, "--expand"),
                               .notes = cli_has(args, "--notes"),
                               .ask_for_notes = "--notes",
                               .colour = cli_has_colour(STDOUT_FILENO),
                               .sort = (jm_sort)cli_get_choice(args, "--sort", JM_SORT_USUAL),
                               .match = cli_get(args, "--layer")};
    if (kernel != NULL) select_kernel(shown, kernel);
    return CLI_GO_ON;
}

static int run(const cli_args *args)
{
    jm_text_options shown;
    jm_recording *recording;
    jm_report_options options;
    int code = read_shown(args, &shown);
    if (code == CLI_GO_ON) code = cli_view_open(args, 0, &recording, &options);
    if (code != CLI_GO_ON) return code;
    if (cli_has(args, "--kernel")) options.by = JM_BY_KERNEL;
    if (is_by_time(args)) options.by = JM_BY_BOARD; /* has the fewest rows */

    cli_progress("fitting power to kernels");
    jm_report *report;
    jm_error err = {0};
    if (jm_report_create(&report, recording, &options, &err) == JM_OK) {
        code = show(args, recording, report, &shown);
        jm_report_free(report);
    } else {
        code = cli_fail(args, &err);
    }
    jm_recording_close(recording);
    return code;
}

static const cli_option options_table[] = {
    CLI_VIEW_OPTIONS(by_keys + 1),
    {"--limit", 'n', "N", "only N rows: the top levels and those with the most energy, 0: all (default: 25)",
     NULL},
    {"--depth", 0, "N", "only N levels of nested rows (default: all)", NULL},
    {"--sort", 0, "KEY", "order of the rows inside a row, largest first (default: as they ran)",
     sort_texts + 1},
    {"--layer", 0, "PATTERN", "only these rows and what is in them: `attn`, the end of a path, or '*.attn.*'",
     NULL},
    {"--kernel", 0, "NAME", "only kernels whose name contains NAME, or the kernel with this number ([#4])",
     NULL},
    {"--total", 0, NULL, "figures of the whole run, not of a step", NULL},
    {"--expand", 'e', NULL, "equal layers one by one; otherwise they share a row", NULL},
    {"--sum", 's', "PATTERN", "one figure for all rows whose path matches, such as '*.self_attn'", NULL},
    {"--wide", 'w', NULL, "cut no name, leave out no column", NULL},
    {"--notes", 0, NULL, "all notes, and how the fit went", NULL},
    {"--json", 'j', NULL, "print JSON in place of a table", NULL},
    CLI_PAGE_OPTION,
    {0},
};

const cli_verb cli_verb_report = {
    .name = "report",
    .usage = "[FILE] [options]",
    .summary = "show where the joules of a recording went",
    .description =
        "Prints one row a layer, kernel, type of work, phase, board (a GPU or a CPU), single span, or "
        "request of a server. A parent's row holds the energy of its children too; the share is that of the "
        "total. Idle time, kernels of collectives (NCCL, NVSHMEM, RCCL), work outside of any layer, and what "
        "the data cannot separate are rows of their own, so that nothing is missing from the total.\n\n"
        "If the run has steps, figures are of a steady step of the kind with the most time. What start-up, "
        "warm-up, other steps and the rest took is in a second table; all adds up to the total.\n\n"
        "The column \"known\" shows the source: measured, fitted (by the fit of the sensor's readings to "
        "what ran), counters (hardware counters times their weights on this GPU), isolated, given (by "
        "--prior), weak (the data say less than what was assumed before), or unresolved (the data cannot "
        "separate it from its neighbours).\n\n"
        "  joulemap report gpt.joulemap\n"
        "  joulemap report gpt.joulemap --by kernel --phase train --limit 20\n"
        "  joulemap report gpt.joulemap --sum '*.attn'\n"
        "  joulemap report gpt.joulemap --html gpt.html\n"
        "  joulemap report gpt.joulemap --json | jq '.rows[] | [.path, .energy_j]'\n",
    .options = options_table,
    .takes_newest = true,
    .max_operands = 1,
    .run = run,
};
