/* How joulemap-counters is started: which command, with which libraries to try, in which environment. Found
 * out once, in a thread of the program: the program may change its environment while a thread of ours looks.
 */
#ifndef JM_RECORD_COUNTERS_WAY_H
#define JM_RECORD_COUNTERS_WAY_H

#include "record/cupti/search.h"

#include <limits.h>

typedef struct jm__counter_way {
    char command[PATH_MAX];
    jm__cupti_candidates libraries;
    char **environment;
    char fault[200]; /* why there is no way: half a sentence; "" if there is one */
} jm__counter_way;

/* `command` NULL: joulemap-counters, which lies beside this library. `sim`: the profile of the simulated
 * boards, NULL for real ones; `run_dir`: for those, NULL: none. Always gives a way or a fault. */
void jm__counter_way_find(jm__counter_way *way, const char *command, const char *sim, const char *run_dir);
void jm__counter_way_free(jm__counter_way *way);

#endif
