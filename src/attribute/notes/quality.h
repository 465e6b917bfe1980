/* How good the data of a report are, and what taking them cost: counts, for programs; the sentences are
 * notes/. */
#ifndef JM_ATTRIBUTE_NOTES_QUALITY_H
#define JM_ATTRIBUTE_NOTES_QUALITY_H

#include "attribute/attribution.h"
#include "attribute/notes/checks.h"
#include "attribute/rollup/rows.h"

typedef struct jm__quality {
    jm_report_quality figures;
    char **sensors; /* NULL-terminated; what figures.sensors points to */
    jm__verdict verdict;
} jm__quality;

jm_status jm__quality_make(jm__quality *quality, const jm__attribution *a, const jm__rows *rows,
                           const jm_report_totals *totals, jm_error *err);

void jm__quality_free(jm__quality *quality);

#endif
