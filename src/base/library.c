/* dlopen and dlclose, and no fork meanwhile. */
#include "base/library.h"

#include "base/no_fork.h"

#include <dlfcn.h>

void *jm__library_open(const char *path, int flags)
{
    jm__no_fork_begin();
    void *library = dlopen(path, flags);
    jm__no_fork_end();
    return library;
}

void jm__library_close(void *library)
{
    jm__no_fork_begin();
    dlclose(library);
    jm__no_fork_end();
}
