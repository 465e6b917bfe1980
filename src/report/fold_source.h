/* Rows that may be folded: a report's, or a diff's. */
#ifndef JM_REPORT_FOLD_SOURCE_H
#define JM_REPORT_FOLD_SOURCE_H

#include <joulemap/report.h>

/* Parents stand before their children. */
typedef struct jm__fold_source {
    void *context;
    size_t count;
    const jm_row *(*row)(void *context, size_t row);
    bool (*equal)(void *context, size_t row,
                  size_t usual); /* of two that look alike: is `row` as the usual one? */
} jm__fold_source;

static inline const jm_row *jm__fold_row(const jm__fold_source *source, size_t row)
{
    return source->row(source->context, row);
}

#endif
