/* When two caps are one. */
#ifndef JM_CAP_SAME_H
#define JM_CAP_SAME_H

#include <math.h>
#include <stdbool.h>

/* Caps are whole milliwatts where they are set; sums of steps are not exact. */
static const double jm__cap_apart_w = 1e-6;

static inline bool jm__cap_same(double a_w, double b_w)
{
    return fabs(a_w - b_w) <= jm__cap_apart_w;
}

#endif
