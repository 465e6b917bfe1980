/* What the environment said that this program was started with: its run, and whether it is to be dormant. */
#ifndef JM_RECORD_TIMELINE_RUN_VARIABLE_H
#define JM_RECORD_TIMELINE_RUN_VARIABLE_H

#include <stddef.h>

typedef enum jm__start_name { JM_START_RUN, JM_START_DORMANT, JM_START_NAMES } jm__start_name;

/* The variable: as the environment has it now, else as it was when this library was loaded, else as it was
 * when the program started. NULL: none. Copied into `buffer`; one that does not fit is none. */
const char *jm__start_variable(jm__start_name name, char *buffer, size_t size);

/* JOULEMAP_RUN likewise. */
const char *jm__run_variable(char *buffer, size_t size);

#endif
