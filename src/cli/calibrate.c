/* `joulemap calibrate`: what hardware counters are worth on a board. */
#include "cli/args.h"
#include "cli/child.h"
#include "cli/scratch.h"
#include "cli/suite.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PHASE "suite" /* of the suite's own recording */
enum { USUAL_SECONDS = 120 };

static void print_idle(const jm_learnt *l)
{
    bool rest = isfinite(l->idle_w), gap = isfinite(l->gap_w);
    if (!rest && !gap)
        printf("idle power: this recording does not tell it\n");
    else
        printf("idle, with a program on it:");
    if (rest) printf(" %.0f W at rest%s", l->idle_w, gap ? "," : "\n");
    if (gap) printf(" %.0f W in gaps of 1 to 20 ms\n", l->gap_w);
    if (isfinite(l->sampler_w))
        printf("sampling its counters draws %.0f W, which are taken off\n", l->sampler_w);
}

static void print(const jm_learnt *l)
{
    printf("%s%s: %zu counters, %zu kernels of %zu families, %zu of %zu readings used, residual %.1f W\n",
           l->board, l->simulated ? ", SIMULATED" : "", l->features, l->kernels, l->families,
           l->readings_used, l->readings, l->residual_w);
    printf("power of a kernel whose family was left out: %.1f %% off at the median, %.1f %% on average, %.1f "
           "%% in "
           "the worst twentieth\n",
           1e2 * l->median_error, 1e2 * l->mean_error, 1e2 * l->p95_error);
    printf("worst family: %s, %.1f %%\n", l->worst_family, 1e2 * l->worst_error);
    print_idle(l);
    if (l->left_out > 0) printf("%zu kernels on constant data are not in the weights\n", l->left_out);
    if (l->path[0] != '\0')
        printf("%s\n", l->path);
    else
        printf("not kept, as the GPU is simulated: -o FILE keeps the model\n");
}

/* Why there are no counters, where the recording knows. */
static void tell_why(const cli_args *args, jm_recording *recording)
{
    const jm_report_options options = {.size = sizeof options, .by = JM_BY_BOARD};
    jm_report *report;
    if (jm_report_create(&report, recording, &options, NULL) != JM_OK) return;
    const char *why = jm_report_quality_get(report)->counters_missing;
    if (why != NULL) cli_tell(args, "hardware counters were not sampled: %s", why);
    jm_report_free(report);
}

/* `board`: its index; -1: the only one with counters. */
static int learn(const cli_args *args, const char *file, const char *phase, long long board)
{
    jm_recording *recording;
    jm_learnt learnt;
    jm_error err = {0};
    jm_learn_options options = {.size = sizeof options, .phase = phase, .path = cli_get(args, "--output")};
    if (jm_recording_open(&recording, file, &err) != JM_OK) return cli_fail(args, &err);
    jm_status status =
        board < 0 ? JM_OK : jm_recording_board_id(recording, (int)board, &options.board_id, &err);
    if (status == JM_OK) {
        cli_progress("learning what counters are worth");
        status = jm_model_learn(recording, &options, &learnt, &err);
        cli_progress(NULL);
    }
    if (status == JM_NOT_FOUND) tell_why(args, recording);
    jm_recording_close(recording);
    if (status != JM_OK) return cli_fail(args, &err);
    print(&learnt);
    return 0;
}

/* ---- from the suite */

/* A failure: what took minutes to record is not thrown away. */
static void keep(const cli_args *args, const char *path)
{
    if (access(path, F_OK) != 0) {
        cli_scratch_remove();
        return;
    }
    cli_scratch_keep();
    cli_tell(args, "the recording is kept: %s", path);
    char *typed = cli_typed_path(path);
    if (typed != NULL) cli_words("  joulemap calibrate --from %s --phase %s learns from it", typed, PHASE);
    free(typed);
    fputc('\n', stderr);
}

static int play_and_learn(const cli_args *args, const cli_suite *suite, const char *path)
{
    int code = cli_suite_record(suite, args, path);
    if (code == CLI_GO_ON) code = learn(args, path, PHASE, suite->board);
    if (code == 0 || cli_suite_was_ended(code))
        cli_scratch_remove();
    else
        keep(args, path);
    return code;
}

