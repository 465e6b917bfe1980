/* A meter outside the GPU, at the wall or on a supply line: t_s,power_w[,meter]. Each meter is a board of its
 * own, upstream of the others: it also measures their power. */
#include "base/status.h"
#include "import/gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METERS_MAX = 16 }; /* reports distinguish at most 63 boards */

static jm_status add_meter(jm__import *im, const char *name, size_t *board, jm_error *err)
{
    jm_board row = jm__board_blank;
    row.upstream = true;
    snprintf(row.backend, sizeof row.backend, "meter");
    snprintf(row.name, sizeof row.name, "%s", name);
    JM_TRY(jm__import_add_board(im, &row, board, err));
    const jm_sensor sensor = {
        .name = "meter_power", .quantity = JM_QUANTITY_POWER, .response = JM_RESPONSE_INSTANT};
    return jm__import_add_sensor(im, *board, &sensor, err);
}

/* The board of this meter, from `first` on; added if it is new. */
static jm_status find_meter(jm__import *im, size_t first, const char *name, size_t *board, jm_error *err)
{
    for (*board = first; *board < im->boards.count; ++*board)
        if (strcmp(im->boards.items[*board].row.name, name) == 0) return JM_OK;
    if (im->boards.count - first == METERS_MAX)
        return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d meters", METERS_MAX);
    return add_meter(im, name, board, err);
}

static int by_size(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* The median step between stamps. The file does not state the period, and gaps are found by it. */
static jm_status find_period(jm__import_sensor *sensor, jm_error *err)
{
    size_t count = sensor->readings.count;
    if (count < 2) return JM_OK;
    int64_t *steps = calloc(count - 1, sizeof *steps);
    if (steps == NULL) return jm__no_memory(err, "jm_recording_import");
    for (size_t i = 1; i < count; i++)
        if (__builtin_sub_overflow(sensor->readings.items[i].t_ns, sensor->readings.items[i - 1].t_ns,
                                   &steps[i - 1]))
            steps[i - 1] = 0;
    qsort(steps, count - 1, sizeof *steps, by_size);
    if (steps[(count - 1) / 2] > 0) sensor->row.period_ns = steps[(count - 1) / 2];
    free(steps);
    return JM_OK;
}

jm_status jm__import_meter(jm__import *im, jm__csv *csv, jm_error *err)
{
    /* A meter often runs longer than the program, so it determines the time of the recording only if nothing
     * else does. */
    bool alone = im->last_ns < im->first_ns;
    static const char *const names[] = {"t_s", "power_w"};
    size_t column[2], name = jm__csv_find(csv, "meter"), first = im->boards.count;
    JM_TRY(jm__import_columns(csv, names, 2, column, err));
    for (;;) {
        bool more;
        double power_w;
        jm__import_target at = {.stamp = column[0]};
        JM_TRY(jm__csv_next(csv, &more, err));
        if (!more) break;
        if (jm__csv_missing(csv, column[1])) continue; /* a gap */
        JM_TRY(jm__csv_number(csv, column[1], &power_w, err));
        const char *text = jm__csv_text(csv, name);
        if (strlen(text) >= JM_BOARD_TEXT)
            return jm__csv_bad(csv, name, err, "a meter's name has at most %d bytes", JM_BOARD_TEXT - 1);
        JM_TRY(find_meter(im, first, text[0] != '\0' ? text : "meter", &at.board, err));
        JM_TRY(jm__import_add_reading(im, csv, &at, power_w, err));
    }
    for (size_t b = first; b < im->boards.count; b++) {
        jm__import_sensor *sensor = &im->boards.items[b].sensors.items[0];
        for (size_t i = 0; alone && i < sensor->readings.count; i++)
            jm__import_extend_time(im, sensor->readings.items[i].t_ns, sensor->readings.items[i].t_ns);
        JM_TRY(find_period(sensor, err));
    }
    return JM_OK;
}
