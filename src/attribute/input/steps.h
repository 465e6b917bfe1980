/* What counts as a step of a process, with its samples and tokens: what the program told of itself; where it
 * told none, the batches that were found. */
#ifndef JM_ATTRIBUTE_INPUT_STEPS_H
#define JM_ATTRIBUTE_INPUT_STEPS_H

#include "attribute/input/span_index.h"
#include "attribute/input/window.h"
#include "base/map.h"
#include "format/dataset.h"

typedef enum jm__amount { JM_AMOUNT_SAMPLES, JM_AMOUNT_TOKENS, JM_AMOUNTS } jm__amount;

typedef struct jm__marked {
    jm__map of_process; /* row of `processes` -> bits of what its program told in the time asked about */
} jm__marked;

/* Free it in any case, also where memory was out. */
jm_status jm__marked_find(jm__marked *marked, const jm__dataset *dataset, const jm__intervals *windows,
                          jm_error *err);
void jm__marked_free(jm__marked *marked);

/* A step, or a batch of a process that told no step. */
bool jm__marked_is_step(const jm__marked *marked, const jm__span *span);

/* Samples or tokens of a span; 0: none, or those of a batch whose program told its own. */
int64_t jm__marked_amount(const jm__marked *marked, const jm__span *span, jm__amount amount);

/* The steps of a report: how many, and since when one is like the other. */

/* Processes whose steps overlap in time run together (the ranks of a training), and a step of one is as it
 * will be only when all of them are warm. Programs that ran one after the other (a script's) have nothing to
 * do with each other: each of them has a warm-up and a steady time of its own, and what lies between them is
 * nobody's. */
typedef struct jm__steps {
    int64_t count;   /* one that is cut into smaller ones is one */
    int64_t warm_up; /* of those, before all processes that run together have steps of one kind, by how
                        long they take (repeats.h) */
    char *found; /* what it was that was found to be one where the program told none; NULL: all are told */
    jm__intervals steady; /* of those that run together, from the first step after them to the end of the
                           last; normalised, empty without steps */
} jm__steps;

/* Of spans that begin in the windows, of a process (pid) or, for 0, of all. */
typedef struct jm__steps_requested {
    const jm__span_index *spans;
    const jm__marked *marked;
    const jm__intervals *windows;
    int64_t pid;
} jm__steps_requested;

/* Free them in any case. */
jm_status jm__steps_find(jm__steps *out, const jm__steps_requested *requested, jm_error *err);
void jm__steps_free(jm__steps *steps);

#endif
