/* A part of a run that was recorded in parts (rotate.h): which time is its own, and which rows. */
#ifndef JM_FORMAT_DATASET_PART_H
#define JM_FORMAT_DATASET_PART_H

#include "format/dataset_rows.h"

/* A fact of the recording as a time, `otherwise` if there is none. */
int64_t jm__meta_ns(const jm_recording *recording, const char *key, int64_t otherwise);

/* What it says of the run's other parts. `end_ns`: of the run or of what is complete; becomes that of the
 * part. */
jm_status jm__part_facts(jm__dataset *view, const jm_recording *recording, int64_t *end_ns, jm_error *err);

/* Rows around its ends are there for what is read of them; those that count for themselves are of its own
 * time. After its bounds are known. */
void jm__part_keep_own(jm__loading *loading);

#endif
