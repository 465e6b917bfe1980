/* The data that an import has read so far, and how its sources (one per CSV file, JM_IMPORT_MAP) add to
 * it. */
#ifndef JM_IMPORT_GATHER_H
#define JM_IMPORT_GATHER_H

#include "base/csv.h"
#include "base/text_ids.h"
#include "base/vec.h"
#include "format/rows/rows.h"
#include "import/gather.h"
#include "record/sample/inventory.h"
#include <joulemap/import.h>
#include <joulemap/status.h>

/* The number of a name of a part or kernel, from 1; 0 is "". A new one if necessary; LIMIT beyond a million.
 */
jm_status jm__import_number(jm__text_ids *names, const char *text, size_t *number, jm_error *err);
const char *jm__import_text(const jm__text_ids *names, size_t number);

/* One interval of a part, from consecutive rows of a file. */
typedef struct jm__occurrence {
    size_t part;
    int64_t start_ns, end_ns;
    int64_t span_id;
} jm__occurrence;

typedef struct jm__import_kernel {
    int64_t start_ns, end_ns, calls;
    size_t name, part, stream;
} jm__import_kernel;

typedef struct jm__import_stream {
    uint32_t number;
    int64_t id;
} jm__import_stream;

/* Stamps of one clock in file order; zero-initialise. */
typedef struct jm__import_clock {
    int64_t count, first_ns, last_ns, high_ns;
    int64_t back_line, back_count; /* where time first ran backwards, and how often */
    double back_s;                 /* in total */
} jm__import_clock;

typedef struct jm__import_sensor {
    jm_sensor row;
    JM_VEC(jm_reading) readings;
    jm__import_clock clock;
} jm__import_sensor;

typedef struct jm__import_board {
    jm_board row;
    JM_VEC(jm__import_sensor) sensors;
} jm__import_board;

typedef struct jm__import {
    jm_import_options options;
    jm__profile profile;
    JM_VEC(jm__import_board) boards; /* the first is the GPU, with the sensors of its profile */
    jm__text_ids parts, kernels;
    JM_VEC(size_t) phases; /* [part - 1]: the part that it is a window of; 0 or out of range: none */
    JM_VEC(jm__occurrence) occurrences;
    JM_VEC(jm__import_kernel) rows;
    JM_VEC(jm__import_stream) streams;
    JM_VEC(jm__import_clock) part_clocks; /* [part], for segments */
    int64_t first_ns, last_ns;
} jm__import;

/* Sources: each adds the rows of its CSV file; errors name the line. */
#define X(name, option, text) jm_status jm__import_##option(jm__import *im, jm__csv *csv, jm_error *err);
JM_IMPORT_MAP(X)
#undef X

/* For sources. Row ids are assigned when the recording is written. */
jm_status jm__import_add_board(jm__import *im, const jm_board *row, size_t *board, jm_error *err);
jm_status jm__import_add_sensor(jm__import *im, size_t board, const jm_sensor *row, jm_error *err);

/* The sensor of a reading, and the column of its stamp in seconds. */
typedef struct jm__import_target {
    size_t board, sensor, stamp;
} jm__import_target;

/* Checks that time does not run backwards: after sorting, an hour that occurs twice would overlap itself.
 * _add: BAD_DATA if a stamp is a second or more before the previous one. _end: BAD_DATA if the clock ran
 * backwards for more than 1 % of the time in total, which is more than late rings and buses explain. `of`
 * names the clock. */
jm_status jm__import_clock_add(jm__import_clock *clock, const jm__csv *csv, size_t stamp, int64_t t_ns,
                               const char *of, jm_error *err);
jm_status jm__import_clock_end(const jm__import_clock *clock, const char *path, const char *of,
                               jm_error *err);

/* BAD_DATA if time runs backwards (jm__import_clock_add). */
jm_status jm__import_add_reading(jm__import *im, const jm__csv *csv, const jm__import_target *at,
                                 double value, jm_error *err);

/* Finds the required columns. The error for the log of a known program says how to convert it. */
jm_status jm__import_columns(const jm__csv *csv, const char *const *names, size_t count, size_t *columns,
                             jm_error *err);

/* Extends the time of the recording. */
void jm__import_extend_time(jm__import *im, int64_t start_ns, int64_t end_ns);

/* Adds a row to a part (0: none): consecutive rows of a part are one occurrence. `open` is SIZE_MAX before
 * the first row of a file. */
jm_status jm__import_add_to_part(jm__import *im, size_t *open, size_t part, int64_t start_ns, int64_t end_ns,
                                 jm_error *err);

/* The phase that the part is a window of; 0: none. jm__import_add_to_part adds no intervals to a window. */
size_t jm__import_phase_of(const jm__import *im, size_t part);

/* Adds one interval. */
jm_status jm__import_add_window(jm__import *im, size_t part, int64_t start_ns, int64_t end_ns, jm_error *err);

jm_status jm__import_add_kernel(jm__import *im, jm__import_kernel row, jm_error *err);

/* The index of the stream with this number, which is added if it is new. */
jm_status jm__import_stream_find(jm__import *im, uint32_t number, size_t *index, jm_error *err);

#endif
