/* The run that this process was started in. Libc alone. */
#ifndef JM_TIMELINE_RUN_VARIABLE_H
#define JM_TIMELINE_RUN_VARIABLE_H

#include <stddef.h>

/* JOULEMAP_RUN: as the environment has it; where the program has removed it, as it was when this library was
 * loaded; else as it was when the program began. NULL: there was none, or it does not fit. */
const char *jm__run_variable(char *buffer, size_t size);

#endif
