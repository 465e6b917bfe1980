/* What ncu says when there is nothing to read, and what helps. */
#include "import/ncu/ncu.h"

#include <string.h>

static const struct {
    const char *said, *means;
} table[] = {
    {"ERR_NVGPUCTRPERM", "this user may not read the GPU's counters: as root, or with the driver's option "
                         "NVreg_RestrictProfilingToAdminUsers=0"},
    {"No kernels were profiled", "no kernels were profiled: the program started none on a GPU, a filter "
                                 "(--kernel-name, --launch-skip, --nvtx) "
                                 "left out all, they ran in a child process (--target-processes all), or the "
                                 "program ended before its first one"},
    {"Failed to profile kernel", "ncu could not profile a kernel"},
    {"ERR_NVGPUCTR", "the GPU's counters cannot be read"},
    {"Cuda driver is not compatible", "this ncu is newer than the driver allows"},
    {"driver is not compatible", "this ncu is newer than the driver allows"},
    {"Another instance of profiler",
     "another profiler (ncu, CUPTI, joulemap's counters) has the GPU's counters"},
    {"ResourceUnavailable", "another profiler (ncu, CUPTI, joulemap's counters) has the GPU's counters"},
    {"unrecognised option", "this ncu does not know an option"},
    {"unrecognized option", "this ncu does not know an option"},
    {"Failed to find metric", "this ncu does not know a metric that was asked for"},
    {"The application returned an error code", "the program itself failed under ncu"},
    {"Failed to launch", "ncu could not start the program"},
};

const char *jm__ncu_explain(const char *line)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strstr(line, table[i].said) != NULL) return table[i].means;
    return NULL;
}
