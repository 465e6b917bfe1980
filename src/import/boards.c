/* The boards of an import, their sensors and readings. */
#include "base/clock.h"
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

/* Rings and buses give stamps that are a little late. */
static const int64_t back_most_ns = JM_NS_PER_S;

/* Sorted by their stamps, the hour that came twice would lie over itself. */
static jm_status check_clock(const jm__csv *csv, size_t column, const jm__import_sensor *of, int64_t t_ns,
                             jm_error *err)
{
    int64_t last_ns = of->readings.count > 0 ? of->readings.items[of->readings.count - 1].t_ns : INT64_MIN;
    if (t_ns >= last_ns || last_ns - t_ns < back_most_ns) return JM_OK;
    jm__csv_bad(csv, column, err, "time runs backwards, by %.6g s since the reading of %s before",
                (double)(last_ns - t_ns) * 1e-9, of->row.name);
    return jm__hint(err, JM_BAD_DATA,
                    "where the clock was set back (daylight saving time, NTP), give stamps of one that was "
                    "not, as UTC; where lines are out of order, sort them by time; two logs are two files");
}

jm_status jm__import_add_reading(jm__import *im, const jm__csv *csv, const jm__import_place *at, double value,
                                 jm_error *err)
{
    jm__import_sensor *of = &im->boards.items[at->board].sensors.items[at->sensor];
    jm_reading reading = {.value = value};
    JM_TRY(jm__csv_scaled(csv, at->stamp, 9, &reading.t_ns, err));
    JM_TRY(check_clock(csv, at->stamp, of, reading.t_ns, err));
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
