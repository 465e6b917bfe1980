/* What XLA calls its ranges, in words of the program that it compiled. No state, libc alone. */
#ifndef JM_INJECT_XLA_TITLE_H
#define JM_INJECT_XLA_TITLE_H

#include <joulemap/span.h>
#include <stdbool.h>
#include <stddef.h>

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

/* Its range is none of XLA's, and is called as it says. */
bool jm__xla_is_foreign(const char *text);

/* A name that JAX gives the operation itself, not a scope of the program. */
bool jm__xla_is_primitive(const char *name, size_t length);

#endif
