/* A buffer twice as long as the reach: when it is full it is put in order, and its first half goes out. */
#include "attribute/work/time_order.h"

#include "base/status.h"

#include <string.h>

enum { NEAR = 16 }; /* places that an item moves up at once; farther ones wait for a sort */

void jm__time_order_begin(jm__time_order *order, jm__item_taker take, void *taker)
{
    *order = (jm__time_order){.gone_ns = INT64_MIN, .take = take, .taker = taker};
}

void jm__time_order_free(jm__time_order *order)
{
    jm__vec_free(&order->items);
}

static int by_start(const void *a, const void *b)
{
    const jm__item *left = a, *right = b;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

void jm__items_sort(jm__items *items)
{
    if (items->count > 1) qsort(items->items, items->count, sizeof *items->items, by_start);
}

static jm_status give(jm__time_order *order, size_t count, jm_error *err)
{
    if (order->unsorted) jm__items_sort(&order->items);
    order->unsorted = false;
    for (size_t i = 0; i < count; i++)
        JM_TRY(order->take(order->taker, &order->items.items[i], err));
    if (count > 0) order->gone_ns = order->items.items[count - 1].start_ns;
    order->items.count -= count;
    memmove(order->items.items, order->items.items + count, order->items.count * sizeof *order->items.items);
    return JM_OK;
}

jm_status jm__time_order_add(jm__time_order *order, const jm__item *item, bool *late, jm_error *err)
{
    if (order->items.count == 2 * JM_ORDER_REACH) JM_TRY(give(order, JM_ORDER_REACH, err));
    *late = item->start_ns < order->gone_ns; /* what has just made room counts too */
    if (*late) return JM_OK;
    if (!jm__vec_push(&order->items, *item)) return jm__no_memory(err, "jm__time_order_add");
    jm__item *items = order->items.items;
    size_t at = order->items.count - 1, least = at > NEAR ? at - NEAR : 0;
    for (; at > least && by_start(&items[at - 1], item) > 0; at--)
        items[at] = items[at - 1];
    items[at] = *item;
    order->unsorted = order->unsorted || (at > 0 && by_start(&items[at - 1], item) > 0);
    return JM_OK;
}

jm_status jm__time_order_end(jm__time_order *order, jm_error *err)
{
    return order->items.count > 0 ? give(order, order->items.count, err) : JM_OK;
}
