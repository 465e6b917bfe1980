/* Searches of work whose best cap is known: how often they find it, and how often the interval holds.
 *
 *     bench_cap_search [SEEDS]
 *
 * A line for each job: name, objective, bound, sweep, seeds, near the best, inert, proven, held, over the
 * bound, bound said to be proven, falsely so, windows, worst slowdown. bench/cap_search.py makes a table of
 * it. */
#include "cap_searches.h"

#include <stdlib.h>

static void measure(const cap_job *job, jm_cap_objective objective, double max_slowdown, size_t sweep,
                    int seeds)
{
    job_tally t = {0};
    for (uint64_t seed = 1; seed <= (uint64_t)seeds; seed++)
        if (!job_count(&t, job, objective, max_slowdown, sweep, seed)) exit(1);
    printf("%s,%s,%g,%zu,%d,%d,%d,%d,%d,%d,%d,%d,%.1f,%.4f\n", job->name, jm_cap_objective_text(objective),
           max_slowdown, sweep, t.seeds, t.near_best, t.inert, t.proven, t.held, t.over_bound, t.bound_proven,
           t.falsely, t.windows, t.slowest);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int seeds = argc > 1 ? atoi(argv[1]) : 100;
    for (int j = 0; j < JOBS; j++) {
        measure(&cap_jobs[j], JM_CAP_ED2P, 0, 0, seeds);
        measure(&cap_jobs[j], JM_CAP_ENERGY, .05, 0, seeds);
        measure(&cap_jobs[j], JM_CAP_ED2P, 0, 8, seeds);
    }
    return 0;
}
