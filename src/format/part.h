/* A file that a writer writes: a recording, or one of the parts of a run that rotates. */
#ifndef JM_FORMAT_PART_H
#define JM_FORMAT_PART_H

#include "format/claim.h"
#include "format/guard.h"
#include "format/insert.h"

/* How many of the writer's numbered rows are in the file. */
typedef struct jm__named_counts {
    size_t names, boards, sensors, streams, classes, counter_sets;
} jm__named_counts;

typedef struct jm__part { /* zeroed: none */
    sqlite3 *db;
    jm__claim claim;
    const char *path; /* the claim's; NULL: in memory */
    jm__guard *guard;
    jm__inserter inserter;
    jm__named_counts written;
    int64_t checkpoint_ns; /* when the journal was last emptied into the file, 0: never */
} jm__part;

/* A new file, empty but for its tables; `path` NULL: in memory. */
jm_status jm__part_open(jm__part *part, const char *path, bool overwrite, jm_error *err);

/* Somebody reads what is in the journal, which cannot go then. Does not wait. */
bool jm__part_is_read(jm__part *part);

/* Everything into the one file, no journal beside it. */
jm_status jm__part_leave_one_file(jm__part *part, jm_error *err);

/* Leaves the file as it is. */
void jm__part_close(jm__part *part);

/* Without the file: it goes, and what it replaced is there again. */
void jm__part_discard(jm__part *part);

#endif
