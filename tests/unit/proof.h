/* How much of a proof a test runs: `make check` keeps one seed of each proof by statistics and every 31st n
 * of each injected failure; `make proof`, with JOULEMAP_PROOF=1, runs all of them. */
#ifndef TEST_PROOF_H
#define TEST_PROOF_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool proof_runs(void)
{
    const char *text = getenv("JOULEMAP_PROOF");
    return text != NULL && text[0] != '\0' && strcmp(text, "0") != 0;
}

static inline int proof_some(int all, int some)
{
    return proof_runs() ? all : some;
}

static inline int proof_seeds(int all)
{
    return proof_some(all, 1);
}

/* What is left to ask of few: of n of which each happens with this chance by itself, fewer than these do once
 * in a thousand tries. */
static inline int proof_least(int n, double chance)
{
    double fewer = 0;
    for (int k = 0; k < n; k++) {
        fewer += exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) + k * log(chance) +
                     (n - k) * log(1 - chance));
        if (fewer > 1e-3) return k;
    }
    return n;
}

/* The same of the most that do. */
static inline int proof_most(int n, double chance)
{
    return n - proof_least(n, 1 - chance);
}

/* The root mean square of n normal errors of variance 1 is larger than this once in a thousand tries (Wilson
 * and Hilferty's approximation of chi squared). */
static inline double proof_rms(int n)
{
    double ninth = 2 / (9.0 * n);
    return pow(1 - ninth + 3.09 * sqrt(ninth), 1.5);
}

#endif
