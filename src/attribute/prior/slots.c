/* The ratio in every window, in order of size. */
#include "attribute/prior/slots.h"

#include "base/order.h"
#include "base/status.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>

typedef struct ratios {
    const jm__windows *within;
    JM_VEC(double) items;
} ratios;

static jm_status take(void *taker, const jm__rate_window *window, jm_error *err)
{
    ratios *r = taker;
    double ratio = window->slot_mhz / window->clock_mhz;
    bool told = isfinite(ratio) && (r->within == NULL || jm__windows_hold(r->within, window->start_ns));
    return !told || jm__vec_push(&r->items, ratio) ? JM_OK : jm__no_memory(err, "jm__slots_find");
}

jm_status jm__slots_find(double *slots, const jm__dataset *dataset, int64_t board_id,
                         const jm__rate_choice *choice, const jm__windows *within, double quantile,
                         jm_error *err)
{
    ratios r = {.within = within};
    jm_status status = jm__rates_each(dataset, board_id, choice, take, &r, err);
    *slots = 0;
    if (status == JM_OK && r.items.count > 0) {
        qsort(r.items.items, r.items.count, sizeof *r.items.items, jm__compare_doubles);
        *slots = r.items.items[(size_t)(quantile * (double)(r.items.count - 1))];
    }
    jm__vec_free(&r.items);
    return status;
}
