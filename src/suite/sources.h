/* The sources of the kernels, which are part of this program. */
#ifndef SUITE_SOURCES_H
#define SUITE_SOURCES_H

#include <stddef.h>

/* The text of kernels/NAME.cu, or of common.cuh ("common"); to be freed. NULL: no memory, or no such one. */
char *suite_source_text(const char *name);

/* The name of the i-th kernels/NAME.cu; NULL past the last. */
const char *suite_source_name(size_t index);

#endif
