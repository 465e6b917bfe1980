/* A table from words in names to families, in which the first match decides; and kernel classes. */
#include "attribute/work/classes.h"

#include "attribute/input/span_index.h"
#include "base/plain.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The functor of an elementwise kernel is within the first few hundred bytes of its name. */
enum { NAME_PREFIX = 1000 };

/* Matches names that contain `with` and any of the words. Words are in lower case; case is ignored. */
typedef struct rule {
    jm__kernel_family family;
    const char *with;
    const char *const *words; /* ends with NULL */
} rule;

#define RULE_WITH(with, family, ...)                                                                         \
    {                                                                                                        \
        JM_KERNEL_FAMILY_##family, with, (const char *const[])                                               \
        {                                                                                                    \
            __VA_ARGS__, NULL                                                                                \
        }                                                                                                    \
    }
#define RULE(...) RULE_WITH("", __VA_ARGS__)

/* Names are from CUPTI on an H200 (shared/data/h200-gpt/kernels.csv.gz and h200-counters-llama), PyTorch's
 * aten/src/ATen/native/cuda, and traces in issues of the projects named below. Specific rules come before
 * general ones: an attention kernel of cuDNN has "bprop" in its name, a softmax of Triton "triton_", an
 * index_elementwise_kernel "elementwise". */
