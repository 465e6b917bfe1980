/* Where Nsight Compute is. */
#include "base/beside.h"
#include "base/status.h"
#include "import/ncu/run.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

static bool below(char *out, size_t size, const char *variable)
{
    const char *home = getenv(variable);
    if (home == NULL || home[0] == '\0') return false;
    int written = snprintf(out, size, "%s/bin/ncu", home);
    return written > 0 && (size_t)written < size && is_program(out);
}

/* By the versions in their names: 2025.10 is newer than 2025.9. */
static bool newest(char *out, size_t size, const char *root, const char *below_root)
{
    char pattern[PATH_MAX];
    glob_t found;
    const char *best = NULL;
    int written = snprintf(pattern, sizeof pattern, "%s%s", root, below_root);
    if (written < 0 || (size_t)written >= sizeof pattern || glob(pattern, 0, NULL, &found) != 0) return false;
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (is_program(found.gl_pathv[i]) && strlen(found.gl_pathv[i]) < size &&
            (best == NULL || strverscmp(found.gl_pathv[i], best) > 0))
            best = found.gl_pathv[i];
    if (best != NULL) snprintf(out, size, "%s", best);
    globfree(&found);
    return best != NULL;
}

jm_status jm__ncu_find(char *path, size_t size, const char *root, jm_error *err)
{
    if (jm__on_path("ncu", path, size) || below(path, size, "CUDA_HOME") || below(path, size, "CUDA_PATH") ||
        newest(path, size, root, "/usr/local/cuda*/bin/ncu") ||
        newest(path, size, root, "/opt/nvidia/nsight-compute/*/ncu"))
        return JM_OK;
    jm__fail(err, JM_NOT_FOUND, 0, NULL,
             "Nsight Compute (ncu) is not here; looked in PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda*, "
             "/opt/nvidia/nsight-compute");
    return jm__hint(err, JM_NOT_FOUND,
                    "it is part of the CUDA toolkit (package nsight-compute); a file that it wrote elsewhere "
                    "can be read too");
}
