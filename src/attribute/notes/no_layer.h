/* How much of the kernels' energy lies in no layer, and why. */
#ifndef JM_ATTRIBUTE_NOTES_NO_LAYER_H
#define JM_ATTRIBUTE_NOTES_NO_LAYER_H

#include "attribute/attribution.h"

typedef struct jm__no_layer {
    double share;    /* of the energy of all kernels of programs with layers; NAN: there are none */
    const char *why; /* the main reason, as far as the recording tells it */
} jm__no_layer;

jm__no_layer jm__no_layer_of(const jm__attribution *a);

#endif
