/* Inside of a search that is over. */
#ifndef JM_CAP_SEARCH_H
#define JM_CAP_SEARCH_H

#include "cap/plan.h"

struct jm_cap_search {
    jm_cap_plan *plan;
    jm_cap_choice choice;
    const jm_cap_prediction *all; /* [count], the plan's, from the lowest cap on */
    size_t count;
    jm_cap_prediction before; /* what the other probes say of the chosen cap */
    bool has_before;          /* there are other probes */
    jm_cap_probe found;       /* at the chosen cap: means of what was measured */
    jm_cap_probe reference;   /* likewise */
};

/* A search of a plan that was told all; takes the plan also where it fails. */
jm_status jm__cap_search_end_take(jm_cap_search **out, jm_cap_plan *plan, jm_error *err);

#endif
