/* Families of kernels by their names, which profilers report for cuBLAS, cuDNN, CUTLASS, Triton, PyTorch, JAX
 * and NCCL. */
#include "attribute/work/kernel_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const family_names[] = {
#define X(name, class) #name,
    JM_KERNEL_FAMILY_MAP(X)
#undef X
};

typedef struct known {
    jm__kernel_family family;
    const char *name;
} known;

static void check(const known *names, size_t count)
{
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        jm__kernel_family found = jm__kernel_family_of(names[i].name);
        if (found == names[i].family) continue;
        wrong++;
        print_error("%s, not %s: %s\n", family_names[found], family_names[names[i].family], names[i].name);
    }
    assert_int_equal(wrong, 0);
}

#define CHECK(names) check(names, sizeof(names) / sizeof *(names))
#define IS(family, name)                                                                                     \
    {                                                                                                        \
        JM_KERNEL_FAMILY_##family, name                                                                      \
    }

/* shared/data/h200-counters-llama and h200-gpt, as CUPTI gave them: PyTorch 2.x, CUDA 13, on an H200. */
static void test_kernels_of_pytorch_on_an_h200_are_marked_by_their_names(void **state)
{
    (void)state;
    static const known names[] = {
        IS(MATRIX, "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"),
        IS(MATRIX, "nvjet_sm90_tst_192x192_64x3_1x2_h_bz_coopB_splitK_NTN"),
        IS(PLAIN_MATRIX, "_ZN7cutlass7Kernel2I42cutlass_80_simt_sgemm_128x32_8x5_nn_align1EEvNT_6ParamsE"),
        IS(PLAIN_MATRIX,
           "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x32_stage3_warpsize4x2x1_tensor16x8x16_"
           "execute_kernel__5x_cublas"),
        IS(REDUCTION, "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float>"),
        IS(ATTENTION,
           "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_"
           "kernel0_0"),
        IS(ATTENTION, "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_1x4x1_"
                      "cga1x1x1_kernel0_0"),
        IS(REDUCTION,
           "_ZN5cudnn6fusion28compute_dot_do_o_specializedILb1ELi64EEEvPKvS3_PvS4_jjjjjjjjjjjjjjjj"),
        IS(REDUCTION, "_ZN5cudnn6fusion16fmha_reduce_headILb1EEEvPKvPvjjjjjjjjjjjPKfS6_S6_PfS4_bS4_b"),
        IS(ELEMENTWISE,
           "_ZN5cudnn6fusion20convert_dq_to_16bitsILb1EEEvPKvPvjjjjjjjjjjPKfS6_S6_PfS3_S4_S4_bb"),
        IS(ELEMENTWISE,
           "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_13BinaryFunct"
           "orIN3c108BFloat16ES5_S5_NS0_15binary_internal10MulFunctorIfEEEEEEvRNS_18Tensor"),
        IS(ELEMENTWISE,
           "_ZN2at6native52_GLOBAL__N__c815dac0_19_fused_adamw_impl_cu_8b44fa2325multi_tensor_apply_"
           "kernelINS1_32FusedOptimizerTensorListMetadataILi4EEENS1_20FusedAdamMathFunctor"),
        IS(ELEMENTWISE,
           "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_51_GLOBAL__N__b1108092_12_PowKernel_cu_"
           "751192d7_2139629pow_tensor_scalar_kernel_implIffEEvRNS_18TensorIteratorBaseET0_EUlfE_"),
        IS(ELEMENTWISE,
           "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_17rsqrt_kernel_cudaERNS_18Tensor"),
        IS(ELEMENTWISE,
           "_ZN50_GLOBAL__N__fa15d16e_17_RangeFactories_cu_38772b0829elementwise_kernel_with_indexIiZZ"),
        IS(TRANSCENDENTAL,
           "_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_62_GLOBAL__N__7d4ed096_23_Activation"
           "SiluKernel_cu_751192d7_1559511silu_kernelERNS_18TensorIteratorBaseEENKUlvE_clEvENKUlv"),
        IS(TRANSCENDENTAL,
           "void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl(at::Tensor"
           "IteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const"),
        IS(TRANSCENDENTAL,
           "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_15cos_kernel_cudaERNS_18TensorIte"),
        IS(COPY, "_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_"
                 "18TensorIterator"),
        IS(COPY,
           "_ZN2at6native29vectorized_elementwise_kernelILi8EZNS0_25bfloat16_copy_kernel_cudaERNS_18TensorI"),
        IS(COPY,
           "_ZN2at6native40_GLOBAL__N__0f1a8107_8_Shape_cu_49f7391c19CatArrayBatchedCopyINS1_10OpaqueType"),
        IS(COPY, "[memcpy DtoD]"),
        IS(COPY, "Memcpy DtoD (Device -> Device)"),
        IS(TRANSFER, "[memcpy DtoH]"),
        IS(TRANSFER, "[memcpy HtoD]"),
        IS(TRANSFER, "[CUDA memcpy HtoD]"),
        IS(FILL, "[memset]"),
        IS(FILL, "Memset (Device)"),
        IS(FILL, "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_"
                 "11FillFunctorIN3c108BFloat16EEESt5arrayIPcL"),
        IS(REDUCTION,
           "_ZN2at6native13reduce_kernelILi128ELi4ENS0_8ReduceOpIN3c108BFloat16ENS0_14func_wrapper_tIS4_"),
        IS(REDUCTION,
           "_ZN2at6native43_GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f6319cunn_SoftMaxForwardILi4EfffNS1_25"),
        IS(REDUCTION,
           "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>"),
        IS(REDUCTION,
           "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<c10::BFloat16>"),
        IS(REDUCTION,
           "_ZN2at6native39_GLOBAL__N__5cd812b1_7_Loss_cu_5b0651e138nll_loss_forward_reduce_cuda_kernel_2d"),
        IS(REDUCTION, "_ZN2at6native32tensor_kernel_scan_innermost_dimIlSt4plusIlEEEvPT_PKS4_jjjS4_T0_"),
        IS(INDEX, "_ZN2at6native24vectorized_gather_kernelILi16ElEEvPcS2_PT0_illllb"),
        IS(INDEX,
           "_ZN14at_cuda_detail3cub6detail10radix_sort29DeviceRadixSortOnesweepKernelINS1_5radix10policy"),
        IS(INDEX,
           "_ZN2at6native59_GLOBAL__N__4b0cc4ca_26_EmbeddingBackwardKernel_cu_5d1cf09b15sum_and_scatterI"),
    };
    CHECK(names);
}

