/* `joulemap demo`: a program of ours, recorded, attributed, and compared with what is known to be true. */
#include "cli/args.h"
#include "cli/truth.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USUAL_SECONDS = 20 };
#define USUAL_SIM "h200"

typedef struct demo {
    const cli_args *args;
    const char *sim;       /* NULL: on the real GPU */
    char folder[PATH_MAX]; /* to be removed at the end; "" if the recording is kept */
    char recording[PATH_MAX];
    char truth[PATH_MAX];
} demo;

static const char *python(void)
{
    const char *own = getenv("JOULEMAP_PYTHON"); /* the package's own, set by its launcher */
    return own != NULL && own[0] != '\0' ? own : "python3";
}

/* Is there a Python with what the program needs? CLI_GO_ON, or the exit code. */
static int check_python(const demo *this)
{
    enum { BASE = 100, NO_TORCH = 1, NO_JOULEMAP = 2 };
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s", python());
    char *argv[] = {name, (char[]){"-c"},
                    (char[]){"import importlib.util as u, sys; have = lambda n: u.find_spec(n) is not None; "
                             "sys.exit(100 + (not have('torch')) + 2 * (not have('joulemap')))"},
                    NULL};
    pid_t pid;
    int status, error = posix_spawnp(&pid, name, NULL, NULL, argv, environ);
    if (error != 0) {
        return cli_error(this->args, JM_CHILD, "install Python 3.10 or newer", "cannot run %s: %s", name,
                         strerror(error));
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    int lacks = WIFEXITED(status) ? WEXITSTATUS(status) - BASE : -1;
    if (lacks == 0) return CLI_GO_ON;
    if (lacks > 0 && (lacks & NO_JOULEMAP) != 0) {
        return cli_error(this->args, JM_NOT_SUPPORTED,
                         "pip install joulemap; or set JOULEMAP_PYTHON to the Python that has it",
                         "%s has no package joulemap", name);
    }
    if (lacks == NO_TORCH) {
        return cli_error(this->args, JM_NOT_SUPPORTED, "pip install torch",
                         "%s has no PyTorch, which the demo's program is made with", name);
    }
    return cli_error(this->args, JM_CHILD, "set JOULEMAP_PYTHON to a Python 3.10 or newer",
                     "%s does not work", name);
}

/* Real GPU, or which simulated board? CLI_GO_ON, or the exit code. */
static int choose_board(demo *this)
{
    this->sim = cli_get(this->args, "--sim");
    if (this->sim == NULL) this->sim = getenv("JOULEMAP_SIM");
    if (this->sim != NULL && this->sim[0] != '\0') return CLI_GO_ON;
    this->sim = USUAL_SIM;
    jm_inventory *inventory;
    jm_error err = {0};
    if (jm_inventory_create(&inventory, NULL, &err) != JM_OK) return cli_fail(this->args, &err);
    for (size_t i = 0; i < jm_inventory_board_count(inventory); i++) {
        const jm_board *board = jm_inventory_board(inventory, i);
        if (strcmp(board->backend, "nvml") == 0 && !board->simulated) this->sim = NULL;
    }
    jm_inventory_free(inventory);
    if (this->sim != NULL) fprintf(stderr, "No GPU here: the demo runs on the simulated %s.\n", this->sim);
    return CLI_GO_ON;
}

static int choose_files(demo *this)
{
    const char *keep = cli_get(this->args, "--keep");
    if (keep == NULL) {
        const char *tmp = getenv("TMPDIR");
        snprintf(this->folder, sizeof this->folder, "%s/joulemap-demo-XXXXXX",
                 tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp");
        if (mkdtemp(this->folder) == NULL) {
            int code = cli_error(this->args, JM_IO, "set TMPDIR to a folder that can be written",
                                 "cannot make a folder %s: %s", this->folder, strerror(errno));
            this->folder[0] = '\0';
            return code;
        }
    }
    int used = keep != NULL
                   ? snprintf(this->recording, sizeof this->recording, "%s", keep)
                   : snprintf(this->recording, sizeof this->recording, "%s/demo.joulemap", this->folder);
    int truth = snprintf(this->truth, sizeof this->truth, "%s.truth.csv", this->recording);
    if (used < PATH_MAX && truth < PATH_MAX) return CLI_GO_ON;
    return cli_error(this->args, JM_LIMIT, "", "the name of the recording is too long");
}

static void remove_files(const demo *this)
{
    if (this->folder[0] == '\0') return;
    unlink(this->recording);
    unlink(this->truth);
    rmdir(this->folder);
}

/* A command line that is being made; words are copied, as main's own can be written to. */
typedef struct words {
    char *items[24];
    int count;
} words;

static void say(words *line, const char *word)
{
    line->items[line->count] = strdup(word);
    if (line->items[line->count] != NULL) line->count++;
}

/* `joulemap record` around the program, as anybody would write it. */
static int record(const demo *this, long long seconds)
{
    char seconds_text[24];
    snprintf(seconds_text, sizeof seconds_text, "%lld", seconds);
    unsetenv("JOULEMAP_SIM_TRUTH"); /* the truth goes beside the recording */
    words line = {0};
    const char *const before[] = {"record", "--output", this->recording};
    const char *const program[] = {"--",        python(),     "-m",      "joulemap.demo_program",
                                   "--seconds", seconds_text, "--device"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        say(&line, before[i]);
    if (cli_has(this->args, "--force")) say(&line, "--force");
    if (this->sim != NULL) {
        say(&line, "--sim");
        say(&line, this->sim);
    }
    for (size_t i = 0; i < sizeof program / sizeof *program; i++)
        say(&line, program[i]);
    say(&line, this->sim != NULL ? "cpu" : "cuda");
    int code = cli_run(line.count, line.items);
    while (line.count > 0)
        free(line.items[--line.count]);
    return code;
}

static int compare_with_truth(const demo *this, const jm_report *report)
{
    cli_truth truth;
    jm_error err = {0};
    if (cli_truth_read(&truth, this->truth, &err) != JM_OK) return cli_fail(this->args, &err);
    int code = cli_truth_compare(&truth, report, &err) == JM_OK ? cli_truth_print(&truth)
                                                                : cli_fail(this->args, &err);
    cli_truth_free(&truth);
    return code;
}

/* On a real board nobody knows the truth of a layer; the board's own counter knows the total. */
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
    if (isfinite(totals->closure)) {
        printf("The fit alone, before it was held to that total, came to %.2f %% %s.\n",
               fabs(totals->closure) * 100, totals->closure < 0 ? "less" : "more");
    }
    printf("On a real GPU the truth of a layer is not known, only the total. For layers beside their truth:\n"
           "  joulemap demo --sim h200\n");
    return missed ? CLI_EXIT_MISSED : 0;
}

static int show(const demo *this)
{
    jm_recording *recording;
    jm_error err = {0};
    if (jm_recording_open(&recording, this->recording, &err) != JM_OK) return cli_fail(this->args, &err);
    cli_progress("fitting power to layers");
    const jm_report_options options = {.size = sizeof options, .by = JM_BY_LAYER};
    jm_report *report;
    char *text = NULL;
    int code;
    if (jm_report_create(&report, recording, &options, &err) != JM_OK) {
        code = cli_fail(this->args, &err);
    } else {
        if (jm_report_text(report, cli_terminal_width(STDOUT_FILENO), 0, &text, &err) == JM_OK) {
            cli_progress(NULL);
            cli_write(text);
            cli_write("\n");
            code = this->sim != NULL ? compare_with_truth(this, report) : compare_with_total(report);
        } else {
            code = cli_fail(this->args, &err);
        }
        free(text);
        jm_report_free(report);
    }
    jm_recording_close(recording);
    return code;
}

static int run(const cli_args *args)
{
    demo this = {.args = args};
    long long seconds = USUAL_SECONDS;
    if (!cli_get_number(args, "--seconds", 5, 3600, &seconds)) return jm_status_exit_code(JM_USAGE);
    int code = check_python(&this);
    if (code == CLI_GO_ON) code = choose_board(&this);
    if (code == CLI_GO_ON) code = choose_files(&this);
    if (code != CLI_GO_ON) return code;
    fprintf(stderr, "Training a small transformer for %lld s.\n", seconds);
    cli_progress("training and recording");
    code = record(&this, seconds);
    if (code == 0) code = show(&this);
    remove_files(&this);
    return code;
}

static const cli_option options_table[] = {
    {"--keep", 'k', "FILE", "keep the recording as FILE, and the truth beside it", NULL, false},
    {"--force", 'f', NULL, "replace an existing recording", NULL, false},
    {"--sim", 0, "PROFILE",
     "use a simulated GPU (h200, h100, a100, rtx3090, v100), also where there is a real one", NULL, false},
    {"--seconds", 0, "N", "how long the program runs (default: 20)", NULL, false},
    {0},
};

const cli_verb cli_verb_demo = {
    .name = "demo",
    .usage = "[options]",
    .summary = "record a program of ours and compare with what is known to be true",
    .description = "Records a small transformer that trains and validates, and shows the joules of its "
                   "layers. On a simulated "
                   "GPU, taken where there is no real one, it trains on the CPU; the simulated GPU knows how "
                   "much each layer truly took, and the "
                   "table puts that beside what joulemap found. On a real GPU only the total is known, "
                   "from its energy counter.\n"
                   "\n"
                   "Exit code 0 says: every layer with more than 2 % of the energy is within 5 % of the "
                   "truth, and all rows add up to "
                   "the GPU's total within 0.5 %. 1 says that this was missed.\n"
                   "\n"
                   "Needs Python with PyTorch and joulemap: that of the installed package, or "
                   "JOULEMAP_PYTHON, or python3.\n",
    .options = options_table,
    .run = run,
};
