/* The parts of finding stands: each fills in more of them. */
#ifndef JM_ATTRIBUTE_SAMPLING_PARTS_H
#define JM_ATTRIBUTE_SAMPLING_PARTS_H

#include "attribute/input/span_index.h"
#include "attribute/input/told.h"
#include "attribute/input/traced.h"
#include "attribute/work/stands.h"

typedef struct jm__stands_wanted {
    const jm__span_index *spans;
    const jm__told *told; /* of all the run: what a step is */
    const jm__traced *traced;
} jm__stands_wanted;

/* In this order. False if memory is out. */

/* Laps, whether each was traced, and their kinds. */
bool jm__laps_find(jm__stands *out, const jm__stands_wanted *wanted);

/* Traced steps that are like no other: they are in no turn. */
bool jm__warm_up_find(jm__stands *out, const jm__stands_wanted *wanted);

/* Kinds whose counts differ become several, as far as traced steps go round. */
bool jm__counts_part(jm__stands *out, const jm__stands_wanted *wanted);

/* Turns, and which of them stands for which other laps. */
bool jm__turns_find(jm__stands *out, const jm__stands_wanted *wanted);

/* How much longer traced steps took. */
bool jm__slowed_find(jm__stands *out, const jm__stands_wanted *wanted);

/* Kinds with a single turn. */
bool jm__lone_find(jm__stands *out);

#endif
