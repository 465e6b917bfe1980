/* Readings as rows of a design: the share of the weight of each that every column had, in one pass over time;
 * which of them a fit takes, and the response of the sensor. */
#ifndef JM_ATTRIBUTE_FIT_CALIBRATE_H
#define JM_ATTRIBUTE_FIT_CALIBRATE_H

#include "attribute/fit/power_law.h"
#include "attribute/fit/prior.h"
#include "attribute/fit/qr.h"
#include "attribute/input/window.h"
#include "attribute/work/pieces.h"
#include <joulemap/board.h>

typedef struct jm__response {
    jm_response kind;
    double lag_ns;
    double width_ns; /* FIRST_ORDER: time constant; BOX: window */
} jm__response;

/* Time constants after which nothing is left (4e-18). */
#define JM_FORGOTTEN 40.0

/* Further apart than so many standard uncertainties, one of two figures is wrong rather than unsure: by
 * chance once in 370 times. */
#define JM_APART_Z 3.0

typedef struct jm__design {
    size_t columns;
    jm__response response;
    double *state; /* [columns] */
    int64_t now_ns;
    int64_t tail_ns;         /* BOX: start of the window */
    jm__piece_cursor cursor; /* first piece that ends after now_ns */
    jm__piece_cursor tail;   /* BOX: first piece that ends after tail_ns */
    bool started;
} jm__design;
jm_status jm__design_init(jm__design *design, jm__pieces *pieces, size_t columns, jm_error *err);
void jm__design_free(jm__design *design);

/* Begin a pass with this response. */
void jm__design_start(jm__design *design, jm__response response);

/* The weights of a reading stamped t_ns, valid until the next call; times must not go back. */
const double *jm__design_row(jm__design *design, int64_t t_ns);

/* One pass of readings through the design into a triangle, and back for the residuals. */

/* The readings that a fit works on, and how the columns of the design are put together for it. */
typedef struct jm__pass {
    jm__design *design;
    const jm_reading *readings; /* sorted by time */
    size_t count;
    int64_t period_ns;     /* readings farther apart than 1.5 of it are not neighbours */
    const uint32_t *group; /* [design->columns]: column of the fit; NULL: each its own */
    const double *scale;   /* [design->columns]: power of each, of that of its group; NULL: all 1 */
    size_t columns;        /* of the fit */
} jm__pass;

/* Reset `qr` (of pass->columns columns) and fold all readings in, unit weight. */
jm_status jm__pass_fold(const jm__pass *pass, jm__response response, jm__qr *qr, jm_error *err);

/* The powers after these readings, with white noise. The caller frees `powers` in any case. */
jm_status jm__pass_solve(jm__posterior *powers, const jm__pass *pass, jm__response response,
                         const jm__joint_prior *joint_prior, jm_error *err);

/* What the readings say of the powers at a response. */
typedef struct jm__moments {
    jm__response response;
    double *information, *moment; /* A'A, the lower half of [columns * columns]; A'(y - A centre) */
    double square;                /* of y - A centre */
} jm__moments;

/* Adds a reading of n columns; returns it, centred. */
double jm__moments_add(jm__moments *moments, const double *row, double value, const double *centre, size_t n);

enum { JM_MOMENTS_MOST = 64 };

/* Fills in the moments of `count` responses of one width, at most JM_MOMENTS_MOST, in one pass over time.
 * `centre`: [columns], NULL: 0. `row`: room for one. */
void jm__pass_moments(const jm__pass *pass, const double *centre, jm__moments *of, size_t count, double *row);

/* How many of its columns, not grouped, share the time: those behind them have it as well. */
size_t jm__pass_shared_columns(const jm__pass *pass);

/* The weights of reading i; in order of time after jm__design_start. */
void jm__pass_row(const jm__pass *pass, size_t i, double *row);

/* Reading i comes right after the one before it. */
bool jm__pass_are_neighbours(const jm__pass *pass, size_t i);

/* residual[count] of a solution, and `scores` (columns * columns, or NULL): the sum over blocks of about a
 * second of g g', where g is the block's sum of row times residual. With white noise it is the noise's
 * variance times A'A; with drift, or with powers that are not constant, it is what they make of it. */
jm_status jm__pass_residuals(const jm__pass *pass, jm__response response, const double *x, double *residual,
                             double *scores, jm_error *err);

/* How residuals correlate with those of the reading before. */
double jm__pass_correlation(const jm__pass *pass, const double *residual);

/* The response of this very recording: the posterior of lag and width within the limits of the profile. */

/* A width of nothing cannot be divided by: what is narrower counts as instant. */
#define JM_WIDTH_LEAST_NS 1000.0

/* Readings on which lag and width are looked for: 20 s of the ring, each summed up some hundred times.
 */
enum { JM_CALIBRATE_READINGS = 1000 };

/* Points that a posterior of the response is summed up by. */
enum { JM_RESPONSE_POINTS = 8 };

typedef struct jm__calibration {
    jm__response response;                        /* the most likely */
    jm__response points[JM_RESPONSE_POINTS];      /* equally likely ones, which stand for all that may be */
    size_t count;                                 /* of points; 1: nothing is unsure */
    jm__law_values values;                        /* of the law of powers, the most likely */
    jm__law_values values_of[JM_RESPONSE_POINTS]; /* of each point */
    double lag_variance, width_variance;          /* ns^2 */
    bool moved;                                   /* readings are of the time to which they were moved */
    bool taught;                                  /* the readings tell more of it than the profile does */
} jm__calibration;

/* The response as the sensor's row has it, with its calibrated uncertainty. */
jm__calibration jm__calibration_of(const jm_sensor *sensor);

/* The noise of a reading as the sensor's row has it. With one or two readings nothing else is known of it, so
 * it counts as two. */
jm__noise_prior jm__noise_of(const jm_sensor *sensor);

/* The response by the sensor's profile and the readings of `pass` (grouped columns), and how power goes with
 * the clock, by a law; NULL: it does not. Leaves the pieces with the most likely exponent. `moved`: the same
 * readings at other times, where they may be of those; NULL: they are not. */
jm_status jm__calibrate(jm__calibration *calibration, const jm_sensor *sensor, const jm__pass *pass,
                        const jm_reading *moved, const jm__joint_prior *joint_prior, const jm__power_law *law,
                        jm_error *err);

/* Which readings of a sensor a fit works on. */

typedef JM_VEC(jm_reading) jm__reading_list;

/* Those stamped inside a window, their lag taken off. At the start of a long one, those that still remember
 * what was before are left out; in a short one they stay, as the design knows what was before. Those that
 * remember time in `unknown` (normalised; NULL: none), of which the design tells nothing, are left out in any
 * case. Sorted by time, as `readings` are; no two of one time. */
jm_status jm__readings_choose(jm__reading_list *out, const jm_sensor *sensor, const jm_reading *readings,
                              size_t count, const jm__intervals *windows, const jm__intervals *unknown,
                              jm_error *err);

/* At most `most` of them, in blocks of neighbours spread over all. */
jm_status jm__readings_sample(jm__reading_list *out, const jm__reading_list *all, size_t most, jm_error *err);

#endif
