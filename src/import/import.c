/* `joulemap import`: a recording from CSV files of readings, segments and kernels. */
#include "import/import.h"

#include "base/status.h"

#include <joulemap/recording.h>
#include <stdlib.h>

static void import_free(jm__import *im)
{
    for (size_t i = 0; i < JM_PROFILE_SENSORS_MAX; i++)
        jm__vec_free(&im->readings[i]);
    jm__texts_free(&im->parts);
    jm__texts_free(&im->kernels);
    jm__vec_free(&im->occurrences);
    jm__vec_free(&im->rows);
    jm__vec_free(&im->streams);
    free(im);
}

static jm_status read_file(jm__import *im, const char *path,
                           jm_status (*source)(jm__import *, jm__csv *, jm_error *), jm_error *err)
{
    jm__csv *csv;
    if (path == NULL) return JM_OK;
    JM_TRY(jm__csv_open(&csv, path, err));
    jm_status status = source(im, csv, err);
    jm__csv_close(csv);
    return status;
}

jm_status jm_recording_import(const char *out_path, bool overwrite, const char *board,
                              const char *readings_path, const char *segments_path, const char *kernels_path,
                              jm_error *err)
{
    if (readings_path == NULL && segments_path == NULL && kernels_path == NULL)
        return jm__fail(err, JM_USAGE, 0, "jm_recording_import", "there is no file to import");
    jm__import *im = calloc(1, sizeof *im);
    if (im == NULL) return jm__no_memory(err, "jm_recording_import");
    im->first_ns = INT64_MAX;
    im->last_ns = INT64_MIN;
    /* Host-timed segments and true kernel times of the same work must not count twice. */
    im->segments_are_kernels = kernels_path == NULL;
    jm_status status = jm__profile_load(&im->profile, board == NULL ? "generic" : board, err);
    if (status == JM_OK) status = read_file(im, readings_path, jm__import_readings, err);
    if (status == JM_OK) status = read_file(im, segments_path, jm__import_segments, err);
    if (status == JM_OK) status = read_file(im, kernels_path, jm__import_kernels, err);
    if (status == JM_OK && im->last_ns < im->first_ns)
        status = jm__fail(err, JM_BAD_DATA, 0, NULL, "the files have header lines, but no rows");
    if (status == JM_OK && im->streams.count == 0) { /* segments do not tell */
        size_t index;
        status = jm__import_stream_find(im, 0, &index, err);
    }
    if (status == JM_OK) {
        jm__import_unite(im);
        status = jm__import_write(im, out_path, overwrite, err);
    }
    import_free(im);
    return status;
}
