/* All kernels whose power teaches a board's counter model, without PyTorch. A new one is a line.
 *
 * Sizes are those of an H100: what stays in its L2 (50 MB), and what does not. A launch repeats what is short
 * (ready.c). */
#include "suite/needs.h"

#define R SUITE_KIND_BIT(SUITE_RANDOM)
#define T SUITE_KIND_BIT(SUITE_TRAINED)
#define C SUITE_KIND_BIT(SUITE_CONSTANT)
#define Z SUITE_KIND_BIT(SUITE_ZEROS)

#define BOTH (R | T)
#define ALL  (R | T | C | Z)

#define KI 1024u
#define MI (1024u * 1024u)
#define L2 (4 * MI)

/* family, what, source, type, what it needs, size, kinds of data, least capability */
#define LINE(family, what, source, type, needs, size, kinds, capability)                                     \
    {                                                                                                        \
        family, what, source, SUITE_##type, suite_##needs, size, kinds, capability                           \
    }
#define N(...)                                                                                               \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

const suite_kernel suite_kernels[] = {
    /* matrix products by tensor cores: rows, columns, depth */
    LINE("product", "wgmma", "hopper", BF16, wide, N(8192, 4096, 4096), BOTH, SUITE_ONLY(90)),
    LINE("product", "wgmma", "hopper", BF16, wide, N(4096, 4096, 4096), ALL, SUITE_ONLY(90)),
    LINE("product", "wgmma", "hopper", BF16, wide, N(2048, 2048, 2048), R, SUITE_ONLY(90)),
    LINE("product", "wgmma", "hopper", BF16, wide, N(16384, 768, 3072), T, SUITE_ONLY(90)),
    LINE("product", "wgmma", "hopper", BF16, wide, N(16384, 4096, 256), R, SUITE_ONLY(90)),
    LINE("product", "wgmma", "hopper", FP16, wide, N(4096, 4096, 4096), BOTH, SUITE_ONLY(90)),
    LINE("product", "wgmma", "hopper", TF32, wide, N(4096, 4096, 2048), BOTH, SUITE_ONLY(90)),
    LINE("product", "wgmma", "hopper", INT8, wide, N(4096, 4096, 4096), R, SUITE_ONLY(90)),
    LINE("product", "wgmma-resident", "hopper", BF16, wide, N(4096, 2048, 8192), BOTH, SUITE_ONLY(90)),
    LINE("product", "mma", "product", BF16, product, N(4096, 4096, 4096), ALL, 80),
    LINE("product", "mma", "product", BF16, product, N(2048, 2048, 2048), BOTH, 80),
    LINE("product", "mma", "product", BF16, product, N(8192, 768, 3072), T, 80),
    LINE("product", "mma", "product", BF16, product, N(32768, 128, 512), R, 80),
    LINE("product", "mma", "product", BF16, product, N(2048, 256, 8192), R, 80),
    LINE("product", "mma", "product", BF16, product, N(8192, 4096, 128), BOTH, 80),
    LINE("product", "mma", "product", FP16, product, N(4096, 4096, 4096), BOTH, 80),
    LINE("product", "mma", "product", FP16, product, N(8192, 1024, 1024), T, 80),
    LINE("product", "mma", "product", TF32, product, N(4096, 4096, 2048), BOTH, 80),
    LINE("product", "mma", "product", TF32, product, N(2048, 2048, 1024), R, 80),
    LINE("product", "mma", "product", INT8, product, N(4096, 2048, 8192), R, 80),
    LINE("product", "mma", "product", INT8, product, N(8192, 2048, 2048), T, 80),
    LINE("product", "registers", "product", BF16, part, N(3 * MI), R, 80),
    LINE("product", "registers", "product", BF16, stream1, N(6 * MI), BOTH, 80),
    LINE("product", "registers", "product", FP16, stream1, N(6 * MI), R, 80),
    /* without them */
    LINE("single", "product", "single", FP32, tiles, N(4096, 4096, 1024), ALL, 0),
    LINE("single", "product", "single", FP32, tiles, N(2048, 1024, 2048), R, 0),
    LINE("single", "polynomial", "single", FP32, stream1, N(8 * MI), BOTH, 0),
    LINE("single", "polynomial", "single", FP32, part, N(2 * MI), R, 0),
    LINE("single", "short-polynomial", "single", FP32, stream1, N(4 * MI), R, 0),
    LINE("single", "short-polynomial", "single", FP32, stream1, N(32 * MI), T, 0),
    LINE("single", "vector", "single", FP32, rows, N(16384, 2048), BOTH, 0),
    LINE("double", "product", "double", FP64, tiles, N(2048, 2048, 1024), BOTH, 0),
    LINE("double", "add", "double", FP64, stream2, N(8 * MI), R, 0),
    LINE("double", "add", "double", FP64, stream2, N(1 * MI), T, 0),
    LINE("double", "polynomial", "double", FP64, stream2, N(4 * MI), R, 0),
    LINE("double", "short-polynomial", "double", FP64, stream2, N(8 * MI), T, 0),
    LINE("double", "exp", "double", FP64, stream1, N(8 * MI), R, 0),
    /* convolutions: images, channels in and out, edge */
    LINE("convolution", "direct-3x3", "convolution", FP32, images, N(32, 64, 64, 56), BOTH, 0),
    LINE("convolution", "direct-3x3", "convolution", FP32, images, N(32, 128, 128, 28), R, 0),
    LINE("convolution", "direct-3x3", "convolution", BF16, images, N(16, 64, 128, 56), T, 0),
    LINE("convolution", "direct-1x1", "convolution", BF16, images, N(32, 256, 64, 56), BOTH, 0),
    LINE("convolution", "each-7x7", "convolution", BF16, images, N(64, 192, 0, 56), T, 0),
    LINE("convolution", "each-3x3", "convolution", FP32, images, N(64, 128, 0, 28), R, 0),
    /* elementwise */
    LINE("elementwise", "add", "elementwise", BF16, stream2, N(32 * MI), ALL, 0),
    LINE("elementwise", "add", "elementwise", BF16, stream2, N(L2), BOTH, 0),
    LINE("elementwise", "add", "elementwise", FP32, stream2, N(32 * MI), R, 0),
    LINE("elementwise", "add", "elementwise", FP32, stream2, N(2 * MI), R, 0),
    LINE("elementwise", "add", "elementwise", FP16, stream2, N(16 * MI), T, 0),
    LINE("elementwise", "mul", "elementwise", BF16, stream2, N(24 * MI), T, 0),
    LINE("elementwise", "scale", "elementwise", FP32, stream1, N(12 * MI), R, 0),
    LINE("elementwise", "relu", "elementwise", BF16, stream1, N(48 * MI), R, 0),
    LINE("elementwise", "relu", "elementwise", BF16, stream1, N(L2), R, 0),
    LINE("elementwise", "relu-backward", "elementwise", BF16, stream2, N(24 * MI), R, 0),
    LINE("elementwise", "addcmul", "elementwise", FP32, stream3, N(20 * MI), T, 0),
    LINE("elementwise", "addcdiv", "elementwise", FP32, stream3, N(20 * MI), R, 0),
    LINE("elementwise", "addcdiv", "elementwise", FP32, stream3, N(2 * MI), R, 0),
    LINE("elementwise", "bias", "elementwise", BF16, rows, N(16384, 3072), T, 0),
    LINE("elementwise", "dropout", "elementwise", BF16, stream1, N(32 * MI), T, 0),
    LINE("elementwise", "dropout", "elementwise", FP32, stream1, N(L2), R, 0),
    /* transcendental */
    LINE("transcendental", "exp", "transcendental", FP32, stream1, N(32 * MI), R, 0),
    LINE("transcendental", "exp", "transcendental", FP32, stream1, N(L2), T, 0),
    LINE("transcendental", "log", "transcendental", FP32, stream1, N(16 * MI), R, 0),
    LINE("transcendental", "sin", "transcendental", FP32, stream1, N(32 * MI), T, 0),
    LINE("transcendental", "sin", "transcendental", FP32, stream1, N(2 * MI), R, 0),
    LINE("transcendental", "tanh", "transcendental", FP32, stream1, N(16 * MI), R, 0),
    LINE("transcendental", "gelu", "transcendental", BF16, stream1, N(32 * MI), BOTH, 0),
    LINE("transcendental", "gelu", "transcendental", BF16, stream1, N(L2), R, 0),
    LINE("transcendental", "gelu-backward", "transcendental", BF16, stream1, N(24 * MI), R, 0),
    LINE("transcendental", "silu", "transcendental", BF16, stream1, N(32 * MI), T, 0),
    LINE("transcendental", "softplus", "transcendental", FP16, stream1, N(16 * MI), R, 0),
    LINE("transcendental", "special-units", "transcendental", FP32, stream1, N(2 * MI), ALL, 0),
    /* copies */
    LINE("copy", "plain", "copy", BF16, stream1, N(64 * MI), BOTH, 0),
    LINE("copy", "plain", "copy", BF16, stream1, N(32 * MI), ALL, 0),
    LINE("copy", "plain", "copy", FP32, stream1, N(2 * MI), R, 0),
    LINE("copy", "plain", "copy", FP32, part, N(16 * MI), R, 0),
    LINE("copy", "narrow", "copy", BF16, stream1, N(16 * MI), T, 0),
    LINE("copy", "transpose", "copy", BF16, rows, N(16384, 2048), R, 0),
    LINE("copy", "transpose", "copy", FP32, rows, N(2048, 1024), T, 0),
    LINE("copy", "strided", "copy", FP32, rows, N(16384, 2048), T, 0),
    LINE("copy", "to-bf16", "copy", FP32, stream1, N(32 * MI), R, 0),
    LINE("copy", "to-fp32", "copy", BF16, stream1, N(32 * MI), T, 0),
    LINE("copy", "read", "copy", FP32, stream1, N(48 * MI), BOTH, 0),
    LINE("copy", "read", "copy", FP32, stream1, N(L2), R, 0),
    LINE("shared", "shared", "copy", FP32, rows, N(2 * MI, 1), BOTH, 0),
    LINE("shared", "shared", "copy", FP32, rows, N(MI, 4), R, 0),
    /* reductions */
    LINE("reduction", "all", "reduction", FP32, stream1, N(48 * MI), R, 0),
    LINE("reduction", "all", "reduction", FP32, stream1, N(L2), R, 0),
    LINE("reduction", "norm", "reduction", FP32, stream1, N(32 * MI), T, 0),
    LINE("reduction", "rows", "reduction", BF16, rows, N(8192, 4096), ALL, 0),
    LINE("reduction", "rows", "reduction", FP16, rows, N(2048, 1024), R, 0),
    LINE("reduction", "columns", "reduction", BF16, rows, N(16384, 3072), R, 0),
    LINE("reduction", "columns", "reduction", FP32, rows, N(16384, 768), T, 0),
    LINE("reduction", "argmax", "reduction", FP32, rows, N(8192, 4096), R, 0),
    /* norms, softmax */
    LINE("norm", "layer", "norm", FP32, rows, N(16384, 1024), ALL, 0),
    LINE("norm", "layer", "norm", BF16, rows, N(8192, 4096), R, 0),
    LINE("norm", "layer", "norm", BF16, rows, N(2048, 1024), T, 0),
    LINE("norm", "rms", "norm", BF16, rows, N(16384, 2048), BOTH, 0),
    LINE("norm", "layer-backward", "norm", FP32, rows2, N(16384, 1024), T, 0),
    LINE("norm", "batch", "norm", BF16, rows, N(401408, 64), BOTH, 0),
    LINE("softmax", "forward", "softmax", FP32, rows, N(32768, 1024), R, 0),
    LINE("softmax", "forward", "softmax", BF16, rows, N(2048, 16384), T, 0),
    LINE("softmax", "forward", "softmax", BF16, rows, N(2048, 1024), R, 0),
    LINE("softmax", "backward", "softmax", FP32, rows2, N(16384, 1024), R, 0),
    LINE("softmax", "cross-entropy", "softmax", FP32, rows, N(2048, 16384), T, 0),
    /* gathers, scatters */
    LINE("gather", "rows", "gather", BF16, gather, N(32768, 32768, 1024), ALL, 0),
    LINE("gather", "rows", "gather", FP32, gather, N(8192, 2048, 512), T, 0),
    LINE("gather", "elements", "gather", FP32, gather, N(8 * MI, 32 * MI), R, 0),
    LINE("gather", "elements", "gather", FP32, gather, N(4 * MI, 1 * MI), R, 0),
    LINE("scatter", "scatter-elements", "gather", FP32, scatter, N(8 * MI, 32 * MI), R, 0),
    LINE("scatter", "add-elements", "gather", FP32, scatter, N(4 * MI, 4 * MI), BOTH, 0),
    LINE("scatter", "add-elements", "gather", FP32, scatter, N(4 * MI, 16 * KI), R, 0),
    LINE("scatter", "add-rows", "gather", FP32, scatter, N(16384, 30522, 768), R, 0),
    LINE("scatter", "histogram", "gather", INT32, counting, N(16 * MI), R, 0),
    /* whole numbers, random numbers */
    LINE("integer", "mul", "integer", INT32, stream2, N(16 * MI), R, 0),
    LINE("integer", "mul", "integer", INT32, stream2, N(2 * MI), R, 0),
    LINE("integer", "bits", "integer", INT32, stream2, N(12 * MI), T, 0),
    LINE("integer", "remainder", "integer", INT32, stream2, N(8 * MI), R, 0),
    LINE("integer", "mix", "integer", INT32, stream2, N(8 * MI), BOTH, 0),
    LINE("integer", "logic", "integer", INT32, stream2, N(4 * MI), R, 0),
    LINE("integer", "dot", "integer", INT8, stream2, N(16 * MI), R, 61),
    LINE("rng", "uniform", "rng", FP32, stream0, N(32 * MI), R, 0),
    LINE("rng", "uniform", "rng", FP32, stream0, N(L2), R, 0),
    LINE("rng", "bernoulli", "rng", FP32, stream0, N(16 * MI), R, 0),
    LINE("rng", "normal", "rng", FP32, stream0, N(16 * MI), R, 0),
    LINE("rng", "rounds", "rng", FP32, stream0, N(4 * MI), R, 0),
    /* the rest */
    LINE("sparse", "product", "sparse", FP32, sparse, N(8192, 8192, 64, 64), BOTH, 0),
    LINE("sparse", "product", "sparse", FP32, sparse, N(32768, 65536, 128, 16), R, 0),
    LINE("sparse", "vector", "sparse", FP32, sparse, N(131072, 262144, 0, 64), R, 0),
    LINE("pooling", "pool", "convolution", BF16, images, N(64, 64, 0, 112), BOTH, 0),
    LINE("pooling", "pool", "convolution", BF16, images, N(16, 256, 0, 28), R, 0),
    LINE("optimizer", "adamw", "optimizer", FP32, step, N(16 * MI), T, 0),
    LINE("optimizer", "momentum", "optimizer", FP32, step, N(16 * MI), T, 0),
    LINE("optimizer", "momentum", "optimizer", FP32, step, N(MI), T, 0),
    LINE("fill", "zero", "fill", FP32, stream0, N(64 * MI), C, 0),
    LINE("fill", "zero", "fill", FP32, stream0, N(L2), C, 0),
    LINE("fill", "one", "fill", BF16, stream0, N(64 * MI), C, 0),
};

const size_t suite_kernel_count = sizeof suite_kernels / sizeof *suite_kernels;
