/* One table from words in names to families; the first line that fits decides. */
#include "attribute/work/kernel_family.h"

#include "base/plain.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The functor of an elementwise kernel stands within the first few hundred bytes of its name. */
enum { NAME_LOOKED_AT = 1000 };

typedef struct rule {
    jm__kernel_family family;
    const char *word; /* in small letters; names are compared without case */
    const char *with; /* a second word that must be there too; "": none */
} rule;

#define RULE(family, word)                                                                                   \
    {                                                                                                        \
        JM_KERNEL_FAMILY_##family, word, ""                                                                  \
    }
#define RULE2(family, word, with)                                                                            \
    {                                                                                                        \
        JM_KERNEL_FAMILY_##family, word, with                                                                \
    }

/* Names are those that CUPTI gave on an H200 (shared/data/h200-gpt/kernels.csv.gz and h200-counters-llama),
 * in PyTorch's aten/src/ATen/native/cuda, and in traces that people show in issues of the projects named.
 * What is narrow stands before what is wide: an attention kernel of cuDNN has "bprop" in its name, a softmax
 * of Triton "triton_", an index_elementwise_kernel "elementwise". */
static const rule rules[] = {
    /* NCCL and RCCL up to 2.18 (ncclKernel_), after (ncclDevKernel_), symmetric memory of 2.27 (ncclSym...);
     * the oldest have no more than ncclAllReduceRingLLKernel_sum. MSCCL is RCCL's. (NVIDIA/nccl issues 536,
     * 739, 2196; ROCm/rccl pull request 880.) */
    RULE(COLLECTIVE, "nccldevkernel"),
    RULE(COLLECTIVE, "ncclkernel"),
    RULE(COLLECTIVE, "ncclsym"),
    RULE2(COLLECTIVE, "nccl", "kernel"),
    RULE(COLLECTIVE, "rccl"),
    RULE(COLLECTIVE, "msccl"),
    RULE(COLLECTIVE, "nvshmem"),
    /* PyTorch's symmetric memory, vLLM, TensorRT-LLM (apache/tvm pull request 16842). */
    RULE(COLLECTIVE, "_shot_all_reduce"),
    RULE(COLLECTIVE, "shotallreducekernel"),
    RULE(COLLECTIVE, "multimem_all_"),
    RULE(COLLECTIVE, "cross_device_reduce"),

    /* Records of CUPTI that are no kernels, in our words and in those of other tools. */
    RULE2(COPY, "memcpy", "dtod"),
    RULE(TRANSFER, "[memcpy"),
    RULE2(TRANSFER, "memcpy", "htod"),
    RULE2(TRANSFER, "memcpy", "dtoh"),
    RULE2(TRANSFER, "memcpy", "ptop"),
    RULE(COPY, "memcpy"),
    RULE(FILL, "memset"),

    /* Steps before and after the attention itself, which it is not (cuDNN 9, FlashAttention 2). */
    RULE(REDUCTION, "fmha_reduce"),
    RULE(REDUCTION, "dot_do_o"),
    RULE(ELEMENTWISE, "convert_dq"),
    /* cuDNN, FlashAttention 2 and 3, xFormers and CUTLASS, FlashInfer, vLLM, FlexAttention. */
    RULE(ATTENTION, "sdpa"),
    RULE(ATTENTION, "flash_"),
    RULE(ATTENTION, "flashattn"),
    RULE(ATTENTION, "flashinfer"),
    RULE(ATTENTION, "fmha"),
    RULE(ATTENTION, "attention"),
    RULE(ATTENTION, "attn_fwd"),
    RULE(ATTENTION, "attn_bwd"),

    /* conv_depthwise2d_forward_kernel of PyTorch; conv2d_c1_k1_nhwc_kernel and wgrad2d_grouped_direct_kernel
     * of cuDNN (pytorch/pytorch issues 34977, 111024); DepthwiseConv2dGPUKernelNCHW of TensorFlow. */
    RULE(DEPTHWISE, "depthwise"),
    RULE(DEPTHWISE, "c1_k1"),
    RULE(DEPTHWISE, "grouped_direct"),
    /* cuDNN: sm90_xmma_fprop_implicit_gemm_..., cutlass_tensorop_..._dgrad_..., maxwell_scudnn_winograd_...
     * (kblomdahl/dream-go issue 25), volta_h884cudnn_..., implicit_convolve_sgemm, fft2d_r2c_32x32. */
    RULE(CONVOLUTION, "fprop"),
    RULE(CONVOLUTION, "dgrad"),
    RULE(CONVOLUTION, "wgrad"),
    RULE(CONVOLUTION, "scudnn"),
    RULE(CONVOLUTION, "884cudnn"),
    RULE(CONVOLUTION, "winograd"),
    RULE(CONVOLUTION, "convolve"),
    RULE(CONVOLUTION, "convolution"),
    RULE(CONVOLUTION, "implicit_gemm"),
    RULE(CONVOLUTION, "fft2d"),
    RULE(CONVOLUTION, "conv1d"),
    RULE(CONVOLUTION, "conv2d"),
    RULE(CONVOLUTION, "conv3d"),

    /* Norms: PyTorch, cuDNN (bn_fw_tr_1C11_kernel_NCHW, bn_bw_1C11_kernel_new: pytorch/pytorch issue 38915),
     * Apex, vLLM. Softmax and losses. */
    RULE(REDUCTION, "layer_norm"),
    RULE(REDUCTION, "layernorm"),
    RULE(REDUCTION, "gammabeta"),
    RULE(REDUCTION, "rowwisemoments"),
    RULE(REDUCTION, "rms_norm"),
    RULE(REDUCTION, "rmsnorm"),
    RULE(REDUCTION, "group_norm"),
    RULE(REDUCTION, "groupnorm"),
    RULE(REDUCTION, "instance_norm"),
    RULE(BATCH_NORM, "batch_norm"),
    RULE(BATCH_NORM, "batchnorm"),
    RULE(BATCH_NORM, "bn_fw"),
    RULE(BATCH_NORM, "bn_bw"),
    RULE(REDUCTION, "welford"),
    RULE(REDUCTION, "softmax"),
    RULE(REDUCTION, "nll_loss"),
    RULE(REDUCTION, "cross_entropy"),
    RULE(REDUCTION, "_pool"),
    RULE(REDUCTION, "pooling"),
    RULE(REDUCTION, "maxpool"),
    /* cuBLAS: the sum after a split matrix product, and products with one vector, which wait for memory. */
    RULE(REDUCTION, "splitkreduce"),
    RULE(REDUCTION, "gemv"),
    RULE(REDUCTION, "dot_kernel"),
    RULE(REDUCTION, "reduce_1block"),

    /* Triton templates of torch.compile (triton_tem_fused_mm_, ..._convolution_), Pallas and XLA's
     * gemm_fusion_dot; then those that it generates: per and red reduce, poi and for do not. */
    RULE(MATRIX, "triton_tem_"),
    RULE(MATRIX, "triton_mm"),
    RULE(MATRIX, "triton_gemm"),
    RULE(REDUCTION, "triton_red_"),
    RULE(REDUCTION, "triton_per_"),

    /* cuBLAS, CUTLASS: nvjet_sm90_..., sm90_xmma_gemm_..., ampere_bf16_s16816gemm_...,
     * cutlass_80_tensorop_... Those in single precision go through the plain cores: ampere_sgemm_128x64_nn,
     * cutlass_80_simt_sgemm. */
    RULE(PLAIN_MATRIX, "_sgemm"),
    RULE(PLAIN_MATRIX, "simt_"),
    RULE(PLAIN_MATRIX, "dgemm"),
    RULE(PLAIN_MATRIX, "gemm_f64"),
    RULE(PLAIN_MATRIX, "gemm_f32f32_f32f32"), /* with tf32 it reads f32f32_tf32f32 */
    RULE(PLAIN_MATRIX, "d884gemm"),
    RULE(PLAIN_MATRIX, "gemmsn_"),
    /* mma.sync of Ampere and before, by its shape (s16816gemm) or chip: cuBLAS still takes it on Hopper for
     * rows that are not multiples of 16 bytes long. */
    RULE(WARP_MATRIX, "16816gemm"),
    RULE(WARP_MATRIX, "1688gemm"),
    RULE(WARP_MATRIX, "161616gemm"),
    RULE(WARP_MATRIX, "16832gemm"),
    RULE(WARP_MATRIX, "h884gemm"),
    RULE(WARP_MATRIX, "s884gemm"),
    RULE(WARP_MATRIX, "sm75_xmma_gemm"),
    RULE(WARP_MATRIX, "sm80_xmma_gemm"),
    RULE(WARP_MATRIX, "sm86_xmma_gemm"),
    RULE(MATRIX, "nvjet"),
    RULE(MATRIX, "gemm"),
    RULE(MATRIX, "xmma"),
    RULE(MATRIX, "matmul"),
    RULE2(MATRIX, "cutlass", "tensorop"),
    RULE(MATRIX, "_mm_kernel"),

    /* Moves that PyTorch makes with elementwise kernels, layouts of cuDNN, joins of tensors. */
    RULE(COPY, "direct_copy"),
    RULE(COPY, "float16_copy"),
    RULE(COPY, "copy_device_to_device"),
    RULE(COPY, "catarray"),
    RULE(COPY, "concatenate"),
    RULE(COPY, "transpose"),
    RULE(COPY, "nchwtonhwc"),
    RULE(COPY, "nhwctonchw"),
    RULE(COPY, "addpadding"),
    RULE(COPY, "im2col"),
    RULE(COPY, "col2im"),
    RULE(FILL, "fillfunctor"),
    RULE(FILL, "fill_kernel"),

    /* Reads and writes here and there: PyTorch, CUB, XLA. arange has "kernel_with_index" and none of it. */
    RULE(ELEMENTWISE, "kernel_with_index"),
    RULE(ELEMENTWISE, "rotary"),
    RULE(INDEX, "index"),
    RULE(INDEX, "gather"),
    RULE(INDEX, "scatter"),
    RULE(INDEX, "embedding"),
    RULE(INDEX, "radix"),
    RULE(INDEX, "sort"),
    RULE(INDEX, "topk"),
    RULE(INDEX, "unique"),
    RULE(INDEX, "krn_partial"),
    RULE(INDEX, "partial_segments"),
    RULE(INDEX, "devicecompact"),
    RULE(INDEX, "compute_grad_weight"),
    RULE(INDEX, "dynamic_slice"),
    RULE(INDEX, "dynamic_update_slice"),

    /* A reduction by any other name: PyTorch, CUB, Triton and XLA (input_reduce_fusion, wrapped_reduce). */
    RULE(REDUCTION, "reduce"),
    RULE(REDUCTION, "reduction"),
    RULE(REDUCTION, "devicescan"),
    RULE(REDUCTION, "kernel_scan"),
    RULE(REDUCTION, "cumsum"),

    /* Functors of elementwise kernels that keep the special function unit busy: GeluCUDAKernelImpl,
     * silu_kernel, exp_kernel_cuda; triton_poi_fused_gelu_0; loop_exponential_fusion. */
    RULE(TRANSCENDENTAL, "gelu"),
    RULE(TRANSCENDENTAL, "silu"),
    RULE(TRANSCENDENTAL, "swish"),
    RULE(TRANSCENDENTAL, "mish_"),
    RULE(TRANSCENDENTAL, "sigmoid"),
    RULE(TRANSCENDENTAL, "softplus"),
    RULE(TRANSCENDENTAL, "tanh"),
    RULE(TRANSCENDENTAL, "exp_kernel"),
    RULE(TRANSCENDENTAL, "_exp_"),
    RULE(TRANSCENDENTAL, "exponential"),
    RULE(TRANSCENDENTAL, "erf_kernel"),
    RULE(TRANSCENDENTAL, "_erf_"),
    RULE(TRANSCENDENTAL, "sin_kernel"),
    RULE(TRANSCENDENTAL, "cos_kernel"),
    RULE(TRANSCENDENTAL, "_sin_"),
    RULE(TRANSCENDENTAL, "_cos_"),
    RULE(TRANSCENDENTAL, "cosine"),

    /* PyTorch: elementwise_kernel and its kin, optimizers (multi_tensor_apply), random numbers and dropout.
     * cuDNN's op_tensor. Triton, XLA: loop_add_fusion, wrapped_add, fusion_12. */
    RULE(ELEMENTWISE, "elementwise"),
    RULE(ELEMENTWISE, "multi_tensor_apply"),
    RULE(ELEMENTWISE, "adam"),
    RULE(ELEMENTWISE, "distribution_"),
    RULE(ELEMENTWISE, "dropout"),
    RULE(ELEMENTWISE, "op_tensor"),
    RULE(ELEMENTWISE, "op_generic_tensor"),
    RULE(ELEMENTWISE, "pointwise"),
    RULE(ELEMENTWISE, "upsample"),
    RULE(ELEMENTWISE, "triton_poi_"),
    RULE(ELEMENTWISE, "triton_for_"),
    RULE(ELEMENTWISE, "wrapped_"),
    RULE(ELEMENTWISE, "fusion"),
};

jm__kernel_family jm__kernel_family_of(const char *name)
{
    char small[NAME_LOOKED_AT + 1];
    size_t length = 0;
    for (; length < NAME_LOOKED_AT && name[length] != '\0'; length++)
        small[length] = jm__lower(name[length]);
    small[length] = '\0';
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        bool fits = strstr(small, rules[i].word) != NULL && strstr(small, rules[i].with) != NULL;
        if (fits) return rules[i].family;
    }
    return JM_KERNEL_FAMILY_OTHER;
}
