/* XLA's ranges as spans: compiled functions and the named scopes in them.
 *
 * XLA (under JAX and TensorFlow) pushes a range for each call of a compiled function and for each of its
 * operations, in the NVTX domain "TSL". Spans have the program's names: "train_step",
 * "train_step.block1.attn". Consecutive operations of one scope are one span. The compiler's own ranges get
 * no span. */
#ifndef JM_INJECT_XLA_H
#define JM_INJECT_XLA_H

#include "inject/nvtx_abi.h"

#include <joulemap/span.h>
#include <stdbool.h>
#include <stddef.h>

#define JM_XLA_DOMAIN "TSL"

/* The handle of a text that XLA registers, for use in its messages. NULL if no range uses the text. */
const void *jm__xla_register(const char *text);

/* The name of a mark, or of a range that is not pushed; 0: none. */
uint32_t jm__xla_name(const nvtx_event_attributes *attributes);

/* Begin a range of the calling thread. Returns its level, from 0. */
int jm__xla_push(const nvtx_event_attributes *attributes);

/* End the newest range. Returns its level; -1: none is open. */
int jm__xla_pop(void);

/* Whether XLA's libraries (JAX's, older and newer, or TensorFlow's) were loaded since the last call. If
 * nothing was loaded meanwhile, names are not searched again. Any thread. */
bool jm__xla_was_loaded(void);

/* ---- Reading XLA's range titles. No state, libc alone. */

#define JM_XLA_NAME_MAX 512 /* bytes of a name; longer ones are cut */

typedef enum jm__xla_kind {
    JM_XLA_FOREIGN,    /* not XLA's: TensorFlow and others use the same domain */
    JM_XLA_COMPILER,   /* a compiler pass */
    JM_XLA_AUTOTUNING, /* the compiler benchmarks kernels on the GPU */
    JM_XLA_FUNCTION,   /* a call of a compiled function */
    JM_XLA_OPERATION,  /* one of its operations */
    JM_XLA_UNNAMED /* an operation without source in the program: a copy, a graph replay of many operations */
} jm__xla_kind;

typedef struct jm__xla_title {
    jm__xla_kind kind;
    jm_span_kind span;            /* of an operation: FORWARD, BACKWARD, RECOMPUTE, else FUNCTION */
    char name[JM_XLA_NAME_MAX];   /* of a function: "train_step"; of an operation: its named scopes,
                                     "block1.attn", or "" */
    char prefix[JM_XLA_NAME_MAX]; /* of a function: the common beginning of its operations' names, which their
                                     titles leave out */
} jm__xla_title;

/* Read "XlaModule:#hlo_module=jit_train_step,program_id=7#" or
 * "Thunk:#name=jit(train_step)/jvp(block1)/attn/dot_general,hlo_op=dot.3#". `prefix`: that of the operation's
 * function, else "". */
void jm__xla_title_read(jm__xla_title *title, const char *text, const char *prefix);

/* Whether JAX gave the operation this name; else it is a scope of the program. */
bool jm__xla_is_primitive(const char *name, size_t length);

#endif
