/* The steps of a report: how many, and since when one is like the other. */
#ifndef JM_ATTRIBUTE_STEPS_H
#define JM_ATTRIBUTE_STEPS_H

#include "attribute/told.h"
#include "attribute/work/span_index.h"
#include "attribute/work/window.h"

typedef struct jm__steps {
    int64_t count;   /* one that is cut into smaller ones is one */
    int64_t warm_up; /* of those, before all processes have steps of one kind, by how long they take
                        (repeats.h) */
    char *found; /* what it was that was found to be one where the program told none; NULL: all are told */
    jm__window steady; /* from the first step after them to the end of the last; empty without steps */
} jm__steps;

/* Of spans that begin in the windows, of a process (pid) or, for 0, of all. */
typedef struct jm__steps_wanted {
    const jm__span_index *spans;
    const jm__told *told;
    const jm__windows *windows;
    int64_t pid;
} jm__steps_wanted;

/* Free them in any case. */
jm_status jm__steps_find(jm__steps *steps, const jm__steps_wanted *wanted, jm_error *err);
void jm__steps_free(jm__steps *steps);

#endif