static const rule rules[] = {
    /* NCCL and RCCL up to 2.18 (ncclKernel_), after (ncclDevKernel_), symmetric memory of 2.27 (ncclSym...);
     * the oldest have no more than ncclAllReduceRingLLKernel_sum. MSCCL is RCCL's. (NVIDIA/nccl issues 536,
     * 739, 2196; ROCm/rccl pull request 880.) */
    RULE(COLLECTIVE, "nccldevkernel", "ncclkernel", "ncclsym"),
    RULE_WITH("kernel", COLLECTIVE, "nccl"),
    RULE(COLLECTIVE, "rccl", "msccl", "nvshmem"),
    /* PyTorch's symmetric memory, vLLM, TensorRT-LLM (apache/tvm pull request 16842). */
    RULE(COLLECTIVE, "_shot_all_reduce", "shotallreducekernel", "multimem_all_", "cross_device_reduce"),

    /* Copies and fills, as we and as other tools name them. */
    RULE_WITH("dtod", COPY, "memcpy"),
    RULE(TRANSFER, "[memcpy"),
    RULE_WITH("htod", TRANSFER, "memcpy"),
    RULE_WITH("dtoh", TRANSFER, "memcpy"),
    RULE_WITH("ptop", TRANSFER, "memcpy"),
    RULE(COPY, "memcpy"),
    RULE(FILL, "memset"),

    /* Steps before and after the attention itself (cuDNN 9, FlashAttention 2). */
    RULE(REDUCTION, "fmha_reduce", "dot_do_o"),
    RULE(ELEMENTWISE, "convert_dq"),
    /* cuDNN, FlashAttention 2 and 3, xFormers and CUTLASS, FlashInfer, vLLM, FlexAttention. */
    RULE(ATTENTION, "sdpa", "flash_", "flashattn", "flashinfer", "fmha", "attention", "attn_fwd", "attn_bwd"),

    /* conv_depthwise2d_forward_kernel of PyTorch; conv2d_c1_k1_nhwc_kernel and wgrad2d_grouped_direct_kernel
     * of cuDNN (pytorch/pytorch issues 34977, 111024); DepthwiseConv2dGPUKernelNCHW of TensorFlow. */
    RULE(DEPTHWISE, "depthwise", "c1_k1", "grouped_direct"),
    /* cuDNN: sm90_xmma_fprop_implicit_gemm_..., cutlass_tensorop_..._dgrad_..., maxwell_scudnn_winograd_...
     * (kblomdahl/dream-go issue 25), volta_h884cudnn_..., implicit_convolve_sgemm, fft2d_r2c_32x32. */
    RULE(CONVOLUTION, "fprop", "dgrad", "wgrad", "scudnn", "884cudnn", "winograd", "convolve", "convolution",
         "implicit_gemm", "fft2d", "conv1d", "conv2d", "conv3d"),

    /* Norms: PyTorch, cuDNN (bn_fw_tr_1C11_kernel_NCHW, bn_bw_1C11_kernel_new: pytorch/pytorch issue 38915),
     * Apex, vLLM. Softmax and losses. */
    RULE(REDUCTION, "layer_norm", "layernorm", "gammabeta", "rowwisemoments", "rms_norm", "rmsnorm",
         "group_norm", "groupnorm", "instance_norm"),
    RULE(BATCH_NORM, "batch_norm", "batchnorm", "bn_fw", "bn_bw"),
    RULE(REDUCTION, "welford", "softmax", "nll_loss", "cross_entropy", "_pool", "pooling", "maxpool"),
    /* cuBLAS: the sum after a split-K product, and matrix-vector products, which are memory-bound. */
    RULE(REDUCTION, "splitkreduce", "gemv", "dot_kernel", "reduce_1block"),

    /* Triton templates of torch.compile (triton_tem_fused_mm_, ..._convolution_), Pallas and XLA's
     * gemm_fusion_dot; then generated kernels: per and red reduce, poi and for do not. */
    RULE(MATRIX, "triton_tem_", "triton_mm", "triton_gemm"),
    RULE(REDUCTION, "triton_red_", "triton_per_"),

    /* cuBLAS, CUTLASS: nvjet_sm90_..., sm90_xmma_gemm_..., ampere_bf16_s16816gemm_...,
     * cutlass_80_tensorop_... Single precision uses the CUDA cores: ampere_sgemm_128x64_nn,
     * cutlass_80_simt_sgemm. */
    RULE(PLAIN_MATRIX, "_sgemm", "simt_", "dgemm", "gemm_f64"),
    RULE(PLAIN_MATRIX, "gemm_f32f32_f32f32"), /* with tf32 it reads f32f32_tf32f32 */
    RULE(PLAIN_MATRIX, "d884gemm", "gemmsn_"),
    /* mma.sync of Ampere and before, by its shape (s16816gemm) or chip. On Hopper, cuBLAS still uses it for
     * rows that are not a multiple of 16 bytes. */
    RULE(WARP_MATRIX, "16816gemm", "1688gemm", "161616gemm", "16832gemm", "h884gemm", "s884gemm",
         "sm75_xmma_gemm", "sm80_xmma_gemm", "sm86_xmma_gemm"),
    RULE(MATRIX, "nvjet", "gemm", "xmma", "matmul"),
    RULE_WITH("tensorop", MATRIX, "cutlass"),
    RULE(MATRIX, "_mm_kernel"),

    /* Copies by elementwise kernels of PyTorch, layout changes of cuDNN, concatenation. */
    RULE(COPY, "direct_copy", "float16_copy", "copy_device_to_device", "catarray", "concatenate", "transpose",
         "nchwtonhwc", "nhwctonchw", "addpadding", "im2col", "col2im"),
    RULE(FILL, "fillfunctor", "fill_kernel"),

    /* Scattered access: PyTorch, CUB, XLA. arange's "kernel_with_index" is none. */
    RULE(ELEMENTWISE, "kernel_with_index", "rotary"),
    RULE(INDEX, "index", "gather", "scatter", "embedding", "radix", "sort", "topk", "unique", "krn_partial",
         "partial_segments", "devicecompact", "compute_grad_weight", "dynamic_slice", "dynamic_update_slice"),

    /* A reduction by any other name: PyTorch, CUB, Triton and XLA (input_reduce_fusion, wrapped_reduce). */
    RULE(REDUCTION, "reduce", "reduction", "devicescan", "kernel_scan", "cumsum"),

    /* Elementwise functors on the special function unit: GeluCUDAKernelImpl, silu_kernel, exp_kernel_cuda;
     * triton_poi_fused_gelu_0; loop_exponential_fusion. */
    RULE(TRANSCENDENTAL, "gelu", "silu", "swish", "mish_", "sigmoid", "softplus", "tanh", "exp_kernel",
         "_exp_", "exponential", "erf_kernel", "_erf_", "sin_kernel", "cos_kernel", "_sin_", "_cos_",
         "cosine"),

    /* PyTorch: elementwise_kernel and its kin, optimizers (multi_tensor_apply), random numbers and dropout.
     * cuDNN's op_tensor. Triton, XLA: loop_add_fusion, wrapped_add, fusion_12. */
    RULE(ELEMENTWISE, "elementwise", "multi_tensor_apply", "adam", "distribution_", "dropout", "op_tensor",
         "op_generic_tensor", "pointwise", "upsample", "triton_poi_", "triton_for_", "wrapped_", "fusion"),
};

