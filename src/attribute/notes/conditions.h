/* Which events of a recording concern a report. */
#ifndef JM_ATTRIBUTE_NOTES_CONDITIONS_H
#define JM_ATTRIBUTE_NOTES_CONDITIONS_H

#include "attribute/attribution.h"
#include "attribute/board_part.h"

/* Those of the boards asked for, or of none; and, of what is over in a moment, in the time asked for. */
bool jm__event_concerns(const jm__attribution *a, const jm__event *event);

/* How long readings are missing, of a gap; 0 of all else, and where the recording does not say. */
int64_t jm__event_gap_ns(const jm__event *event);

/* Under which conditions a board ran in the time reported: what held it back, and its power limit. */

enum { JM_REASONS = 9 }; /* bits of NVML's reasons that have a name */

typedef struct jm__conditions {
    double told_s; /* of the board's windows: so much its readings of the reasons speak of; 0: not recorded */
    double throttled_s;          /* of that */
    double reason_s[JM_REASONS]; /* of that: by bit */
    double power_limit_w;        /* mean by time; NAN: not recorded */
    double temperature_c;        /* likewise */
} jm__conditions;
jm__conditions jm__conditions_of(const jm__dataset *dataset, const jm__board_part *part);

/* Seconds of the report in which the board was busy, as its utilisation says, but nothing that was recorded
 * ran on it. NAN: not known. */
double jm__unrecorded_s(const jm__dataset *dataset, const jm__board_part *part);

/* What a bit of NVML's reasons means: "power limit". */
const char *jm__throttle_reason_text(int bit);

#endif
