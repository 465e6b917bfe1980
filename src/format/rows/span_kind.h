/* What the kinds of spans are like: one column of JM_SPAN_KIND_MAP a trait (joulemap/span.h). */
#ifndef JM_FORMAT_ROWS_SPAN_KIND_H
#define JM_FORMAT_ROWS_SPAN_KIND_H

#include <joulemap/span.h>
#include <stdbool.h>

/* It speaks for all threads of its process. */
bool jm__span_kind_is_wide(jm_span_kind kind);

/* It says when, and holds work, but is none: a phase, a step. */
bool jm__span_kind_is_container(jm_span_kind kind);

/* It is a pass of a layer. */
bool jm__span_kind_is_layer(jm_span_kind kind);

/* It is work by itself, whose power is fitted where there are no kernels: a pass of a layer, an optimizer. */
bool jm__span_kind_is_work(jm_span_kind kind);

/* It is a range of the program, or what goes on of one in another thread: both have one row. */
bool jm__span_kind_is_range(jm_span_kind kind);

#endif