/* cuBLAS before Hopper, CUTLASS, cuDNN: from nsys and nvprof in issues of pytorch/pytorch (34977, 38915,
 * 111024), kblomdahl/dream-go (25), NVIDIA/cutlass; a ResNet on an H200 (bench/results/resnet_infer.txt). */
static void test_kernels_of_cublas_cudnn_and_cutlass_are_marked_by_their_names(void **state)
{
    (void)state;
    static const known names[] = {
        IS(MATRIX,
           "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_"
           "off_kernel__5x_cublas"),
        IS(WARP_MATRIX, "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn"),
        IS(WARP_MATRIX, "ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x6_nn"),
        IS(WARP_MATRIX, "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64_16x6_nn_align4>(Params)"),
        IS(WARP_MATRIX, "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_64x2_tn_align8"),
        IS(MATRIX,
           "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int>>>"),
        IS(WARP_MATRIX, "volta_h884gemm_64x128_ldg8_nn"),
        IS(WARP_MATRIX, "ampere_h16816gemm_256x128_ldg8_stages_64x3_tn"),
        IS(WARP_MATRIX, "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4_kernel"),
        IS(PLAIN_MATRIX, "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_ffma"),
        IS(PLAIN_MATRIX, "ampere_sgemm_128x64_nn"),
        IS(PLAIN_MATRIX, "volta_sgemm_32x128_tn"),
        IS(PLAIN_MATRIX, "cutlass_80_simt_sgemm_256x128_8x4_tn_align1"),
        IS(PLAIN_MATRIX, "void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1>(Params)"),
        IS(PLAIN_MATRIX, "ampere_dgemm_64x64_nn"),
        IS(REDUCTION,
           "void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, 128>"),
        IS(REDUCTION, "void gemvNSP_kernel<float, float, float, float, 1, 32, 4, 1024>"),
        IS(CONVOLUTION, "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_"
                        "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn"),
        IS(CONVOLUTION,
           "sm80_xmma_dgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"
           "stage4_warpsize2x2x1_g1_tensor16x8x16_kernel_cudnn"),
        IS(CONVOLUTION,
           "sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_"
           "stage4_warpsize2x2x1_g1_tensor16x8x8_kernel_cudnn"),
        IS(CONVOLUTION,
           "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_128x64_32x4_"
           "nhwc_align8>(Params)"),
        IS(CONVOLUTION, "cudnn_ampere_implicit_gemm_fprop_128x128"),
        IS(CONVOLUTION, "cudnn_infer_ampere_scudnn_128x64_relu_interior_nn_v1"),
        IS(CONVOLUTION, "maxwell_scudnn_winograd_128x128_ldg1_ldg4_relu_tile418n_nt"),
        IS(CONVOLUTION, "volta_fp16_h884cudnn_256x64_ldg8_relu_f2f_exp_small_nhwc2nchw_tn_v1"),
        IS(CONVOLUTION,
           "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, true, false, true>"),
        IS(CONVOLUTION, "void precomputed_convolve_sgemm<float, 1024, 5, 5, 4, 3, 3, 1, false>"),
        IS(CONVOLUTION, "void fft2d_r2c_32x32<float, false, 1u, false>"),
        IS(DEPTHWISE,
           "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<7, c10::BFloat16, int>"),
        IS(DEPTHWISE,
           "void at::native::(anonymous namespace)::conv_depthwise2d_grad_weight_kernel<float, int>"),
        IS(DEPTHWISE, "void conv2d_c1_k1_nhwc_kernel<__half, __half, __half, float, 7, 1, 8, 3, 3>"),
        IS(DEPTHWISE, "void wgrad2d_grouped_direct_kernel<__half, float, float, cudnnTensorFormat_t=1>"),
        IS(DEPTHWISE,
           "void conv2d_grouped_direct_kernel<__half, __half, __half, float, float, bool=1, bool=0>"),
        IS(BATCH_NORM, "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1, true>"),
        IS(BATCH_NORM, "void cudnn::detail::bn_fw_tr_1CHW_kernel_new<float, float, bool=1, int=4>"),
        IS(BATCH_NORM,
           "void cudnn::detail::bn_bw_1C11_kernel_new<float, float, float2, int=512, bool=1, int=1>"),
        IS(BATCH_NORM, "void cudnn::detail::bn_fw_inf_1C11_kernel_NCHW<float, float, bool=1, int=1>"),
        IS(REDUCTION,
           "void cudnn::pooling_fw_4d_kernel<float, float, cudnn::averpooling_func<float>, 2, false>"),
        IS(COPY, "void cudnn::ops::nchwToNhwcKernel<__nv_bfloat16, __nv_bfloat16, float, false, true>"),
        IS(COPY, "void cudnn::ops::nhwcAddPaddingKernel<__nv_bfloat16, __nv_bfloat16, float, true>"),
        IS(ELEMENTWISE, "void op_tensor_kernel<int=2, float, float, float, int=32, int=1, int=4, int=2>"),
        IS(ATTENTION,
           "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfl"),
        IS(ATTENTION,
           "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>"),
        IS(ATTENTION,
           "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 128, 128, 8>>"),
        IS(ATTENTION,
           "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::Coll>>>"),
        IS(ATTENTION, "void vllm::paged_attention_v2_kernel<unsigned short, unsigned short, 128, 16, 128>"),
    };
    CHECK(names);
}

