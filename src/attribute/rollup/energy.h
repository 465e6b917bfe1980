/* The energy of any mixture of columns, with its error from the full covariance. */
#ifndef JM_ATTRIBUTE_ROLLUP_ENERGY_H
#define JM_ATTRIBUTE_ROLLUP_ENERGY_H

#include "attribute/attribution.h"
#include "attribute/rollup/tree.h"

typedef struct jm__energy {
    double energy_j;
    double low_j; /* 95 % */
    double high_j;
    double decided;         /* 1: the readings' figure, 0: that of the beliefs */
    jm_provenance believed; /* the belief that would decide it without readings */
    bool fitted;            /* all boards in it have a fit */
    bool known;             /* all boards in it have any figure */
} jm__energy;

/* Cells sorted by column, any node. */
jm__energy jm__energy_of(const jm__attribution *a, const jm__cell *cells, size_t count);

#endif
