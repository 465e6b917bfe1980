/* How good the data of a report are: which events concern it, what held boards back, and the verdict. */
#ifndef JM_ATTRIBUTE_NOTES_QUALITY_H
#define JM_ATTRIBUTE_NOTES_QUALITY_H

#include "attribute/attribution.h"
#include "attribute/board_part.h"
#include "attribute/rollup/rows.h"
#include "base/vec.h"
#include <math.h>
#include <stdbool.h>

/* Those of the boards asked for, or of none; and, of what is over in a moment, in the time asked for. */
bool jm__event_concerns(const jm__attribution *a, const jm__event *event);

/* Under which conditions a board ran in the time reported: what held it back, and its power limit. */

enum { JM_REASONS = 9 }; /* bits of NVML's reasons that have a name */

typedef struct jm__conditions {
    double reported_s;  /* of the board's windows: so much its readings of the reasons speak of; 0: not
                           recorded */
    double throttled_s; /* of that */
    double reason_s[JM_REASONS]; /* of that: by bit */
    double power_limit_w;        /* mean by time; NAN: not recorded */
    double temperature_c;        /* likewise */
} jm__conditions;
jm__conditions jm__conditions_of(const jm__dataset *dataset, const jm__board_part *part);

/* What a bit of NVML's reasons means: "power limit". */
const char *jm__throttle_reason_text(int bit);

/* What can stand against the figures of a report, each check told once: its limits and its sentence.
 *
 *     X(name, fair, poor, before, form, after)
 *
 * name   member of jm__facts
 * fair   from this figure on the report is at best fair: its parts can be used with the sentence in mind
 * poor   from this figure on it is poor: no part of it should be printed
 * before, form, after    the sentence, around the figure
 *
 * good means that the parts can be printed as they are, with their intervals. The limits are choices: each
 * lies where what the intervals do not cover reaches the size of what they do cover (a few per cent of a part
 * for fair), or where the sentence is no longer about single parts (poor). docs/report.md lists them. Of
 * equally bad ones the first counts: what touches the total stands before what touches the parts. */

#define JM_CHECK_MAP(X)                                                                                      \
    X(no_energy, 1, 1, "no sensor gave a reading of power or energy: no energy is known", HIDDEN, "")        \
    X(boards_missing, 1, 1, "the energy of ", COUNT,                                                         \
      " of the GPUs and CPUs is not known: the total is that of the others")                                 \
    X(damaged, 1, 1, "the recording is damaged: figures are of what could still be read", HIDDEN, "")        \
    X(lost_time, 0.001, 0.05, "", PERCENT,                                                                   \
      " of the time a GPU did not answer: its energy is that of the rest of the time")                       \
    X(unseen, 0.01, 0.1, "", PERCENT, " of the energy is interpolated across gaps in the readings")          \
    X(lost_records, 0.001, 0.02, "", PERCENT,                                                                \
      " of the spans and kernels were lost: their energy stands at other rows")                              \
    X(unrecorded, 0.05, 0.5, "for ", PERCENT,                                                                \
      " of the time a GPU was busy with work that was not recorded (another user's, or in a container?): "   \
      "it "                                                                                                  \
      "stands as idle")                                                                                      \
    X(chi2_n, 3, 10, "the fit misses the readings by more than noise, chi2/n ", NUMBER,                      \
      " (1 is ideal): single parts are indicative")                                                          \
    X(residual, 0.1, 0.3, "the fit misses the readings by ", PERCENT,                                        \
      " of the mean power: single parts are indicative")                                                     \
    X(closure, 0.01, 0.05, "the fit and the total are ", PERCENT,                                            \
      " apart, more than 3 standard uncertainties: the parts do not add up to what was measured")            \
    X(sensors, 0.01, 0.1, "the power sensor and the energy counter of a GPU are ", PERCENT,                  \
      " apart: one of them is wrong, and nobody knows which")                                                \
    X(unresolved, 0.02, 0.1, "", PERCENT, " of the energy could not be told apart: it is in no row")         \
    X(no_layer, 0.05, 0.5, "", PERCENT, " of the kernels' energy is in no layer")                            \
    X(gaps, 0.05, 0.5, "", PERCENT,                                                                          \
      " of the time is without readings of power: what ran there has the powers of other times")             \
    X(weak, 0.5, 0.95, "", PERCENT,                                                                          \
      " of the energy stands at rows that the readings do not decide (weak): their \302\261 is wide")        \
    X(overlap, 0.1, INFINITY, "for ", PERCENT,                                                               \
      " of the time of kernels several ran together: one factor for all of them says what that draws")       \
    X(throttled, 0.1, INFINITY, "", PERCENT,                                                                 \
      " of the time the GPU throttled: the same work may draw another power below its limit")

typedef enum jm__check {
#define X(name, fair, poor, before, form, after) JM_CHECK_##name,
    JM_CHECK_MAP(X)
#undef X
        JM_CHECK_COUNT
} jm__check;

/* Shares are of 1. NAN: not known, or does not apply; that stands against nothing. */
typedef struct jm__facts {
    double figures[JM_CHECK_COUNT];
    bool total_is_measured;   /* and no sum of the fit */
    const char *no_layer_why; /* goes on with that sentence; NULL: nothing is known */
} jm__facts;

typedef enum jm__grade { JM_GRADE_GOOD, JM_GRADE_FAIR, JM_GRADE_POOR } jm__grade;

/* "good", "fair", "poor" */
const char *jm__grade_text(jm__grade grade);

typedef struct jm__verdict {
    jm__grade grade;
    JM_VEC(char *) sentences; /* worst first; ends with NULL, which is not counted; the first is the reason */
} jm__verdict;

/* False if memory is out. To be freed in any case. */
bool jm__verdict_find(jm__verdict *verdict, const jm__facts *facts);
void jm__verdict_free(jm__verdict *verdict);

/* What makes the check fair, and poor; for tests and nothing else. */
double jm__check_limit(jm__check check, jm__grade grade);
const char *jm__check_name(jm__check check);

/* How good the data of a report are, and what taking them cost: counts, for programs; the sentences are
 * notes/. */

typedef struct jm__quality {
    jm_report_quality figures;
    char **sensors; /* NULL-terminated; what figures.sensors points to */
    jm__verdict verdict;
} jm__quality;
jm_status jm__quality_make(jm__quality *quality, const jm__attribution *a, const jm__rows *rows,
                           const jm_report_totals *totals, jm_error *err);
void jm__quality_free(jm__quality *quality);

#endif
