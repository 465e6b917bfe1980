/* Putting a board back, and taking note of it. */
#include "cap/helper/put_back.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What the board has is what the lease set: last, or before, where a kill came between writing and setting.
 */
static bool is_of_lease(const jm__lease_state *state, double now_w)
{
    return fabs(now_w - state->info.cap_w) <= JM_SAME_W || fabs(now_w - state->before_w) <= JM_SAME_W ||
           (isnan(state->before_w) &&
            isfinite(state->info.cap_w)); /* of an older joulemap, which did not say */
}

static jm_status set_back(const jm__setter *setter, const jm__lease_state *state, jm_error *err)
{
    /* The cap in any case: it is what costs. One that somebody else set meanwhile is theirs. */
    double now_w;
    jm_error clock_err = {0};
    jm_status clock = state->clock_held ? jm__setter_clock(setter, 0, &clock_err) : JM_OK;
    JM_TRY(jm__setter_cap(setter, &now_w, err));
    if (is_of_lease(state, now_w)) JM_TRY(jm__setter_set(setter, state->info.found_w, NULL, err));
    if (clock != JM_OK && err != NULL) *err = clock_err;
    return clock;
}

static void note_fault(jm__lease_state *state, const jm__lease_folder *folder, const jm_error *err)
{
    snprintf(state->fault, sizeof state->fault, "%.*s", (int)sizeof state->fault - 1, err->text);
    (void)jm__lease_state_write(state, folder, NULL);
}

jm_status jm__put_back(const jm__setter *setter, jm__lease_state *state, const jm__lease_folder *folder,
                       jm_error *err)
{
    jm_status status = set_back(setter, state, err);
    if (status == JM_OK) return jm__lease_state_remove(folder, state->uuid, err);
    note_fault(state, folder, err);
    return status;
}

/* The simulated board of a run whose folder is gone is no board any more. */
static bool went_with_its_run(const jm__lease_state *state)
{
    return state->run[0] != '\0' && access(state->run, F_OK) != 0;
}

jm_status jm__put_back_lost(jm__lease_state *state, const jm__lease_folder *folder, int32_t *index,
                            jm_error *err)
{
    jm__setter setter;
    *index = -1;
    if (went_with_its_run(state) || jm__lease_state_is_void(state))
        return jm__lease_state_remove(folder, state->uuid, err);
    if (state->sim[0] != '\0')
        setenv("JOULEMAP_SIM", state->sim, 1);
    else
        unsetenv("JOULEMAP_SIM");
    if (state->run[0] != '\0')
        setenv("JOULEMAP_RUN", state->run, 1);
    else
        unsetenv("JOULEMAP_RUN");
    jm_status status = jm__setter_open(&setter, state->uuid, 0, err);
    *index = setter.board.index;
    if (status == JM_OK) return jm__put_back(&setter, state, folder, err);
    note_fault(state, folder, err);
    return status;
}
