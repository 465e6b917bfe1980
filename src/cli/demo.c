/* `joulemap demo`: records an example program and compares the report with the simulated board's truth. */
#include "cli/child.h"
#include "cli/program.h"
#include "cli/recorder.h"
#include "cli/truth.h"
#include "cli/verb.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_SECONDS = 20 };
#define USUAL_SIM "h200"

typedef struct demo_state {
    const cli_args *args;
    const char *sim; /* NULL: on the real GPU */
    const char *recording;
    char truth[PATH_MAX];
} demo_state;

/* Set demo->sim. CLI_GO_ON, or the exit code. */
static int choose_board(demo_state *demo)
{
    demo->sim = cli_get(demo->args, "--sim");
    if (demo->sim == NULL) demo->sim = getenv("JOULEMAP_SIM");
    if (demo->sim != NULL && demo->sim[0] != '\0') return CLI_GO_ON;
    demo->sim = USUAL_SIM;
    jm_inventory *inventory;
    jm_error err = {0};
    if (jm_inventory_create(&inventory, NULL, &err) != JM_OK) return cli_fail(demo->args, &err);
    for (size_t i = 0; i < jm_inventory_board_count(inventory); i++) {
        const jm_board *board = jm_inventory_board(inventory, i);
        if (jm_board_kind_of(board) == JM_BOARD_GPU && !board->simulated) demo->sim = NULL;
    }
    jm_inventory_free(inventory);
    if (demo->sim != NULL) fprintf(stderr, "No GPU here: the demo runs on the simulated %s.\n", demo->sim);
    return CLI_GO_ON;
}

static int choose_files(demo_state *demo)
{
    const char *keep = cli_get(demo->args, "--keep");
    if (keep == NULL) {
        int code = cli_scratch_make(demo->args);
        if (code != CLI_GO_ON) return code;
        demo->recording = cli_scratch_recording();
    } else {
        demo->recording = keep;
    }
    int length = snprintf(demo->truth, sizeof demo->truth, "%s.truth.csv", demo->recording);
    if (length < PATH_MAX) return CLI_GO_ON;
    return cli_error(demo->args, JM_LIMIT, "", "the name of the recording is too long");
}

/* Run `joulemap record` on the program. */
static int record(const demo_state *demo, long long seconds)
{
    unsetenv("JOULEMAP_SIM_TRUTH"); /* the truth goes beside the recording */
    cli_line line = {0};
    cli_line_add_all(&line, (const char *const[]){"record", "--output", demo->recording, NULL});
    if (cli_has(demo->args, "--force")) cli_line_add(&line, "--force");
    if (demo->sim != NULL) cli_line_add_all(&line, (const char *const[]){"--sim", demo->sim, NULL});
    cli_line_add_all(&line, (const char *const[]){"--", cli_python(), "-m", "joulemap.demo_program", NULL});
    cli_line_add_number(&line, "--seconds", seconds);
    cli_line_add_all(&line, (const char *const[]){"--device", demo->sim != NULL ? "cpu" : "cuda", NULL});
    int code = cli_run(demo->args->verbs, line.count, line.words);
    cli_line_free(&line);
    return code;
}

static int compare_with_truth(const demo_state *demo, const jm_report *report)
{
    cli_truth truth;
    jm_error err = {0};
    if (cli_truth_read(&truth, demo->truth, &err) != JM_OK) return cli_fail(demo->args, &err);
    int code = cli_truth_compare(&truth, report, &err) == JM_OK ? cli_truth_print(&truth)
                                                                : cli_fail(demo->args, &err);
    cli_truth_free(&truth);
    return code;
}

/* On a real board only the total is known, from its energy counter. */
static int compare_with_total(const jm_report *report)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    double sum_j = 0;
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        sum_j += jm_report_row(report, i)->energy_self_j;
    double sum = sum_j / totals->total_energy_j - 1;
    bool missed = !(fabs(sum) <= CLI_TOTAL_WITHIN);
    printf("\n%s: the rows add up to the total (%s) within %.3f %% (%.1f %% promised).\n",
           missed ? "MISSED" : "ok", totals->total_source, fabs(sum) * 100, CLI_TOTAL_WITHIN * 100);
    if (isfinite(totals->closure))
        printf("Before it was scaled to that total, the fit alone came to %.2f %% %s.\n",
               fabs(totals->closure) * 100, totals->closure < 0 ? "less" : "more");
    printf("On a real GPU the truth of a layer is not known, only the total. For layers beside their truth:\n"
           "  joulemap demo --sim h200\n");
    return missed ? CLI_EXIT_MISSED : 0;
}

