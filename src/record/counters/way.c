/* Looking for joulemap-counters and for what it needs. */
#include "record/counters/way.h"

#include "base/helper.h"
#include "record/cupti/program.h"

#include <stdio.h>
#include <stdlib.h>

enum { VARIABLE_MAX = PATH_MAX + 32, VARIABLES_MAX = 5 };

/* What the helper's environment has beside the program's. */
typedef struct variables {
    char texts[VARIABLES_MAX][VARIABLE_MAX];
    const char *list[VARIABLES_MAX + 1];
    size_t count;
} variables;

static void add(variables *v, const char *name, const char *value)
{
    snprintf(v->texts[v->count], VARIABLE_MAX, "%s=%s", name, value);
    v->list[v->count] = v->texts[v->count];
    v->count++;
}

/* The simulated board's own libcupti and libcuda, unless others were named for it. */
static bool find_stand_in(jm__counter_way *way, variables *v, const char *sim, const char *run_dir)
{
    char cuda[PATH_MAX], *cupti = way->libraries.items[0].path;
    const char *named = getenv("JOULEMAP_CUDA");
    add(v, "JOULEMAP_SIM", sim);
    if (run_dir != NULL) add(v, "JOULEMAP_RUN", run_dir);
    if (named != NULL && named[0] != '\0') return true;
    if (!jm__beside("sim/libcupti.so", cupti, sizeof way->libraries.items[0].path) ||
        !jm__beside("sim/libcuda.so.1", cuda, sizeof cuda))
        return false;
    way->libraries.count = 1;
    add(v, "JOULEMAP_CUPTI", cupti);
    add(v, "JOULEMAP_CUDA", cuda);
    return true;
}

void jm__counter_way_find(jm__counter_way *way, const char *command, const char *sim, const char *run_dir)
{
    /* All boards there are, in the order of their slots: the one wanted is found by its UUID. */
    static const char *const unset[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", NULL};
    char program[PATH_MAX];
    variables *v = calloc(1, sizeof *v);
    *way = (jm__counter_way){0};
    if (command != NULL)
        snprintf(way->command, sizeof way->command, "%s", command);
    else if (!jm__beside("joulemap-counters", way->command, sizeof way->command))
        snprintf(way->fault, sizeof way->fault, "the command that samples them, %.140s, is not there",
                 way->command);
    if (v != NULL && way->fault[0] == '\0') {
        if (sim != NULL && !find_stand_in(way, v, sim, run_dir))
            snprintf(way->fault, sizeof way->fault, "this build has none of the simulated board");
        if (sim == NULL) add(v, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
        if (way->libraries.count == 0)
            jm__cupti_search_all(&way->libraries, jm__cupti_program(program, sizeof program));
        way->environment = jm__helper_environment(unset, v->list);
    }
    if (way->environment == NULL && way->fault[0] == '\0')
        snprintf(way->fault, sizeof way->fault, "no memory to start their sampler");
    free(v);
}

void jm__counter_way_free(jm__counter_way *way)
{
    free(way->environment);
    way->environment = NULL;
}
