/* One error of their own for each, one for all of them. */
#include "attribute/fit/ties.h"

#include "base/status.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The row that speaks of a column alone; SIZE_MAX: none. */
static size_t row_of(const jm__belief *belief, size_t column)
{
    for (size_t i = 0; i < belief->rows; i++)
        if (belief->row[i * belief->columns + column] != 0) return i;
    return SIZE_MAX;
}

static jm_status believe_class(jm__belief *weakest, const jm__columns *columns, size_t class, double *shared,
                               jm_error *err)
{
    size_t own = row_of(weakest, class);
    if (own == SIZE_MAX) return JM_OK;
    memset(shared, 0, weakest->rows * sizeof *shared);
    for (size_t k = 0; k < columns->class_columns; k++) {
        size_t row = columns->split_from[k] == class ? row_of(weakest, k) : SIZE_MAX;
        if (row == SIZE_MAX) continue;
        weakest->value[row] = weakest->value[own];
        shared[row] = weakest->u[own];
        if (row != own) weakest->u[row] = columns->differs_w[k];
    }
    weakest->u[own] = columns->differs_w[class];
    return jm__belief_share(weakest, shared, err);
}

jm_status jm__ties_believe(jm__belief *weakest, const jm__columns *columns, jm_error *err)
{
    double *shared = calloc(weakest->rows + 1, sizeof *shared);
    jm_status status = shared == NULL ? jm__no_memory(err, "jm__ties_believe") : JM_OK;
    for (size_t k = 0; status == JM_OK && k < columns->class_columns; k++)
        if (columns->split_from[k] == k && columns->differs_w[k] > 0)
            status = believe_class(weakest, columns, k, shared, err);
    free(shared);
    return status;
}
