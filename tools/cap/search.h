/* The inside of a search: the state of its proofs, plans and results. */
#ifndef JM_CAP_SEARCH_H
#define JM_CAP_SEARCH_H

#include "base/vec.h"
#include "cap/plan.h"

#include <joulemap/cap.h>

/* ---- the proof: reference and choice alternately, until the saving is known well enough */

enum { JM__CAP_MOST_BLOCKS = 64, JM__CAP_BLOCK = 4 /* windows per block */ };

typedef struct jm__cap_proof {
    double cap_w, clock_mhz;
    bool choice_first; /* the first block begins with the choice; blocks alternate */
    size_t windows;    /* windows measured */
    struct {
        double time[2], watts[2]; /* of reference and choice: sums of logarithms */
    } blocks[JM__CAP_MOST_BLOCKS];
} jm__cap_proof;

/* ---- the search */

/* Proofs in total, if the first choices break the bound. */
enum { JM__CAP_MOST_PROOFS = 3 };

/* A part of the work, with its own plan of the same trials. */
typedef struct jm__cap_part {
    char *name;
    jm_cap_plan *plan;
    size_t last; /* number of the trial of its last result */
} jm__cap_part;

struct jm_cap_search {
    jm_cap_search_options options; /* with defaults in place of 0; `plan` and clocks_mhz are NULL */
    jm_cap_plan *plan;

    jm_cap_stage stage;
    jm_cap_trial trial; /* the last trial given out */
    bool pending;       /* its result is not reported yet */
    JM_VEC(jm_cap_told) results;

    double sweep_w[JM_CAP_MOST_PROBES]; /* [sweep_length], in the order of the trials */
    size_t sweep_length;

    double *clocks_mhz;      /* [options.clock_count], ascending; the highest represents no bound */
    jm_cap_plan *clock_plan; /* in watts: clock x clock_w_per_mhz; NULL: not started, or not needed */
    double clock_cap_w, clock_w_per_mhz;

    jm__cap_proof proofs[JM__CAP_MOST_PROOFS]; /* [proof_count], the last one counts */
    size_t proof_count;

    jm__cap_part parts[JM_CAP_MOST_PARTS];
    size_t part_count;
};

/* The present result of a search. */
typedef struct jm__cap_result {
    const jm_cap_search *search;
    const jm_cap_plan *plan; /* the search's */
    jm_cap_found found;
    const jm_cap_prediction *all; /* [count], the plan's, lowest cap first */
    size_t count;
    jm_cap_prediction without_choice; /* prediction for the chosen cap from the other probes */
    bool has_without_choice;          /* there are other probes */
    const jm__cap_proof *proof;       /* the proof of `found`; NULL: not proven */
    jm_cap_probe at;                  /* means of the measurements at the choice */
    jm_cap_probe reference;           /* means of the measurements at the reference */
} jm__cap_result;

/* USAGE: no result was reported. */
jm_status jm__cap_search_result(jm_cap_search *search, jm__cap_result *out, jm_error *err);

#endif
