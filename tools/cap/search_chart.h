/* The objective over the cap, as a picture of a few lines. */
#ifndef JM_CAP_SEARCH_CHART_H
#define JM_CAP_SEARCH_CHART_H

#include "base/strbuf.h"
#include "cap/search.h"

/* An empty line and the picture; nothing where there are fewer than three caps. */
void jm__cap_chart_add(jm__strbuf *out, const jm_cap_search *search, const jm__cap_result *result,
                       size_t width);

#endif
