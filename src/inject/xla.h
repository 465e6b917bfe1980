/* XLA's ranges as spans: compiled functions and the named scopes in them.
 *
 * XLA (under JAX and TensorFlow) pushes a range for each call of a function that it compiled and for each of
 * its operations, in NVTX's domain "TSL". Spans are named as the program names them: "train_step",
 * "train_step.block1.attn". Operations that follow each other in one scope are one span of it; the compiler's
 * own ranges are none. */
#ifndef JM_INJECT_XLA_H
#define JM_INJECT_XLA_H

#include "inject/nvtx_abi.h"

#define JM_XLA_DOMAIN "TSL"

/* What stands for a text that XLA registered: for its messages alone. NULL for those that no range has. */
const void *jm__xla_register(const char *text);

/* The name of a mark, or of a range that is not pushed; 0: none. */
uint32_t jm__xla_name(const nvtx_event_attributes *attributes);

/* A range of the calling thread begins; its level, from 0. */
int jm__xla_push(const nvtx_event_attributes *attributes);

/* The newest one ends; its level, -1 if there is none. */
int jm__xla_pop(void);

#endif
