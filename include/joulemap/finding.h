/* One finding: something on this machine that works or does not. */
#ifndef JOULEMAP_FINDING_H
#define JOULEMAP_FINDING_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The subject, whether it works, the reason and the cure. */
typedef struct jm_finding {
    char subject[64]; /* "NVML", "NVML: nvmlDeviceGetSamples", "RAPL (powercap)", "CUPTI" */
    bool works;
    bool lacks_right; /* it does not work because this user lacks the permission */
    char detail[256]; /* the path and version found, or the cause */
    char cure[256];   /* "" if it works or there is none */
} jm_finding;

#ifdef __cplusplus
}
#endif
#endif
