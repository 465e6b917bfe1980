/* Which stretches of time each part of a program had. */
#include "import/import.h"

#include <stdlib.h>

static int by_part_and_start(const void *a, const void *b)
{
    const jm__occurrence *left = a, *right = b;
    if (left->part != right->part) return left->part < right->part ? -1 : 1;
    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static int by_start(const void *a, const void *b)
{
    const jm__occurrence *left = a, *right = b;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return (left->end_ns < right->end_ns) - (left->end_ns > right->end_ns);
}

/* The same part out of two files, or with kernels of several streams, is one where it overlaps. */
void jm__import_unite(jm__import *im)
{
    jm__occurrence *o = im->occurrences.items;
    size_t count = im->occurrences.count, last = 0;
    if (count == 0) return;
    qsort(o, count, sizeof *o, by_part_and_start);
    for (size_t i = 1; i < count; i++) {
        if (o[i].part == o[last].part && o[i].start_ns <= o[last].end_ns) {
            if (o[i].end_ns > o[last].end_ns) o[last].end_ns = o[i].end_ns;
        } else {
            o[++last] = o[i];
        }
    }
    im->occurrences.count = last + 1;
    qsort(o, im->occurrences.count, sizeof *o, by_start);
    for (size_t i = 0; i < im->occurrences.count; i++)
        o[i].span_id = (int64_t)i + 1;
    qsort(o, im->occurrences.count, sizeof *o, by_part_and_start);
}

/* The jm__occurrence of its part that a kernel began in; occurrences are sorted by part and start. */
int64_t jm__import_span_of(const jm__import *im, const jm__import_kernel *row)
{
    size_t low = 0, high = im->occurrences.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const jm__occurrence *o = &im->occurrences.items[middle];
        bool before = o->part != row->part ? o->part < row->part : o->start_ns <= row->start_ns;
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || im->occurrences.items[low - 1].part != row->part) return 0;
    return im->occurrences.items[low - 1].span_id;
}
