/* A line of the suite: a kernel's family, its name, its source, its size and its data. */
#ifndef SUITE_KERNEL_H
#define SUITE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is in the operands (kernels/data.cu), as the suite for PyTorch has it. Constants and zeros show how
 * far data decide; they are left out of weights. */
typedef enum suite_kind {
    SUITE_RANDOM,
    SUITE_TRAINED,
    SUITE_CONSTANT,
    SUITE_ZEROS,
    SUITE_KIND_COUNT
} suite_kind;

#define SUITE_KIND_BIT(kind) (1u << (kind))

/* name, text, bytes of an element in memory, text of what makes its data */
#define SUITE_TYPE_MAP(X)                                                                                    \
    X(BF16, "bf16", 2, "bf16")                                                                               \
    X(FP16, "fp16", 2, "fp16")                                                                               \
    X(FP32, "fp32", 4, "fp32")                                                                               \
    X(TF32, "tf32", 4, "fp32")                                                                               \
    X(FP64, "fp64", 8, "fp64")                                                                               \
    X(INT8, "int8", 1, "int8")                                                                               \
    X(INT32, "int32", 4, "int32")                                                                            \
    X(INDEX, "index", 4, "index")

typedef enum suite_type {
#define X(name, text, bytes, data) SUITE_##name,
    SUITE_TYPE_MAP(X)
#undef X
        SUITE_TYPE_COUNT
} suite_type;

/* What a kernel asks for at its size. */
typedef struct suite_needs {
    uint64_t a, b, c, index; /* elements of its operands, random words; 0: none */
    uint64_t out;            /* elements that it may write, of 4 bytes or of its type if that is longer */
    bool weights;            /* b and c are weights, not activations */
    bool keeps;              /* what it writes is what it began with: memory of its own, zeros at first */
    int blocks;              /* of 256 threads, a multiprocessor; 0: one for every fourth multiprocessor */
    uint32_t shared_bytes;   /* of memory that a block gets at its launch */
} suite_needs;

#define SUITE_ONLY(capability) (-(capability))

typedef struct suite_kernel {
    const char *family, *what; /* of its name */
    const char *source;        /* kernels/SOURCE.cu; its function there is WHAT_TYPE, with _ for - */
    suite_type type;
    suite_needs (*needs)(const uint64_t n[4]);
    uint64_t n[4];  /* its size on an H100; the first number goes with the size of the board */
    unsigned kinds; /* SUITE_KIND_BITs */
    int capability; /* the least; 80: 8.0, 0: any; SUITE_ONLY(90): 9.0 alone, with what no other one has */
} suite_kernel;

extern const suite_kernel suite_kernels[];
extern const size_t suite_kernel_count;

const char *suite_kind_text(suite_kind kind); /* "random" */
const char *suite_type_text(suite_type type); /* "bf16" */
uint64_t suite_type_bytes(suite_type type);

/* The function that makes data of this type: "data_bf16". */
void suite_type_maker(suite_type type, char *text, size_t size);

/* "FAMILY/WHAT-4096x1024-bf16". */
void suite_kernel_name(const suite_kernel *kernel, const uint64_t n[4], char *text, size_t size);
void suite_kernel_function(const suite_kernel *kernel, char *text, size_t size);

/* Of a family that draws more than the others, as a matrix product does. */
bool suite_kernel_is_heavy(const suite_kernel *kernel);

/* Can a GPU of this capability run it? */
bool suite_kernel_is_for(const suite_kernel *kernel, int capability);

/* Its size on a board of this share of an H100. */
void suite_kernel_scale(const suite_kernel *kernel, double share, uint64_t n[4]);

#endif
