/* A run in parts: each a recording that is complete in itself, the older ones removed if that is wanted.
 *
 * A cut is an instant. Some seconds before it the next part is opened, with all that it must know of the time
 * before (carried.h), and gets what is written from then on too; some seconds after it, when all that
 * happened before has come in, the part before is closed. So each part has the readings, kernels and spans
 * around its ends, by which the joules there are told, and `start_ns` and `end_ns` say which time is its own:
 * reports of all parts add up to that of the run. Until it is closed a part lacks nothing, so the next one
 * can be given up at any moment: a full disk costs the cut, and no row. */
#ifndef JM_FORMAT_ROTATE_H
#define JM_FORMAT_ROTATE_H

#include "base/clock.h"
#include "format/carried.h"
#include "format/part.h"
#include "format/part_before.h"
#include "format/writer.h"

/* So much after a cut is in the part before it: rows come in up to this much after their time, a ring a
 * second, what waits for CUPTI ten (collector_parts.h). */
#define JM_PART_AFTER_NS (15 * JM_NS_PER_S)

typedef struct jm__writer jm__writer;

/* Spans that a part has although they began and were written down before it was opened. */
typedef struct jm__adoption {
    int64_t last_span;  /* up to this number they have to be looked for */
    jm__map known;      /* by number: those that are there, or nowhere */
    sqlite3_stmt *find; /* in the part before */
} jm__adoption;

typedef struct jm__rotation {
    bool wanted;
    bool replaces;                 /* older parts go once this run comes to something */
    int64_t every_ns, bytes, keep; /* 0: not for that reason; all are kept */
    char *base;                    /* the name of all parts together */
    int64_t first, number;         /* of the first part of this run, and of the one written now */
    int64_t start_ns;              /* of the one written now, 0: not known yet */
    int64_t seen_ns, seen_bytes;   /* when its size was first looked at, and what it was */
    int64_t last_span;             /* the highest number that was written down */
    int64_t latest_ns;             /* of all stamps that were */
    jm__part next;                 /* db NULL: no cut goes on */
    int64_t next_number, cut_ns;
    jm__adoption adoption;
    jm__carried carried;
    jm_error trouble; /* why there is no further part; status JM_OK: there is, or none is due */
    jm_error told;    /* what of that was told last */
    int64_t again_ns; /* when to try once more */
    int64_t late;     /* kernels that came when the part that they began in was closed */
    jm_error lost;    /* a part that somebody removed while it was written; JM_OK: none */
    bool told_small;  /* parts become larger than asked for */
    bool told_old;    /* an older part could not be removed */
    jm__sampler_cost cost, cost_told; /* so far, and of it in older parts */
} jm__rotation;

/* With the writer's lock held, within a commit.
 *
 * A batch is in the part that is written, and will be forgotten: the next one gets it too. False: it cannot
 * be gone on with, and why. */
bool jm__rotation_put(jm__writer *writer, int64_t complete_ns, jm_error *why);
/* Rows of the batch are in the file (also when they went there in parts, on a full disk). */
void jm__rotation_saw(jm__writer *writer, const jm__batch *written);
/* Kernels come in. */
void jm__rotation_saw_kernels(jm__rotation *rotation, const jm__kernel *kernels, size_t count);
/* After a commit that worked: begin a cut that is due, end one that went on. */
void jm__rotation_go_on(jm__writer *writer, int64_t complete_ns);
/* No further part for now: what was written into it is in the part before. */
void jm__rotation_give_up(jm__writer *writer, const jm_error *why);

void jm__rotation_free(jm__rotation *rotation);

/* rotate_end.c: the part before the cut is closed, and the next one takes its place. An error leaves both
 * open. */
jm_status jm__rotation_end_cut(jm__writer *writer, jm_error *err);

void jm__adoption_end(jm__adoption *adoption);

#endif
