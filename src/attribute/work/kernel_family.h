/* What a kernel does, told by its name: kernels of a family draw alike. */
#ifndef JM_ATTRIBUTE_WORK_KERNEL_FAMILY_H
#define JM_ATTRIBUTE_WORK_KERNEL_FAMILY_H

/* What a name tells. */
#define JM_KERNEL_FAMILY_MAP(X)                                                                              \
    X(OTHER)                                                                                                 \
    X(COLLECTIVE)                                                                                            \
    X(MATRIX)                                                                                                \
    X(WARP_MATRIX)  /* matrix product by instructions of a warp (mma.sync), of before Hopper */              \
    X(PLAIN_MATRIX) /* matrix product in single or double precision */                                       \
    X(ATTENTION)                                                                                             \
    X(CONVOLUTION)                                                                                           \
    X(DEPTHWISE)                                                                                             \
    X(BATCH_NORM)                                                                                            \
    X(REDUCTION) /* any other norm, or reduction */                                                          \
    X(ELEMENTWISE)                                                                                           \
    X(TRANSCENDENTAL) /* elementwise with exponentials */                                                    \
    X(COPY)                                                                                                  \
    X(FILL)                                                                                                  \
    X(TRANSFER) /* transfer between host and board */                                                        \
    X(INDEX)    /* gather, scatter or sort */

typedef enum jm__kernel_family {
#define X(name) JM_KERNEL_FAMILY_##name,
    JM_KERNEL_FAMILY_MAP(X)
#undef X
        JM_KERNEL_FAMILY_COUNT
} jm__kernel_family;

/* `name`: of a kernel as CUPTI gives it or in plain C++, or of a copy ("[memcpy DtoD]"). OTHER if its name
 * tells nothing. Only the first thousand bytes of a name are looked at. */
jm__kernel_family jm__kernel_family_of(const char *name);

#endif
