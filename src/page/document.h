/* The data of a page: one JSON object. What the page shows is computed here; the page formats and draws. */
#ifndef JM_PAGE_DOCUMENT_H
#define JM_PAGE_DOCUMENT_H

#include "base/strbuf.h"
#include <joulemap/page.h>

/* Add the object as text that can stand inside an element of HTML: no "<" is in it. `diff` and `other` are
 * NULL for a single run. */
jm_status jm__page_document(jm__strbuf *out, const jm_page_run *run, const jm_page_run *other,
                            const jm_diff *diff, jm_error *err);

#endif
