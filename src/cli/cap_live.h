/* A search of the power cap while a command runs. */
#ifndef CLI_CAP_LIVE_H
#define CLI_CAP_LIVE_H

#include "cli/cap_window.h"
#include "cli/recorder.h"

/* What was measured in a trial, by its number less 1. */
typedef struct cli_cap_trial_done {
    jm_cap_trial trial;
    cli_cap_window window;
} cli_cap_trial_done;

typedef struct cli_cap_live {
    const cli_args *args;
    cli_recorder recorder;
    jm_cap_lease *lease; /* NULL: put back */
    jm_cap_search *search;
    cli_cap_steps what;
    int board;
    double settle_s, window_s, wait_s;
    double set_w, set_mhz;    /* what was set last; NAN: nothing */
    cli_cap_trial_done *done; /* [done_count] */
    size_t done_count, done_capacity;
    jm_error failure; /* why the search was broken off; status JM_OK: it was not */
    bool stopped;     /* by us, with --stop */
} cli_cap_live;

/* The search over a command that runs, to its end, that of the command, or a failure: live->failure. The
 * board is back at what was found when it returns. */
void cli_cap_live_search(cli_cap_live *live);

void cli_cap_live_free(cli_cap_live *live);

/* ---- cap_parts.c: phases apart, once the recording is whole */
jm_status cli_cap_parts_tell(cli_cap_live *live, jm_recording *recording, jm_error *err);

/* ---- cap_saved.c: what the chosen cap saved, where. *out is NULL where there is nothing to compare. */
typedef struct cli_cap_saved cli_cap_saved;
jm_status cli_cap_saved_create(cli_cap_saved **out, const cli_cap_live *live, jm_recording *recording,
                               jm_error *err);
const jm_diff *cli_cap_saved_diff(const cli_cap_saved *saved);

/* For people: the rows that save most, in their order. The caller frees it; NULL: memory is out. */
char *cli_cap_saved_text(const cli_cap_saved *saved, size_t most);
void cli_cap_saved_free(cli_cap_saved *saved);

#endif
