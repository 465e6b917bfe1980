/* What the page asks for: reports of the recordings, computed when they are first needed, and kept. Any
 * thread may ask. */
#ifndef VIEW_ANSWERS_H
#define VIEW_ANSWERS_H

#include <joulemap/joulemap.h>
#include <stdbool.h>
#include <stddef.h>

enum { VIEW_FILES_MAX = 2, VIEW_TEXT_MAX = 1024 };

/* The recordings, and how all reports of them are made. Texts must outlive the answers. */
typedef struct view_source {
    const char *paths[VIEW_FILES_MAX];
    const char *names[VIEW_FILES_MAX]; /* for display */
    size_t count;
    const char *prior, *model; /* as in jm_report_options */
} view_source;

/* A part of the page's data. name, text */
#define VIEW_PART_MAP(X)                                                                                     \
    X(REPORT, "report")                                                                                      \
    X(KERNELS, "kernels")                                                                                    \
    X(STEPS, "steps")                                                                                        \
    X(LAYER, "layer")                                                                                        \
    X(PAGE, "page") /* all of it as one file */

typedef enum view_part {
#define X(name, text) VIEW_PART_##name,
    VIEW_PART_MAP(X)
#undef X
        VIEW_PART_COUNT
} view_part;

/* What is asked for. */
typedef struct view_query {
    view_part part;
    jm_by by;
    double from_s, to_s;       /* from the start of the recording; NAN: all of it */
    long long process, board;  /* pid; index of the GPU. -1: all */
    char phase[VIEW_TEXT_MAX]; /* "": all */
    char layer[VIEW_TEXT_MAX]; /* of VIEW_PART_LAYER: a path or a pattern of the page */
} view_query;

typedef struct view_answers view_answers;

/* NULL if memory is out. */
view_answers *view_answers_new(const view_source *source);

/* No thread may still ask. */
void view_answers_free(view_answers *answers);

/* The answer as text, JSON or the page's file; the caller frees it. *version is that of the recordings that
 * it was made of. */
jm_status view_answer(view_answers *answers, const view_query *query, char **text, size_t *length,
                      unsigned long long *version, jm_error *err);

/* The version of the recordings now: another one after each change of a file. *live: one of them is being
 * written.
 */
unsigned long long view_answers_version(view_answers *answers, bool *live);

/* Whether something is being computed. */
bool view_answers_busy(view_answers *answers);

#endif
