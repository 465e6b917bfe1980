/* What is in the operands: long rows of numbers on the GPU, one a kind and type, of which kernels take parts.
 * They live until the end. */
#ifndef SUITE_STOCK_H
#define SUITE_STOCK_H

#include "suite/kernel.h"
#include "suite/launch.h"
#include "suite/modules.h"

typedef struct suite_stock {
    suite_driver *driver;
    suite_modules *modules;
    double share;  /* of the length on an H100 */
    uint32_t seed; /* of the numbers */
    suite_address rows[SUITE_KIND_COUNT][SUITE_TYPE_COUNT][2];
    suite_address scratch; /* where results go that nobody reads */
    uint64_t scratch_bytes;
} suite_stock;

/* What one kernel has taken. */
typedef struct suite_taken {
    uint64_t counts[SUITE_TYPE_COUNT][2]; /* elements, of activations and of weights */
} suite_taken;

/* Elements of a row. */
uint64_t suite_stock_length(suite_type type, double share);

/* `count` elements that nobody may write into, and that do not overlap with others of `taken`. LIMIT: the row
 * is not that long. NO_MEMORY. */
jm_status suite_stock_take(suite_stock *stock, suite_taken *taken, suite_kind kind, suite_type type,
                           bool weights, uint64_t count, suite_address *address, jm_error *err);

/* At least so many bytes, to be written into; others write there too. Where it moves, what was given before
 * stays valid. */
jm_status suite_stock_scratch(suite_stock *stock, uint64_t bytes, suite_address *address, jm_error *err);

/* Memory of one kernel's own, all zeros. */
jm_status suite_stock_own(suite_stock *stock, uint64_t bytes, suite_address *address, jm_error *err);

#endif
