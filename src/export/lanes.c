/* The first lane of the owner in which the slice crosses no other. */
#include "export/lanes.h"

/* An owner has no more; what crosses slices in all of them goes into the last. A choice: hundreds that cross
 * are no picture. */
enum { LANES_MAX = 64 };

void jm__lanes_init(jm__lanes *lanes)
{
    *lanes = (jm__lanes){.by_key = {.key_size = 3 * sizeof(int64_t)}};
}

void jm__lanes_free(jm__lanes *lanes)
{
    for (size_t i = 0; i < lanes->items.count; i++)
        jm__vec_free(&lanes->items.items[i].open);
    jm__vec_free(&lanes->items);
    jm__map_free(&lanes->by_key);
}

static jm__lane *lane_of(jm__lanes *lanes, int64_t group, int64_t owner, int64_t number)
{
    const int64_t key[3] = {group, owner, number};
    const jm__map_value *known = jm__map_find(&lanes->by_key, key);
    if (known != NULL) return &lanes->items.items[known->id];
    const jm__lane lane = {.group = group, .owner = owner, .number = number};
    const jm__map_value at = {.id = (int64_t)lanes->items.count};
    if (!jm__map_put(&lanes->by_key, key, at) || !jm__vec_push(&lanes->items, lane)) return NULL;
    return &lanes->items.items[at.id];
}

/* Close what is over when the slice begins. Does it end before what is still open? */
static bool fits(jm__lane *lane, int64_t start_ns, int64_t end_ns)
{
    while (lane->open.count > 0 && lane->open.items[lane->open.count - 1] <= start_ns)
        lane->open.count--;
    return lane->open.count == 0 || end_ns <= lane->open.items[lane->open.count - 1];
}

size_t jm__lanes_take(jm__lanes *lanes, int64_t group, int64_t owner, int64_t start_ns, int64_t end_ns)
{
    for (int64_t number = 0;; number++) {
        jm__lane *lane = lane_of(lanes, group, owner, number);
        if (lane == NULL) return (size_t)-1;
        if (!fits(lane, start_ns, end_ns) && number + 1 < LANES_MAX) continue;
        return jm__vec_push(&lane->open, end_ns) ? (size_t)(lane - lanes->items.items) : (size_t)-1;
    }
}
