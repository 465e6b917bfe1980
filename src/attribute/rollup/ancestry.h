/* What is around a span. */
#ifndef JM_ATTRIBUTE_ROLLUP_ANCESTRY_H
#define JM_ATTRIBUTE_ROLLUP_ANCESTRY_H

#include "attribute/work/span_index.h"

/* The span around a span, both by index; JM__NO_SPAN for none. */
size_t jm__span_parent(const jm__span_index *spans, size_t span);

#endif
