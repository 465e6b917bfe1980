/* A libnvrtc.so.13 that takes any source and makes an image of it that the libcuda beside it loads.
 *
 * Our own declarations, no nvrtc.h. Of a fault's window only whether it begins at the start matters. */
#include "cuda_abi.h"
#include "faults.h"
#include "profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sim_nvrtc_program {
    char name[64];
    char log[128]; /* "" while nothing is wrong */
} sim_nvrtc_program;

static const char image[] = "simulated";
static const int capabilities[] = {50, 60, 70, 75, 80, 86, 89, 90, 100, 120};

static int check(const char *call)
{
    sim_faults faults;
    char why[512];
    if (!sim_faults_parse(&faults, getenv("JOULEMAP_SIM_FAULTS"), why, sizeof why)) return SIM_NVRTC_INTERNAL;
    const sim_fault *fault = sim_fault_find(&faults, SIM_FAULT_ERROR, call, -1, 0);
    if (fault == NULL) return SIM_NVRTC_SUCCESS;
    return (int)fault->error >= SIM_FOREIGN_ERROR ? (int)fault->error - SIM_FOREIGN_ERROR
                                                  : SIM_NVRTC_INTERNAL;
}

SIM_EXPORT int nvrtcVersion(int *major, int *minor);
int nvrtcVersion(int *major, int *minor)
{
    if (major == NULL || minor == NULL) return SIM_NVRTC_INVALID_INPUT;
    *major = 13;
    *minor = 0;
    return check(__func__);
}

SIM_EXPORT int nvrtcGetNumSupportedArchs(int *count);
int nvrtcGetNumSupportedArchs(int *count)
{
    if (count == NULL) return SIM_NVRTC_INVALID_INPUT;
    *count = (int)(sizeof capabilities / sizeof *capabilities);
    return check(__func__);
}

SIM_EXPORT int nvrtcGetSupportedArchs(int *all);
int nvrtcGetSupportedArchs(int *all)
{
    if (all == NULL) return SIM_NVRTC_INVALID_INPUT;
    memcpy(all, capabilities, sizeof capabilities);
    return check(__func__);
}

SIM_EXPORT int nvrtcCreateProgram(sim_nvrtc_program **program, const char *source, const char *name,
                                  int count, const char *const *headers, const char *const *names);
int nvrtcCreateProgram(sim_nvrtc_program **program, const char *source, const char *name, int count,
                       const char *const *headers, const char *const *names)
{
    if (program == NULL || source == NULL || source[0] == '\0' ||
        (count > 0 && (headers == NULL || names == NULL)))
        return SIM_NVRTC_INVALID_INPUT;
    int result = check(__func__);
    if (result != SIM_NVRTC_SUCCESS) return result;
    *program = calloc(1, sizeof **program);
    if (*program == NULL) return SIM_NVRTC_OUT_OF_MEMORY;
    snprintf((*program)->name, sizeof(*program)->name, "%s", name != NULL ? name : "default_program");
    return SIM_NVRTC_SUCCESS;
}

SIM_EXPORT int nvrtcCompileProgram(sim_nvrtc_program *program, int count, const char *const *options);
int nvrtcCompileProgram(sim_nvrtc_program *program, int count, const char *const *options)
{
    if (program == NULL || (count > 0 && options == NULL)) return SIM_NVRTC_INVALID_INPUT;
    int result = check(__func__);
    if (result == SIM_NVRTC_COMPILATION)
        snprintf(program->log, sizeof program->log, "%s(1): error: simulated\n1 error detected\n",
                 program->name);
    return result;
}

SIM_EXPORT int nvrtcGetProgramLogSize(const sim_nvrtc_program *program, size_t *size);
int nvrtcGetProgramLogSize(const sim_nvrtc_program *program, size_t *size)
{
    if (program == NULL || size == NULL) return SIM_NVRTC_INVALID_INPUT;
    *size = strlen(program->log) + 1;
    return check(__func__);
}

SIM_EXPORT int nvrtcGetProgramLog(const sim_nvrtc_program *program, char *log);
int nvrtcGetProgramLog(const sim_nvrtc_program *program, char *log)
{
    if (program == NULL || log == NULL) return SIM_NVRTC_INVALID_INPUT;
    memcpy(log, program->log, strlen(program->log) + 1);
    return check(__func__);
}

static int get_size(const char *call, const sim_nvrtc_program *program, size_t *size)
{
    if (program == NULL || size == NULL) return SIM_NVRTC_INVALID_INPUT;
    *size = sizeof image;
    return check(call);
}

static int get_image(const char *call, const sim_nvrtc_program *program, char *to)
{
    if (program == NULL || to == NULL) return SIM_NVRTC_INVALID_INPUT;
    memcpy(to, image, sizeof image);
    return check(call);
}

SIM_EXPORT int nvrtcGetCUBINSize(const sim_nvrtc_program *program, size_t *size);
int nvrtcGetCUBINSize(const sim_nvrtc_program *program, size_t *size)
{
    return get_size(__func__, program, size);
}

SIM_EXPORT int nvrtcGetCUBIN(const sim_nvrtc_program *program, char *cubin);
int nvrtcGetCUBIN(const sim_nvrtc_program *program, char *cubin)
{
    return get_image(__func__, program, cubin);
}

SIM_EXPORT int nvrtcGetPTXSize(const sim_nvrtc_program *program, size_t *size);
int nvrtcGetPTXSize(const sim_nvrtc_program *program, size_t *size)
{
    return get_size(__func__, program, size);
}

SIM_EXPORT int nvrtcGetPTX(const sim_nvrtc_program *program, char *ptx);
int nvrtcGetPTX(const sim_nvrtc_program *program, char *ptx)
{
    return get_image(__func__, program, ptx);
}

SIM_EXPORT int nvrtcDestroyProgram(sim_nvrtc_program **program);
int nvrtcDestroyProgram(sim_nvrtc_program **program)
{
    if (program == NULL) return SIM_NVRTC_INVALID_INPUT;
    free(*program);
    *program = NULL;
    return SIM_NVRTC_SUCCESS;
}
