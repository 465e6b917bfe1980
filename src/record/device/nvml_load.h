/* Loading NVML, or the simulated board, which is a library with NVML's own ABI. */
#ifndef JM_RECORD_DEVICE_NVML_LOAD_H
#define JM_RECORD_DEVICE_NVML_LOAD_H

#include "record/device/device.h"
#include "record/device/nvml_abi.h"

typedef struct jm__nvml {
    void *library;
    char path[256]; /* as the loader resolved it */
    bool simulated;
    bool attached;                         /* the simulated board follows a run */
    const char *(*error_text)(int result); /* never NULL */
#define X(slot, symbol, older, lost, arguments) int(*slot) arguments;
    JM_NVML_MAP(X)
#undef X
} jm__nvml;

/* Load, resolve and initialise. On failure `nvml->library` is NULL and the findings say why. */
void jm__nvml_load(jm__nvml *nvml, const jm__device_options *options, jm__findings *findings);
void jm__nvml_unload(jm__nvml *nvml);

/* Any symbol of it; NULL: it has none of that name. */
void *jm__nvml_symbol(const jm__nvml *nvml, const char *symbol);

/* The status of ours for a result of NVML's. */
jm_status jm__nvml_status(int result);

#endif