/* PyTorch's other kernels (aten/src/ATen/native/cuda) and those that torch.compile makes with Triton. */
static void test_kernels_of_pytorch_and_triton_are_marked_by_their_names(void **state)
{
    (void)state;
    static const known names[] = {
        IS(REDUCTION, "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, "
                      "10, false>"),
        IS(BATCH_NORM,
           "void at::native::batch_norm_collect_statistics_channels_last_kernel<at::native::Var, float>"),
        IS(BATCH_NORM, "void at::native::vectorized_elementwise_kernel<4, "
                       "at::native::batch_norm_calc_invstd(at::Tensor)>"),
        IS(REDUCTION, "void at::native::(anonymous namespace)::max_pool_forward_nhwc<float, int>"),
        IS(REDUCTION, "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float, float>"),
        IS(INDEX,
           "void at::native::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>"),
        IS(INDEX, "void at::native::index_elementwise_kernel<128, 4, "
                  "at::native::gpu_index_kernel<at::native::idx>>"),
        IS(INDEX,
           "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather>"),
        IS(INDEX,
           "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float, float, long>"),
        IS(ELEMENTWISE,
           "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4>"),
        IS(ELEMENTWISE,
           "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, float, unsigned, 1, 4>"),
        IS(ELEMENTWISE, "void vllm::rotary_embedding_kernel<c10::BFloat16, true>"),
        IS(REDUCTION, "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>"),
        IS(TRANSCENDENTAL,
           "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10>)>"),
        IS(ELEMENTWISE, "triton_poi_fused_add_mul_0"),
        IS(TRANSCENDENTAL, "triton_poi_fused_gelu_3"),
        IS(TRANSCENDENTAL, "triton_poi_fused__to_copy_mul_silu_2"),
        IS(TRANSCENDENTAL, "triton_poi_fused_exp_sub_1"),
        IS(REDUCTION, "triton_red_fused_native_layer_norm_0"),
        IS(REDUCTION, "triton_per_fused_sum_5"),
        IS(REDUCTION, "triton_red_fused__softmax_gelu_1"),
        IS(MATRIX, "triton_tem_fused_mm_12"),
        IS(CONVOLUTION, "triton_tem_fused_convolution_4"),
        IS(ATTENTION, "triton_tem_fused_flex_attention_0"),
        IS(ELEMENTWISE, "triton_for_fused_0"),
        IS(MATRIX, "matmul_kernel"), /* of Triton's tutorial */
    };
    CHECK(names);
}

