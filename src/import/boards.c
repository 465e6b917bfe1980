/* The boards of an import, their sensors and readings. */
#include "base/status.h"
#include "import/import.h"

enum { READINGS_MAX = 100000000 }; /* of one sensor: 2.4 GB, 23 days at 50 a second */

jm_status jm__import_add_board(jm__import *im, const jm_board *row, size_t *board, jm_error *err)
{
    jm__import_board next = {.row = *row};
    *board = im->boards.count;
    return jm__vec_push(&im->boards, next) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

jm_status jm__import_add_sensor(jm__import *im, size_t board, const jm_sensor *row, jm_error *err)
{
    jm__import_sensor next = {.row = *row};
    bool fine = jm__vec_push(&im->boards.items[board].sensors, next);
    return fine ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

jm_status jm__import_add_reading(jm__import *im, size_t board, size_t sensor, int64_t t_ns, double value,
                                 jm_error *err)
{
    jm__import_sensor *of = &im->boards.items[board].sensors.items[sensor];
    jm_reading reading = {.t_ns = t_ns, .value = value};
    if (of->readings.count >= READINGS_MAX)
        return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d readings of %s", READINGS_MAX, of->row.name);
    return jm__vec_push(&of->readings, reading) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

void jm__import_free_boards(jm__import *im)
{
    for (size_t b = 0; b < im->boards.count; b++) {
        jm__import_board *board = &im->boards.items[b];
        for (size_t i = 0; i < board->sensors.count; i++)
            jm__vec_free(&board->sensors.items[i].readings);
        jm__vec_free(&board->sensors);
    }
    jm__vec_free(&im->boards);
}
