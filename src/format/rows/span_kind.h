/* Traits of span kinds: one column of JM_SPAN_KIND_MAP each (joulemap/span.h). */
#ifndef JM_FORMAT_ROWS_SPAN_KIND_H
#define JM_FORMAT_ROWS_SPAN_KIND_H

#include <joulemap/span.h>
#include <stdbool.h>

/* It covers all threads of its process. */
bool jm__span_kind_is_wide(jm_span_kind kind);

/* It contains work but is none itself: a phase, a step. */
bool jm__span_kind_is_container(jm_span_kind kind);

/* It is a pass of a layer. */
bool jm__span_kind_is_layer(jm_span_kind kind);

/* It is work itself, whose power is fitted if there are no kernels: a pass of a layer, an optimizer. */
bool jm__span_kind_is_work(jm_span_kind kind);

/* It is a range of the program, or the part of one that goes on in another thread: both share one row. */
bool jm__span_kind_is_range(jm_span_kind kind);

#endif
