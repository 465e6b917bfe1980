/* The schema of a recording: one array of columns per table (tables.c), and no other source.
 *
 * CREATE TABLE, INSERT and SELECT, the conversion between structs and SQLite (format/row.h), and how rows of
 * a damaged file are recognised (format/recover.c) all follow from it. A new column is one line in tables.c,
 * a field of its struct and a line in docs/file-format.md. */
#ifndef JM_FORMAT_ROWS_TABLE_H
#define JM_FORMAT_ROWS_TABLE_H

#include "base/strbuf.h"
#include "format/rows/rows.h"

#define JM_RECORDING_APPLICATION_ID 0x4a4d4150 /* 'JMAP' */
#define JM_RECORDING_VERSION        7          /* PRAGMA user_version; incremented with every new column */

/* Constant, table, struct of a row, the format version that added it. A row refers to rows of earlier tables
 * only. */
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

/* The type of a value in memory and in the file. */
typedef enum jm__column_kind {
    JM_COLUMN_ROW_ID, /* int64_t, from 1: SQLite's rowid */
    JM_COLUMN_INT64,  /* these four are integers in the file */
    JM_COLUMN_INT32,
    JM_COLUMN_UINT32,
    JM_COLUMN_BOOL,
    JM_COLUMN_REAL,    /* double */
    JM_COLUMN_CHARS,   /* char[size] */
    JM_COLUMN_TEXT,    /* const char * */
    JM_COLUMN_WORD,    /* an enum, stored as a word; an unknown word reads as `word_count` */
    JM_COLUMN_DERIVED, /* a word that follows from another column: written for people, never read */
    JM_COLUMN_AFTER,   /* int64_t, stored as the distance after the time at `base` */
    JM_COLUMN_BEFORE,  /* int64_t, stored as the distance before the time at `base` */
    JM_COLUMN_BLOB,    /* jm__bytes */
    JM_COLUMN_NUMBER,  /* jm_payload, with its jm_payload_kind at `base`: an integer, a real, or the digits of
                          a natural above 63 bits as text; NULL: JM_PAYLOAD_NONE */
    JM_COLUMN_GONE     /* only in older versions: nothing in memory */
} jm__column_kind;

typedef struct jm__column {
    const char *name;
    bool required;   /* NOT NULL */
    bool is_key;     /* PRIMARY KEY other than the rowid: a row of the same key replaces the older one */
    bool is_updated; /* a row with the same rowid replaces the older one */
    jm__column_kind kind;
    size_t offset;  /* in the struct */
    size_t size;    /* CHARS: array size */
    size_t base;    /* AFTER, BEFORE: offset of the time that it counts from; NUMBER: of the payload kind */
    double missing; /* the value in memory for NULL in the file */
    const char *const *words;
    size_t word_count;
    int since;           /* the format version that added it, 0: with the table */
    int until;           /* the last version that has it, 0: it still exists */
    const char *instead; /* the SQL expression for files older than `since` */
} jm__column;

typedef struct jm__table {
    const char *name;
    const jm__column *columns;
    size_t column_count;
    size_t row_size; /* of the struct */
    int since;
} jm__table;

extern const jm__table jm__tables[JM_TABLE_COUNT];

/* Has that version the column? */
static inline bool jm__column_in(const jm__column *column, int version)
{
    return column->since <= version && (column->until == 0 || version <= column->until);
}

/* The most columns of a table in any version. */
#define JM_COLUMNS_MAX 32

/* The SQL of a table. `version` is the format version. */

/* CREATE TABLE as of that version; nothing if the table is newer. */
void jm__table_sql_create(jm__strbuf *sql, const jm__table *table, int version);

/* INSERT with the columns of that version as parameters from 1. `or`: the conflict resolution ("IGNORE");
 * NULL: as the columns define it. */
void jm__table_sql_insert(jm__strbuf *sql, const jm__table *table, int version, const char * or);

/* "SELECT ... FROM ...": all columns of this version, in order, from a file of `version`. */
void jm__table_sql_select(jm__strbuf *sql, const jm__table *table, int version);

#endif
