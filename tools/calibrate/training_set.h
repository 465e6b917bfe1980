/* What a model is learnt from: a phase of a recording, its readings, its counters, and what ran when. */
#ifndef JM_CALIBRATE_TRAINING_SET_H
#define JM_CALIBRATE_TRAINING_SET_H

#include "attribute/input/window.h"
#include "attribute/prior/rate_windows.h"
#include "attribute/work/pieces.h"
#include "base/vec.h"

/* A kernel of the suite: all bursts of one name. */
typedef struct jm__taught {
    char *name;   /* as valid UTF-8 */
    char *family; /* likewise */
    const char *data;
    bool left_out;  /* its data are constant */
    double *rate;   /* [features]: mean in windows within its bursts, in units of the references */
    double seconds; /* of those windows */
} jm__taught;

typedef struct jm__burst {
    int64_t start_ns, end_ns;
    size_t kernel;
} jm__burst;

typedef struct jm__training_set {
    const jm__dataset *dataset;
    const jm_board *board;
    const jm_sensor *sensor;
    jm__intervals phase;
    char **metrics; /* [count] */
    size_t count;
    double *reference; /* [count]: the highest rate of each */
    bool *is_feature;  /* [count]: its rate changes */
    double clock_mhz;  /* the highest */
    double slots;      /* see jm__rate_choice */
    JM_VEC(jm__taught) kernels;
    JM_VEC(jm__burst) bursts; /* by time */
    jm_reading *recorded;     /* of the sensor, late stamps back on their grid, less what the sampler drew */
    size_t recorded_count;
    double sampler_w, sampler_u_w; /* what a sampler of counters draws, as seen there; NAN: it was not */
    jm_reading *readings;          /* those of them in the phase */
    size_t reading_count;
    jm__pieces rates;    /* code: a metric; the last: the constant, 0 where there are no counters */
    jm__pieces work;     /* code: 0 for none, then the kernels */
    uint32_t *column_of; /* of both */
} jm__training_set;

/* It ran on the training set's board. */
bool jm__training_set_has_kernel(const jm__training_set *training_set, const jm__kernel_run *kernel);

/* The windows of the phase. NOT_FOUND: there is no such phase. */
jm_status jm__suite_phase(jm__training_set *training_set, const char *phase, jm_error *err);

/* Its bursts, and the kernels that they are of. NOT_FOUND: it has none. */
jm_status jm__suite_bursts(jm__training_set *training_set, const char *phase, jm_error *err);

/* What a sampler of counters makes the board draw: the step of its power at rest, when the sampler goes.
 * From l->recorded, with nothing taken off. NAN: no sampler went while the board was at rest for long enough,
 * or no kernel was traced, so that nobody knows. */
jm_status jm__sampler_step_find(double *power_w, double *u_w, const jm__training_set *l, jm_error *err);

/* All of these. NOT_FOUND: no such phase, counters, sensor, bursts. */
jm_status jm__training_set_begin(jm__training_set *training_set, const jm__dataset *dataset,
                                 const char *phase, int64_t board_id, double clock_exponent, jm_error *err);
void jm__training_set_free(jm__training_set *training_set);

#endif
