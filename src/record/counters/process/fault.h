/* Why counters cannot be sampled, in words: half a sentence, and the cure. */
#ifndef JM_RECORD_COUNTERS_PROCESS_FAULT_H
#define JM_RECORD_COUNTERS_PROCESS_FAULT_H

#include <stdbool.h>

typedef struct jm__pm_fault {
    char text[200]; /* "" while nothing is wrong */
    char cure[160]; /* "" if there is none */
    bool settled;   /* another libcupti would say the same */
} jm__pm_fault;

/* False, so that it can be returned. */
bool jm__pm_fail(jm__pm_fault *fault, const char *cure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
