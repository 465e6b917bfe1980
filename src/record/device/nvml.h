/* NVML, or the simulated board, which is a library with NVML's own ABI: loading it, its sensors, and what
 * CUDA calls its boards. */
#ifndef JM_RECORD_DEVICE_NVML_H
#define JM_RECORD_DEVICE_NVML_H

#include "format/rows/sensor_role.h"
#include "record/device/device.h"
#include "record/device/nvml_abi.h"

#include <stddef.h>

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

/* ---- The sensors of NVML: the role of each, and the one call that reads it. */

/* Marks a result: the call's symbol is missing. Outside of NVML's own numbers. */
#define JM_NVML_NO_SYMBOL (-1)

typedef struct jm__nvml_sensor {
    jm__sensor_role role;
    const char *source;
    bool buffered;
    int selector; /* ring type, field scope, clock: what `read` needs to know */
    /* NVML's result, or JM_NVML_NO_SYMBOL. Does not stamp what is not buffered. */
    int (*read)(const jm__nvml *nvml, jm__nvml_device device, int selector, jm__samples *out);
} jm__nvml_sensor;

/* In order of preference where two have the same role. Ends with the role OTHER. */
extern const jm__nvml_sensor jm__nvml_sensors[];

/* Which board is which number to CUDA, after CUDA_VISIBLE_DEVICES.
 *
 * CUDA's own order before the variable is taken to be that of the PCI bus, which is NVML's. That is so
 * with CUDA_DEVICE_ORDER=PCI_BUS_ID, and with the default (FASTEST_FIRST) where all boards are alike. */
#define JM_CUDA_MIG_MAX 8

typedef struct jm__cuda_board {
    char uuid[96];                 /* "GPU-..."; "" if unknown */
    char mig[JM_CUDA_MIG_MAX][96]; /* "MIG-..." of its instances */
    size_t mig_count;
} jm__cuda_board;

/* `visible`: the variable's text, NULL if it is not set. `indices[i]` becomes the CUDA index of
 * board i, -1 if CUDA does not see it. As CUDA does, the list ends at its first invalid entry. A MIG
 * instance stands for its board. */
void jm__cuda_visible_resolve(const char *visible, const jm__cuda_board *boards, size_t count, int *indices);

#endif
