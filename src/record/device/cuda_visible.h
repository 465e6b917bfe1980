/* Which board is which number to CUDA, after CUDA_VISIBLE_DEVICES.
 *
 * CUDA's own order before the variable is taken to be that of the PCI bus, which is NVML's. That is so
 * with CUDA_DEVICE_ORDER=PCI_BUS_ID, and with the default (FASTEST_FIRST) where all boards are alike. */
#ifndef JM_RECORD_DEVICE_CUDA_VISIBLE_H
#define JM_RECORD_DEVICE_CUDA_VISIBLE_H

#include <stddef.h>

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
