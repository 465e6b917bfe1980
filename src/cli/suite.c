/* Looking before a suite of minutes is started, and starting it. */
#include "cli/suite.h"

#include "cli/args.h"
#include "cli/child.h"
#include "cli/program.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- looking */

static const jm_board *find_board(const jm_inventory *inventory, long long index)
{
    for (size_t i = 0; i < jm_inventory_board_count(inventory); i++) {
        const jm_board *board = jm_inventory_board(inventory, i);
        if (strcmp(board->backend, "nvml") != 0) continue;
        if (index < 0 ? board->cuda_index == 0 : board->index == index) return board;
    }
    return NULL;
}

/* What doctor found of its counters. */
static const jm_finding *find_counters(const jm_doctor *doctor, const jm_board *board)
{
    static const char alone[] = "hardware counters";
    char of_board[64];
    snprintf(of_board, sizeof of_board, "%s: GPU %d", alone, (int)board->index);
    for (size_t i = 0; i < jm_doctor_finding_count(doctor); i++) {
        const jm_finding *finding = jm_doctor_finding(doctor, i);
        if (strcmp(finding->subject, alone) == 0 || strcmp(finding->subject, of_board) == 0) return finding;
    }
    return NULL;
}

static int look_at(const cli_args *args, const jm_doctor *doctor, const jm_board *board)
{
    const jm_finding *counters = find_counters(doctor, board);
    if (counters != NULL && counters->works) return CLI_GO_ON;
    const char *cure = board->mig                                      ? "nvidia-smi -mig 0 ends that mode"
                       : counters != NULL && counters->cure[0] != '\0' ? counters->cure
                                                                       : "joulemap doctor may tell more";
    bool lacks_right = counters != NULL && counters->lacks_right;
    return cli_error(args, lacks_right ? JM_NO_PERMISSION : JM_NOT_SUPPORTED, cure,
                     "the hardware counters of GPU %d (%s) cannot be sampled: %s", (int)board->index,
                     board->name, counters != NULL ? counters->detail : "it has no UUID");
}

static int look(cli_suite *suite, const cli_args *args, const jm_doctor *doctor)
{
    const jm_board *board = find_board(jm_doctor_inventory(doctor), suite->board);
    if (board == NULL && suite->board >= 0)
        return cli_error(args, JM_NO_DEVICE, "joulemap list shows those that are there",
                         "there is no GPU %lld", suite->board);
    if (board == NULL)
        return cli_error(
            args, JM_NO_DEVICE,
            "joulemap doctor tells what is missing; joulemap calibrate --sim h200 shows how it goes",
            "there is no GPU that CUDA shows");
    suite->board = board->index;
    snprintf(suite->uuid, sizeof suite->uuid, "%s", board->uuid);
    return look_at(args, doctor, board);
}

/* ---- which */

cli_suite_way cli_suite_way_of(const char *text)
{
#define X(name, word)                                                                                        \
    if (text != NULL && strcmp(text, word) == 0) return CLI_SUITE_##name;
    CLI_SUITE_MAP(X)
#undef X
    return CLI_SUITE_ANY;
}

/* PyTorch's, if it is there and, for a real GPU, built for one. */
static int choose(cli_suite *suite, const cli_args *args)
{
    if (suite->way == CLI_SUITE_PYTORCH) return cli_python_check(args, "the suite's kernels are");
    if (suite->way == CLI_SUITE_ANY) {
        cli_python_state python;
        cli_python_ask(&python);
        const bool good = python.torch && python.joulemap && (python.cuda || suite->sim != NULL);
        suite->way = good ? CLI_SUITE_PYTORCH : CLI_SUITE_CUDA;
    }
    return CLI_GO_ON;
}

int cli_suite_look(cli_suite *suite, const cli_args *args)
{
    jm_doctor *doctor;
    jm_error err = {0};
    int code = choose(suite, args);
    if (code != CLI_GO_ON) return code;
    cli_progress("trying hardware counters");
    if (jm_doctor_create(&doctor, suite->sim, &err) != JM_OK) return cli_fail(args, &err);
    cli_progress(NULL);
    code = look(suite, args, doctor);
    jm_doctor_free(doctor);
    return code;
}

/* ---- running */

/* Which GPU it sees, as its first one. */
typedef struct sight {
    char variable[JM_BOARD_TEXT + 32];
    const char *environment[2];
} sight;

static void set_sight(sight *s, const cli_suite *suite)
{
    if (suite->sim != NULL)
        snprintf(s->variable, sizeof s->variable, "JOULEMAP_SIM_BOARD=%lld", suite->board);
    else
        snprintf(s->variable, sizeof s->variable, "CUDA_VISIBLE_DEVICES=%s", suite->uuid);
    s->environment[0] = s->variable;
    s->environment[1] = NULL;
}

static void add_program(cli_line *line, const cli_suite *suite)
{
    /* Kernels of a simulated board run on the CPU, in small. */
    const char *const python[] = {cli_python(), "-m", "joulemap.calibration", NULL}, *const cpu[] = {
                                                                                         "--device", "cpu",
                                                                                         NULL};
    char own[PATH_MAX];
    if (suite->way == CLI_SUITE_PYTORCH) {
        cli_line_add_all(line, python);
        if (suite->sim != NULL) cli_line_add_all(line, cpu);
        return;
    }
    cli_find_beside("joulemap-suite", own, sizeof own);
    cli_line_add(line, own);
}

static void make_line(cli_line *line, const cli_suite *suite, const char *path)
{
    const char *const always[] = {"--quiet", "--output", path, NULL};
    /* A simulated board has nothing to warm up, and answers as it is told to. */
    const char *const simulated[] = {"--sim", suite->sim, "--idle", "0.2", "--response", "0", NULL};
    add_program(line, suite);
    cli_line_add_all(line, always);
    cli_line_add_number(line, "--seconds", suite->seconds);
    cli_line_add_number(line, "--seed", suite->seed);
    if (suite->replace) cli_line_add(line, "--force");
    if (suite->sim != NULL) cli_line_add_all(line, simulated);
}

int cli_suite_record(const cli_suite *suite, const cli_args *args, const char *path)
{
    sight s;
    cli_child child;
    cli_line line = {0};
    jm_error err = {0};
    set_sight(&s, suite);
    make_line(&line, suite, path);
    cli_child_prepare();
    jm_status status = cli_child_start(&child, line.words, s.environment, &err);
    if (status == JM_OK) cli_child_wait(&child);
    cli_child_release(&child);
    cli_line_free(&line);
    if (status != JM_OK) cli_fail(args, &err);
    return child.exit_code == 0 ? CLI_GO_ON : child.exit_code;
}

bool cli_suite_was_ended(int code)
{
    return code == 128 + SIGINT || code == 128 + SIGTERM || code == 128 + SIGHUP || code == 128 + SIGQUIT;
}
