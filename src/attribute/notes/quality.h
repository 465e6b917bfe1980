/* The quality of a report's data: its events, the conditions of boards, checks and the verdict. */
#ifndef JM_ATTRIBUTE_NOTES_QUALITY_H
#define JM_ATTRIBUTE_NOTES_QUALITY_H

#include "attribute/attribution.h"
#include "attribute/rollup/rows.h"
#include "base/vec.h"
#include <math.h>
#include <stdbool.h>

/* Whether an event is of a requested board or of none, and, unless it has a lasting effect, within the
 * requested time. */
bool jm__event_concerns(const jm__attribution *a, const jm__event *event);

enum { JM_REASONS = 9 }; /* bits of NVML's reasons that have a name */

/* Throttling and limits of a board in the report's time. */
typedef struct jm__conditions {
    double reported_s;           /* time covered by readings of the throttle reasons; 0: not recorded */
    double throttled_s;          /* of that */
    double reason_s[JM_REASONS]; /* of that, by bit */
    double power_limit_w;        /* mean over time; NAN: not recorded */
    double temperature_c;        /* the same */
} jm__conditions;
jm__conditions jm__conditions_of(const jm__dataset *dataset, const jm__board_part *part);

/* The names of these bits: "power limit". */
extern const char *const jm__throttle_reasons[JM_REASONS];

/* The checks of a report: limits and sentence of each.
 *
 *     X(name, fair, poor, before, form, after)
 *
 * name   index into jm__check_figures
 * fair   from this figure on the report is at best fair: its parts can be used with the sentence in mind
 * poor   from this figure on it is poor: no part of it should be printed
 * before, form, after    the sentence, around the figure
 *
 * good means that the parts can be printed as they are, with their intervals. The limits are choices. fair:
 * the error outside the intervals reaches their size (a few per cent of a part). poor: more than single parts
 * is affected. docs/report.md lists them. Of equally bad checks the first decides: those of the total come
 * before those of the parts. */

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
      "it is the row \"(work not seen)\"")                                                                   \
    X(lag, 2.5, INFINITY, "the readings' lag is ", NUMBER,                                                   \
      " standard uncertainties from the sensor's: do their clock and that of the work differ?")              \
    X(prediction, 0.01, 0.1, "the fit of the rest misses the mean power of an eighth of the run by ",        \
      PERCENT, ": single parts are indicative")                                                              \
    X(residual, 0.1, 0.15, "the fit misses the readings by ", PERCENT,                                       \
      " of the mean power: single parts are indicative")                                                     \
    X(closure, 0.01, 0.05, "the fit and the total are ", PERCENT,                                            \
      " apart, more than 3 standard uncertainties: the parts do not add up to what was measured")            \
    X(sensors, 0.01, 0.1, "the power sensor and the energy counter of a GPU are ", PERCENT,                  \
      " apart: one of them is wrong, and nobody knows which")                                                \
    X(unresolved, 0.02, 0.1, "", PERCENT, " of the energy could not be assigned: it is in no row")           \
    X(no_layer, 0.05, 0.5, "", PERCENT, " of the kernels' energy is in no layer")                            \
    X(gaps, 0.05, 0.5, "", PERCENT,                                                                          \
      " of the time is without readings of power: what ran there has the powers of other times")             \
    X(weak, 0.5, 0.95, "", PERCENT,                                                                          \
      " of the energy stands at rows that the readings do not decide (weak): their \302\261 is wide")        \
    X(overlap, 0.05, INFINITY, "for ", PERCENT,                                                              \
      " of the time of kernels several ran together: one factor for all of them says what that draws")       \
    X(throttled, 0.1, INFINITY, "", PERCENT,                                                                 \
      " of the time the GPU throttled: the same work may draw another power below its limit")

typedef enum jm__check {
#define X(name, fair, poor, before, form, after) JM_CHECK_##name,
    JM_CHECK_MAP(X)
#undef X
        JM_CHECK_COUNT
} jm__check;

/* Shares are of 1. NAN: unknown or not applicable, which passes the check. */
typedef struct jm__check_figures {
    double figures[JM_CHECK_COUNT];
    bool total_is_measured;   /* not the sum of the fit */
    const char *no_layer_why; /* end of that check's sentence; NULL: unknown */
} jm__check_figures;

typedef enum jm__grade { JM_GRADE_GOOD, JM_GRADE_FAIR, JM_GRADE_POOR } jm__grade;

/* "good", "fair", "poor" */
const char *jm__grade_text(jm__grade grade);

typedef struct jm__verdict {
    jm__grade grade;
    JM_VEC(char *) sentences; /* worst first, the reason; a NULL follows, which is not counted */
} jm__verdict;

/* False if memory is out. Free it in any case. */
bool jm__verdict_find(jm__verdict *verdict, const jm__check_figures *check_figures);
void jm__verdict_free(jm__verdict *verdict);

/* The quality of a report's data and the cost of recording them, as figures; notes.h has the sentences. */
typedef struct jm__quality {
    jm_report_quality figures;
    char **sensors; /* NULL-terminated; figures.sensors points to it */
    jm__verdict verdict;
} jm__quality;
jm_status jm__quality_make(jm__quality *quality, const jm__attribution *a, const jm__rows *rows,
                           const jm_report_totals *totals, jm_error *err);
void jm__quality_free(jm__quality *quality);

#endif
