/* `joulemap import`: a recording from CSV files. */
#include "import/import.h"

#include "base/options.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void import_free(jm__import *im)
{
    jm__import_free_boards(im);
    jm__texts_free(&im->parts);
    jm__texts_free(&im->kernels);
    jm__vec_free(&im->phases);
    jm__vec_free(&im->occurrences);
    jm__vec_free(&im->rows);
    jm__vec_free(&im->streams);
    jm__vec_free(&im->part_clocks);
    free(im);
}

typedef jm_status source_function(jm__import *im, jm__csv *csv, jm_error *err);

static source_function *const sources[JM_IMPORT_COUNT] = {
#define X(name, option, text) jm__import_##option,
    JM_IMPORT_MAP(X)
#undef X
};

/* What readings, segments and kernels are of: the profile tells. */
static jm_status begin_gpu(jm__import *im, jm_error *err)
{
    JM_TRY(jm__profile_load(&im->profile, im->options.board == NULL ? "generic" : im->options.board, err));
    jm_board board = jm__board_blank;
    board.index = 0;
    snprintf(board.backend, sizeof board.backend, "import");
    snprintf(board.name, sizeof board.name, "%s", im->profile.title);
    snprintf(board.profile, sizeof board.profile, "%s", im->profile.name);
    size_t number;
    JM_TRY(jm__import_add_board(im, &board, &number, err));
    for (size_t i = 0; i < im->profile.sensor_count; i++)
        JM_TRY(jm__import_add_sensor(im, number, &im->profile.sensors[i], err));
    return JM_OK;
}

static jm_status read_files(jm__import *im, jm_error *err)
{
    for (size_t i = 0; i < JM_IMPORT_COUNT; i++) {
        if (im->options.files[i] == NULL) continue;
        jm__csv *csv;
        JM_TRY(jm__csv_open(&csv, im->options.files[i], err));
        jm_status status = sources[i](im, csv, err);
        jm__csv_close(csv);
        JM_TRY(status);
        JM_TRY(jm__import_check_readings(im, im->options.files[i], err));
    }
    return JM_OK;
}

static jm_status check_options(const jm_import_options *options, jm_error *err)
{
    if (options->path == NULL)
        return jm__fail(err, JM_USAGE, 0, "jm_recording_import", "there is no path to write to");
    for (size_t i = 0; i < JM_IMPORT_COUNT; i++)
        if (options->files[i] != NULL) return JM_OK;
    return jm__fail(err, JM_USAGE, 0, "jm_recording_import", "there is no file to import");
}

jm_status jm_recording_import(const jm_import_options *options, jm_error *err)
{
    jm__import *im = calloc(1, sizeof *im);
    if (im == NULL) return jm__no_memory(err, "jm_recording_import");
    im->first_ns = INT64_MAX;
    im->last_ns = INT64_MIN;
    jm_status status =
        jm__options_copy(&im->options, sizeof im->options, options, "jm_recording_import", err);
    if (status == JM_OK) status = check_options(&im->options, err);
    if (status == JM_OK) status = begin_gpu(im, err);
    if (status == JM_OK) status = read_files(im, err);
    if (status == JM_OK && im->last_ns < im->first_ns)
        status = jm__fail(err, JM_BAD_DATA, 0, NULL, "the files have header lines, but no rows with a value");
    if (status == JM_OK && im->streams.count == 0) { /* segments do not tell */
        size_t index;
        status = jm__import_stream_find(im, 0, &index, err);
    }
    if (status == JM_OK) {
        jm__import_unite(im);
        status = jm__import_write(im, err);
    }
    import_free(im);
    return status;
}
