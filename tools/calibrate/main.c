/* `joulemap calibrate`: learns a board's power model from hardware counters, and how its sensor answers. */
#include "cli/child.h"
#include "cli/program.h"
#include "cli/recorder.h"
#include "cli/verb.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Phases of the suite's recording. */
#define PHASE    "suite"
#define RESPONSE "response"
enum { DEFAULT_SECONDS = 120, RESPONSE_SECONDS = 25 };

/* A run of `python -m joulemap.calibration`, with its options. */
typedef struct suite_run {
    const char *sim; /* the profile of a simulated board; NULL: a real one */
    long long board; /* its index; -1: not chosen yet, the first CUDA device */
    char uuid[JM_BOARD_TEXT];
    long long seconds, seed;
    bool response; /* only a square wave, without counters */
    bool replace;  /* replace an existing recording */
} suite_run;

/* ---- learning */

static void print_idle(const jm_learnt *l)
{
    bool rest = isfinite(l->idle_w), gap = isfinite(l->gap_w);
    if (!rest && !gap)
        printf("idle power: not in this recording\n");
    else
        printf("idle, with a program on it:");
    if (rest) printf(" %.0f W at rest%s", l->idle_w, gap ? "," : "\n");
    if (gap) printf(" %.0f W in gaps of 1 to 20 ms\n", l->gap_w);
    if (isfinite(l->sampler_w))
        printf("sampling its counters draws %.0f W, which are taken off\n", l->sampler_w);
}

static void print_result(const jm_learnt *l)
{
    printf("%s%s: %zu counters, %zu kernels of %zu families, %zu of %zu readings used, residual %.1f W\n",
           l->board, l->simulated ? ", SIMULATED" : "", l->features, l->kernels, l->families,
           l->readings_used, l->readings, l->residual_w);
    printf("power of a kernel whose family was left out: %.1f %% off at the median, %.1f %% on average, "
           "%.1f %% in the worst twentieth\n",
           1e2 * l->median_error, 1e2 * l->mean_error, 1e2 * l->p95_error);
    printf("worst family: %s, %.1f %%\n", l->worst_family, 1e2 * l->worst_error);
    print_idle(l);
    if (l->left_out > 0) printf("%zu kernels on constant data are not in the weights\n", l->left_out);
    if (l->path[0] != '\0')
        printf("%s\n", l->path);
    else
        printf("not kept, as the GPU is simulated: -o FILE keeps the model\n");
}

/* Print why there are no counters, if the recording says so. */
static void print_why_no_counters(const cli_args *args, jm_recording *recording)
{
    const jm_report_options options = {.size = sizeof options, .by = JM_BY_BOARD};
    jm_report *report;
    if (jm_report_create(&report, recording, &options, NULL) != JM_OK) return;
    const char *why = jm_report_quality_get(report)->counters_missing;
    if (why != NULL) cli_message(args, "hardware counters were not sampled: %s", why);
    jm_report_free(report);
}

static void print_response(const jm_learnt_response *l)
{
    printf("%s%s: %s answers after %.1f \302\261%.1f ms and %s %.1f \302\261%.1f ms (before: "
           "\302\261%.1f, \302\261%.1f)\n",
           l->board, l->simulated ? ", SIMULATED" : "", l->sensor, 1e-6 * l->lag_ns, 1e-6 * l->lag_u_ns,
           l->first_order ? "with a time constant of" : "over", 1e-6 * l->width_ns, 1e-6 * l->width_u_ns,
           1e-6 * l->before_lag_u_ns, 1e-6 * l->before_width_u_ns);
    if (l->path[0] == '\0')
        printf("not kept, as the GPU is simulated: -o FILE keeps it\n");
    else
        printf("%s\n", l->path);
}

/* What is learnt: the weights of counters, or how the sensor answers. `board`: its index; -1: the only one
 * with counters, or the first one. */
static int learn(const cli_args *args, const char *file, const char *phase, long long board, bool response)
{
    jm_recording *recording;
    jm_learnt weights;
    jm_learnt_response answer;
    jm_error err = {0};
    jm_learn_options options = {.size = sizeof options, .phase = phase, .path = cli_get(args, "--output")};
    if (jm_recording_open(&recording, file, &err) != JM_OK) return cli_fail(args, &err);
    jm_status status =
        board < 0 ? JM_OK : jm_recording_board_id(recording, (int)board, &options.board_id, &err);
    if (status == JM_OK) {
        cli_progress(response ? "learning how the sensor answers" : "learning the weights of counters");
        status = response ? jm_response_learn(recording, &options, &answer, &err)
                          : jm_model_learn(recording, &options, &weights, &err);
        cli_progress(NULL);
    }
    if (status == JM_NOT_FOUND && !response) print_why_no_counters(args, recording);
    jm_recording_close(recording);
    if (status != JM_OK) return cli_fail(args, &err);
    if (response)
        print_response(&answer);
    else
        print_result(&weights);
    return 0;
}

/* ---- checks before the suite: they take seconds, the suite minutes */

