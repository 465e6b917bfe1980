/* Recordings of joulemap-simulate in a folder of the test's own, and models learnt from them. */
#ifndef JM_TESTS_SIMULATED_H
#define JM_TESTS_SIMULATED_H

#include "base/strbuf.h"
#include "figures.h"

#include <joulemap/joulemap.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* cmocka.h comes before. */

static char simulated_folder[] = "/tmp/joulemap-test-XXXXXX";

/* A path in the folder; valid until eight more calls. */
static inline const char *path_of(const char *name)
{
    static char paths[8][96];
    static size_t next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", simulated_folder, name);
    return path;
}

/* Models of boards are looked for in the folder too. */
static inline int simulated_set_up(void **state)
{
    (void)state;
    return mkdtemp(simulated_folder) == NULL || setenv("XDG_DATA_HOME", simulated_folder, 1) != 0 ? -1 : 0;
}

static inline int simulated_tear_down(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", simulated_folder);
    return system(command);
}

/* The files of joulemap-simulate with these options. */
static inline void simulate_files(int seed, const char *options)
{
    char command[512];
    snprintf(command, sizeof command,
             "'" JM_BUILD_DIR "/sim/joulemap-simulate' --out %s --seed %d %s > /dev/null", simulated_folder,
             seed, options);
    assert_int_equal(system(command), 0);
}

/* The same, as a recording. */
static inline void simulate(int seed, const char *options, const char *name)
{
    jm_error err = {0};
    simulate_files(seed, options);
    const jm_import_options run = {.size = sizeof run,
                                   .overwrite = true,
                                   .path = path_of(name),
                                   .board = "h200",
                                   .files = {[JM_IMPORT_READINGS] = path_of("readings.csv"),
                                             [JM_IMPORT_SEGMENTS] = path_of("segments.csv"),
                                             [JM_IMPORT_KERNELS] = path_of("kernels.csv")}};
    if (jm_recording_import(&run, &err) != JM_OK) fail_msg("%s", err.text);
}

/* The same with its simulated counters. */
static inline void add_counters(const char *onto, const char *name)
{
    jm_error err = {0};
    const jm_counters_options counters = {.size = sizeof counters,
                                          .overwrite = true,
                                          .onto = path_of(onto),
                                          .path = path_of(name),
                                          .counters = path_of("counters.csv")};
    if (jm_recording_add_counters(&counters, &err) != JM_OK) fail_msg("%s", err.text);
}

static inline jm_recording *open_run(const char *name)
{
    jm_error err = {0};
    jm_recording *recording = NULL;
    if (jm_recording_open(&recording, path_of(name), &err) != JM_OK) fail_msg("%s", err.text);
    return recording;
}

/* What was learnt stays what it is: all of the model but its date. */
static inline void learnt_kept(const char *source, const jm_learnt *l)
{
    char line[4096];
    jm__strbuf model = {0};
    FILE *file = fopen(l->path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (strstr(line, "\"date\"") == NULL) jm__strbuf_add(&model, line);
    fclose(file);
    text_kept(source, model.text);
    jm__strbuf_free(&model);
    const double values[] = {(double)l->features, (double)l->families,
                             (double)l->kernels,  (double)l->left_out,
                             (double)l->readings, (double)l->readings_used,
                             l->residual_w,       l->mean_error,
                             l->median_error,     l->p95_error,
                             l->worst_error,      l->idle_w,
                             l->idle_u_w,         l->gap_w,
                             l->gap_u_w,          l->noise_w,
                             l->sampler_w,        l->sampler_u_w};
    figures_keep(source, NULL, values, sizeof values / sizeof *values, (uint32_t)l->simulated);
}

/* From its phase `suite`, into model.json. */
static inline jm_learnt learn_from(const char *name)
{
    jm_error err = {0};
    jm_learnt learnt;
    const jm_learn_options options = {
        .size = sizeof options, .phase = "suite", .path = path_of("model.json")};
    jm_recording *recording = open_run(name);
    if (jm_model_learn(recording, &options, &learnt, &err) != JM_OK) fail_msg("%s", err.text);
    assert_string_equal(learnt.path, path_of("model.json"));
    learnt_kept(__BASE_FILE__, &learnt);
    jm_recording_close(recording);
    return learnt;
}

#endif
