/* `joulemap calibrate`: what hardware counters are worth on a board. */
#include "cli/verb.h"

#include <limits.h>
#include <stdio.h>

static void print(const jm_learnt *l)
{
    printf("%zu counters, %zu kernels of %zu families, %zu of %zu readings used, residual %.1f W\n",
           l->features, l->kernels, l->families, l->readings_used, l->readings, l->residual_w);
    printf("power of a kernel whose family was left out: %.1f %% off at the median, %.1f %% on average, %.1f "
           "%% in "
           "the worst twentieth\n",
           1e2 * l->median_error, 1e2 * l->mean_error, 1e2 * l->p95_error);
    printf("worst family: %s, %.1f %%\n", l->worst_family, 1e2 * l->worst_error);
    if (l->left_out > 0) printf("%zu kernels on constant data are not in the weights\n", l->left_out);
    printf("%s\n", l->path);
}

static int run(const cli_args *args)
{
    long long board = -1;
    const char *file = cli_get(args, "--from");
    jm_recording *recording;
    jm_learnt learnt;
    jm_error err = {0};
    jm_learn_options learn = {
        .size = sizeof learn, .phase = cli_get(args, "--phase"), .path = cli_get(args, "--output")};
    if (!cli_get_number(args, "--board", 0, INT_MAX, &board)) return jm_status_exit_code(JM_USAGE);
    if (jm_recording_open(&recording, file, &err) != JM_OK) return cli_fail(args, &err);
    jm_status status =
        board < 0 ? JM_OK : jm_recording_board_id(recording, (int)board, &learn.board_id, &err);
    if (status == JM_OK) {
        cli_progress("learning what counters are worth");
        status = jm_model_learn(recording, &learn, &learnt, &err);
        cli_progress(NULL);
    }
    jm_recording_close(recording);
    if (status != JM_OK) return cli_fail(args, &err);
    print(&learnt);
    return 0;
}

static const cli_option options[] = {
    {"--from", 0, "FILE", "a recording with hardware counters", NULL, true},
    {"--phase", 'p', "NAME", "the phase of it in which single kernels ran in bursts", NULL, true},
    {"--board", 'b', "N", "the GPU, by its index, where several have counters", NULL, false},
    {"--output", 'o', "FILE", "the model to write (default: where reports look for this GPU's own)", NULL,
     false},
    {0},
};

const cli_verb cli_verb_calibrate = {
    .name = "calibrate",
    .usage = "--from FILE --phase NAME [-o MODEL]",
    .summary = "learn what hardware counters are worth on a GPU",
    .description = "Learns from a recording in which single kernels ran in bursts, each burst a span of kind "
                   "window with the "
                   "kernel's name, how many watts each hardware counter stands for. `joulemap report --model "
                   "MODEL` then "
                   "tells kernels apart that the power sensor alone cannot.\n"
                   "\n"
                   "What is printed says how well it does: each family of kernels in turn is left out, and "
                   "its power told by "
                   "the others.\n",
    .options = options,
    .run = run,
};