static const jm_board *find_board(const jm_inventory *inventory, long long index)
{
    for (size_t i = 0; i < jm_inventory_board_count(inventory); i++) {
        const jm_board *board = jm_inventory_board(inventory, i);
        if (jm_board_kind_of(board) != JM_BOARD_GPU) continue;
        if (index < 0 ? board->cuda_index == 0 : board->index == index) return board;
    }
    return NULL;
}

/* The doctor's finding about the board's counters; NULL: none. */
static const jm_finding *find_counters(const jm_doctor *doctor, const jm_board *board)
{
    static const char subject[] = "hardware counters";
    char board_subject[64];
    snprintf(board_subject, sizeof board_subject, "%s: GPU %d", subject, (int)board->index);
    for (size_t i = 0; i < jm_doctor_finding_count(doctor); i++) {
        const jm_finding *finding = jm_doctor_finding(doctor, i);
        if (strcmp(finding->subject, subject) == 0 || strcmp(finding->subject, board_subject) == 0)
            return finding;
    }
    return NULL;
}

static int check_counters(const cli_args *args, const jm_doctor *doctor, const jm_board *board)
{
    const jm_finding *counters = find_counters(doctor, board);
    if (counters != NULL && counters->works) return CLI_GO_ON;
    char text[512];
    const char *cure = board->mig                                      ? "nvidia-smi -mig 0 ends that mode"
                       : counters != NULL && counters->cure[0] != '\0' ? counters->cure
                                                                       : "joulemap doctor may show more";
    bool lacks_right = counters != NULL && counters->lacks_right;
    snprintf(text, sizeof text,
             "%s; `joulemap calibrate --response` needs none, and learns how its sensor answers", cure);
    return cli_error(args, lacks_right ? JM_NO_PERMISSION : JM_NOT_SUPPORTED, text,
                     "the hardware counters of GPU %d (%s) cannot be sampled: %s", (int)board->index,
                     board->name, counters != NULL ? counters->detail : "it has no UUID");
}

static int choose_board(suite_run *suite, const cli_args *args, const jm_doctor *doctor)
{
    const jm_board *board = find_board(jm_doctor_inventory(doctor), suite->board);
    if (board == NULL && suite->board >= 0)
        return cli_error(args, JM_NO_DEVICE, "joulemap list shows the GPUs", "there is no GPU %lld",
                         suite->board);
    if (board == NULL)
        return cli_error(
            args, JM_NO_DEVICE,
            "joulemap doctor shows what is missing; joulemap calibrate --sim h200 tries it without a GPU",
            "there is no GPU that CUDA shows");
    suite->board = board->index;
    snprintf(suite->uuid, sizeof suite->uuid, "%s", board->uuid);
    return suite->response ? CLI_GO_ON : check_counters(args, doctor, board);
}

/* Check that Python's packages exist, and a GPU with counters that this user may read. */
static int check_requirements(suite_run *suite, const cli_args *args)
{
    jm_doctor *doctor;
    jm_error err = {0};
    int code = cli_python_check(args, "the suite's kernels are", suite->sim == NULL);
    if (code != CLI_GO_ON) return code;
    cli_progress("trying hardware counters");
    if (jm_doctor_create(&doctor, suite->sim, &err) != JM_OK) return cli_fail(args, &err);
    cli_progress(NULL);
    code = choose_board(suite, args, doctor);
    jm_doctor_free(doctor);
    return code;
}

/* ---- running the suite */

static void make_command(cli_line *line, const suite_run *suite, const char *path)
{
    /* A simulated board's kernels run on the CPU, in small. It needs no warm-up and has no delayed response.
     */
    const char *const common[] = {cli_python(), "-m", "joulemap.calibration", "--quiet", "--output",
                                  path,         NULL};
    const char *const simulated[] = {"--device", "cpu", "--sim", suite->sim, "--idle", "0.2", NULL};
    bool wave = suite->response, none = suite->sim != NULL && !wave;
    cli_line_add_all(line, common);
    cli_line_add_number(line, "--seconds", wave ? 0 : suite->seconds);
    if (wave || none) cli_line_add_number(line, "--response", none ? 0 : suite->seconds);
    cli_line_add_number(line, "--seed", suite->seed);
    if (suite->replace) cli_line_add(line, "--force");
    if (suite->sim != NULL) cli_line_add_all(line, simulated);
}

/* The suite records itself into `path`, with a progress bar on stderr. Returns CLI_GO_ON, or the exit code of
 * a failure that the suite reported. */
static int record_suite(const suite_run *suite, const cli_args *args, const char *path)
{
    char visible[JM_BOARD_TEXT + 32]; /* makes this GPU its first one */
    const char *const environment[] = {visible, NULL};
    cli_child child;
    cli_line line = {0};
    jm_error err = {0};
    if (suite->sim != NULL)
        snprintf(visible, sizeof visible, "JOULEMAP_SIM_BOARD=%lld", suite->board);
    else
        snprintf(visible, sizeof visible, "CUDA_VISIBLE_DEVICES=%s", suite->uuid);
    make_command(&line, suite, path);
    cli_child_prepare();
    jm_status status = cli_child_start(&child, line.words, environment, &err);
    if (status == JM_OK) cli_child_wait(&child);
    cli_child_release(&child);
    cli_line_free(&line);
    if (status != JM_OK) cli_fail(args, &err);
    return child.exit_code == 0 ? CLI_GO_ON : child.exit_code;
}

