/* How the rows of a recording travel: one array of columns a table (tables.c), and nothing else knows them.
 *
 * From it follow CREATE TABLE, INSERT and SELECT, the way from a struct into SQLite and back
 * (format/row.h), and what a row of a damaged file must look like (format/recover.c). A new column is
 * one line in tables.c, a field of its struct and a line in docs/file-format.md. */
#ifndef JM_FORMAT_ROWS_TABLE_H
#define JM_FORMAT_ROWS_TABLE_H

#include "base/strbuf.h"
#include "format/rows/rows.h"

#define JM_RECORDING_APPLICATION_ID 0x4a4d4150 /* 'JMAP' */
#define JM_RECORDING_VERSION        7          /* PRAGMA user_version: goes up with every new column */

/* Constant, table, struct of a row, the version of the format that brought it. In this order a row names
 * rows of earlier tables alone. */
#define JM_TABLE_MAP(X)                                                                                      \
    X(META, meta, jm__meta, 1)                                                                               \
    X(BOARDS, boards, jm_board, 1)                                                                           \
    X(SENSORS, sensors, jm_sensor, 1)                                                                        \
    X(NAMES, names, jm__name, 1)                                                                             \
    X(SPAN_KINDS, span_kinds, jm__span_kind_row, 1)                                                          \
    X(PROCESSES, processes, jm__process, 1)                                                                  \
    X(SPANS, spans, jm__span, 1)                                                                             \
    X(KERNEL_CLASSES, kernel_classes, jm__kernel_class, 1)                                                   \
    X(STREAMS, streams, jm__stream, 1)                                                                       \
    X(READINGS, readings, jm_reading, 1)                                                                     \
    X(KERNELS, kernels, jm__kernel, 1)                                                                       \
    X(MARKS, marks, jm__mark, 1)                                                                             \
    X(LOSSES, losses, jm__loss, 1)                                                                           \
    X(EVENTS, events, jm__event, 1)                                                                          \
    X(ANCHORS, anchors, jm__anchor, 1)                                                                       \
    X(COUNTER_SETS, counter_sets, jm__counter_set, 2)                                                        \
    X(COUNTER_BLOCKS, counter_blocks, jm__counter_block, 2)

typedef enum jm__table_id {
#define X(constant, name, row, since) JM_TABLE_##constant,
    JM_TABLE_MAP(X)
#undef X
        JM_TABLE_COUNT
} jm__table_id;

/* Room for a row of any table. */
typedef union jm__any_row {
#define X(constant, name, row, since) row name;
    JM_TABLE_MAP(X)
#undef X
} jm__any_row;

/* A value in memory, and what it is in the file. */
typedef enum jm__column_kind {
    JM_COLUMN_ROW_ID, /* int64_t, from 1: SQLite's number of the row */
    JM_COLUMN_INT64,  /* these four: integers */
    JM_COLUMN_INT32,
    JM_COLUMN_UINT32,
    JM_COLUMN_BOOL,
    JM_COLUMN_REAL,   /* double */
    JM_COLUMN_CHARS,  /* char[size] */
    JM_COLUMN_TEXT,   /* const char * */
    JM_COLUMN_WORD,   /* an enum, in the file its word; one that is not known reads as `word_count` */
    JM_COLUMN_TOLD,   /* a word that follows from another column: written for people, never read */
    JM_COLUMN_AFTER,  /* int64_t, in the file its distance after the time at `base` */
    JM_COLUMN_BEFORE, /* int64_t, in the file its distance before the time at `base` */
    JM_COLUMN_BLOB,   /* jm__bytes */
    JM_COLUMN_NUMBER, /* jm_payload, whose jm_payload_kind is at `base`: an integer, a real, or, of a natural
                         beyond 63 bits, its digits as text; NULL: JM_PAYLOAD_NONE */
    JM_COLUMN_GONE    /* of older versions alone: nothing in memory */
} jm__column_kind;

typedef struct jm__column {
    const char *name;
    bool required;   /* NOT NULL */
    bool is_key;     /* PRIMARY KEY that is not the row's number: a row of the same key takes its place */
    bool is_updated; /* a row of the same number takes the place of the older one */
    jm__column_kind kind;
    size_t offset;  /* in the struct */
    size_t size;    /* CHARS: of the array */
    size_t base;    /* AFTER, BEFORE: offset of the time that it counts from; NUMBER: of its kind */
    double missing; /* what a number is in memory while it is NULL in the file */
    const char *const *words;
    size_t word_count;
    int since;           /* version of the format that brought it, 0: the table's */
    int until;           /* the last version that has it, 0: this one */
    const char *instead; /* what is read from files older than `since` */
} jm__column;

typedef struct jm__table {
    const char *name;
    const jm__column *columns;
    size_t column_count;
    int since;
} jm__table;

extern const jm__table jm__tables[JM_TABLE_COUNT];

/* Is it a column of that version? */
static inline bool jm__column_in(const jm__column *column, int version)
{
    return column->since <= version && (column->until == 0 || version <= column->until);
}

/* Most columns that a table has in any version. */
#define JM_COLUMNS_MAX 32

/* What SQLite is told about a table, as text. `version`: of the format. */

/* CREATE TABLE as that version had it; nothing if it had none. */
void jm__table_sql_create(jm__strbuf *sql, const jm__table *table, int version);

/* Columns of that version in their order, as parameters from 1. `or`: what becomes of a row whose number or
 * key is taken, NULL: as the columns say. */
void jm__table_sql_insert(jm__strbuf *sql, const jm__table *table, int version, const char * or);

/* "SELECT ... FROM ...": all columns of this version, in their order, out of a file of that one. */
void jm__table_sql_select(jm__strbuf *sql, const jm__table *table, int version);

#endif
