/* What a kernel does, by its name: its family, whose power is a prior; its class and a short name, which
 * people read. */
#ifndef JM_ATTRIBUTE_WORK_KERNEL_NAME_H
#define JM_ATTRIBUTE_WORK_KERNEL_NAME_H

#include "base/strbuf.h"
#include <joulemap/report.h>
#include <stdbool.h>

/* Classes, and the word for each in `report --by class`. */
#define JM_KERNEL_CLASS_MAP(X)                                                                               \
    X(OTHER, "other")                                                                                        \
    X(MATRIX, "matrix product")                                                                              \
    X(ATTENTION, "attention")                                                                                \
    X(CONVOLUTION, "convolution")                                                                            \
    X(NORM, "norm")                                                                                          \
    X(REDUCTION, "reduction")                                                                                \
    X(ELEMENTWISE, "elementwise")                                                                            \
    X(INDEXING, "indexing") /* gather, scatter, sort */                                                      \
    X(COPY, "copy")         /* fills and transfers too */                                                    \
    X(COLLECTIVE, "collective")

typedef enum jm__kernel_class_word {
#define X(name, text) JM_KERNEL_CLASS_##name,
    JM_KERNEL_CLASS_MAP(X)
#undef X
        JM_KERNEL_CLASS_COUNT
} jm__kernel_class_word;

/* Kernels of a family draw about the same power. family, its usual class */
#define JM_KERNEL_FAMILY_MAP(X)                                                                              \
    X(OTHER, OTHER)                                                                                          \
    X(COLLECTIVE, COLLECTIVE)                                                                                \
    X(MATRIX, MATRIX)                                                                                        \
    X(WARP_MATRIX, MATRIX)  /* matrix product by warp instructions (mma.sync), from before Hopper */         \
    X(PLAIN_MATRIX, MATRIX) /* matrix product in single or double precision */                               \
    X(ATTENTION, ATTENTION)                                                                                  \
    X(CONVOLUTION, CONVOLUTION)                                                                              \
    X(DEPTHWISE, CONVOLUTION)                                                                                \
    X(BATCH_NORM, NORM)                                                                                      \
    X(REDUCTION, REDUCTION) /* any other norm, or reduction */                                               \
    X(ELEMENTWISE, ELEMENTWISE)                                                                              \
    X(TRANSCENDENTAL, ELEMENTWISE) /* elementwise with exponentials */                                       \
    X(COPY, COPY)                                                                                            \
    X(FILL, COPY)                                                                                            \
    X(TRANSFER, COPY)  /* transfer between host and board */                                                 \
    X(INDEX, INDEXING) /* gather, scatter or sort */

typedef enum jm__kernel_family {
#define X(name, class) JM_KERNEL_FAMILY_##name,
    JM_KERNEL_FAMILY_MAP(X)
#undef X
        JM_KERNEL_FAMILY_COUNT
} jm__kernel_family;

/* `name`: of a kernel, mangled as CUPTI gives it or demangled, or of a copy ("[memcpy DtoD]"). OTHER if the
 * name is unknown. Only the first thousand bytes count. */
jm__kernel_family jm__kernel_family_of(const char *name);

/* The word for its class, "matrix product"; "other" if the name is unknown. */
const char *jm__kernel_class_text(const char *name);

/* Whether kernels have rows of their own in a view, not those of layers or phases. */
static inline bool jm__is_by_kernel(jm_by by)
{
    return by == JM_BY_KERNEL || by == JM_BY_CLASS;
}

/* Add a short name: operation, type of number, shape of a tile: "matrix product bf16 256x128 TNT",
 * "elementwise add bf16". `name`: demangled. False if it adds nothing, because the name is unknown or says
 * no less itself. Several kernels may have the same short name. */
bool jm__kernel_short_name_add(jm__strbuf *out, const char *name);

#endif
