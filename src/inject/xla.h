/* XLA's ranges as spans: compiled functions and the named scopes in them.
 *
 * XLA (under JAX and TensorFlow) pushes a range for each call of a function that it compiled and for each of
 * its operations, in NVTX's domain "TSL". Spans are named as the program names them: "train_step",
 * "train_step.block1.attn". Operations that follow each other in one scope are one span of it; the compiler's
 * own ranges are none. */
#ifndef JM_INJECT_XLA_H
#define JM_INJECT_XLA_H

#include "inject/nvtx_abi.h"

#include <joulemap/span.h>
#include <stdbool.h>
#include <stddef.h>

#define JM_XLA_DOMAIN "TSL"

/* What stands for a text that XLA registered: for its messages alone. NULL for those that no range has. */
const void *jm__xla_register(const char *text);

/* The name of a mark, or of a range that is not pushed; 0: none. */
uint32_t jm__xla_name(const nvtx_event_attributes *attributes);

/* A range of the calling thread begins; its level, from 0. */
int jm__xla_push(const nvtx_event_attributes *attributes);

/* The newest one ends; its level, -1 if there is none. */
int jm__xla_pop(void);

/* Libraries that have it were loaded since this was asked last: JAX's, older and newer, or TensorFlow's.
 * Where nothing was loaded meanwhile, their names are not looked at again. Any thread. */
bool jm__xla_was_loaded(void);

/* ---- What XLA calls its ranges, in words of the program that it compiled. No state, libc alone. */

#define JM_XLA_NAME_MAX 512 /* bytes of a name; longer ones are cut */

typedef enum jm__xla_kind {
    JM_XLA_FOREIGN,    /* none of XLA's: TensorFlow and others share its domain */
    JM_XLA_COMPILER,   /* a pass of the compiler */
    JM_XLA_AUTOTUNING, /* the compiler tries kernels on the GPU */
    JM_XLA_FUNCTION,   /* a call of a compiled function */
    JM_XLA_OPERATION,  /* one of its operations */
    JM_XLA_UNNAMED     /* one that no line of the program stands for: a copy, a replay of many in a graph */
} jm__xla_kind;

typedef struct jm__xla_title {
    jm__xla_kind kind;
    jm_span_kind span;            /* of an operation: FORWARD, BACKWARD, RECOMPUTE, else FUNCTION */
    char name[JM_XLA_NAME_MAX];   /* of a function: "train_step"; of an operation its named scopes, with dots
                                   * between: "block1.attn", "" if it is in none */
    char prefix[JM_XLA_NAME_MAX]; /* of a function: how the names of all of its operations begin; they leave
                                     it out */
} jm__xla_title;

/* Read "XlaModule:#hlo_module=jit_train_step,program_id=7#" and
 * "Thunk:#name=jit(train_step)/jvp(block1)/attn/dot_general,hlo_op=dot.3#". `prefix`: that of the function
 * whose operation it is, else "". */
void jm__xla_title_read(jm__xla_title *title, const char *text, const char *prefix);

/* A name that JAX gives the operation itself, not a scope of the program. */
bool jm__xla_is_primitive(const char *name, size_t length);

#endif
