/* Adding rows to an import; ids for names of parts and kernels. */
#include "import/gather.h"

#include "base/clock.h"
#include "base/status.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TEXTS_MAX = 1000000 }; /* as many as a recording allows: JM_NAMES_MAX */

jm_status jm__import_number(jm__text_ids *names, const char *text, size_t *number, jm_error *err)
{
    *number = 0;
    if (text[0] == '\0') return JM_OK;
    if (names->items.count >= TEXTS_MAX && jm__text_ids_find(names, text) < 0)
        return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d different names of parts or kernels",
                        TEXTS_MAX);
    *number = (size_t)(jm__text_ids_add(names, text) + 1);
    return *number > 0 ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

const char *jm__import_text(const jm__text_ids *names, size_t number)
{
    return number == 0 ? "" : names->items.items[number - 1];
}

/* ---- time, parts, kernels, streams ---- */

/* All rows stay in memory until they are written: 4.8 GB of kernels. Streams are searched linearly. */
enum { KERNELS_MAX = 100000000, STREAMS_MAX = 65536 };
_Static_assert(sizeof(jm__import_kernel) == 48, "what the limit above says");

static bool has_word(const jm__csv *csv, const char *word)
{
    for (size_t i = 0; i < jm__csv_column_count(csv); i++)
        if (strstr(jm__csv_column_name(csv, i), word) != NULL) return true;
    return false;
}

/* The program that wrote the log; NULL: unknown. */
static const char *program_of_log(const jm__csv *csv)
{
    const struct {
        const char *word, *program;
    } signatures[] = {{"power.draw", "nvidia-smi"},  {"utilization.gpu", "nvidia-smi"},
                      {"# gpu", "nvidia-smi dmon"},  {"#Entity", "dcgmi dmon"},
                      {"# Entity", "dcgmi dmon"},    {"#Time", "nvidia-smi dmon"},
                      {"#Date", "nvidia-smi dmon"},  {"#gpu", "nvidia-smi dmon"},
                      {"# HELP", "a DCGM exporter"}, {"DCGM_FI_", "a DCGM exporter"}};
    for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++)
        if (has_word(csv, signatures[i].word)) return signatures[i].program;
    return NULL;
}

jm_status jm__import_columns(const jm__csv *csv, const char *const *names, size_t count, size_t *columns,
                             jm_error *err)
{
    char all[80] = "";
    jm_status status = JM_OK;
    for (size_t i = 0; status == JM_OK && i < count; i++)
        status = jm__csv_column(csv, names[i], &columns[i], err);
    if (status == JM_OK) return JM_OK;
    for (size_t i = 0; i < count; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i > 0 ? "," : "", names[i]);
    const char *program = program_of_log(csv);
    if (program != NULL && err != NULL) {
        char text[sizeof err->text];
        snprintf(text, sizeof text, "%s", err->text);
        jm__fail(err, status, 0, NULL, "%.*s. It looks like a log of %s: convert it first",
                 (int)(sizeof text / 2), text, program);
    }
    return jm__hint(
        err, status,
        "columns are %s: t_s in seconds (`date -d STAMP +%%s.%%N`), W and J without their unit, a "
        "line for each reading%s",
        all,
        strcmp(names[0], "sensor") == 0
            ? "; sensor is power_average for power.draw, power_instant for power.draw.instant"
            : "");
}

void jm__import_extend_time(jm__import *im, int64_t start_ns, int64_t end_ns)
{
    if (start_ns < im->first_ns) im->first_ns = start_ns;
    if (end_ns > im->last_ns) im->last_ns = end_ns;
}

size_t jm__import_phase_of(const jm__import *im, size_t part)
{
    return part == 0 || part > im->phases.count ? 0 : im->phases.items[part - 1];
}

