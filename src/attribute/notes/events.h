/* Which events of a recording concern a report. */
#ifndef JM_ATTRIBUTE_NOTES_EVENTS_H
#define JM_ATTRIBUTE_NOTES_EVENTS_H

#include "attribute/attribution.h"

/* Those of the boards asked for, or of none; and, of what is over in a moment, in the time asked for. */
bool jm__event_concerns(const jm__attribution *a, const jm__event *event);

/* How long readings are missing, of a gap; 0 of all else, and where the recording does not say. */
int64_t jm__event_gap_ns(const jm__event *event);

#endif
