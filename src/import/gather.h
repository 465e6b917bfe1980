/* What an import has read so far, and what its sources (a file each, JM_IMPORT_MAP) add to it. */
#ifndef JM_IMPORT_GATHER_H
#define JM_IMPORT_GATHER_H

#include "base/csv.h"
#include "base/map.h"
#include "base/vec.h"
#include "format/rows/rows.h"
#include "import/gather.h"
#include "record/sample/inventory.h"
#include <joulemap/import.h>
#include <joulemap/status.h>

/* Names of parts and kernels as numbers from 1; 0 is "". */
typedef struct jm__texts {
    JM_VEC(char *) items;
    jm__map numbers; /* by text */
} jm__texts;

/* The number of a text, given to it if it is new. LIMIT beyond a million. */
jm_status jm__texts_number(jm__texts *t, const char *text, size_t *number, jm_error *err);
const char *jm__texts_at(const jm__texts *t, size_t number);
void jm__texts_free(jm__texts *t);

/* One interval of a part: its rows stand together in the file. */
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

/* Stamps of one clock in the order of a file; first all 0. */
typedef struct jm__import_clock {
    int64_t count, first_ns, last_ns, high_ns;
    int64_t back_line, back_count; /* where it first ran backwards, and how often it did */
    double back_s;                 /* by how much all in all */
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
    JM_VEC(jm__import_board) boards; /* the first: the GPU, with the sensors of its profile */
    jm__texts parts, kernels;
    JM_VEC(size_t) phases; /* [part - 1]: the part that it is a window of; 0, or past the end: none */
    JM_VEC(jm__occurrence) occurrences;
    JM_VEC(jm__import_kernel) rows;
    JM_VEC(jm__import_stream) streams;
    JM_VEC(jm__import_clock) part_clocks; /* of segments: [part] */
    int64_t first_ns, last_ns;
} jm__import;

/* Sources: each adds the rows of its CSV file, and names the line that is wrong. */
#define X(name, option, text) jm_status jm__import_##option(jm__import *im, jm__csv *csv, jm_error *err);
JM_IMPORT_MAP(X)
#undef X

/* For sources. What they add gets its number in the recording when that is written. */
jm_status jm__import_add_board(jm__import *im, const jm_board *row, size_t *board, jm_error *err);
jm_status jm__import_add_sensor(jm__import *im, size_t board, const jm_sensor *row, jm_error *err);

/* Of which sensor a reading is, and in which column its stamp stands, in seconds. */
typedef struct jm__import_place {
    size_t board, sensor, stamp;
} jm__import_place;

/* Sorted by their stamps, the hour that came twice would lie over itself. BAD_DATA: it is a second or more
 * before the last; after the file's end, all that it ran backwards is more than rings and buses are late by.
 * `of` is whose clock it is. */
jm_status jm__import_clock_add(jm__import_clock *clock, const jm__csv *csv, size_t stamp, int64_t t_ns,
                               const char *of, jm_error *err);
jm_status jm__import_clock_end(const jm__import_clock *clock, const char *path, const char *of,
                               jm_error *err);

/* BAD_DATA: its time lies before that of the sensor's reading before it. */
jm_status jm__import_add_reading(jm__import *im, const jm__csv *csv, const jm__import_place *at, double value,
                                 jm_error *err);

/* The columns that a file of readings must have; of a log that a known program writes, what to make of it. */
jm_status jm__import_columns(const jm__csv *csv, const char *const *names, size_t count, size_t *columns,
                             jm_error *err);

/* Something was going on then. */
void jm__import_seen(jm__import *im, int64_t start_ns, int64_t end_ns);

/* Rows of one part (0: none) that follow each other are one occurrence of it. `open` is SIZE_MAX before the
 * first row of a file. */
jm_status jm__import_add_to_part(jm__import *im, size_t *open, size_t part, int64_t start_ns, int64_t end_ns,
                                 jm_error *err);

/* From now on the part is a window of that phase; then its rows in the order of files need not be its
 * intervals of time, and add none of these. */
jm_status jm__import_put_in_phase(jm__import *im, size_t part, size_t phase, jm_error *err);
size_t jm__import_phase_of(const jm__import *im, size_t part);

/* One window. */
jm_status jm__import_add_window(jm__import *im, size_t part, int64_t start_ns, int64_t end_ns, jm_error *err);

jm_status jm__import_add_kernel(jm__import *im, jm__import_kernel row, jm_error *err);

/* The index of the stream of this number, made if it is not there. */
jm_status jm__import_stream_find(jm__import *im, uint32_t number, size_t *index, jm_error *err);

/* What readings can tell only when all of a file are there. */
jm_status jm__import_check_readings(const jm__import *im, const char *path, jm_error *err);

void jm__import_free_boards(jm__import *im);

#endif
