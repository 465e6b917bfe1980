/* `joulemap diff`: compares the energy of recordings, with the interval of each change. */
#include "cli/verb.h"
#include "cli/view.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_ROWS = 50, EXIT_OVER = 1 };

enum { NAME_SIZE = 128 };

/* The recordings of both sides, those of A first. */
typedef struct runs {
    int count, a_count;
    char (*texts)[NAME_SIZE];  /* [count] */
    const char **names;        /* [count], in `texts` */
    jm_recording **recordings; /* [count], open as long as the reports */
    jm_report **reports;       /* [count] */
} runs;

typedef struct diff_args {
    jm_diff_options options;
    long long limit;
    double fail_over; /* NAN: option not given */
} diff_args;

static const char per_choices[] =
#define X(name, text) "|" text
    JM_PER_MAP(X);
#undef X

/* Find where the recordings of B begin: after "--", or with the second of two. */
static int find_sides(const cli_args *args, int *a_count)
{
    int count = args->operand_count, dashes = args->before_dashes;
    *a_count = dashes > 0 ? dashes : 1;
    if (dashes <= 0 && count > 2)
        return cli_usage_error(args, "which of the %d recordings are A, which are B? put \"--\" between them",
                               count);
    if (dashes == count) return cli_usage_error(args, "no recordings of B after \"--\"");
    for (int i = *a_count; dashes > 0 && i < count; i++) {
        const char *path = cli_operand(args, i);
        if (path[0] == '-' && access(path, F_OK) != 0)
            return cli_usage_error(args, "\"%s\" after \"--\" is not a recording; options go before it",
                                   path);
    }
    return CLI_GO_ON;
}

static bool any_equal_names(const runs *all)
{
    for (int i = 0; i < all->count; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(all->names[i], all->names[j]) == 0) return true;
    return false;
}

/* Name the runs after their files, with as many parent folders as make the names differ. */
static void name_runs(const cli_args *args, runs *all)
{
    enum { MOST_FOLDERS = 8 };
    for (int folders = 0; folders == 0 || (any_equal_names(all) && folders <= MOST_FOLDERS); folders++)
        for (int i = 0; i < all->count; i++) {
            cli_view_name(all->texts[i], sizeof all->texts[i], cli_operand(args, i), folders);
            all->names[i] = all->texts[i];
        }
}

static int read_options(const cli_args *args, diff_args *given)
{
    *given = (diff_args){.options = {.size = sizeof given->options,
                                     .per = (jm_per)(cli_get_choice(args, "--per", -1) +
                                                     1), /* the choices begin after JM_PER_FITTING */
                                     .expand = cli_has(args, "--expand")},
                         .limit = USUAL_ROWS,
                         .fail_over = NAN};
    if (!cli_get_number(args, "--limit", 0, INT_MAX, &given->limit) ||
        !cli_get_share(args, "--fail-over", 0, &given->fail_over))
        return jm_status_exit_code(JM_USAGE);
    if (cli_has(args, "--json") + cli_has(args, "--markdown") + cli_has(args, "--html") > 1)
        return cli_usage_error(args, "\"--json\", \"--markdown\" and \"--html\" exclude each other");
    if (cli_has(args, "--html") && args->operand_count > 2)
        return cli_usage_error(args, "\"--html\" shows two recordings, not %d", args->operand_count);
    static const char *const rows[] = {"--limit", NULL}, *const looks[] = {"--limit", "--expand", NULL};
    if (cli_has(args, "--html"))
        return cli_view_refuse(args, "--html", "a page has its own choice of rows", looks);
    return cli_has(args, "--json") ? cli_view_refuse(args, "--json", "it is always whole", rows) : CLI_GO_ON;
}

static int make_report(const cli_args *args, int operand, runs *all)
{
    jm_recording **recording = &all->recordings[operand];
    jm_report_options options;
    jm_error err = {0};
    int code = cli_view_open(args, operand, recording, &options);
    if (code != CLI_GO_ON) {
        *recording = NULL;
        return code;
    }
    cli_progress("fitting power to kernels");
    if (jm_report_create(&all->reports[operand], *recording, &options, &err) != JM_OK)
        code = cli_error(args, err.status, err.hint, "%s: %s", cli_operand(args, operand), err.text);
    cli_view_warn_of_damage(args, operand, *recording);
    return code;
}

static int print_diff(const cli_args *args, const jm_diff *diff, size_t limit)
{
    char *text = NULL;
    jm_error err = {0};
    jm_status status = cli_has(args, "--json") ? jm_diff_json(diff, &text, &err)
                       : cli_has(args, "--markdown")
                           ? jm_diff_markdown(diff, limit, &text, &err)
                           : jm_diff_text(diff, cli_terminal_width(STDOUT_FILENO), limit, &text, &err);
    if (status != JM_OK) return cli_fail(args, &err);
    cli_progress(NULL);
    cli_has(args, "--json") || cli_has(args, "--markdown") ? cli_write_data(text) : cli_write(text);
    free(text);
    return 0;
}

/* Fails only if the lower end of the interval of the total's change is over the threshold. */
static int check_threshold(const cli_args *args, const jm_diff *diff, double threshold)
{
    const jm_diff_row *total = jm_diff_total(diff);
    const char *per = jm_per_text(jm_diff_per(diff));
    double most = threshold * 100, half = 50 * (total->change_high - total->change_low);
    if (isnan(threshold)) return 0;
    if (!isfinite(total->change_low)) {
        cli_message(args, "the change of the joules a %s is not known: not failed", per);
    } else if (total->change_low > threshold) {
        cli_message(args, "a %s takes %.1f ±%.1f %% more joules: surely over %g %%", per, 100 * total->change,
                    half, most);
        return EXIT_OVER;
    } else if (total->change_high > threshold) {
        cli_message(args, "a %s takes %+.1f ±%.1f %% joules: not surely over %g %%, not failed", per,
                    100 * total->change, half, most);
    }
    return 0;
}

