/* Libraries that are loaded by hand: in stretches without a fork (no_fork.h), as the child of one that comes
 * while the loader is at it has a loader that is at it for good, and dies at its next dlopen. */
#ifndef JM_BASE_LIBRARY_H
#define JM_BASE_LIBRARY_H

/* dlopen and dlclose; dlerror tells as after these. */
void *jm__library_open(const char *path, int flags);
void jm__library_close(void *library);

#endif
