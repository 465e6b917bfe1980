/* Which stretches of time each part of a program had. */
#include "base/search.h"
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
    qsort(o, im->occurrences.count, sizeof *o, by_part_and_start); /* for jm__import_span_of */
}

int64_t jm__import_span_of(const jm__import *im, size_t part, int64_t start_ns)
{
    const jm__occurrence *o = im->occurrences.items;
    size_t at;
    jm__search(at, im->occurrences.count,
               o[at].part != part ? o[at].part < part : o[at].start_ns <= start_ns);
    return at == 0 || o[at - 1].part != part ? 0 : o[at - 1].span_id;
}
