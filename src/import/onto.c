/* `joulemap import --onto`: a copy of a recording with hardware counters added. */
#include "base/options.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "format/dataset.h"
#include "format/file_lock.h"
#include "format/recording.h"
#include "import/counters.h"
#include <joulemap/import.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char call[] = "jm_recording_add_counters";

static jm_status check_options(const jm_counters_options *options, jm_error *err)
{
    struct stat from, to;
    if (options->onto == NULL) return jm__fail(err, JM_USAGE, 0, call, "there is no recording to add to");
    if ((options->counters == NULL) == (options->ncu == NULL))
        return jm__fail(err, JM_USAGE, 0, call, "import exactly one file, of counters or of ncu");
    if (options->path == NULL) return jm__fail(err, JM_USAGE, 0, call, "there is no path to write to");
    if (stat(options->onto, &from) != 0 || stat(options->path, &to) != 0) return JM_OK;
    if (from.st_dev != to.st_dev || from.st_ino != to.st_ino) return JM_OK;
    return jm__fail(err, JM_USAGE, 0, call, "%s cannot be read and replaced at once: write another file",
                    options->onto);
}

static jm_status check_finished(const char *path, jm_error *err)
{
    char command[80];
    int64_t writer = jm__recorder_of(path, command, sizeof command);
    if (writer == 0) return JM_OK;
    jm_status status =
        jm__fail(err, JM_BUSY, writer, call, "%s is still being recorded, by process %" PRId64, path, writer);
    return jm__hint(err, status, "let that run end first");
}

/* ---- the board */

/* GPUs that --board can select: imported ones have an index too, meters have none. */
static bool is_gpu(const jm_board *board)
{
    return board->index >= 0 && jm_board_kind_of(board) == JM_BOARD_GPU;
}

static jm_status only_gpu(const jm__dataset *data, const char *onto, int64_t *id, jm_error *err)
{
    jm__strbuf all = {0};
    size_t count = 0;
    for (size_t i = 0; i < data->board_count; i++) {
        if (!is_gpu(&data->boards[i])) continue;
        *id = data->boards[i].id;
        jm__strbuf_format(&all, "%s%" PRId32 " (%s)", count++ == 0 ? "" : ", ", data->boards[i].index,
                          data->boards[i].name);
    }
    jm_status status = JM_OK;
    if (count == 0) status = jm__fail(err, JM_NOT_FOUND, 0, call, "%s has no GPU", onto);
    if (count > 1) {
        jm__fail(err, JM_USAGE, 0, call, "%s has %zu GPUs: %s", onto, count, all.failed ? "" : all.text);
        status = jm__hint(err, JM_USAGE, "select the GPU of the counters with --board NUMBER");
    }
    jm__strbuf_free(&all);
    return status;
}

static jm_status find_board(const jm_counters_options *options, jm_recording *run, const jm__dataset *data,
                            int64_t *id, jm_error *err)
{
    if (options->board == NULL) return only_gpu(data, options->onto, id, err);
    char *end;
    errno = 0;
    long index = strtol(options->board, &end, 10);
    if (end == options->board || *end != '\0' || errno != 0 || index < 0 || index > INT_MAX)
        return jm__fail(err, JM_USAGE, 0, call, "\"%.60s\" is not the number of a GPU", options->board);
    return jm_recording_board_id(run, (int)index, id, err);
}

/* ---- the counters */

/* Counters of the run itself are better than those of another run. */
static jm_status refuse_if_counted(const jm__dataset *data, int64_t board, jm_error *err)
{
    for (size_t i = 0; i < data->counters.set_count; i++)
        if (data->counters.sets[i].board_id == board)
            return jm__fail(err, JM_USAGE, 0, call, "the recording has hardware counters of its own");
    return JM_OK;
}

/* Records in the copy what is damaged in the original. */
static void write_damage(jm__writer *writer, jm_recording *run, const jm__dataset *data)
{
    char number[24];
    const char *damage = jm_recording_damage(run);
    if (damage != NULL) jm__writer_meta(writer, "damage", damage);
    if (!jm__recording_is_cut(run)) return;
    snprintf(number, sizeof number, "%" PRId64, data->end_ns); /* of the rows that are left */
    jm__writer_meta(writer, "end_ns", number);
}

static jm_status write_copy(const jm_counters_options *options, jm_recording *run, const jm__dataset *data,
                            int64_t board, jm_error *err)
{
    jm__writer *writer;
    JM_TRY(jm__writer_create_copy(&writer, options->path, options->overwrite, run, err));
    jm_status status = options->ncu != NULL ? refuse_if_counted(data, board, err) : JM_OK;
    if (status == JM_OK)
        status = options->ncu != NULL ? jm__import_ncu(writer, data, board, options->ncu, err)
                                      : jm__import_counters(writer, data, board, options->counters, run, err);
    if (status == JM_OK) {
        write_damage(writer, run, data);
        status = jm__writer_commit(writer, 0, err);
    }
    if (status == JM_OK) return jm__writer_close(writer, err);
    jm__writer_discard(writer);
    return status;
}

static jm_status add_to(const jm_counters_options *options, jm_recording *run, jm_error *err)
{
    int64_t board;
    jm__dataset *data;
    JM_TRY(jm__dataset_load(&data, run, err));
    jm_status status = find_board(options, run, data, &board, err);
    if (status == JM_OK) status = write_copy(options, run, data, board, err);
    jm__dataset_free(data);
    return status;
}

jm_status jm_recording_add_counters(const jm_counters_options *requested, jm_error *err)
{
    jm_counters_options options;
    jm_recording *run;
    JM_TRY(jm__options_copy(&options, sizeof options, requested, call, err));
    JM_TRY(check_options(&options, err));
    JM_TRY(check_finished(options.onto, err));
    JM_TRY(jm_recording_open(&run, options.onto, err));
    jm_status status = add_to(&options, run, err);
    jm_recording_close(run);
    return status;
}
