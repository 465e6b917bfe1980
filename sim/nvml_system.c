/* NVML's calls without a device: start, end, versions, errors. */
#include "world.h"

#include <stdio.h>
#include <string.h>

SIM_EXPORT nvmlReturn_t nvmlInit(void);
nvmlReturn_t nvmlInit(void)
{
    return sim_world_init(__func__);
}

SIM_EXPORT nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlInit_v2(void)
{
    return sim_world_init(__func__);
}

SIM_EXPORT nvmlReturn_t nvmlInitWithFlags(unsigned int flags);
nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    return sim_world_init(__func__);
}

SIM_EXPORT nvmlReturn_t nvmlShutdown(void);
nvmlReturn_t nvmlShutdown(void)
{
    return sim_world_shutdown(__func__);
}

SIM_EXPORT const char *nvmlErrorString(nvmlReturn_t result);
const char *nvmlErrorString(nvmlReturn_t result)
{
    switch (result) {
#define X(number, name, text)                                                                                \
    case NVML_##name:                                                                                        \
        return text;
        NVML_RETURN_MAP(X)
#undef X
    }
    return "Unknown Error";
}

SIM_EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int size);
nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int size)
{
    sim_world *world;
    nvmlReturn_t result = sim_enter(__func__, &world);
    if (result != NVML_SUCCESS) return result;
    result = sim_copy_text(version, size, world->profiles[0].driver);
    sim_leave();
    return result;
}

SIM_EXPORT nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int size);
nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int size)
{
    sim_world *world;
    nvmlReturn_t result = sim_enter(__func__, &world);
    if (result != NVML_SUCCESS) return result;
    result = sim_copy_text(version, size, world->profiles[0].nvml);
    sim_leave();
    return result;
}

static nvmlReturn_t cuda_version(const char *call, int *version)
{
    sim_world *world;
    nvmlReturn_t result = sim_enter(call, &world);
    if (result != NVML_SUCCESS) return result;
    if (version != NULL) *version = world->profiles[0].cuda_driver;
    sim_leave();
    return version != NULL ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

SIM_EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version);
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
    return cuda_version(__func__, version);
}

SIM_EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version);
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    return cuda_version(__func__, version);
}

SIM_EXPORT nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int size);
nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int size)
{
    sim_world *world;
    nvmlReturn_t result = sim_enter(__func__, &world);
    if (result != NVML_SUCCESS) return result;
    sim_leave();
    char path[64];
    char text[1024];
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    FILE *in = fopen(path, "re");
    if (in == NULL) return NVML_ERROR_NOT_FOUND;
    size_t length = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    text[length] = '\0'; /* the command ends at its first NUL */
    return sim_copy_text(name, size, text);
}
