/* How the power of work goes with the clock.
 *
 * What work draws beyond the power of the shortest gaps goes with the clock to one power b of it, for all
 * kinds alike: f V^2, where V follows f. So a second at clock c counts for (c / c0)^b seconds of its kind, c0
 * being the highest clock of the run, and for the rest of it as such a gap. b is unknown, and found with the
 * sensor's response (calibrate.h). On a board that holds its power at a limit by its clock, b comes out as 0.
 */
#ifndef JM_ATTRIBUTE_FIT_CLOCK_LAW_H
#define JM_ATTRIBUTE_FIT_CLOCK_LAW_H

#include "attribute/work/work.h"

/* Before any reading: between f alone and f^3, rather nearer to the first: an H200 near its highest clock
 * drew 5 % less at 8 % less (docs/accuracy.md). */
#define JM_CLOCK_EXPONENT      1.0
#define JM_CLOCK_EXPONENT_U    1.0
#define JM_CLOCK_EXPONENT_MOST 4.0

typedef struct jm__clock_law {
    size_t codes, uses;
    double *log_clock; /* [uses]: of c / c0; 0: not known */
    double *of_code;   /* [codes of pieces]: the same; 0: of what is no work */
    double *scale;     /* [codes]: (c / c0)^b, for the b that is set */
    double *relative;  /* [points * columns]: see jm__clock_law_relate; NULL: not known yet */
    uint32_t gap_column;
    bool moved; /* false: the clock stood still, or is not recorded; all else is 0 */
} jm__clock_law;

jm_status jm__clock_law_find(jm__clock_law *law, const jm__work_set *set, const jm__board_work *board,
                             jm_error *err);
void jm__clock_law_free(jm__clock_law *law);

/* The pieces count as the clock makes them with this exponent, until another is set. Does nothing for a law
 * that is NULL. */
void jm__clock_law_set(const jm__clock_law *law, double exponent, jm__pieces *pieces);

/* How long uses count for with this exponent, [uses], which the caller frees; NULL: memory is out. */
double *jm__clock_law_scales(const jm__clock_law *law, double exponent);

/* Sets `relative`: by how much longer each column is with another exponent than with `exponent`, [count]. */
jm_status jm__clock_law_relate(jm__clock_law *law, const jm__board_work *board, double exponent,
                               const double *exponents, size_t count, jm_error *err);

#endif