/* Whether a signal of a user ended it. */
static bool was_ended(int code)
{
    return code == 128 + SIGINT || code == 128 + SIGTERM || code == 128 + SIGHUP || code == 128 + SIGQUIT;
}

/* After a failure, keep the recording, which took minutes. */
static void keep_recording(const cli_args *args, const suite_run *suite, const char *path)
{
    if (access(path, F_OK) != 0) {
        cli_scratch_remove();
        return;
    }
    cli_scratch_keep();
    cli_message(args, "the recording is kept: %s", path);
    char *typed = cli_typed_path(path);
    if (typed != NULL)
        cli_message_part("  joulemap calibrate %s--from %s --phase %s learns from it",
                         suite->response ? "--response " : "", typed, suite->response ? RESPONSE : PHASE);
    free(typed);
    fputc('\n', stderr);
}

static int record_and_learn(const cli_args *args, const suite_run *suite, const char *path)
{
    int code = record_suite(suite, args, path);
    if (code == CLI_GO_ON)
        code = learn(args, path, suite->response ? RESPONSE : PHASE, suite->board, suite->response);
    /* The suite of a simulated board has no square wave. */
    if (code == 0 && !suite->response && suite->sim == NULL) {
        code = learn(args, path, RESPONSE, suite->board, true);
        if (code == jm_status_exit_code(JM_NOT_FOUND)) {
            cli_message(args, "the model is complete; the sensor's response stays that of its profile");
            code = 0;
        }
    }
    if (code == 0 || was_ended(code))
        cli_scratch_remove();
    else
        keep_recording(args, suite, path);
    return code;
}

/* Fail now rather than after minutes: on an existing recording, or a model's folder that cannot be written.
 */
static int check_files(const cli_args *args)
{
    char folder[PATH_MAX];
    const char *recording = cli_get(args, "--keep-recording"), *model = cli_get(args, "--output");
    if (recording != NULL && !cli_has(args, "--force") && access(recording, F_OK) == 0)
        return cli_error(args, JM_IO, "choose another name, or replace it with --force", "%s exists already",
                         recording);
    if (model == NULL) return CLI_GO_ON;
    snprintf(folder, sizeof folder, "%s", model);
    if (access(dirname(folder), W_OK) == 0) return CLI_GO_ON;
    return cli_error(args, JM_IO, "", "%s cannot be written: %s", model, strerror(errno));
}

static int run_suite(const cli_args *args, long long board)
{
    suite_run suite = {.board = board,
                       .response = cli_has(args, "--response"),
                       .seconds = cli_has(args, "--response") ? RESPONSE_SECONDS : DEFAULT_SECONDS,
                       .replace = cli_has(args, "--force")};
    if (!cli_get_number(args, "--seconds", 5, 3600, &suite.seconds) ||
        !cli_get_number(args, "--seed", 0, INT_MAX, &suite.seed))
        return jm_status_exit_code(JM_USAGE);
    if (cli_has(args, "--phase")) return cli_usage_error(args, "--phase needs --from");
    suite.sim = cli_has(args, "--sim") ? cli_get(args, "--sim") : getenv("JOULEMAP_SIM");
    if (suite.sim != NULL && suite.sim[0] == '\0') suite.sim = NULL;
    int code = check_files(args);
    if (code == CLI_GO_ON) code = check_requirements(&suite, args);
    if (code != CLI_GO_ON) return code;
    const char *path = cli_get(args, "--keep-recording");
    if (path == NULL) {
        code = cli_scratch_make(args);
        if (code != CLI_GO_ON) return code;
        path = cli_scratch_recording();
    }
    fprintf(stderr, "Playing and recording %s for %lld s.%s\n", suite.response ? "a kernel" : "kernels",
            suite.seconds, suite.sim != NULL ? " The GPU is simulated." : "");
    return record_and_learn(args, &suite, path);
}

static int run(const cli_args *args)
{
    static const char *const suite_options[] = {"--seconds", "--seed", "--sim", "--keep-recording",
                                                "--force"};
    long long board = -1;
    if (!cli_get_number(args, "--board", 0, INT_MAX, &board)) return jm_status_exit_code(JM_USAGE);
    if (!cli_has(args, "--from")) return run_suite(args, board);
    for (size_t i = 0; i < sizeof suite_options / sizeof *suite_options; i++)
        if (cli_has(args, suite_options[i]))
            return cli_usage_error(args, "%s is for the suite, and contradicts --from", suite_options[i]);
    bool response = cli_has(args, "--response");
    if (!response && !cli_has(args, "--phase")) return cli_usage_error(args, "--from needs --phase");
    return learn(args, cli_get(args, "--from"), cli_get(args, "--phase"), board, response);
}

int main(int argc, char **argv)
{
    return cli_tool_main(&cli_verb_calibrate, run, argc, argv);
}