static int write_page(const cli_args *args, const runs *all, const jm_diff *diff)
{
    cli_page_run pages[2] = {0};
    jm_error err = {0};
    jm_status status = JM_OK;
    for (int r = 0; r < 2 && status == JM_OK; r++)
        status = cli_page_run_make(&pages[r], all->names[r], all->recordings[r], all->reports[r], &err);
    int code = status == JM_OK ? cli_page_write(args, &pages[0], &pages[1], diff) : cli_fail(args, &err);
    for (int r = 0; r < 2; r++)
        cli_page_run_free(&pages[r]);
    return code;
}

static int compare(const cli_args *args, const diff_args *given, const runs *all)
{
    jm_diff *diff;
    jm_error err = {0};
    const jm_report *const *reports = (const jm_report *const *)all->reports;
    size_t a_count = (size_t)all->a_count, b_count = (size_t)all->count - a_count;
    const jm_diff_side a = {reports, all->names, a_count},
                       b = {reports + a_count, all->names + a_count, b_count};
    if (jm_diff_create_many(&diff, &a, &b, &given->options, &err) != JM_OK) return cli_fail(args, &err);
    int code =
        cli_has(args, "--html") ? write_page(args, all, diff) : print_diff(args, diff, (size_t)given->limit);
    if (code == 0) code = check_threshold(args, diff, given->fail_over);
    jm_diff_free(diff);
    return code;
}

static int compare_all(const cli_args *args, const diff_args *given, runs *all)
{
    int code = CLI_GO_ON;
    name_runs(args, all);
    for (int i = 0; code == CLI_GO_ON && i < all->count; i++)
        code = make_report(args, i, all);
    if (code == CLI_GO_ON) code = compare(args, given, all);
    for (int i = 0; i < all->count; i++) {
        jm_report_free(all->reports[i]);
        jm_recording_close(all->recordings[i]);
    }
    return code;
}

static int run(const cli_args *args)
{
    diff_args given;
    runs all = {.count = args->operand_count};
    int code = read_options(args, &given);
    if (code == CLI_GO_ON) code = find_sides(args, &all.a_count);
    if (code != CLI_GO_ON) return code;
    all.texts = calloc((size_t)all.count, sizeof *all.texts);
    all.names = calloc((size_t)all.count, sizeof *all.names);
    all.recordings = calloc((size_t)all.count, sizeof(jm_recording *));
    all.reports = calloc((size_t)all.count, sizeof(jm_report *));
    if (all.texts != NULL && all.names != NULL && all.recordings != NULL && all.reports != NULL)
        code = compare_all(args, &given, &all);
    else
        code = cli_error(args, JM_NO_MEMORY, "", "out of memory");
    free(all.texts);
    free(all.names);
    free(all.recordings);
    free(all.reports);
    return code;
}

static const cli_option options_table[] = {
    CLI_RUN_VIEW_OPTIONS(cli_view_keys + 1),
    {"--per", 0, "UNIT",
     "what joules are divided by (default: step if all runs have steps of one kind, else run)",
     per_choices + 1},
    {"--fail-over", 0, "SHARE",
     "exit 1 if the total a unit is surely more than SHARE (3%, 0.03) higher in B: with all of its 95 % "
     "interval",
     NULL},
    {"--limit", 'n', "N", "only the N largest rows, 0: all (default: 50)", NULL},
    {"--expand", 0, NULL, "equal layers one by one; otherwise they share a row", NULL},
    {"--json", 'j', NULL, "print JSON in place of a table", NULL},
    {"--markdown", 0, NULL, "print a table for a pull request", NULL},
    CLI_PAGE_OPTION,
    {0},
};

const cli_verb cli_verb_diff = {
    .name = "diff",
    .usage = "A B [options]  or  A1 A2 ... [options] -- B1 B2 ...",
    .summary = "compare recordings: what changed, and what is within the noise",
    .description =
        "Prints the total and the rows of two recordings beside each other, in joules a step, a sample or a "
        "run: less, more, or no difference seen, by whether the 95 % interval of the difference leaves out "
        "0. Rows are matched by path and kind; \"module\" (DistributedDataParallel, DataParallel) and "
        "\"_orig_mod\" (torch.compile) in paths of layers count for nothing. Rows below 0.5 % of the total "
        "on both sides are counted, not shown. Equal layers that changed alike share a row. What one side "
        "alone "
        "has comes first.\n\n"
        "A step is a steady one of the kind with the most time, so runs of different length do not differ by "
        "that.\n\n"
        "Of several recordings a side, those of A before \"--\" and those of B after it, each figure is the "
        "mean over the runs of its side, and the intervals hold the spread from run to run. A single run "
        "does not show how much runs vary: three or more of each side are better than two, and `joulemap run "
        "--repeat 5` makes five.\n\n"
        "On one GPU the sensor's gain error is the same in all runs and cancels; between two GPUs the "
        "intervals hold the gain errors of both.\n\n"
        "Exit code: 0, and with --fail-over 1 if B is surely over; else as in all verbs.\n\n"
        "  joulemap diff base.joulemap fused.joulemap\n"
        "  joulemap diff base.joulemap fused.joulemap --per step --fail-over 3%\n"
        "  joulemap diff base.joulemap fused.joulemap --phase train --markdown\n"
        "  joulemap diff --fail-over 3% base-*.joulemap -- fused-*.joulemap\n"
        "  joulemap diff base.joulemap fused.joulemap --html diff.html\n",
    .options = options_table,
    .min_operands = 2,
    .max_operands = -1,
    .run = run,
};
