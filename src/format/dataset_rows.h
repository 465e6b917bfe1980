/* A dataset while it is loaded: one function per table. */
#ifndef JM_FORMAT_DATASET_ROWS_H
#define JM_FORMAT_DATASET_ROWS_H

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "format/batch.h"
#include "format/recording.h"

typedef struct jm__loading {
    JM_VEC(jm_board) boards;
    JM_VEC(jm_sensor) sensors;
    jm__readings readings;
    JM_VEC(jm__process) processes;
    JM_VEC(jm__span) spans;
    JM_VEC(jm__kernel_class) classes;
    JM_VEC(jm__stream) streams;
    JM_VEC(jm__counter_set) counter_sets;
    JM_VEC(jm__mark) marks;
    JM_VEC(jm__loss) losses;
    JM_VEC(jm__event) events;
    JM_VEC(const char *) names;
    jm__text_store texts;
    jm_span_kind kinds[2 * JM_SPAN_KIND_COUNT]; /* by id in the file */
    int64_t lost;                               /* sum of the counts of losses */
    int64_t strays;                             /* number of skipped rows, which refer to missing rows */
} jm__loading;

/* Copies a text into the dataset, "" for NULL; NULL if memory is out. */
const char *jm__loading_keep(jm__loading *loading, const char *value);

/* Within what a clock can give; an import may begin before its zero. */
static inline bool jm__time_is_plausible(int64_t t_ns)
{
    return t_ns == jm__time_bounded(t_ns);
}

/* The tables that a dataset contains and the functions that load their rows; a row refers to rows of earlier
 * tables only. */
typedef struct jm__dataset_table {
    jm__table_id table;
    jm__row_taker take;
    bool for_readings, for_spans; /* loaded with these rows alone: they are meaningless without it */
} jm__dataset_table;

extern const jm__dataset_table jm__dataset_tables[];
extern const size_t jm__dataset_table_count;

#endif
