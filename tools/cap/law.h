/* The laws that time and power over the cap may follow, and what is believed of each before any probe.
 *
 * Below its power knee p a GPU draws a power of the cap, above it the cap makes no difference:
 *     watts(c) = P x (min(c, p) / p)^g,                                    g about 0.9.
 * Time grows a little below the power knee, where the clock falls and other things than the clock hold the
 * work up, and from a knee t <= p of its own on as fast as the clock falls, which is as c - f (f: what the
 * GPU draws without any work):
 *     time(c) = A x (p / min(c, p))^e x (1 + s x ((t - f) / (min(c, t) - f) - 1)),
 * s being the share of the time at t that waits for the clock; e about 0.1. A, P, g and e are straight lines
 * in logarithms, which least squares finds; p, t, f and s are tried on a grid. */
#ifndef JM_CAP_LAW_H
#define JM_CAP_LAW_H

#include <stddef.h>

enum { JM__CAP_KNEES = 18, JM__CAP_LAWS = 7 * 4 * 6 }; /* power knees, and laws of each */

/* The range of the caps, and the power at the highest, which says where the knee may be. */
typedef struct jm__cap_range {
    double low_w, high_w;
    double power_w;
} jm__cap_range;

typedef struct jm__cap_law {
    double knee_w;  /* of time: t */
    double floor_w; /* f */
    double share;   /* s */
    double log_prior;
} jm__cap_law;

double jm__cap_knee_w(const jm__cap_range *range, size_t knee); /* p */
jm__cap_law jm__cap_law_at(const jm__cap_range *range, size_t knee, size_t law);

/* log((1 + ...)) of the formula above, of a law's steep part. */
double jm__cap_slowdown(const jm__cap_law *law, double cap_w);

/* log(min(c, p) / p): 0 above the knee, below it negative. */
double jm__cap_depth(double knee_w, double cap_w);

#endif
