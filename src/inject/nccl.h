/* Collectives as NCCL tells them by NVTX: which operation, on which communicator, how many bytes.
 *
 * NCCL pushes a range around each of its calls in the domain "NCCL", from 2.26 on with the communicator's
 * hash and the bytes of the message (src/include/nvtx_payload_schemas.h there). Between ncclGroupStart and
 * ncclGroupEnd calls launch nothing: what they asked for is told of ncclGroupEnd, which does. PyTorch puts
 * all its calls into groups. */
#ifndef JM_INJECT_NCCL_H
#define JM_INJECT_NCCL_H

#include "inject/nvtx_abi.h"
#include "inject/ranges.h"

#include <stdbool.h>

#define JM_NCCL_DOMAIN "NCCL"

/* The span of a range that NCCL pushes; `text`: its name in the domain ("NCCL:ncclAllReduce"), `attributes`
 * are whole. False: it is none of a collective's calls, but a range like others. 0: nothing is launched in
 * it. */
bool jm__nccl_begin(const char *text, const nvtx_event_attributes *attributes, uint64_t *span);

#endif