/* Fusions are named after what they do (openxla/xla issues 2103, 16914). */
static void test_kernels_of_jax_are_marked_by_their_names(void **state)
{
    (void)state;
    static const known names[] = {
        IS(ELEMENTWISE, "loop_add_fusion"),
        IS(ELEMENTWISE, "loop_fusion_12"),
        IS(ELEMENTWISE, "fusion_3"),
        IS(ELEMENTWISE, "wrapped_add"),
        IS(TRANSCENDENTAL, "loop_exponential_fusion"),
        IS(TRANSCENDENTAL, "loop_tanh_fusion_1"),
        IS(REDUCTION, "input_reduce_fusion"),
        IS(REDUCTION, "input_add_reduce_fusion_4"),
        IS(REDUCTION, "wrapped_reduce_sum"),
        IS(REDUCTION, "triton_softmax_computation"),
        IS(COPY, "wrapped_transpose"),
        IS(COPY, "input_transpose_fusion"),
        IS(COPY, "loop_concatenate_fusion"),
        IS(INDEX, "input_scatter_fusion"),
        IS(INDEX, "loop_gather_fusion"),
        IS(INDEX, "loop_dynamic_update_slice_fusion"),
        IS(MATRIX, "gemm_fusion_dot_123"),
        IS(MATRIX, "triton_gemm_dot_7"),
    };
    CHECK(names);
}

