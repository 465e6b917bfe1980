/* What is known for and against the figures of a report, gathered from where it lies. */
#ifndef JM_ATTRIBUTE_NOTES_FACTS_H
#define JM_ATTRIBUTE_NOTES_FACTS_H

#include "attribute/attribution.h"
#include "attribute/notes/checks.h"
#include "attribute/notes/no_layer.h"
#include "attribute/rollup/rows.h"

jm__facts jm__facts_find(const jm__attribution *a, const jm__rows *rows, const jm_report_totals *totals,
                         const jm_report_quality *quality, const jm__no_layer *no_layer);

#endif