/* What would fail after minutes, fails now: a recording that exists, a model's folder that does not. */
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
    cli_suite suite = {.board = board, .seconds = USUAL_SECONDS, .replace = cli_has(args, "--force")};
    if (!cli_get_number(args, "--seconds", 5, 3600, &suite.seconds) ||
        !cli_get_number(args, "--seed", 0, INT_MAX, &suite.seed))
        return jm_status_exit_code(JM_USAGE);
    if (cli_has(args, "--phase")) return cli_usage_error(args, "--phase is of a recording: it needs --from");
    suite.way = cli_suite_way_of(cli_get(args, "--suite"));
    suite.sim = cli_has(args, "--sim") ? cli_get(args, "--sim") : getenv("JOULEMAP_SIM");
    if (suite.sim != NULL && suite.sim[0] == '\0') suite.sim = NULL;
    int code = check_files(args);
    if (code == CLI_GO_ON) code = cli_suite_look(&suite, args);
    if (code != CLI_GO_ON) return code;
    const char *path = cli_get(args, "--keep-recording");
    if (path == NULL) {
        code = cli_scratch_make(args);
        if (code != CLI_GO_ON) return code;
        path = cli_scratch_recording();
    }
    fprintf(stderr, "Playing and recording kernels for %lld s.%s%s\n", suite.seconds,
            suite.way == CLI_SUITE_CUDA ? " They are written in CUDA C." : "",
            suite.sim != NULL ? " The GPU is simulated." : "");
    return play_and_learn(args, &suite, path);
}

/* ---- */

static int run(const cli_args *args)
{
    static const char *const of_suite[] = {"--seconds",        "--seed",  "--sim",
                                           "--keep-recording", "--force", "--suite"};
    long long board = -1;
    if (!cli_get_number(args, "--board", 0, INT_MAX, &board)) return jm_status_exit_code(JM_USAGE);
    if (!cli_has(args, "--from")) return run_suite(args, board);
    for (size_t i = 0; i < sizeof of_suite / sizeof *of_suite; i++)
        if (cli_has(args, of_suite[i]))
            return cli_usage_error(args, "%s is of the suite, which --from does without", of_suite[i]);
    if (!cli_has(args, "--phase")) return cli_usage_error(args, "--from needs --phase");
    return learn(args, cli_get(args, "--from"), cli_get(args, "--phase"), board);
}

static const cli_option options[] = {
    {"--seconds", 0, "N", "how long the suite plays at most (default: 120)", NULL, false},
    {"--board", 'b', "N",
     "the GPU, by its index, as `joulemap list` counts (default: the first that CUDA shows; with --from, the "
     "one with counters)",
     NULL, false},
    {"--suite", 0, "WHICH",
     "whose kernels: those of PyTorch, or those written in CUDA C, which need no Python (default: PyTorch's, "
     "if it "
     "is there)",
     "pytorch|cuda", false},
    {"--seed", 0, "N", "of the suite's data and order (default: 0)", NULL, false},
    CLI_SIM_OPTION,
    {"--output", 'o', "FILE", "the model to write (default: where reports look for this GPU's own)", NULL,
     false},
    {"--keep-recording", 'k', "FILE", "keep what the suite recorded as FILE", NULL, false},
    {"--force", 'f', NULL, "replace an existing recording", NULL, false},
    {"--from", 0, "FILE", "learn from this recording with hardware counters instead", NULL, false},
    {"--phase", 'p', "NAME", "with --from: the phase of it in which single kernels ran in bursts", NULL,
     false},
    {0},
};

const cli_verb cli_verb_calibrate = {
    .name = "calibrate",
    .usage = "[options]",
    .summary = "learn what hardware counters are worth on a GPU",
    .description =
        "Plays some 190 short kernels on the GPU for two minutes, records power and hardware "
        "counters, and "
        "learns how many watts each counter stands for. From then on reports of this GPU's recordings tell "
        "kernels apart that the power sensor alone cannot. The model is kept by the GPU's UUID below "
        "$XDG_DATA_HOME/joulemap/models (~/.local/share without it), or as FILE with -o, for `joulemap "
        "report "
        "--model FILE`. The recording is removed, unless something fails.\n"
        "\n"
        "What is printed says how well it does: each family of kernels in turn is left out, and "
        "its power told by the others.\n"
        "\n"
        "Needs a GPU that nothing else uses meanwhile, the right to read its counters (`joulemap doctor` "
        "tells), and either Python with PyTorch and joulemap (that of the installed package, or "
        "JOULEMAP_PYTHON, or "
        "python3), or NVIDIA's compiler library NVRTC, which comes with the CUDA toolkit, with PyTorch, and "
        "as "
        "`pip install nvidia-cuda-nvrtc`.\n"
        "\n"
        "With --from, it learns from a recording of a program of one's own: a phase in which single kernels "
        "ran in bursts, each burst a span of kind window with the kernel's name.\n"
        "\n"
        "With --sim, tiny kernels on the CPU, or none, stand for the work of a simulated GPU, to try it all "
        "without "
        "one. Its model is kept with -o alone.\n"
        "\n"
        "  joulemap calibrate\n"
        "  joulemap calibrate --from suite.joulemap --phase suite -o model.json\n",
    .options = options,
    .looks_at_gpus = true,
    .run = run,
};
