/* The inside of a writer: for writer.c and writer_commit.c. */
#ifndef JM_RECORDING_WRITER_STATE_H
#define JM_RECORDING_WRITER_STATE_H

#include "recording/batch.h"
#include "recording/claim.h"
#include "recording/condense.h"
#include "recording/guard.h"
#include "recording/insert.h"
#include "recording/writer.h"
#include "timeline/names.h"

#include <pthread.h>

#define JM_FLUSH_BYTES ((size_t)1 << 20) /* a batch this large goes to SQLite before the next commit */

/* Rows that are numbered here stay in memory: few, and their numbers must outlive a failed commit. */
struct jm__writer {
    sqlite3 *db;
    jm__claim claim;
    char *path; /* the claim's; NULL: in memory */
    jm__guard *guard;
    jm__inserter inserter;
    jm__batch batch;
    jm__names names;
    JM_VEC(jm_board) boards;
    JM_VEC(jm_sensor) sensors;
    JM_VEC(jm__stream) streams;
    JM_VEC(jm__kernel_class) classes;
    JM_VEC(jm__counter_set) counter_sets; /* own their texts */
    size_t names_written, boards_written, sensors_written, streams_written, classes_written,
        counter_sets_written;
    int64_t counter_sets_copied; /* with numbers below those of counter_sets */
    int64_t checkpoint_ns;       /* when the journal was last emptied into the file, 0: never */
    int64_t complete_ns;         /* of the last commit that worked, 0: none */
    bool closing;                /* the next commit sets the end mark */
    jm_status failure;           /* of the last commit, JM_OK if it worked */
    pthread_mutex_t lock;        /* the database, when a reader in this process shares it */
    jm_recording *recording;
    jm__condenser condenser;
};

#endif
