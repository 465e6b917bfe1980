/* Sets of intervals of time. */
#include "attribute/input/window.h"

#include "base/order.h"
#include "base/search.h"

#include <stdlib.h>

/* Does it begin in the last one, or where that ends? */
static bool goes_on(const jm__intervals *windows, int64_t from_ns)
{
    if (windows->count == 0) return false;
    const jm__interval *last = &windows->items[windows->count - 1];
    return from_ns >= last->from_ns && from_ns <= last->to_ns;
}

bool jm__intervals_add(jm__intervals *windows, int64_t from_ns, int64_t to_ns)
{
    if (to_ns <= from_ns) return true;
    jm__interval window = {from_ns, to_ns};
    if (!goes_on(windows, from_ns)) return jm__vec_push(windows, window);
    jm__interval *last = &windows->items[windows->count - 1];
    if (to_ns > last->to_ns) last->to_ns = to_ns;
    return true;
}

bool jm__intervals_add_all(jm__intervals *windows, const jm__intervals *others)
{
    bool fine = true;
    for (size_t i = 0; fine && i < others->count; i++)
        fine = jm__intervals_add(windows, others->items[i].from_ns, others->items[i].to_ns);
    return fine;
}

static int by_start(const void *a, const void *b)
{
    const jm__interval *left = a, *right = b;
    return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

void jm__intervals_normalise(jm__intervals *windows)
{
    if (windows->count < 2) return;
    jm__sort(windows->items, windows->count, sizeof *windows->items, by_start);
    size_t last = 0;
    for (size_t i = 1; i < windows->count; i++) {
        jm__interval next = windows->items[i];
        if (next.from_ns <= windows->items[last].to_ns) {
            if (next.to_ns > windows->items[last].to_ns) windows->items[last].to_ns = next.to_ns;
        } else {
            windows->items[++last] = next;
        }
    }
    windows->count = last + 1;
}

void jm__intervals_clip(jm__intervals *windows, int64_t from_ns, int64_t to_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < windows->count; i++) {
        jm__interval window = windows->items[i];
        if (window.from_ns < from_ns) window.from_ns = from_ns;
        if (window.to_ns > to_ns) window.to_ns = to_ns;
        if (window.to_ns > window.from_ns) windows->items[kept++] = window;
    }
    windows->count = kept;
}

bool jm__intervals_subtract(jm__intervals *windows, const jm__intervals *other)
{
    jm__intervals left = {0};
    bool fine = true;
    for (size_t i = 0, next = 0; fine && i < windows->count; i++) {
        jm__interval rest = windows->items[i];
        while (next < other->count && other->items[next].to_ns <= rest.from_ns)
            next++;
        for (size_t k = next; fine && k < other->count && other->items[k].from_ns < rest.to_ns; k++) {
            fine = jm__intervals_add(&left, rest.from_ns, other->items[k].from_ns);
            rest.from_ns = other->items[k].to_ns;
        }
        fine = fine && jm__intervals_add(&left, rest.from_ns, rest.to_ns);
    }
    jm__vec_free(windows);
    *windows = left;
    return fine;
}

bool jm__intervals_intersect(jm__intervals *windows, const jm__intervals *other)
{
    jm__intervals common = {0};
    bool fine = true;
    for (size_t i = 0, k = 0; fine && i < windows->count && k < other->count;) {
        const jm__interval *a = &windows->items[i], *b = &other->items[k];
        fine = jm__intervals_add(&common, a->from_ns > b->from_ns ? a->from_ns : b->from_ns,
                                 a->to_ns < b->to_ns ? a->to_ns : b->to_ns);
        if (a->to_ns < b->to_ns)
            i++;
        else
            k++;
    }
    jm__vec_free(windows);
    *windows = common;
    return fine;
}

size_t jm__intervals_first_after(const jm__intervals *windows, int64_t t_ns)
{
    size_t at;
    jm__search(at, windows->count, windows->items[at].to_ns <= t_ns);
    return at;
}

bool jm__intervals_add_within(jm__intervals *windows, const jm__intervals *others, int64_t from_ns,
                              int64_t to_ns)
{
    bool fine = true;
    for (size_t i = jm__intervals_first_after(others, from_ns);
         fine && i < others->count && others->items[i].from_ns < to_ns; i++) {
        const jm__interval *other = &others->items[i];
        fine = jm__intervals_add(windows, other->from_ns > from_ns ? other->from_ns : from_ns,
                                 other->to_ns < to_ns ? other->to_ns : to_ns);
    }
    return fine;
}

static int64_t overlap_ns(const jm__intervals *windows, size_t first, int64_t from_ns, int64_t to_ns)
{
    int64_t sum_ns = 0;
    for (size_t i = first; i < windows->count; i++) {
        const jm__interval *window = &windows->items[i];
        if (window->from_ns >= to_ns) break;
        int64_t from = window->from_ns > from_ns ? window->from_ns : from_ns;
        int64_t to = window->to_ns < to_ns ? window->to_ns : to_ns;
        sum_ns += to - from;
    }
    return sum_ns;
}

int64_t jm__intervals_overlap_ns(const jm__intervals *windows, int64_t from_ns, int64_t to_ns)
{
    return overlap_ns(windows, jm__intervals_first_after(windows, from_ns), from_ns, to_ns);
}

int64_t jm__intervals_next_overlap_ns(const jm__intervals *windows, size_t *first, int64_t from_ns,
                                      int64_t to_ns)
{
    while (*first < windows->count && windows->items[*first].to_ns <= from_ns)
        ++*first;
    return overlap_ns(windows, *first, from_ns, to_ns);
}

int64_t jm__intervals_duration_ns(const jm__intervals *windows)
{
    int64_t sum_ns = 0;
    for (size_t i = 0; i < windows->count; i++)
        sum_ns += windows->items[i].to_ns - windows->items[i].from_ns;
    return sum_ns;
}

bool jm__intervals_hold(const jm__intervals *windows, int64_t t_ns)
{
    size_t i = jm__intervals_first_after(windows, t_ns);
    return i < windows->count && windows->items[i].from_ns <= t_ns;
}
