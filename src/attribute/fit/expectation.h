/* What is expected of work before any reading. */
#ifndef JM_ATTRIBUTE_FIT_EXPECTATION_H
#define JM_ATTRIBUTE_FIT_EXPECTATION_H

#include <stdint.h>

/* One column of work, beside the mean power while anything runs. Errors are relative and standard. */
typedef struct jm__expectation {
    double share;    /* of that mean, which is the mean over `weight / share` */
    double weight;   /* part of the energy of all work; all together 1 */
    uint32_t family; /* columns of one family are off together by family_u, */
    uint32_t kin;    /* those of one kin by kin_u, */
    double family_u;
    double kin_u;
    double own_u; /* and each alone by this */
} jm__expectation;

#endif