/* NVIDIA/nccl issues 536, 739, 2196; ROCm/rccl pull request 880; apache/tvm pull request 16842. */
static void test_collectives_are_marked_by_their_names(void **state)
{
    (void)state;
    static const known names[] = {
        IS(COLLECTIVE, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
        IS(COLLECTIVE, "_Z39ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgsStorageILm4096EE"),
        IS(COLLECTIVE, "ncclDevKernel_AllGather_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"),
        IS(COLLECTIVE, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"),
        IS(COLLECTIVE, "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"),
        IS(COLLECTIVE, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"),
        IS(COLLECTIVE, "ncclAllReduceRingLLKernel_sum_f32(ncclColl)"),
        IS(COLLECTIVE, "ncclSymkDevKernel_AllReduce_AGxLL_R_sum_bf16"),
        IS(COLLECTIVE, "ncclDevKernel_Generic(ncclDevComm*, unsigned long, ncclWork*)"),
        IS(COLLECTIVE, "mscclKernel_Sum_float_Simple_false(ncclDevComm*, mscclAlgo*, mscclWork*)"),
        IS(COLLECTIVE, "rcclGenericKernel"),
        IS(COLLECTIVE, "void nvshmemi_proxy_put_kernel<4>(nvshmemi_timeout_t*)"),
        IS(COLLECTIVE, "nvshmemi_barrier_on_stream_kernel"),
        IS(COLLECTIVE, "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>"),
        IS(COLLECTIVE,
           "void tensorrt_llm::twoShotAllReduceKernel<__half, (int)8>(tensorrt_llm::AllReduceParams)"),
    };
    CHECK(names);
}

static void test_a_name_that_tells_nothing_is_of_no_family(void **state)
{
    (void)state;
    static const known names[] = {
        IS(OTHER, ""),
        IS(OTHER, "a"),
        IS(OTHER, "(unnamed)"),
        IS(OTHER, "my_kernel"),
        IS(OTHER, "perform_step"),
        IS(OTHER, "interface"),
    };
    CHECK(names);
}

/* Names may be thousands of bytes long. */
static void test_a_long_name_is_marked_by_its_beginning(void **state)
{
    (void)state;
    static char name[8192];
    memset(name, 'x', sizeof name - 1);
    memcpy(name, "sgemm_", 6);
    memcpy(name + 900, "nvjet", 5);
    assert_int_equal(jm__kernel_family_of(name), JM_KERNEL_FAMILY_MATRIX);
    memset(name, 'x', 4000);
    memcpy(name + 4000, "ncclDevKernel", 13);
    assert_int_equal(jm__kernel_family_of(name), JM_KERNEL_FAMILY_OTHER);
}

typedef struct said {
    const char *class, *short_name; /* NULL: none is made */
    const char *name;
} said;

/* Names of shared/data/h200-gpt and of recordings on H100 and H200, demangled. */
static void test_people_read_a_class_and_a_short_name(void **state)
{
    (void)state;
    static const said names[] = {
        {"matrix product", "matrix product bf16 320x128 TNT",
         "nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_TNT"},
        {"matrix product", "matrix product + bias bf16 256x128 TNT",
         "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT"},
        {"matrix product", "matrix product fp8 128x160 TNT",
         "nvjet_sm90_qqtst_128x160_128x5_2x1_v_bz_coopA_algo2_TNT"},
        {"matrix product", "matrix product fp32 128x128x8 tn",
         "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4"},
        {"matrix product", "matrix product tf32 128x256x32 tn",
         "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x256x32_warpgroupsize2x1x1_execute"},
        {"matrix product", "matrix product bf16 256x128 tn",
         "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2>(Params)"},
        {"matrix product", "matrix product, sum of split K fp32",
         "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float>(int)"},
        {"convolution", "convolution weight gradient bf16 64x128x64",
         "sm90_xmma_wgrad_indexed_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize64x128x64_g1"},
        {"convolution", "depthwise convolution input gradient", "dgrad2d_c1_k1_nhwc_specialized"},
        {"attention", "attention backward 64x64x128",
         "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x128_1x4x1_kernel0_0"},
        {"norm", "layer norm bf16",
         "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, "
         "false>(int, float)"},
        {"norm", "layer norm weight gradient fp32",
         "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float, float, "
         "32u>(long)"},
        {"reduction", "softmax backward fp32",
         "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<4, float, float, float>(float*)"},
        {"reduction", "sum bf16",
         "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, "
         "at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<c10::BFloat16, float, "
         "c10::BFloat16>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, 4> "
         ">(int)"},
        {"elementwise", "elementwise add bf16",
         "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, "
         "std::array<char*, 3ul> >(int)"},
        /* the functor computes in another type than that of the data */
        {"elementwise", "elementwise multiply bf16 strided",
         "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
         "at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
         "at::native::binary_internal::MulFunctor<float> > "
         ">(at::TensorIteratorBase&)::{lambda(int)#1}>(int)"},
        {"elementwise", "fused adam fp32",
         "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
         "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
         "namespace)::FusedAdamMathFunctor<float, 4> >(int)"},
        {"elementwise", "random bernoulli fp32",
         "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, "
         "at::native::templates::cuda::uniform_and_transform<double>, "
         "at::native::templates::cuda::bernoulli_kernel<double> >(long)"},
        {"copy", "cast to bf16",
         "void at::native::vectorized_elementwise_kernel<8, "
         "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}>(int)"},
        {"copy", "copy fp32 with cast",
         "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("
         "at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(float)#1}, "
         "at::native::memory::LoadWithCast<1> >(int)"},
        {"copy", "concatenate 2-byte",
         "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous "
         "namespace)::OpaqueType<2u>, unsigned int, 4, 64, 64>(int)"},
        {"copy", NULL, "[memcpy HtoD]"},
        {"indexing", "index put 4-byte",
         "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<"
         "at::native::index_put_kernel_impl<at::native::OpaqueType<4> >(at::TensorIterator&)> >(int)"},
        {"collective", "all-reduce bf16",
         "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage)"},
        /* names that people gave stay */
        {"matrix product", NULL, "gemm_large"},
        {"attention", NULL, "attention_backward"},
        {"elementwise", NULL, "triton_poi_fused_add_mul_3"},
        {"other", NULL, "void mine::stencil<float, 4>(float*)"},
        {"other", NULL, ""},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        jm__strbuf text = {0};
        bool made = jm__kernel_short_name_add(&text, names[i].name);
        assert_string_equal(jm__kernel_class_text(names[i].name), names[i].class);
        assert_int_equal(made, names[i].short_name != NULL);
        assert_string_equal(text.text != NULL ? text.text : "",
                            names[i].short_name != NULL ? names[i].short_name : "");
        jm__strbuf_free(&text);
    }
}

/* Whatever is in a name: cut anywhere, it is read to its end and no further. */
static void test_any_part_of_a_name_has_a_short_name_or_none(void **state)
{
    (void)state;
    static const char whole[] =
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
        "namespace)::TensorListMetadata<1>, ::Functor<GemmShapeILi64ELi12 128x, _TN_ [nccl]AllReduce_x<>(";
    for (size_t from = 0; from < sizeof whole; from++) {
        for (size_t to = from; to < sizeof whole; to++) {
            char *part = strndup(whole + from, to - from);
            assert_non_null(part);
            jm__strbuf text = {0};
            bool made = jm__kernel_short_name_add(&text, part);
            assert_true(!text.failed && made == (text.length > 0));
            jm__strbuf_free(&text);
            free(part);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_of_pytorch_on_an_h200_are_marked_by_their_names),
        cmocka_unit_test(test_kernels_of_cublas_cudnn_and_cutlass_are_marked_by_their_names),
        cmocka_unit_test(test_kernels_of_pytorch_and_triton_are_marked_by_their_names),
        cmocka_unit_test(test_kernels_of_jax_are_marked_by_their_names),
        cmocka_unit_test(test_collectives_are_marked_by_their_names),
        cmocka_unit_test(test_a_name_that_tells_nothing_is_of_no_family),
        cmocka_unit_test(test_a_long_name_is_marked_by_its_beginning),
        cmocka_unit_test(test_people_read_a_class_and_a_short_name),
        cmocka_unit_test(test_any_part_of_a_name_has_a_short_name_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