static int show_report(const demo_state *demo, const jm_report *report)
{
    const jm_text_options shown = {.size = sizeof shown,
                                   .width = cli_terminal_width(STDOUT_FILENO),
                                   .ask_for_notes = "`joulemap report --notes` on its recording"};
    char *text;
    jm_error err = {0};
    if (jm_report_text(report, &shown, &text, &err) != JM_OK) return cli_fail(demo->args, &err);
    cli_progress(NULL);
    cli_write(text);
    cli_write("\n");
    free(text);
    return demo->sim != NULL ? compare_with_truth(demo, report) : compare_with_total(report);
}

static int show(const demo_state *demo)
{
    jm_recording *recording;
    jm_report *report;
    jm_error err = {0};
    if (jm_recording_open(&recording, demo->recording, &err) != JM_OK) return cli_fail(demo->args, &err);
    cli_progress("fitting power to layers");
    const jm_report_options options = {.size = sizeof options, .by = JM_BY_LAYER};
    jm_status status = jm_report_create(&report, recording, &options, &err);
    int code = status == JM_OK ? show_report(demo, report) : cli_fail(demo->args, &err);
    if (status == JM_OK) jm_report_free(report);
    jm_recording_close(recording);
    return code;
}

static void print_next(const char *path)
{
    char name[PATH_MAX];
    cli_own_name(name, sizeof name);
    char *command = cli_typed_path(name), *typed = cli_typed_path(path);
    if (command != NULL && typed != NULL) printf("next: %s report %s --by kernel\n", command, typed);
    free(command);
    free(typed);
}

static int run(const cli_args *args)
{
    demo_state demo = {.args = args};
    long long seconds = USUAL_SECONDS;
    if (!cli_get_number(args, "--seconds", 5, 3600, &seconds)) return jm_status_exit_code(JM_USAGE);
    int code = cli_python_check(args, "the demo's program is", false);
    if (code == CLI_GO_ON) code = choose_board(&demo);
    if (code == CLI_GO_ON) code = choose_files(&demo);
    if (code != CLI_GO_ON) return code;
    fprintf(stderr, "Training a small transformer for %lld s.\n", seconds);
    cli_progress("training and recording");
    code = record(&demo, seconds);
    if (code == 0) {
        code = show(&demo);
        if (cli_has(args, "--keep"))
            print_next(demo.recording);
        else
            fputs("`joulemap demo --keep FILE` keeps the recording.\n", stderr);
    }
    cli_scratch_remove();
    return code;
}

static const cli_option options_table[] = {
    {"--keep", 'k', "FILE", "keep the recording as FILE, and the truth beside it", NULL},
    {"--force", 'f', NULL, "replace an existing recording", NULL},
    {"--sim", 0, "PROFILE",
     "use a simulated GPU (h200, h100, a100, rtx3090, v100), also where there is a real one", NULL},
    {"--seconds", 0, "N", "how long the program runs (default: 20)", NULL},
    {0},
};

const cli_verb cli_verb_demo = {
    .name = "demo",
    .usage = "[options]",
    .summary = "record an example program, compare the report with the truth",
    .description =
        "Records a small transformer that trains and validates, and shows the joules of its layers. On a "
        "simulated GPU, the default where there is no real one, it trains on the CPU; the simulated GPU "
        "knows how much each layer truly took, and the table puts that beside what joulemap found. On a real "
        "GPU only the total is known, from its energy counter.\n\n"
        "Exit code 0 says: every layer with more than 2 % of the energy is within 5 % of the truth, and all "
        "rows add up to the GPU's total within 0.5 %. 1 says that this was missed.\n\n"
        "Needs Python with PyTorch and joulemap: that of the installed package, or JOULEMAP_PYTHON, or "
        "python3.\n",
    .options = options_table,
    .run = run,
};
