/* Recordings of days in files of a bounded size: what is older than it is worth is condensed while the run
 * goes on. Part of the writer; nothing else writes into a recording.
 *
 * The older time goes in chunks of 20 s. Of a chunk stay
 *   - energy counters, every reading: totals are what they were;
 *   - of power, for each board the mean over each second of the best sensor that saw it, as readings of a
 * sensor of its own (`power_mean`, a box of one second); of other sensors the mean over a second; of
 * throttling and limits each change;
 *   - phases, epochs, steps, batches, windows and waits for data, all marks of the program, events, losses;
 *   - kernels and layers of one traced step a minute, with the step before it, whose kernels run into it; of
 * fewer chunks where the file would be too large. Marks (format/rows/marks.h) say so as if it had been traced
 * at times: the other steps are told by those that stay. Where a process tells no steps, none of its kernels
 * and layers stay, and marks say that it was not traced. Where a row goes, its place in its table is left
 * empty or taken by what stands for it, so rows stay in the order of time. SQLite fills the pages that get
 * free with what comes next: the file grows no more. */
#ifndef JM_FORMAT_CONDENSE_H
#define JM_FORMAT_CONDENSE_H

#include "base/vec.h"
#include "format/rows/rows.h"

#include <sqlite3.h>

#define JM_CHUNK_NS (20 * JM_NS_PER_S)

/* The last rows of these tables when all that happened before t was in the file. */
typedef struct jm__milestone {
    int64_t t_ns;
    int64_t readings, spans, kernels;
} jm__milestone;

/* Rows that may be of a chunk: after `from`, up to `to`. */
typedef struct jm__chunk {
    int64_t from_ns, to_ns;
    jm__milestone from, to;
} jm__chunk;

/* What stayed of a process in a chunk. */
typedef struct jm__kept_step {
    jm__chunk chunk;
    int64_t process_id;
    int64_t warm_ns; /* from here on all is there */
    int64_t start_ns, end_ns;
} jm__kept_step;

/* What a process said of itself last, before the time that is condensed. */
typedef struct jm__level_of {
    int64_t process_id;
    int64_t said;    /* name of the mark, 0: none */
    int64_t written; /* the same in the file */
} jm__level_of;

typedef struct jm__condenser {
    bool wanted;
    int64_t keep_ns;   /* what is younger stays as it is, if the size allows it; 0: no such time */
    int64_t max_bytes; /* 0: no limit */
    JM_VEC(jm__milestone) milestones;
    JM_VEC(jm__kept_step) kept;
    JM_VEC(jm__level_of) levels;
    JM_VEC(int64_t) means;           /* by index in the writer's sensors: its board's power_mean, 0: none */
    int64_t traced, steps, untraced; /* names of the marks */
    int64_t start_ns;                /* of the first chunk, 0: none yet */
    int64_t until_ns;                /* all before is condensed */
    int64_t readings_from_ns;        /* readings of chunks that begin before stay whole */
    unsigned thinning;               /* one minute in 2 to that keeps a step */
    bool told, told_full;
} jm__condenser;

typedef struct jm__writer jm__writer;

/* After a commit, with the writer's lock held: condense what is due. SQLite's result code. */
int jm__condense(jm__writer *writer, int64_t complete_ns);
/* The writer goes on in another file (rotate.h), whose time begins then. */
void jm__condense_begin_anew(jm__writer *writer, int64_t start_ns);
void jm__condenser_free(jm__condenser *condenser);

/* condense_readings.c: within a transaction. */
int jm__condense_readings(jm__writer *writer, const jm__chunk *chunk);

/* condense_work.c: likewise. `keeps`: this chunk is one of those that keep a step. */
int jm__condense_work(jm__writer *writer, const jm__chunk *chunk, bool keeps);
/* What processes had said before then, as the file has it. */
int jm__condense_find_levels(jm__writer *writer, int64_t before_ns);
/* Without its step. */
int jm__condense_forget_step(jm__writer *writer, const jm__kept_step *kept);

/* A statement with whole numbers for its parameters, to its end. */
int jm__condense_run(sqlite3 *db, const char *sql, size_t count, const int64_t *values);

#endif
