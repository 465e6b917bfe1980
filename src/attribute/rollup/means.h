/* What is known of each kind of work, as means of rows: JM_ROW_MEANS of joulemap/report_fields.h. */
#ifndef JM_ATTRIBUTE_ROLLUP_MEANS_H
#define JM_ATTRIBUTE_ROLLUP_MEANS_H

#include "attribute/attribution.h"

enum {
#define X(kind, name, key, place, doc) JM_MEAN_##name,
    JM_ROW_MEANS(X)
#undef X
        JM_MEAN_COUNT
};

typedef struct jm__means {
    double *value[JM_MEAN_COUNT + 1]; /* [a->columns] each; C has no arrays of nothing */
} jm__means;

jm_status jm__means_find(jm__means *means, const jm__attribution *a, jm_error *err);
void jm__means_free(jm__means *means);

/* The means of a row while it is added up. */
typedef struct jm__mean_sums {
    double weighted[JM_MEAN_COUNT + 1]; /* seconds times value */
    double seconds[JM_MEAN_COUNT + 1];
} jm__mean_sums;

void jm__mean_sums_add_cells(jm__mean_sums *sums, const jm__means *means, const jm__cell *cells,
                             size_t count);
void jm__mean_sums_add(jm__mean_sums *sums, const jm__mean_sums *of);
void jm__mean_sums_give(jm_row *row, const jm__mean_sums *sums);

#endif
