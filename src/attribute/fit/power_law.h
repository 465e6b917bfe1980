/* What a kind of work draws when it does not have the board as usual: at another clock, beside other work.
 *
 * What work draws beyond the power of the shortest gaps goes with the clock to one power b of it, for all
 * kinds alike: f V^2, where V follows f. Of kernels that run together each has a share of the time, and draws
 * in it 1 + k times what it draws alone: k is 0 where they take turns, and 1 where two leave each other
 * alone. So a second at clock c counts for (c / c0)^b seconds of its kind, c0 being the mean clock of
 * work in the run, a second beside others for 1 + k, and for the rest of it, which may be below 0, as such a
 * gap. b and k are unknown, and found with the sensor's response (calibrate.h). On a board that holds its
 * power at a limit by its clock, b comes out as 0. */
#ifndef JM_ATTRIBUTE_FIT_POWER_LAW_H
#define JM_ATTRIBUTE_FIT_POWER_LAW_H

#include "attribute/work/work.h"

typedef enum jm__law_unknown { JM_LAW_CLOCK, JM_LAW_OVERLAP, JM_LAW_UNKNOWNS } jm__law_unknown;

/* b and k. */
typedef struct jm__law_values {
    double of[JM_LAW_UNKNOWNS];
} jm__law_values;

typedef struct jm__power_law {
    bool varies[JM_LAW_UNKNOWNS]; /* false: the clock stood still or is not recorded; nothing ran together */
    size_t codes, uses;
    double *log_clock;      /* [uses]: of c / c0; 0: not known */
    bool *joint;            /* [uses]: beside others */
    double *scale;          /* [codes of pieces]: for the values that are set */
    const uint32_t *use_of; /* [codes - idle states] */
    double *relative;       /* [points * columns]: see jm__power_law_relate; NULL: not known yet */
    uint32_t gap_column;
} jm__power_law;

jm_status jm__power_law_find(jm__power_law *law, const jm__work_set *set, const jm__board_work *board,
                             jm_error *err);
void jm__power_law_free(jm__power_law *law);

/* Is there anything to be found? */
bool jm__power_law_holds(const jm__power_law *law);

/* The pieces count as these values make them, until others are set. Does nothing for a law that is NULL. */
void jm__power_law_set(const jm__power_law *law, const jm__law_values *values, jm__pieces *pieces);

/* How long uses count for, [uses], which the caller frees; NULL: memory is out. */
double *jm__power_law_scales(const jm__power_law *law, const jm__law_values *values);

/* Sets `relative`: by how much longer each column is with other values than with `usual`, [count]. */
jm_status jm__power_law_relate(jm__power_law *law, const jm__board_work *board, const jm__law_values *usual,
                               const jm__law_values *others, size_t count, jm_error *err);

#endif
