/* The inside of a diff, for its views. */
#ifndef JM_REPORT_DIFF_H
#define JM_REPORT_DIFF_H

#include "base/vec.h"

#include <joulemap/diff.h>

#define JM__NO_PLACE ((size_t)-1)

typedef struct jm__diff_run {
    const jm_report *report;
    char *name;
    int64_t units; /* above 0: steady steps, their samples or tokens; 1 for a run */
    int side;      /* 0: A, 1: B */
} jm__diff_run;

/* A board in one run. */
typedef struct jm__gain_place {
    size_t run;
    jm_report_board board;
    size_t gain; /* index in jm__gains.items */
} jm__gain_place;

/* A physical board and the gain uncertainty of its sensor. */
typedef struct jm__gain {
    const jm_board *board;
    double gain_u;
    int side; /* the only side of a board without identity, which never matches one of the other side; -1:
                 both */
    double share[2]; /* share of the energy of each side */
    bool present[2]; /* whether the side has the board */
} jm__gain;

typedef struct jm__gains {
    JM_VEC(jm__gain_place) places;
    JM_VEC(jm__gain) items;
    size_t runs[2]; /* of each side */
    jm_sameness sameness;
} jm__gains;

struct jm_diff {
    jm__diff_run *runs; /* those of A, then those of B */
    size_t counts[2];   /* of each side */
    char *names[2];
    bool expand;
    bool same_kind; /* the steps of all runs have one name and phase */
    jm_per per;
    jm__gains gains;
    double *student; /* [runs of the larger side + 1]: for jm__runs_mean_of */
    double gain_u;   /* relative standard uncertainty of the total's change from gains */
    jm_diff_row total;
    JM_VEC(jm_diff_row) rows;
    size_t *places; /* [rows][runs]: row in the report of the run, or JM__NO_PLACE */
};

static inline size_t jm__diff_run_count(const jm_diff *diff)
{
    return diff->counts[0] + diff->counts[1];
}

/* Index of the diff's row in the report of a run; JM__NO_PLACE: missing. */
static inline size_t jm__diff_place(const jm_diff *diff, size_t row, size_t run)
{
    return diff->places[row * jm__diff_run_count(diff) + run];
}

/* What a joule of a row of a run counts for in a figure per unit. */
double jm__diff_unit_share(const jm_diff *diff, size_t run, const jm_row *row);

/* Compare the sum of `count` rows of the diff: equal layers, or one row. All are in the same runs and ran on
 * the same boards; name, path and kind are those of the first. Covariances within a run are included. */
jm_status jm__diff_compare_rows(jm_diff_row *row, const jm_diff *diff, const size_t *members, size_t count,
                                jm_error *err);

#endif
