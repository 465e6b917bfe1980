/* The model's figures, with errors for what another run has otherwise. */
#include "attribute/prior/idle_states.h"

#include <math.h>

/* An H200 falls in steps: in its first millisecond without work it draws 165 W, then 140
 * (sim/profiles/h200.json, as measured). So a gap of 1 ms draws 165 W and one of 20 ms 141, of one state: 8 %
 * around the middle. */
static const double length_u = 0.08;

/* Means of gaps over 12 runs of 9 programs on H100s lie between 119 and 143 W, 7 %
 * (bench/results/bursts.txt); on one H200 gaps drew 122 to 148 W, and 168 between the bursts of a suite
 * (shared/data/h200-counters-llama): 12 % of the mean, and the suite 25 % above the others. Nobody has
 * measured two boards of one kind side by side: more than that, a choice. */
static const double own_board_u = 0.25, another_board_u = 0.35;

bool jm__idle_of_model(jm__idle_known *known, const jm__board_model *model)
{
    *known = (jm__idle_known){.together_u = model->shipped ? another_board_u : own_board_u};
    known->power_w[JM_IDLE_BEFORE] = NAN;
    for (int s = JM_IDLE_FIRST_GAP; s < JM_IDLE_STATES; s++) {
        const jm__model_idle *idle = &model->idle[s];
        known->power_w[s] = idle->u_w > 0 ? idle->power_w : NAN;
        known->u_w[s] = hypot(idle->u_w, length_u * idle->power_w);
    }
    return jm__model_knows_idle(model);
}
