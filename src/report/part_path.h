/* What a part of a fold is called where it stands alone. */
#ifndef JM_REPORT_PART_PATH_H
#define JM_REPORT_PART_PATH_H

#include "base/strbuf.h"
#include "report/fold.h"

/* Add the path of its row; of several members what their paths have in common, "blocks.*.attn" of
 * "blocks.0.attn" and "blocks.1.attn": a pattern that matches all of them; of one that is called by their
 * class, "blocks.*.2 LayerNorm". */
void jm__part_path_add(jm__strbuf *out, const jm_report *report, const jm__fold *fold, const jm__part *part);

#endif
