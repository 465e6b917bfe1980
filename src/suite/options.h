/* The command line of joulemap-suite, as that of `python -m joulemap.calibration`. */
#ifndef SUITE_OPTIONS_H
#define SUITE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct suite_options {
    const char *output; /* the recording */
    const char *sim;    /* a simulated board's profile; NULL: a real one */
    double seconds, idle_s, response_s;
    uint64_t seed;
    bool force, quiet;
    bool once;   /* play each kernel a single time for a profiler, and record nothing */
    bool list;   /* show the kernels, and nothing else */
    int compile; /* compile them for this capability (90: 9.0), and nothing else; 0: no */
} suite_options;

/* -1: `options` are filled. Else the exit code: help was shown, or wrong usage told. */
int suite_options_read(suite_options *options, int argc, char **argv);

#endif
