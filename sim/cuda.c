/* A libcuda.so.1 that knows which simulated boards there are, in NVML's order, and runs nothing.
 *
 * Our own declarations, no cuda.h. Of a fault's window only whether it begins at the start matters: this
 * library has no epoch. */
#include "cuda_abi.h"
#include "faults.h"
#include "identity.h"
#include "shared.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static sim_profile profiles[SIM_BOARDS];
static int board_count; /* 0: not initialised */
static sim_faults faults;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Lock held. */
static int start(void)
{
    char why[512];
    if (board_count > 0) return SIM_CUDA_SUCCESS;
    if (!sim_faults_parse(&faults, getenv("JOULEMAP_SIM_FAULTS"), why, sizeof why) ||
        (board_count = sim_profiles_load(profiles, SIM_BOARDS, why, sizeof why)) == 0) {
        fprintf(stderr, "joulemap: simulated board: %s\n", why);
        return SIM_CUDA_UNKNOWN;
    }
    return SIM_CUDA_SUCCESS;
}

static int fault_of(const char *call, int board)
{
    const sim_fault *fault = sim_fault_find(&faults, SIM_FAULT_ERROR, call, board, 0);
    return fault == NULL                            ? SIM_CUDA_SUCCESS
           : (int)fault->error >= SIM_FOREIGN_ERROR ? (int)fault->error - SIM_FOREIGN_ERROR
                                                    : SIM_CUDA_UNKNOWN;
}

static int check(const char *call)
{
    pthread_mutex_lock(&lock);
    int result = board_count > 0 ? fault_of(call, -1) : SIM_CUDA_NOT_INITIALIZED;
    pthread_mutex_unlock(&lock);
    return result;
}

SIM_EXPORT int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    if (flags != 0) return SIM_CUDA_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    int result = start();
    if (result == SIM_CUDA_SUCCESS) result = fault_of(__func__, -1);
    if (result != SIM_CUDA_SUCCESS) board_count = 0;
    pthread_mutex_unlock(&lock);
    return result;
}

SIM_EXPORT int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
    if (version == NULL) return SIM_CUDA_INVALID_VALUE;
    pthread_mutex_lock(&lock); /* the one call that may come before cuInit */
    int result = start();
    if (result == SIM_CUDA_SUCCESS) result = fault_of(__func__, -1);
    if (result == SIM_CUDA_SUCCESS) *version = profiles[0].cuda_driver;
    pthread_mutex_unlock(&lock);
    return result;
}

SIM_EXPORT int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count)
{
    if (count == NULL) return SIM_CUDA_INVALID_VALUE;
    int result = check(__func__);
    if (result == SIM_CUDA_SUCCESS) *count = board_count;
    return result;
}

SIM_EXPORT int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal)
{
    if (device == NULL) return SIM_CUDA_INVALID_VALUE;
    int result = check(__func__);
    if (result != SIM_CUDA_SUCCESS) return result;
    if (ordinal < 0 || ordinal >= board_count) return SIM_CUDA_INVALID_DEVICE;
    *device = ordinal;
    return SIM_CUDA_SUCCESS;
}

static int get_uuid(const char *call, unsigned char *uuid, int device)
{
    if (uuid == NULL) return SIM_CUDA_INVALID_VALUE;
    int result = check(call);
    if (result != SIM_CUDA_SUCCESS) return result;
    if (device < 0 || device >= board_count) return SIM_CUDA_INVALID_DEVICE;
    sim_uuid(&profiles[device], device, uuid);
    return SIM_CUDA_SUCCESS;
}

SIM_EXPORT int cuDeviceGetUuid(unsigned char *uuid, int device);
int cuDeviceGetUuid(unsigned char *uuid, int device)
{
    return get_uuid(__func__, uuid, device);
}

/* No board is in MIG mode: the same. */
SIM_EXPORT int cuDeviceGetUuid_v2(unsigned char *uuid, int device);
int cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    return get_uuid("cuDeviceGetUuid", uuid, device);
}
