/* Means by time, and what they are means of: of each kind of work, by column. */
#include "attribute/rollup/means.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* How near to its highest clock a board ran each kind of work: below 1 it was held back, by power or heat. */
static jm_status find_clock_limit_share(double *value, const jm__attribution *a, jm_error *err)
{
    (void)err;
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (part->clock_mhz == NULL || !(part->board->clock_limit_mhz > 0)) continue;
        for (size_t k = 0; k < part->work->columns.count; k++)
            value[part->first_column + k] = part->clock_mhz[k] / part->board->clock_limit_mhz;
    }
    return JM_OK;
}

/* value[a->columns], NAN where a column has none. Pieces are still there. */
static jm_status (*const find[JM_MEAN_COUNT + 1])(double *value, const jm__attribution *a, jm_error *err) = {
#define X(kind, name, key, place, doc) find_##name,
    JM_ROW_MEANS(X)
#undef X
        NULL,
};

jm_status jm__means_find(jm__means *means, const jm__attribution *a, jm_error *err)
{
    *means = (jm__means){{NULL}};
    for (int m = 0; m < JM_MEAN_COUNT; m++) {
        means->value[m] = malloc((a->columns + 1) * sizeof(double));
        if (means->value[m] == NULL) return jm__no_memory(err, "jm__means_find");
        for (size_t k = 0; k < a->columns; k++)
            means->value[m][k] = NAN;
        JM_TRY(find[m](means->value[m], a, err));
    }
    return JM_OK;
}

void jm__means_free(jm__means *means)
{
    for (int m = 0; m < JM_MEAN_COUNT; m++)
        free(means->value[m]);
    *means = (jm__means){{NULL}};
}

void jm__mean_sums_add_cells(jm__mean_sums *sums, const jm__means *means, const jm__cell *cells, size_t count)
{
    for (int m = 0; m < JM_MEAN_COUNT; m++) {
        for (size_t i = 0; i < count; i++) {
            double value = means->value[m][cells[i].column];
            if (isnan(value)) continue;
            sums->weighted[m] += cells[i].seconds * value;
            sums->seconds[m] += cells[i].seconds;
        }
    }
}

void jm__mean_sums_add(jm__mean_sums *sums, const jm__mean_sums *of)
{
    for (int m = 0; m < JM_MEAN_COUNT; m++) {
        sums->weighted[m] += of->weighted[m];
        sums->seconds[m] += of->seconds[m];
    }
}

void jm__mean_sums_give(jm_row *row, const jm__mean_sums *sums)
{
    (void)row;
    (void)sums;
#define X(kind, name, key, place, doc)                                                                       \
    row->name = sums->seconds[JM_MEAN_##name] > 0                                                            \
                    ? sums->weighted[JM_MEAN_##name] / sums->seconds[JM_MEAN_##name]                         \
                    : NAN;
    JM_ROW_MEANS(X)
#undef X
}
