/* Reference and choice in turns, until the saving is known well enough. */
#ifndef JM_CAP_PROOF_H
#define JM_CAP_PROOF_H

#include <joulemap/cap.h>

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

/* Is the next window the reference's? */
bool jm__cap_proof_is_reference(const jm__cap_proof *proof);
void jm__cap_proof_tell(jm__cap_proof *proof, const jm_cap_probe *probe);
bool jm__cap_proof_is_over(const jm__cap_proof *proof);

/* By the blocks so far. False: fewer than two. */
bool jm__cap_proof_result(const jm__cap_proof *proof, jm_cap_objective objective, double max_slowdown,
                          jm_cap_proof *out);

#endif