jm_status jm__import_add_window(jm__import *im, size_t part, int64_t start_ns, int64_t end_ns, jm_error *err)
{
    jm__occurrence next = {part, start_ns, end_ns, 0};
    return jm__vec_push(&im->occurrences, next) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

jm_status jm__import_add_to_part(jm__import *im, size_t *open, size_t part, int64_t start_ns, int64_t end_ns,
                                 jm_error *err)
{
    if (*open != SIZE_MAX && im->occurrences.items[*open].part == part) {
        jm__occurrence *last = &im->occurrences.items[*open];
        if (start_ns < last->start_ns) last->start_ns = start_ns;
        if (end_ns > last->end_ns) last->end_ns = end_ns;
        return JM_OK;
    }
    *open = SIZE_MAX;
    if (part == 0 || jm__import_phase_of(im, part) != 0) return JM_OK;
    JM_TRY(jm__import_add_window(im, part, start_ns, end_ns, err));
    *open = im->occurrences.count - 1;
    return JM_OK;
}

jm_status jm__import_add_kernel(jm__import *im, jm__import_kernel row, jm_error *err)
{
    if (im->rows.count >= KERNELS_MAX)
        return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d kernels", KERNELS_MAX);
    jm__import_extend_time(im, row.start_ns, row.end_ns);
    return jm__vec_push(&im->rows, row) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

jm_status jm__import_stream_find(jm__import *im, uint32_t number, size_t *index, jm_error *err)
{
    for (*index = 0; *index < im->streams.count; (*index)++)
        if (im->streams.items[*index].number == number) return JM_OK;
    jm__import_stream row = {number, 0};
    if (im->streams.count >= STREAMS_MAX)
        return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d streams", STREAMS_MAX);
    return jm__vec_push(&im->streams, row) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

/* ---- boards, their sensors and readings */

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
    bool is_added = jm__vec_push(&im->boards.items[board].sensors, next);
    return is_added ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

/* Rings and buses deliver stamps a little late. */
static const int64_t back_most_ns = JM_NS_PER_S;
static const double back_most_share = 0.01; /* of the total time */

static jm_status ran_backwards(jm_error *err)
{
    return jm__hint(err, JM_BAD_DATA,
                    "where the clock was set back (daylight saving time, NTP), give stamps of one that was "
                    "not, as UTC; where lines are out of order, sort them by time; two logs are two files");
}

jm_status jm__import_clock_add(jm__import_clock *clock, const jm__csv *csv, size_t stamp, int64_t t_ns,
                               const char *timed_sensor, jm_error *err)
{
    if (clock->count++ == 0) clock->first_ns = clock->high_ns = clock->last_ns = t_ns;
    double back_s = ((double)clock->last_ns - (double)t_ns) * 1e-9;
    if (back_s > 0 && clock->back_count++ == 0) clock->back_line = jm__csv_line(csv);
    if (back_s > 0) clock->back_s += back_s;
    clock->last_ns = t_ns;
    if (t_ns > clock->high_ns) clock->high_ns = t_ns;
    if (t_ns < clock->first_ns) clock->first_ns = t_ns;
    if (back_s < (double)back_most_ns * 1e-9) return JM_OK;
    jm__csv_bad(csv, stamp, err, "time runs backwards, by %.6g s since the line of %s before", back_s,
                timed_sensor);
    return ran_backwards(err);
}

jm_status jm__import_clock_end(const jm__import_clock *clock, const char *path, const char *timed_sensor,
                               jm_error *err)
{
    double all_s = ((double)clock->high_ns - (double)clock->first_ns) * 1e-9;
    if (clock->back_s <= back_most_share * all_s) return JM_OK;
    jm__fail(err, JM_BAD_DATA, 0, NULL,
             "%s, line %lld: time runs backwards, of %s %lld times and by %.6g s of %.6g s together", path,
             (long long)clock->back_line, timed_sensor, (long long)clock->back_count, clock->back_s, all_s);
    return ran_backwards(err);
}

jm_status jm__import_add_reading(jm__import *im, const jm__csv *csv, const jm__import_target *at,
                                 double value, jm_error *err)
{
    jm__import_sensor *timed_sensor = &im->boards.items[at->board].sensors.items[at->sensor];
    jm_reading reading = {.value = value};
    JM_TRY(jm__csv_scaled(csv, at->stamp, 9, &reading.t_ns, err));
    JM_TRY(jm__import_clock_add(&timed_sensor->clock, csv, at->stamp, reading.t_ns, timed_sensor->row.name,
                                err));
    if (timed_sensor->readings.count >= READINGS_MAX)
        return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d readings of %s", READINGS_MAX,
                        timed_sensor->row.name);
    return jm__vec_push(&timed_sensor->readings, reading) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}
