/* What a new part of a recording must know of the time before it: kept while rows pass, in memory.
 *
 * Facts of the run, processes, spans that are open, events that still hold, and of joulemap's own marks those
 * by which later rows are read (format/rows/marks.h): what a process traces, which requests are open, who is
 * in the batch of each thread. Numbered rows (names, boards, ...) the writer has itself. */
#ifndef JM_FORMAT_CARRIED_H
#define JM_FORMAT_CARRIED_H

#include "base/map.h"
#include "base/vec.h"
#include "format/batch.h"
#include "format/insert.h"

/* A mark that holds until another one takes its place. */
typedef struct jm__carried_mark {
    jm__mark mark;  /* owns its meta */
    int64_t key[2]; /* in the map that leads to it */
} jm__carried_mark;

typedef struct jm__carried_marks {
    JM_VEC(jm__carried_mark) items;
    jm__map at; /* by key: index */
} jm__carried_marks;

/* What a thread has said of its batch since it last said all of it. */
typedef struct jm__carried_batch {
    int64_t process_id;
    JM_VEC(jm__mark) marks; /* own their meta */
} jm__carried_batch;

/* Numbers of the names of marks. */
typedef struct jm__carried_names {
    int64_t traced, steps, untraced, ended, graphs, request, request_ended, batch;
} jm__carried_names;

typedef struct jm__carried {
    JM_VEC(jm__meta) facts;        /* own their texts */
    JM_VEC(jm__process) processes; /* by id; own their texts */
    JM_VEC(jm__event) events;      /* those that hold */
    JM_VEC(jm__span) open;         /* by id: written down and not ended */
    size_t ended;                  /* of `open`: these have ended since and only take their place */
    jm__map dead;                  /* processes: what they leave open does not go on */
    jm__anchor anchor;             /* the last, 0: none */
    jm__carried_names names;
    jm__carried_marks levels;   /* (process, 0) */
    jm__carried_marks once;     /* (process, name) */
    jm__carried_marks requests; /* (process, number) */
    jm__map batch_of;           /* (process, thread): index in `batches` */
    JM_VEC(jm__carried_batch) batches;
    bool failed; /* there was no memory: something is missing here */
} jm__carried;

/* Rows as they pass. Facts that are of a part alone are none of the run. */
void jm__carried_fact(jm__carried *carried, const char *key, const char *value);
void jm__carried_process(jm__carried *carried, const jm__process *process);
void jm__carried_event(jm__carried *carried, const jm__event *event);
void jm__carried_mark_passed(jm__carried *carried, const jm__mark *mark, const char *name);

/* From here on: what it leaves open does not go on. */
void jm__carried_process_ended(jm__carried *carried, int64_t process_id);

/* Spans, once they are in the file. */
void jm__carried_spans(jm__carried *carried, const jm__batch *written);

/* All of it into a part. SQLite's result code. Of processes that are dead by now the next has the numbers. */
int jm__carried_put(jm__carried *carried, jm__inserter *inserter);

void jm__carried_free(jm__carried *carried);

/* ---- carried_marks.c */

int jm__carried_put_marks(const jm__carried *carried, jm__inserter *inserter);
void jm__carried_free_marks(jm__carried *carried);

#endif
