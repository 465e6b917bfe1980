/* Where most of a row's time went: of a kernel, the layer that it ran in; of a gap, the one that came after
 * it. Layers that differ in their numbers alone are one, and the innermost is told that holds half of it:
 * "blocks.*.attn (backward)". */
#ifndef JM_ATTRIBUTE_ROLLUP_MOSTLY_H
#define JM_ATTRIBUTE_ROLLUP_MOSTLY_H

#include "attribute/attribution.h"
#include "attribute/rollup/tree.h"

typedef struct jm__spot {
    const char *path; /* the tree's, numbers as "*"; "": in no layer */
    int64_t kind;     /* of the pass, a jm_span_kind */
} jm__spot;

/* What a node spent at one spot. */
typedef struct jm__stay {
    size_t node;
    size_t spot;
    double seconds;
} jm__stay;

typedef struct jm__mostly {
    const jm__attribution *a;
    jm__tree *tree;
    JM_VEC(jm__spot) spots;
    size_t *spot_of; /* [contexts]: number + 1; 0: not yet asked for */
    jm__map spot_at; /* their numbers, by text and kind */
    JM_VEC(jm__stay) stays;
    jm__map stay_at; /* numbers of stays, by node and spot */
} jm__mostly;

/* After the pass, which tells the contexts. False if memory is out. */
bool jm__mostly_begin(jm__mostly *mostly, jm__tree *tree, const jm__attribution *a);
void jm__mostly_free(jm__mostly *mostly); /* also of a zeroed one */

/* Count some time of a node, and of all around it, at the spot of a use. What fails is the tree's. */
void jm__mostly_add(jm__mostly *mostly, size_t node, size_t use, double seconds);

/* Give nodes what holds most of their time; no more can be counted then. */
void jm__mostly_give(jm__mostly *mostly);

#endif
