/* The training data of a model: a phase of a recording with its readings, counters, and kernels. */
#ifndef JM_CALIBRATE_TRAINING_SET_H
#define JM_CALIBRATE_TRAINING_SET_H

#include "attribute/input/window.h"
#include "attribute/prior/rate_windows.h"
#include "attribute/work/pieces.h"
#include "base/vec.h"

/* A kernel of the suite: all bursts of one name. */
typedef struct jm__suite_kernel {
    char *name;   /* as valid UTF-8 */
    char *family; /* likewise */
    const char *data;
    bool left_out;  /* its data are constant: not used for weights */
    double *rate;   /* [features]: mean in windows within its bursts, relative to the references */
    double seconds; /* total length of those windows */
} jm__suite_kernel;

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
    double *reference; /* [count]: highest rate of each metric */
    double clock_mhz;  /* the highest */
    double slots;      /* see jm__rate_choice */
    JM_VEC(jm__suite_kernel) kernels;
    JM_VEC(jm__burst) bursts; /* by time */
    jm_reading *recorded;     /* of the sensor, late timestamps corrected, minus the sampler's power */
    size_t recorded_count;
    double sampler_w, sampler_u_w; /* power of the counter sampler, as measured; NAN: unknown */
    jm_reading *readings;          /* those in the phase */
    size_t reading_count;
    jm__pieces rates;    /* code: a metric; the last: the constant, 0 without counters */
    jm__pieces work;     /* code: 0 for no kernel, then the kernels */
    uint32_t *column_of; /* of both */
} jm__training_set;

/* Whether the kernel ran on the training set's board. */
bool jm__training_set_has_kernel(const jm__training_set *training_set, const jm__kernel_run *kernel);

/* Find the phase. NOT_FOUND: no such phase. */
jm_status jm__suite_phase(jm__training_set *training_set, const char *phase, jm_error *err);

/* Find the phase's bursts and their kernels. NOT_FOUND: it has none. */
jm_status jm__suite_bursts(jm__training_set *training_set, const char *phase, jm_error *err);

/* The power of a counter sampler: the step of the power at rest when the sampler stops. Uses l->recorded,
 * before the sampler's power is subtracted. NAN: no sampler stopped while the board was at rest for long
 * enough, or no kernel was traced. */
jm_status jm__sampler_step_find(double *power_w, double *u_w, const jm__training_set *l, jm_error *err);

/* Build the training set. NOT_FOUND: no such phase, counters, sensor, bursts. */
jm_status jm__training_set_begin(jm__training_set *training_set, const jm__dataset *dataset,
                                 const char *phase, int64_t board_id, double clock_exponent, jm_error *err);
void jm__training_set_free(jm__training_set *training_set);

#endif
