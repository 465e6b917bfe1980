/* Sets of intervals of time. */
#include "attribute/input/window.h"

#include "base/order.h"
#include "base/search.h"

#include <stdlib.h>

static bool extends_last(const jm__intervals *intervals, int64_t from_ns)
{
    if (intervals->count == 0) return false;
    const jm__interval *last = &intervals->items[intervals->count - 1];
    return from_ns >= last->from_ns && from_ns <= last->to_ns;
}

bool jm__intervals_add(jm__intervals *intervals, int64_t from_ns, int64_t to_ns)
{
    if (to_ns <= from_ns) return true;
    jm__interval interval = {from_ns, to_ns};
    if (!extends_last(intervals, from_ns)) return jm__vec_push(intervals, interval);
    jm__interval *last = &intervals->items[intervals->count - 1];
    if (to_ns > last->to_ns) last->to_ns = to_ns;
    return true;
}

bool jm__intervals_add_all(jm__intervals *intervals, const jm__intervals *others)
{
    bool fine = true;
    for (size_t i = 0; fine && i < others->count; i++)
        fine = jm__intervals_add(intervals, others->items[i].from_ns, others->items[i].to_ns);
    return fine;
}

static int by_start(const void *a, const void *b)
{
    const jm__interval *left = a, *right = b;
    return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

void jm__intervals_normalise(jm__intervals *intervals)
{
    if (intervals->count < 2) return;
    jm__sort(intervals->items, intervals->count, sizeof *intervals->items, by_start);
    size_t last = 0;
    for (size_t i = 1; i < intervals->count; i++) {
        jm__interval next = intervals->items[i];
        if (next.from_ns <= intervals->items[last].to_ns) {
            if (next.to_ns > intervals->items[last].to_ns) intervals->items[last].to_ns = next.to_ns;
        } else {
            intervals->items[++last] = next;
        }
    }
    intervals->count = last + 1;
}

void jm__intervals_clip(jm__intervals *intervals, int64_t from_ns, int64_t to_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < intervals->count; i++) {
        jm__interval interval = intervals->items[i];
        if (interval.from_ns < from_ns) interval.from_ns = from_ns;
        if (interval.to_ns > to_ns) interval.to_ns = to_ns;
        if (interval.to_ns > interval.from_ns) intervals->items[kept++] = interval;
    }
    intervals->count = kept;
}

bool jm__intervals_subtract(jm__intervals *intervals, const jm__intervals *other)
{
    jm__intervals left = {0};
    bool fine = true;
    for (size_t i = 0, next = 0; fine && i < intervals->count; i++) {
        jm__interval rest = intervals->items[i];
        while (next < other->count && other->items[next].to_ns <= rest.from_ns)
            next++;
        for (size_t k = next; fine && k < other->count && other->items[k].from_ns < rest.to_ns; k++) {
            fine = jm__intervals_add(&left, rest.from_ns, other->items[k].from_ns);
            rest.from_ns = other->items[k].to_ns;
        }
        fine = fine && jm__intervals_add(&left, rest.from_ns, rest.to_ns);
    }
    jm__vec_free(intervals);
    *intervals = left;
    return fine;
}

bool jm__intervals_intersect(jm__intervals *intervals, const jm__intervals *other)
{
    jm__intervals common = {0};
    bool fine = true;
    for (size_t i = 0, k = 0; fine && i < intervals->count && k < other->count;) {
        const jm__interval *a = &intervals->items[i], *b = &other->items[k];
        fine = jm__intervals_add(&common, a->from_ns > b->from_ns ? a->from_ns : b->from_ns,
                                 a->to_ns < b->to_ns ? a->to_ns : b->to_ns);
        if (a->to_ns < b->to_ns)
            i++;
        else
            k++;
    }
    jm__vec_free(intervals);
    *intervals = common;
    return fine;
}

size_t jm__intervals_first_after(const jm__intervals *intervals, int64_t t_ns)
{
    size_t at;
    jm__search(at, intervals->count, intervals->items[at].to_ns <= t_ns);
    return at;
}

bool jm__intervals_add_within(jm__intervals *intervals, const jm__intervals *others, int64_t from_ns,
                              int64_t to_ns)
{
    bool fine = true;
    for (size_t i = jm__intervals_first_after(others, from_ns);
         fine && i < others->count && others->items[i].from_ns < to_ns; i++) {
        const jm__interval *other = &others->items[i];
        fine = jm__intervals_add(intervals, other->from_ns > from_ns ? other->from_ns : from_ns,
                                 other->to_ns < to_ns ? other->to_ns : to_ns);
    }
    return fine;
}

static int64_t overlap_ns(const jm__intervals *intervals, size_t first, int64_t from_ns, int64_t to_ns)
{
    int64_t sum_ns = 0;
    for (size_t i = first; i < intervals->count; i++) {
        const jm__interval *interval = &intervals->items[i];
        if (interval->from_ns >= to_ns) break;
        int64_t from = interval->from_ns > from_ns ? interval->from_ns : from_ns;
        int64_t to = interval->to_ns < to_ns ? interval->to_ns : to_ns;
        sum_ns += to - from;
    }
    return sum_ns;
}

int64_t jm__intervals_overlap_ns(const jm__intervals *intervals, int64_t from_ns, int64_t to_ns)
{
    return overlap_ns(intervals, jm__intervals_first_after(intervals, from_ns), from_ns, to_ns);
}

int64_t jm__intervals_next_overlap_ns(const jm__intervals *intervals, size_t *first, int64_t from_ns,
                                      int64_t to_ns)
{
    while (*first < intervals->count && intervals->items[*first].to_ns <= from_ns)
        ++*first;
    return overlap_ns(intervals, *first, from_ns, to_ns);
}

int64_t jm__intervals_duration_ns(const jm__intervals *intervals)
{
    int64_t sum_ns = 0;
    for (size_t i = 0; i < intervals->count; i++)
        sum_ns += intervals->items[i].to_ns - intervals->items[i].from_ns;
    return sum_ns;
}

bool jm__intervals_contain(const jm__intervals *intervals, int64_t t_ns)
{
    size_t i = jm__intervals_first_after(intervals, t_ns);
    return i < intervals->count && intervals->items[i].from_ns <= t_ns;
}
