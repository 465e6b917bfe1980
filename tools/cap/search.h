/* Inside of a search: which trial is next, and what was told. */
#ifndef JM_CAP_SEARCH_H
#define JM_CAP_SEARCH_H

#include "cap/plan.h"

#include <joulemap/cap.h>

/* ---- reference and choice in turns, until the saving is known well enough */

enum { JM__CAP_MOST_BLOCKS = 64, JM__CAP_BLOCK = 4 /* windows */ };

typedef struct jm__cap_proof {
    double cap_w, clock_mhz;
    bool choice_first;                /* the first block begins with the choice; they alternate */
    size_t first_blocks, most_blocks; /* C. Stein's two stages: the first ones say how many are needed */
    double width;
    double max_slowdown; /* 0: no bound */
    size_t windows;      /* told */
    /* Of each block: log of the choice less log of the reference, mean of two pairs. */
    double time[JM__CAP_MOST_BLOCKS], watts[JM__CAP_MOST_BLOCKS];
    double at_time, at_watts, from_time, from_watts; /* sums of logarithms, over whole blocks */
    double open_time[2], open_watts[2];              /* of the block that is not whole: reference, choice */
} jm__cap_proof;

/* ---- Inside of a search: which trial is next, and what was told. */

enum {
    JM__CAP_MOST_PROOFS = 3
}; /* choices that are put to the proof, where the first ones break the bound */

/* A part of the work, with a plan of its own that hears of the same trials. */
typedef struct jm__cap_part {
    char *name;
    jm_cap_plan *plan;
    size_t last; /* number of the trial that it was told of */
} jm__cap_part;

struct jm_cap_search {
    jm_cap_search_options options; /* with what is usual in place of 0; `plan` and clocks_mhz are NULL */
    jm_cap_plan *plan;

    jm_cap_stage stage;
    jm_cap_trial trial; /* the one that was asked for last */
    bool queried;       /* and not told yet */
    jm_cap_told *told;  /* [told_count] */
    size_t told_count, told_capacity;

    double sweep_w[JM_CAP_MOST_PROBES]; /* [sweep_length], in the order of the trials */
    size_t sweep_length;

    double *clocks_mhz;      /* [options.clock_count], rising; the highest stands for no bound */
    jm_cap_plan *clock_plan; /* in watts: clock x clock_w_per_mhz; NULL: not begun, or not to be done */
    double clock_cap_w, clock_w_per_mhz;

    jm__cap_proof proofs[JM__CAP_MOST_PROOFS]; /* [proof_count], the last one is the one that counts */
    size_t proof_count;

    jm__cap_part parts[JM_CAP_MOST_PARTS];
    size_t part_count;
};

/* What is thought of a search as it stands. */
typedef struct jm__cap_result {
    jm_cap_found found;
    const jm_cap_prediction *all; /* [count], the plan's, from the lowest cap on */
    size_t count;
    jm_cap_prediction before;   /* what the other probes say of the chosen cap */
    bool has_before;            /* there are other probes */
    const jm__cap_proof *proof; /* the one of `found`; NULL: not proven */
    jm_cap_probe at;            /* at the choice: means of what was measured */
    jm_cap_probe reference;     /* likewise */
} jm__cap_result;

/* USAGE: nothing was told. */
jm_status jm__cap_search_result(jm_cap_search *search, jm__cap_result *out, jm_error *err);

#endif
