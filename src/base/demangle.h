/* Demangled C++ names. */
#ifndef JM_BASE_DEMANGLE_H
#define JM_BASE_DEMANGLE_H

#include <stdbool.h>

/* Demangles "_ZN2at6native...". `*plain` is NULL if `name` is not mangled, or if there is no C++ runtime to
 * demangle it; the caller frees it with free(). False if memory is out. */
bool jm__demangle(char **plain, const char *name);

#endif
