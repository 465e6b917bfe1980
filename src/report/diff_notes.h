/* Below the table of a diff: the runs behind its sides, and what was not the same in them. */
#ifndef JM_REPORT_DIFF_NOTES_H
#define JM_REPORT_DIFF_NOTES_H

#include "base/strbuf.h"
#include "report/diff_parts.h"

/* `some_runs`: the table says of rows that only some runs have them. `width`: 0, not wrapped. */
void jm__diff_notes(jm__strbuf *out, const jm_diff *diff, bool some_runs, size_t width);

#endif
