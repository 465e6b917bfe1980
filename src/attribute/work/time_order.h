/* Items that come nearly in order of time go out in order. */
#ifndef JM_ATTRIBUTE_WORK_TIME_ORDER_H
#define JM_ATTRIBUTE_WORK_TIME_ORDER_H

#include "attribute/work/classes.h"

enum { JM_ORDER_REACH = 32768 }; /* items that may come before one that began earlier */

typedef jm_status (*jm__item_taker)(void *taker, const jm__item *item, jm_error *err);

typedef struct jm__time_order {
    jm__items items; /* waiting */
    bool unsorted;
    int64_t gone_ns; /* start of the last one that went out */
    jm__item_taker take;
    void *taker;
} jm__time_order;

void jm__time_order_begin(jm__time_order *order, jm__item_taker take, void *taker);
void jm__time_order_free(jm__time_order *order);

/* Sets `*late` and takes nothing if the item began before one that has gone out. */
jm_status jm__time_order_add(jm__time_order *order, const jm__item *item, bool *late, jm_error *err);

/* All that wait go out. */
jm_status jm__time_order_end(jm__time_order *order, jm_error *err);

/* Sort by start, then by end. */
void jm__items_sort(jm__items *items);

#endif
