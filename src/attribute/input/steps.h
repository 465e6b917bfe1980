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

/* The steps of a report, and of them those that a figure per step is of: one kind of step, which is a name
 * inside a phase, that with the most time. A step lasts to the next step of its process, as what it launched
 * may still run, but not beyond its phase, nor longer than twice the median. What is longer itself (a
 * checkpoint) is not steady. Processes whose steps overlap in time and are about as many, such as the ranks
 * of a training, make each step together. They are steady once all of them are. Programs that run one after
 * the other are groups of their own. */
typedef struct jm__steps {
    int64_t count;        /* of all kinds and processes; a step that is cut into smaller ones counts once */
    char *found;          /* names of the batches that count as steps; NULL: the program marked all steps */
    int64_t name_id;      /* of the kind */
    const char *name;     /* NULL: there are no steps */
    const char *phase;    /* of the kind; NULL: in none */
    int64_t kind_count;   /* steps of the kind, that of several ranks once */
    int64_t steady_count; /* of these, steady */
    int64_t warm_up;      /* of these, before the steady state, by their durations (repeats.h) */
    int64_t first_ns, last_ns; /* begin of the first step of any kind, end of the last */
    jm__intervals steady;      /* the time of the steady steps; normalised, empty without steps */
    jm__intervals warm;        /* of those before the steady state; this and what follows may overlap */
    jm__intervals longer;      /* of the others of the kind */
    jm__intervals others;      /* of steps of other kinds */
    int64_t others_count;      /* steps of these */
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
