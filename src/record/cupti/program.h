/* The Python whose packages may hold a libcupti, for those who look before, or outside of, the program. */
#ifndef JM_RECORD_CUPTI_PROGRAM_H
#define JM_RECORD_CUPTI_PROGRAM_H

#include <stddef.h>

/* The executable whose packages count: this one if it is a Python, else the Python that would be started from
 * here (JOULEMAP_PYTHON, else the first python3 on PATH), by its true name, as it stands in /proc/self/exe.
 * NULL: none. `size` is at least PATH_MAX. */
const char *jm__cupti_program(char *program, size_t size);

#endif
