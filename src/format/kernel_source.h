/* Where the kernels of a dataset come from. They are many: they pass by, and nobody holds them all. */
#ifndef JM_FORMAT_KERNEL_SOURCE_H
#define JM_FORMAT_KERNEL_SOURCE_H

#include "format/rows/rows.h"
#include <joulemap/recording.h>
#include <sqlite3.h>
#include <sys/types.h>

/* What attribution needs of a kernel: how many bytes it moved stays in the file. */
typedef struct jm__kernel_run {
    int64_t start_ns;
    int64_t end_ns;
    int64_t class_id;
    int64_t stream_id;
    int64_t span_id;   /* innermost span of the thread that launched it, 0: none */
    int64_t launch_ns; /* when the API call that launched it began, -1: unknown */
    int64_t calls;     /* how many launches this row stands for, from 1 */
} jm__kernel_run;

/* Takes one; what is not JM_OK ends the pass and is what the pass returns. */
typedef jm_status (*jm__kernel_taker)(void *taker, const jm__kernel_run *kernel, jm_error *err);

/* Each pass gives the same kernels. `by_time`: sorted by start, which may cost a sort on disk; else as they
 * were written, which is nearly by time. BAD_DATA: the file is damaged. */
typedef struct jm__kernel_source {
    jm_status (*each)(void *context, bool by_time, jm__kernel_taker take, void *taker, jm_error *err);
    void *context;
} jm__kernel_source;

/* The kernels of a recording up to a row: what is written later is none of the dataset's. */
typedef struct jm__kernel_table {
    jm_recording *recording;
    int64_t last_row;
    dev_t device; /* of the file: another of its name is another recording */
    ino_t inode;
    size_t class_count;
    size_t stream_count;
    int64_t strays; /* of the last pass: rows left out, since they name a row that is not there */
} jm__kernel_table;

/* `db`: of the reading in which the rest of the dataset is read. Sets last_row. */
jm_status jm__kernel_table_begin(jm__kernel_table *table, sqlite3 *db, jm_error *err);

/* As a kernel source does. Notes strays as damage of the recording. */
jm_status jm__kernel_table_each(jm__kernel_table *table, bool by_time, jm__kernel_taker take, void *taker,
                                jm_error *err);

/* From the first start to the last end; `*earliest_ns` INT64_MAX if there is no kernel. A pass of its own. */
jm_status jm__kernels_bounds(const jm__kernel_source *source, int64_t *earliest_ns, int64_t *latest_ns,
                             jm_error *err);

#endif
