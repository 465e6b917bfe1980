/* On a full disk: of a batch that is too large for what is left, what fits, the readings before all that is
 * large. */
#ifndef JM_FORMAT_IN_PARTS_H
#define JM_FORMAT_IN_PARTS_H

#include "format/batch.h"
#include "format/insert.h"

/* Numbered rows that others name: they are in the file before those. */
typedef struct jm__named_rows {
    int (*insert)(void *writer); /* those that are not in the file yet; SQLite's result code */
    void (*written)(void *writer);
} jm__named_rows;

typedef struct jm__in_parts {
    sqlite3 *db;
    jm__inserter *inserter;
    jm__batch *batch;
    void *writer;
    jm__named_rows boards;                                     /* and sensors: for readings */
    jm__named_rows work;                                       /* names, classes, streams: for the rest */
    void (*rows_written)(void *writer, const jm__batch *part); /* these rows are in the file */
    bool (*has_room)(void *writer); /* for a part of the rest: what is left is not for readings alone */
} jm__in_parts;

/* Writes and takes out of the batch what fits; the rest stays. Each part goes into the file at once, so that
 * the next has its room in the journal. Not in a transaction. */
void jm__in_parts_write(const jm__in_parts *all);

#endif
