/* Where joulemap.pc lies, for C programs that are compiled against an installed joulemap. */
#include "cli/args.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seen from the command's folder: in a wheel, and in a system (cmake/install.cmake). */
static const char *const places[] = {"pkgconfig", "../pkgconfig"};

int cli_pkgconfig_folder_print(void)
{
    char self[PATH_MAX], folder[PATH_MAX + 64], file[PATH_MAX + 80], whole[PATH_MAX];
    if (realpath("/proc/self/exe", self) == NULL)
        return cli_error(NULL, JM_NOT_SUPPORTED, "mount /proc", "/proc/self/exe: %s", strerror(errno));
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(folder, sizeof folder, "%s/%s", self, places[i]);
        snprintf(file, sizeof file, "%s/joulemap.pc", folder);
        if (access(file, R_OK) != 0 || realpath(folder, whole) == NULL) continue;
        printf("%s\n", whole);
        return 0;
    }
    return cli_error(NULL, JM_NOT_FOUND, "make install PREFIX=DIR; or pip install a wheel",
                     "this joulemap is not installed: no joulemap.pc for %s", self);
}
