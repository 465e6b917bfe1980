/* The parts of the page's data, each made of one question to a run. All give NULL if memory is out or, with
 * the error, if what they asked failed. */
#ifndef JM_PAGE_PARTS_H
#define JM_PAGE_PARTS_H

#include "base/json_value.h"
#include "report/facts.h"

#include <joulemap/page.h>

/* Power and clock over time: {from_s, to_s, boards: [{index, mean_w, least_w, most_w, clock_mhz}]}, the
 * moments counted from the start of the recording. */
json_t *jm__page_power(const jm_report *report, jm_error *err);

/* Phases, epochs and windows that lie in the report's time, and when its steps began. */
json_t *jm__page_spans(const jm_report *report);

/* What each step took, out of a report by span; null if it has none. */
json_t *jm__page_steps(const jm_report *spans, jm_error *err);

/* Where, when and on what it ran. */
json_t *jm__page_machine(const jm_page_run *run);

/* The search for a power cap that a recording was made for; null: none, or none that can be read. */
json_t *jm__page_cap(const jm_recording *recording);
json_t *jm__page_cap_of(const json_t *search); /* of what the recording has of it; NULL is fine */

/* What costs most, and how much is waiting and for what: sentences after those of the report. */
jm_status jm__page_answers(jm__facts *facts, const jm_page_run *run, jm_error *err);

#endif
