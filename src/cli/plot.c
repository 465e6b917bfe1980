/* `joulemap plot`: draws a figure of one or two recordings, with the package's Python and Matplotlib. */
#include "cli/child.h"
#include "cli/program.h"
#include "cli/verb.h"

#include <limits.h>
#include <string.h>

#define TWO_RUNS  "two_runs"  /* the only figure of two recordings */
#define ROOFLINE  "roofline"  /* the only figure that needs more than recordings */
#define POWER_CAP "power_cap" /* the only figure that may be drawn from the JSON of a search */

/* Wrong usage is reported before anything is started. */
static int check_usage(const cli_args *args)
{
    static const char *const figure_options[] = {"--figure", "--output", "--counts", "--gpu",
                                                 "--dpi",    "--smooth", "--dark"};
    const char *figure = cli_get(args, "--figure");
    if (cli_has(args, "--list")) {
        for (size_t i = 0; i < sizeof figure_options / sizeof *figure_options; i++)
            if (cli_has(args, figure_options[i]))
                return cli_usage_error(args, "--list goes without %s", figure_options[i]);
        return args->operand_count == 0 ? CLI_GO_ON
                                        : cli_usage_error(args, "--list goes without a recording");
    }
    if (figure == NULL)
        return cli_usage_error(args, "which figure? give --figure KEY; --list shows the keys");
    if (cli_get(args, "--output") == NULL)
        return cli_usage_error(args, "give the file of the figure: -o FILE");
    const int recordings_needed = strcmp(figure, TWO_RUNS) == 0 ? 2 : 1;
    if (args->operand_count != recordings_needed)
        return cli_usage_error(args, "%s is drawn from %s", figure,
                               recordings_needed == 1 ? "one recording" : "two recordings");
    if ((strcmp(figure, ROOFLINE) == 0) != cli_has(args, "--counts"))
        return cli_usage_error(args, "--counts, the FLOPs and bytes of layers, and --figure " ROOFLINE
                                     " need each other; joulemap.plots.count(model, *inputs) counts them");
    return CLI_GO_ON;
}

/* Report unreadable recordings and missing GPUs as every verb does. */
static int check_recording(const cli_args *args, int operand, long long gpu)
{
    jm_recording *recording;
    jm_error err = {0};
    int64_t id;
    if (jm_recording_open(&recording, cli_operand(args, operand), &err) != JM_OK) return cli_fail(args, &err);
    jm_status status = gpu < 0 ? JM_OK : jm_recording_board_id(recording, (int)gpu, &id, &err);
    const char *damage = jm_recording_damage(recording);
    if (damage != NULL) cli_message(args, "%s: %s", cli_operand(args, operand), damage);
    jm_recording_close(recording);
    return status == JM_OK ? CLI_GO_ON : cli_fail(args, &err);
}

static void make_line(cli_line *line, const cli_args *args)
{
    static const char *const passed_on[] = {"--figure", "--output", "--counts", "--list",
                                            "--dark",   "--gpu",    "--dpi",    "--smooth"};
    cli_line_add_all(line, (const char *const[]){cli_python(), "-m", "joulemap.plots", NULL});
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) {
        const char *value = cli_get(args, passed_on[i]);
        if (value != NULL) cli_line_add(line, passed_on[i]);
        if (value != NULL && value[0] != '\0') cli_line_add(line, value); /* "" for a flag */
    }
    cli_line_add(line, "--");
    for (int i = 0; i < args->operand_count; i++)
        cli_line_add(line, cli_operand(args, i));
}

static int draw(const cli_args *args)
{
    static const char *const no_variables[] = {NULL};
    cli_child child;
    cli_line line = {0};
    jm_error err = {0};
    make_line(&line, args);
    cli_child_prepare();
    jm_status status = cli_child_start(&child, line.words, no_variables, &err);
    if (status == JM_OK) cli_child_wait(&child);
    cli_child_release(&child);
    cli_line_free(&line);
    return status == JM_OK ? child.exit_code : cli_fail(args, &err);
}

static int run(const cli_args *args)
{
    long long gpu = -1, dpi, smooth;
    const char *figure = cli_get(args, "--figure");
    int code = check_usage(args);
    if (code != CLI_GO_ON) return code;
    if (!cli_get_number(args, "--gpu", 0, INT_MAX, &gpu) || !cli_get_number(args, "--dpi", 10, 2400, &dpi) ||
        !cli_get_number(args, "--smooth", 1, 1000000, &smooth))
        return jm_status_exit_code(JM_USAGE);
    /* A search's JSON is no recording: Python reports what is wrong with it. */
    bool may_be_json = figure != NULL && strcmp(figure, POWER_CAP) == 0;
    for (int i = 0; code == CLI_GO_ON && i < args->operand_count && !may_be_json; i++)
        code = check_recording(args, i, gpu);
    if (code == CLI_GO_ON) code = cli_python_check(args, NULL, false);
    return code == CLI_GO_ON ? draw(args) : code;
}

/* The keys of python/joulemap/plots/table.py; tests/python/test_plots.py holds them equal. */
#define FIGURES                                                                                              \
    "power_time|gpu_util_time|mem_util_time|util_time_dual|energy_rate|power_derivative|cumulative_energy|"  \
    "power_hist|util_hist|power_ecdf|util_ecdf|power_boxplot_phase|util_boxplot_phase|phase_energy_bar|"     \
    "phase_time_bar|power_util_scatter|power_util_hexbin|layer_energy|energy_flame|step_energy|" ROOFLINE    \
    "|" TWO_RUNS "|" POWER_CAP

static const cli_option options[] = {
    {"--figure", 'f', "KEY", "which figure; --list says what each shows", FIGURES},
    {"--output", 'o', "FILE", "the figure, PNG, SVG or PDF by its ending; it appears only when it is whole",
     NULL},
    {"--gpu", 0, "N",
     "one GPU, by its index in `joulemap list` (default: readings of GPU 0, layers and steps of all)", NULL},
    {"--dpi", 0, "N", "dots per inch of PNG (default: 300)", NULL},
    {"--smooth", 0, "N", "over time: the mean of N neighbours in place of each reading", NULL},
    {"--dark", 0, NULL, "light on dark, for screens", NULL},
    {"--counts", 0, "FILE",
     "roofline: FLOPs and bytes of a forward call of each layer, JSON as {\"path\": [FLOPs, bytes]}", NULL},
    {"--list", 0, NULL, "list the figures", NULL},
    {0},
};

const cli_verb cli_verb_plot = {
    .name = "plot",
    .usage = "FILE [FILE] --figure KEY -o OUT [options]",
    .summary = "draw a figure of a recording",
    .description =
        "Draws power, utilisation and energy over time, their distributions, phases, layers, steps, a flame "
        "graph of joules, a roofline of joules, two runs beside each other, or a search for a power cap (its "
        "JSON does), for a paper or a screen. Phases are shaded, intervals are the 95 % intervals of "
        "reports, and figures of a simulated GPU are marked as such. A figure that cannot be drawn is an "
        "error with the reason.\n\n"
        "Needs Python with joulemap and Matplotlib (pip install 'joulemap[plot]'): that of the installed "
        "package, or JOULEMAP_PYTHON, or python3. joulemap.plots has the same figures with more options.\n\n"
        "  joulemap plot gpt.joulemap --figure power_time -o power.pdf\n"
        "  joulemap plot before.joulemap after.joulemap --figure two_runs -o runs.svg\n"
        "  joulemap plot --list\n",
    .options = options,
    .max_operands = 2,
    .run = run,
};
