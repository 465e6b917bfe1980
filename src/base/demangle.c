/* Demangled C++ names, by the C++ runtime if there is one. It is loaded on first use, so that C programs do
 * not depend on it. */
#include "base/demangle.h"

#include "base/no_fork.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* __cxa_demangle of the Itanium C++ ABI */
typedef char *demangle_function(const char *name, char *buffer, size_t *size, int *status);

static demangle_function *demangle;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    for (size_t i = 0; demangle == NULL && i < sizeof libraries / sizeof *libraries; i++) {
        void *library = jm__library_open(libraries[i], RTLD_NOW | RTLD_LOCAL); /* never unloaded */
        void *symbol = library != NULL ? dlsym(library, "__cxa_demangle") : NULL;
        if (symbol != NULL) memcpy(&demangle, &symbol, sizeof demangle);
    }
}

bool jm__demangle(char **plain, const char *name)
{
    enum { NO_MEMORY = -1 };
    int status = 0;
    *plain = NULL;
    if (strncmp(name, "_Z", 2) != 0) return true;
    jm__no_fork_begin(); /* pthread_once is a lock, too */
    pthread_once(&once, load);
    jm__no_fork_end();
    if (demangle != NULL) *plain = demangle(name, NULL, NULL, &status);
    return status != NO_MEMORY;
}
