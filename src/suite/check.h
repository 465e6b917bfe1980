/* The suite without a GPU: its list, and whether its sources compile. */
#ifndef SUITE_CHECK_H
#define SUITE_CHECK_H

#include <joulemap/status.h>
#include <stdbool.h>

/* A line a kernel and kind of data, on stdout: name, kind, source, function. */
void suite_show_list(void);

/* Compile all sources for a compute capability (90: 9.0) and look for the functions of the list in them; a
 * line a source on stdout. NOT_SUPPORTED: there is no libnvrtc, or one that cannot; INTERNAL: a function is
 * missing. */
jm_status suite_compile_all(int capability, bool simulated, jm_error *err);

#endif
