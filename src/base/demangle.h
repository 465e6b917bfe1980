/* C++ names as people write them. */
#ifndef JM_BASE_DEMANGLE_H
#define JM_BASE_DEMANGLE_H

#include <stdbool.h>

/* The name behind "_ZN2at6native..."; NULL if it is not such a name, or the C++ runtime, which knows
 * the rules, is not on this machine. The caller frees it with free(). False if memory is out. */
bool jm__demangle(char **plain, const char *name);

#endif
