/* The inside of a writer: for writer.c and writer_commit.c. */
#ifndef JM_FORMAT_WRITER_STATE_H
#define JM_FORMAT_WRITER_STATE_H

#include "format/batch.h"
#include "format/condense.h"
#include "format/part.h"
#include "format/rotate.h"
#include "format/writer.h"
#include "record/timeline/ring.h"

#include <pthread.h>

#define JM_FLUSH_BYTES ((size_t)1 << 20) /* a batch this large goes to SQLite before the next commit */

/* Rows that are numbered here stay in memory: few, and their numbers must outlive a failed commit. */
struct jm__writer {
    jm__part part; /* the file, or its part that is written just now */
    jm__batch batch;
    jm__names names;
    JM_VEC(jm_board) boards;
    JM_VEC(jm_sensor) sensors;
    JM_VEC(jm__stream) streams;
    JM_VEC(jm__kernel_class) classes;
    JM_VEC(jm__counter_set) counter_sets; /* own their texts */
    int64_t counter_sets_copied;          /* with numbers below those of counter_sets */
    int64_t complete_ns;                  /* of the last commit that worked, 0: none */
    bool closing;                         /* the next commit sets the end mark */
    jm_status failure;                    /* of the last commit, JM_OK if it worked */
    pthread_mutex_t lock;                 /* the database, when a reader in this process shares it */
    jm_recording *recording;
    jm__condenser condenser;
    jm__rotation rotation;
};

/* What stands in every recording from its start: in a transaction. SQLite's result code. */
int jm__writer_put_first_rows(jm__part *part);

/* In a transaction: numbered rows that the part lacks, all that gathered, what was dropped, and the promise
 * (0: none). SQLite's result code. */
int jm__writer_put_gathered(jm__writer *writer, jm__part *part, int64_t complete_ns);

/* They stand in the part. */
void jm__writer_named_are_written(const jm__writer *writer, jm__part *part);

#endif
