/* Two texts as sets of lines: what one lacks of the other. */
#ifndef TEST_LINE_SETS_H
#define TEST_LINE_SETS_H

#include <stdlib.h>
#include <string.h>

typedef struct line_set {
    char *text; /* its own copy, cut at the ends of lines */
    char **lines;
    size_t count;
} line_set;

static inline int line_set_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline line_set line_set_of(const char *text)
{
    line_set set = {.text = strdup(text)};
    for (const char *c = text; *c != '\0'; c++)
        set.count += *c == '\n';
    set.lines = calloc(set.count + 1, sizeof *set.lines);
    char *rest = set.text;
    for (size_t i = 0; i < set.count; i++)
        set.lines[i] = strsep(&rest, "\n");
    qsort(set.lines, set.count, sizeof *set.lines, line_set_compare);
    return set;
}

static inline void line_set_free(line_set *set)
{
    free(set->text);
    free(set->lines);
}

/* Call `take` for each line that `a` has and `b` has not. */
static inline void line_set_less(const line_set *a, const line_set *b,
                                 void (*take)(void *context, const char *line), void *context)
{
    for (size_t i = 0, j = 0; i < a->count;) {
        int order = j == b->count ? -1 : strcmp(a->lines[i], b->lines[j]);
        if (order < 0) take(context, a->lines[i]);
        i += order <= 0;
        j += order >= 0;
    }
}

#endif
