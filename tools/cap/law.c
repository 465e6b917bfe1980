/* The grid of laws. Its prior is wide on purpose: no figure in it was fitted to sweeps (docs/caps.md). */
#include "cap/law.h"

#include <math.h>

/* The power knee is somewhat above the mean power without a cap, since power goes up and down: by 1.2, give
 * or take 20 %. */
static const double knee_by_power = 1.1, knee_width = .25;
static const double lowest_knee = .8, highest_knee = 1.2; /* of the lowest and the highest cap */

/* The knee of time, as a share of the power knee: about two thirds, hardly known. */
static const double time_knees[] = {.4, .5, .6, .7, .8, .9, 1};
static const double time_knee = .65, time_knee_width = .3;

static const double floors[] = {.1, .35, .6, .8}; /* shares of the lowest cap */

/* What waits for the clock: about half, by a factor of e. Beyond 1: the memory's clock falls too. */
static const double shares[] = {.03, .1, .25, .5, .8, 1.1};
static const double share = .5, share_width = 1;

enum {
    TIME_KNEES = sizeof time_knees / sizeof *time_knees,
    FLOORS = sizeof floors / sizeof *floors,
    SHARES = sizeof shares / sizeof *shares
};
_Static_assert(TIME_KNEES *FLOORS *SHARES == JM__CAP_LAWS, "law.h says how many there are");

static double penalty(double value, double mean, double width)
{
    double z = (value - mean) / width;
    return -z * z / 2;
}

double jm__cap_knee_w(const jm__cap_range *range, size_t knee)
{
    double low = log(lowest_knee * range->low_w), high = log(highest_knee * range->high_w);
    return exp(low + (high - low) * (double)knee / (JM__CAP_KNEES - 1));
}

jm__cap_law jm__cap_law_at(const jm__cap_range *range, size_t knee, size_t law)
{
    double knee_w = jm__cap_knee_w(range, knee);
    double of_knee = time_knees[law % TIME_KNEES], of_low = floors[law / TIME_KNEES % FLOORS],
           waits = shares[law / (TIME_KNEES * FLOORS)];
    double floor_w = of_low * range->low_w;
    return (jm__cap_law){
        .knee_w = fmax(of_knee * knee_w, 1.05 * floor_w), /* the clock stands still at the floor */
        .floor_w = floor_w,
        .share = waits,
        .log_prior = penalty(log(knee_w), log(knee_by_power * range->power_w), knee_width) +
                     penalty(of_knee, time_knee, time_knee_width) +
                     penalty(log(waits), log(share), share_width),
    };
}

double jm__cap_slowdown(const jm__cap_law *law, double cap_w)
{
    if (cap_w >= law->knee_w) return 0;
    return log1p(law->share * ((law->knee_w - law->floor_w) / (cap_w - law->floor_w) - 1));
}

double jm__cap_depth(double knee_w, double cap_w)
{
    return cap_w < knee_w ? log(cap_w / knee_w) : 0;
}
