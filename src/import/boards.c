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
static const double back_most_share = 0.01; /* of all the time */

static jm_status ran_backwards(jm_error *err)
{
    return jm__hint(err, JM_BAD_DATA,
                    "where the clock was set back (daylight saving time, NTP), give stamps of one that was "
                    "not, as UTC; where lines are out of order, sort them by time; two logs are two files");
}

jm_status jm__import_clock_add(jm__import_clock *clock, const jm__csv *csv, size_t stamp, int64_t t_ns,
                               const char *of, jm_error *err)
{
    if (clock->count++ == 0) clock->first_ns = clock->high_ns = clock->last_ns = t_ns;
    double back_s = ((double)clock->last_ns - (double)t_ns) * 1e-9;
    if (back_s > 0 && clock->back_count++ == 0) clock->back_line = jm__csv_line(csv);
    if (back_s > 0) clock->back_s += back_s;
    clock->last_ns = t_ns;
    if (t_ns > clock->high_ns) clock->high_ns = t_ns;
    if (t_ns < clock->first_ns) clock->first_ns = t_ns;
    if (back_s < (double)back_most_ns * 1e-9) return JM_OK;
    jm__csv_bad(csv, stamp, err, "time runs backwards, by %.6g s since the line of %s before", back_s, of);
    return ran_backwards(err);
}

jm_status jm__import_clock_end(const jm__import_clock *clock, const char *path, const char *of, jm_error *err)
{
    double all_s = ((double)clock->high_ns - (double)clock->first_ns) * 1e-9;
    if (clock->back_s <= back_most_share * all_s) return JM_OK;
    jm__fail(err, JM_BAD_DATA, 0, NULL,
             "%s, line %lld: time runs backwards, of %s %lld times and by %.6g s of %.6g s together", path,
             (long long)clock->back_line, of, (long long)clock->back_count, clock->back_s, all_s);
    return ran_backwards(err);
}

jm_status jm__import_add_reading(jm__import *im, const jm__csv *csv, const jm__import_place *at, double value,
                                 jm_error *err)
{
    jm__import_sensor *of = &im->boards.items[at->board].sensors.items[at->sensor];
    jm_reading reading = {.value = value};
    JM_TRY(jm__csv_scaled(csv, at->stamp, 9, &reading.t_ns, err));
    JM_TRY(jm__import_clock_add(&of->clock, csv, at->stamp, reading.t_ns, of->row.name, err));
    if (of->readings.count >= READINGS_MAX)
        return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d readings of %s", READINGS_MAX, of->row.name);
    return jm__vec_push(&of->readings, reading) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

/* Of one sensor there is one value at a time. Whole seconds may have been rounded: a few of them are let be.
 */
static jm_status check_sensor(const jm__import_sensor *sensor, bool meter, const char *path, jm_error *err)
{
    static const double same_most_share = 0.01;
    const jm_reading *r = sensor->readings.items;
    size_t same = 0, first = 0;
    for (size_t i = 1; i < sensor->readings.count; i++)
        if (r[i].t_ns == r[i - 1].t_ns && r[i].value != r[i - 1].value && same++ == 0) first = i;
    if ((double)same <= same_most_share * (double)sensor->readings.count) return JM_OK;
    jm__fail(err, JM_BAD_DATA, 0, NULL,
             "%s: %s is %g and %g at one time, %.9f s, and at %zu times all in all: two %s in one log?", path,
             sensor->row.name, r[first - 1].value, r[first].value, (double)r[first].t_ns * 1e-9, same,
             meter ? "meters" : "GPUs");
    return jm__hint(err, JM_BAD_DATA, "%s; if it is one, give stamps with more digits",
                    meter ? "a column named meter tells them apart"
                          : "give each a file of its own (nvidia-smi's column index tells them apart)");
}

jm_status jm__import_check_readings(const jm__import *im, const char *path, jm_error *err)
{
    for (size_t b = 0; b < im->boards.count; b++) {
        const jm__import_board *board = &im->boards.items[b];
        for (size_t i = 0; i < board->sensors.count; i++) {
            const jm__import_sensor *sensor = &board->sensors.items[i];
            JM_TRY(jm__import_clock_end(&sensor->clock, path, sensor->row.name, err));
            JM_TRY(check_sensor(sensor, board->row.upstream, path, err));
        }
    }
    return JM_OK;
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
