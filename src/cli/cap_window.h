/* How long a step of the running command takes, and its power, in a stretch of time. */
#ifndef CLI_CAP_WINDOW_H
#define CLI_CAP_WINDOW_H

#include <joulemap/joulemap.h>

/* What is a step. */
typedef struct cli_cap_steps {
    jm_span_kind kind; /* JM_SPAN_NONE: whatever has the name */
    const char *name;  /* of spans, ranges or marks; NULL: any */
} cli_cap_steps;

/* Whole steps within a stretch, from the beginning of the first to that of the last. */
typedef struct cli_cap_window {
    int64_t from_ns, to_ns;
    size_t steps;
    double step_s, step_u_s; /* mean, and its standard uncertainty by their spread */
} cli_cap_window;

/* Less is no measurement: their spread tells how well their mean is known. */
#define CLI_CAP_LEAST_STEPS 4

/* `steps` is 0 where there are fewer than two beginnings. */
jm_status cli_cap_window_find(cli_cap_window *out, jm_recording *recording, const cli_cap_steps *what,
                              int64_t from_ns, int64_t to_ns, jm_error *err);

/* Time a step and mean power of the board (jm_recording_board_id) in that window. NOT_FOUND: no sensor tells.
 */
jm_status cli_cap_window_probe(jm_cap_probe *out, jm_recording *recording, const cli_cap_window *window,
                               int64_t board_id, jm_error *err);

#endif