jm__kernel_family jm__kernel_family_of(const char *name)
{
    char lower[NAME_PREFIX + 1];
    size_t length = 0;
    for (; length < NAME_PREFIX && name[length] != '\0'; length++)
        lower[length] = jm__lower(name[length]);
    lower[length] = '\0';
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strstr(lower, rules[i].with) == NULL) continue;
        for (const char *const *word = rules[i].words; *word != NULL; word++)
            if (strstr(lower, *word) != NULL) return rules[i].family;
    }
    return JM_KERNEL_FAMILY_OTHER;
}

enum { HOPPER_MULTIPROCESSORS = 132 };

uint32_t jm__multiprocessors_on(const jm_board *board)
{
    return board->multiprocessors > 0 ? (uint32_t)board->multiprocessors : HOPPER_MULTIPROCESSORS;
}

/* "[memcpy DtoD]" is a kernel of the driver, whose grid is not recorded. */
static bool is_by_engine(const jm__class *class)
{
    return class->copy != JM_NO_COPY && strstr(class->name, "DtoD") == NULL;
}

float jm__multiprocessors_of(const jm__class *class, uint32_t on_board)
{
    uint64_t blocks = (uint64_t) class->grid[0] * class->grid[1] * class->grid[2];
    if (is_by_engine(class)) return 1;
    if (blocks == 0) return (float)on_board / 2;
    return (float)(blocks < on_board ? blocks : on_board);
}

/* Cached by name, which all launch shapes of a kernel share. [names]: family + 1; 0: not yet computed. */
static jm__kernel_family family_of(unsigned char *families, const jm__dataset *dataset, int64_t name_id)
{
    bool valid = name_id > 0 && (size_t)name_id < dataset->name_count;
    if (!valid) return JM_KERNEL_FAMILY_OTHER;
    if (families[name_id] == 0)
        families[name_id] = (unsigned char)(1 + jm__kernel_family_of(jm__dataset_text(dataset, name_id)));
    return (jm__kernel_family)(families[name_id] - 1);
}

/* "[memcpy DtoH]", "Memcpy DtoH (Device -> Pinned)" */
static jm__copy copy_of(const jm__kernel_class *row, const char *name)
{
    if (row->work != JM_WORK_MEMCPY) return JM_NO_COPY;
    return strstr(name, "DtoH") != NULL ? JM_COPY_TO_HOST : JM_COPY;
}

bool jm__classes_of_kernels(jm__classes *classes, const jm__dataset *dataset)
{
    unsigned char *families = calloc(dataset->name_count + 1, sizeof *families);
    bool fine = families != NULL;
    for (size_t i = 0; fine && i < dataset->class_count; i++) {
        const jm__kernel_class *row = &dataset->classes[i];
        const char *name = jm__dataset_text(dataset, row->name_id);
        jm__class item = {.name = name[0] != '\0' ? name : "(unnamed)", .kind = jm__work_text(row->work)};
        memcpy(item.grid, row->grid, sizeof item.grid);
        memcpy(item.block, row->block, sizeof item.block);
        item.family = family_of(families, dataset, row->name_id);
        item.copy = copy_of(row, name);
        fine = jm__vec_push(classes, item);
    }
    free(families);
    return fine;
}
