/* What was made ready and played, in words: into the recording and on stdout. */
#ifndef SUITE_SUMMARY_H
#define SUITE_SUMMARY_H

#include "suite/play.h"

/* Marks: how many kernels there are, and why others are not. */
void suite_mark_ready(const suite_ready *ready, uint64_t seed);

/* Kernels, families, bursts, seconds, memory, and what was left out, by reason. */
void suite_show_summary(const suite_ready *ready, const suite_played *played, const suite_driver *driver,
                        const char *path);

#endif
