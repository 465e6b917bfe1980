/* The steps of a process with their samples and tokens: those that the program marked; where it marked none,
 * the batches that the recorder found. */
#ifndef JM_ATTRIBUTE_INPUT_STEPS_H
#define JM_ATTRIBUTE_INPUT_STEPS_H

#include "attribute/input/span_index.h"
#include "attribute/input/window.h"
#include "base/map.h"
#include "format/dataset.h"

typedef enum jm__amount { JM_AMOUNT_SAMPLES, JM_AMOUNT_TOKENS, JM_AMOUNTS } jm__amount;

typedef struct jm__marked {
    jm__map of_process; /* row of `processes` -> bits: what its program marked in the windows */
} jm__marked;

/* Free it in any case. */
jm_status jm__marked_find(jm__marked *marked, const jm__dataset *dataset, const jm__intervals *windows,
                          jm_error *err);
void jm__marked_free(jm__marked *marked);

/* A step, or a batch of a process that marked no step. */
bool jm__marked_is_step(const jm__marked *marked, const jm__span *span);

/* Samples or tokens of a span; 0 also for a batch of a process that marked its own amounts. */
int64_t jm__marked_amount(const jm__marked *marked, const jm__span *span, jm__amount amount);

/* The steps of a report. Processes whose steps overlap in time form a group, such as the ranks of a training:
 * it reaches its steady state when all of them have. Programs that run one after the other are groups of
 * their own, and the time between groups belongs to none. */
typedef struct jm__steps {
    int64_t count;        /* a step that is cut into smaller ones counts once */
    int64_t warm_up;      /* steps before their group's steady state, by their durations (repeats.h) */
    char *found;          /* names of the batches that count as steps; NULL: the program marked all steps */
    jm__intervals steady; /* of each group, from the first step after the warm-up to the end of the last;
                             normalised, empty without steps */
} jm__steps;

/* Which spans: they begin in the windows and belong to process pid, 0: any. */
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
