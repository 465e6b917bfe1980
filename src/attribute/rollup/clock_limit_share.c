/* How near to its highest clock a board ran each kind of work: below 1 it was held back, by power or heat. */
#include "attribute/rollup/means.h"

jm_status jm__mean_clock_limit_share(double *value, const jm__attribution *a, jm_error *err)
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
