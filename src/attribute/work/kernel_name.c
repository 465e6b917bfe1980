/* A table from words in names to families and classes, in which the first match decides; and short names. */
#include "attribute/work/kernel_name.h"

#include "base/plain.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The functor of an elementwise kernel is within the first few hundred bytes of its name. */
enum { NAME_PREFIX = 1000 };

/* The usual class of each family. */
enum {
#define X(name, class) CLASS_OF_##name = JM_KERNEL_CLASS_##class,
    JM_KERNEL_FAMILY_MAP(X)
#undef X
};

/* Matches names that contain `with` and any of the words. Words are in lower case; case is ignored. */
typedef struct rule {
    jm__kernel_family family;
    jm__kernel_class_word class;
    const char *with;
    const char *const *words; /* ends with NULL */
} rule;

#define RULE_OF(with, class, family, ...)                                                                    \
    {                                                                                                        \
        JM_KERNEL_FAMILY_##family, (jm__kernel_class_word) class, with, (const char *const[])                \
        {                                                                                                    \
            __VA_ARGS__, NULL                                                                                \
        }                                                                                                    \
    }
#define RULE_WITH(with, family, ...) RULE_OF(with, CLASS_OF_##family, family, __VA_ARGS__)
#define RULE_AS(class, family, ...)  RULE_OF("", JM_KERNEL_CLASS_##class, family, __VA_ARGS__)
#define RULE(family, ...)            RULE_OF("", CLASS_OF_##family, family, __VA_ARGS__)

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
    RULE_AS(ATTENTION, REDUCTION, "fmha_reduce", "dot_do_o"),
    RULE_AS(ATTENTION, ELEMENTWISE, "convert_dq"),
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
    RULE_AS(NORM, REDUCTION, "layer_norm", "layernorm", "gammabeta", "rowwisemoments", "rms_norm", "rmsnorm",
            "group_norm", "groupnorm", "instance_norm"),
    RULE(BATCH_NORM, "batch_norm", "batchnorm", "bn_fw", "bn_bw"),
    RULE(REDUCTION, "welford", "softmax", "nll_loss", "cross_entropy", "_pool", "pooling", "maxpool"),
    /* cuBLAS: the sum after a split-K product, and matrix-vector products, which are memory-bound. */
    RULE_AS(MATRIX, REDUCTION, "splitkreduce", "gemv"),
    RULE(REDUCTION, "dot_kernel", "reduce_1block"),

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
    RULE(COPY, "direct_copy", "float16_copy", "float8_copy", "copy_device_to_device", "catarray",
         "concatenate", "transpose", "nchwtonhwc", "nhwctonchw", "addpadding", "im2col", "col2im"),
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

typedef struct lower_name {
    char text[NAME_PREFIX + 1];
} lower_name;

static void make_lower(lower_name *lower, const char *name)
{
    size_t length = 0;
    for (; length < NAME_PREFIX && name[length] != '\0'; length++)
        lower->text[length] = jm__lower(name[length]);
    lower->text[length] = '\0';
}

/* NULL: the name is unknown. */
static const rule *find_rule(const lower_name *lower)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strstr(lower->text, rules[i].with) == NULL) continue;
        for (const char *const *word = rules[i].words; *word != NULL; word++)
            if (strstr(lower->text, *word) != NULL) return &rules[i];
    }
    return NULL;
}

static const rule *rule_of(const char *name)
{
    lower_name lower;
    make_lower(&lower, name);
    return find_rule(&lower);
}

jm__kernel_family jm__kernel_family_of(const char *name)
{
    const rule *found = rule_of(name);
    return found != NULL ? found->family : JM_KERNEL_FAMILY_OTHER;
}

static const char *text_of_class(jm__kernel_class_word class)
{
    static const char *const texts[] = {
#define X(name, text) text,
        JM_KERNEL_CLASS_MAP(X)
#undef X
    };
    return texts[class];
}

const char *jm__kernel_class_text(const char *name)
{
    const rule *found = rule_of(name);
    return text_of_class(found != NULL ? found->class : JM_KERNEL_CLASS_OTHER);
}

/* ---- short names: what is said of a name in which a word occurs */

typedef struct saying {
    const char *word; /* in lower case */
    const char *says;
} saying;

/* NULL: none of the words occurs. */
static const char *say(const saying *sayings, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(text, sayings[i].word) != NULL) return sayings[i].says;
    return NULL;
}
#define SAY(sayings, text) say(sayings, sizeof(sayings) / sizeof *(sayings), text)

static const saying library_operations[] = {
    {"allreduce", "all-reduce"},         {"all_reduce", "all-reduce"}, {"allgather", "all-gather"},
    {"reducescatter", "reduce-scatter"}, {"broadcast", "broadcast"},   {"sendrecv", "send and receive"},
    {"alltoall", "all-to-all"},
};
static const saying convolution_parts[] = {{"wgrad", " weight gradient"}, {"dgrad", " input gradient"}};
static const saying attention_parts[] = {
    {"bprop", " backward"}, {"bwd", " backward"}, {"backward", " backward"}};
static const saying product_parts[] = {
    {"splitkreduce", ", sum of split K"}, {"gemv", " with a vector"}, {"_bias", " + bias"}};

/* Types of numbers, as tokens of a name; those of nvjet are of its operands and result. */
static const saying number_types[] = {
    {"bfloat16", "bf16"},   {"nv_bfloat16", "bf16"}, {"bf16", "bf16"},     {"half", "fp16"},
    {"fp16", "fp16"},       {"f16", "fp16"},         {"h884gemm", "fp16"}, {"tf32", "tf32"},
    {"s1688gemm", "tf32"},  {"f32", "fp32"},         {"sgemm", "fp32"},    {"float", "fp32"},
    {"f64", "fp64"},        {"dgemm", "fp64"},       {"double", "fp64"},   {"float8_e4m3fn", "fp8"},
    {"float8_e5m2", "fp8"}, {"long", "int64"},       {"tst", "bf16"},      {"tss", "bf16"},
    {"hsh", "fp16"},        {"hss", "fp16"},         {"qqtst", "fp8"},     {"qqhsh", "fp8"},
    {"ddd", "fp64"},        {"s8", "int8"},
};

static bool is_word(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_';
}

/* Whether the token at `at` is `word`; a type of a cuBLAS name may be twice: "bf16bf16". */
static bool is_type_at(const char *at, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(at, word, length) != 0) return false;
    if (strncmp(at + length, word, length) == 0) length *= 2;
    return !isalnum((unsigned char)at[length]);
}

/* The first type of number in a name; NULL: none. */
static const char *number_type(const char *text)
{
    if (strstr(text, "tf32") != NULL) return "tf32"; /* cuBLAS names the numbers in memory first, f32 */
    for (const char *at = text; *at != '\0'; at++) {
        if (at > text && isalnum((unsigned char)at[-1])) continue;
        for (size_t i = 0; i < sizeof number_types / sizeof *number_types; i++)
            if (is_type_at(at, number_types[i].word)) return number_types[i].says;
    }
    return NULL;
}

/* ---- names of libraries: cuBLAS, cuDNN, CUTLASS, NCCL */

/* Add the first "128x64" or "128x64x32" of a name. */
static bool add_tile(jm__strbuf *out, const char *text)
{
    unsigned m = 0, n = 0, k = 0;
    const char *shape = strstr(text, "gemmshapei"); /* mangled: GemmShapeILi64ELi128ELi32E */
    if (shape != NULL && sscanf(shape, "gemmshapeili%ueli%ueli%ue", &m, &n, &k) == 3) {
        jm__strbuf_format(out, " %ux%ux%u", m, n, k);
        return true;
    }
    for (const char *at = text; *at != '\0'; at += *at != '\0') {
        size_t length = strspn(at, "0123456789");
        if (length == 0) continue;
        if (at[length] == 'x' && isdigit((unsigned char)at[length + 1])) {
            length += 1 + strspn(at + length + 1, "0123456789x");
            jm__strbuf_add(out, " ");
            jm__strbuf_add_bytes(out, at, length);
            return true;
        }
        at += length - 1;
    }
    return false;
}

/* The layouts of a product, a token such as "tn" or, of nvjet, "TNT". */
static void add_layout(jm__strbuf *out, const char *name)
{
    for (const char *at = name; (at = strchr(at, '_')) != NULL; at++) {
        size_t length = strspn(at + 1, "NTnt");
        if ((length != 2 && length != 3) || isalnum((unsigned char)at[length + 1])) continue;
        jm__strbuf_add(out, " ");
        jm__strbuf_add_bytes(out, at + 1, length);
        return;
    }
}

static void add_part(jm__strbuf *out, const char *part)
{
    if (part != NULL) jm__strbuf_add(out, part);
}

/* False if it would say no more than the class. */
static bool add_library_name(jm__strbuf *out, const rule *found, const lower_name *lower, const char *name)
{
    const char *text = lower->text, *operation = text_of_class(found->class), *part = NULL;
    const char *type = number_type(text);
    if (found->class == JM_KERNEL_CLASS_COLLECTIVE) operation = part = SAY(library_operations, text);
    if (operation == NULL) return false;
    if (found->family == JM_KERNEL_FAMILY_DEPTHWISE) jm__strbuf_add(out, "depthwise ");
    jm__strbuf_add(out, operation);
    if (found->class == JM_KERNEL_CLASS_CONVOLUTION) add_part(out, part = SAY(convolution_parts, text));
    if (found->class == JM_KERNEL_CLASS_ATTENTION) add_part(out, part = SAY(attention_parts, text));
    if (found->class == JM_KERNEL_CLASS_MATRIX) add_part(out, part = SAY(product_parts, text));
    if (strstr(text, "cudnn_generated") != NULL) type = NULL; /* it says f16 of bf16 too */
    if (type != NULL) jm__strbuf_format(out, " %s", type);
    bool tiled = found->class != JM_KERNEL_CLASS_COLLECTIVE && add_tile(out, text);
    if (found->class == JM_KERNEL_CLASS_MATRIX) add_layout(out, name);
    if (strstr(text, "_splitk_") != NULL) jm__strbuf_add(out, " split K");
    bool by_part = found->class != JM_KERNEL_CLASS_ATTENTION && found->family != JM_KERNEL_FAMILY_MATRIX;
    return tiled || (part != NULL && by_part) || found->family == JM_KERNEL_FAMILY_DEPTHWISE;
}

/* ---- C++ names: the function, or the functor in its template arguments */

/* Functions and templates that say nothing of the operation. */
static const char *const frames[] = {
    "elementwise_kernel",
    "vectorized_elementwise_kernel",
    "unrolled_elementwise_kernel",
    "unrolled_elementwise_kernel_for_multi_outputs",
    "index_elementwise_kernel",
    "legacy_elementwise_kernel",
    "reduce_kernel",
    "multi_tensor_apply_kernel",
    "distribution_elementwise_grid_stride_kernel",
    "_scatter_gather_elementwise_kernel",
    "gpu_kernel_impl",
    "gpu_kernel_impl_nocast",
    "gpu_index_kernel",
    "gpu_kernel_with_scalars",
    "BinaryFunctor",
    "AUnaryFunctor",
    "BUnaryFunctor",
    "BinaryOpScalarFunctor",
    "BinaryOpListAlphaFunctor",
    "PointwiseOpScalarFunctor",
    "UnaryOpFunctor",
    "TernaryOpScalarFunctor",
};

/* Words of identifiers that say nothing of the operation. */
static const char *const fillers[] = {
    "kernel", "cuda", "impl", "functor", "vectorized", "unrolled", "template", "gpu",         "math", "cunn",
    "ops",    "on",   "self", "other",   "internal",   "launch",   "warp",     "elementwise", "op",
};

/* What is said in place of words of identifiers; the first match alone. */
static const saying phrases[] = {
    {"soft max", "softmax"},
    {"cat array batched copy", "concatenate"},
    {"direct copy", "copy"},
    {"bfloat16 copy", "cast to bf16"},
    {"float16 copy", "cast to fp16"},
    {"float8 copy", "cast to fp8"},
    {"mul", "multiply"},
    {"div true", "divide"},
    {"layer norm grad input", "layer norm backward"},
    {"gamma beta backward", "layer norm weight gradient"},
    {"threshold", "relu backward"},
    {"clamp scalar", "clamp"},
    {"random from to", "integers"},
    {"plus", "add"},
    {"multiplies", "multiply"},
    {"minus", "subtract"},
    {"divides", "divide"},
    {"and", "all"},
    {"or", "any"},
    {"backward elemt", "backward"},
    {"elemt", "apply"},
    {"pow tensor scalar", "power"},
    {"scatter gather internal", "scatter or gather"},
};

typedef struct identifier {
    const char *text;
    size_t length;
} identifier;

static bool is_one_of(const char *const *texts, size_t count, const char *text, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(texts[i]) == length && strncmp(texts[i], text, length) == 0) return true;
    return false;
}
#define IS_ONE_OF(texts, text, length) is_one_of(texts, sizeof(texts) / sizeof *(texts), text, length)

static bool contains(identifier in, const char *word)
{
    const char *found = strstr(in.text, word);
    return found != NULL && found + strlen(word) <= in.text + in.length;
}

/* The next identifier from `at` on; of length 0: there is none. */
static identifier next_identifier(const char *at)
{
    while (*at != '\0' && (!is_word(*at) || isdigit((unsigned char)*at)))
        at += isdigit((unsigned char)*at) ? strspn(at, "0123456789abcdefghijklmnopqrstuvwxyz") : 1;
    identifier found = {at, 0};
    while (is_word(at[found.length]))
        found.length++;
    return found;
}

/* The function's own name, without namespaces. */
static identifier function_of(const char *name)
{
    static const char anonymous[] = "(anonymous namespace)::";
    if (strncmp(name, "void ", 5) == 0) name += 5;
    for (;;) {
        while (strncmp(name, anonymous, sizeof anonymous - 1) == 0)
            name += sizeof anonymous - 1;
        identifier found = next_identifier(name);
        const char *end = found.text + found.length;
        if (strncmp(end, "::", 2) != 0) return found;
        name = end + 2;
    }
}

/* The first identifier behind a frame that names an operation; of length 0: none. */
static identifier operation_in(identifier frame)
{
    static const char *const marks[] = {"unctor",     "_kernel", "Kernel",  "Ops",  "clamp", "plus",
                                        "multiplies", "minus",   "divides", "Sqrt", "Lerp"};
    for (identifier in = next_identifier(frame.text + frame.length); in.length > 0;
         in = next_identifier(in.text + in.length)) {
        if (IS_ONE_OF(frames, in.text, in.length)) continue;
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
            if (contains(in, marks[i])) return in;
    }
    return (identifier){"", 0};
}

/* Whether a word of an identifier begins at `i`: "CUDAFunctor_add", "cunn_SoftMaxForward". */
static bool is_start(identifier in, size_t i)
{
    if (in.text[i] == '_') return false;
    if (i == 0 || in.text[i - 1] == '_') return true;
    bool upper = isupper((unsigned char)in.text[i]) != 0;
    bool before = isupper((unsigned char)in.text[i - 1]) != 0;
    bool lower_after = i + 1 < in.length && islower((unsigned char)in.text[i + 1]);
    return upper && (!before || lower_after);
}

/* Write an identifier as words in lower case, without fillers. */
static void write_words(char *out, size_t size, identifier in)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < in.length;) {
        char word[64];
        size_t length = 0;
        for (; i < in.length && !is_start(in, i); i++) {
        }
        do
            if (length + 1 < sizeof word && i < in.length) word[length++] = jm__lower(in.text[i]);
        while (++i < in.length && in.text[i] != '_' && !is_start(in, i));
        if (length == 0 || IS_ONE_OF(fillers, word, length) || used + length + 2 > size) continue;
        used += (size_t)snprintf(out + used, size - used, "%s%.*s", used > 0 ? " " : "", (int)length, word);
    }
}

/* Add words with what is said in place of some. */
static void add_phrase(jm__strbuf *out, const char *words)
{
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++) {
        size_t length = strlen(phrases[i].word);
        const char *at = strstr(words, phrases[i].word);
        if (at == NULL || (at > words && at[-1] != ' ') || (at[length] != '\0' && at[length] != ' '))
            continue;
        jm__strbuf_format(out, "%.*s%s%s", (int)(at - words), words, phrases[i].says, at + length);
        return;
    }
    jm__strbuf_add(out, words);
}

/* "OpaqueType<2u>": bytes that are not interpreted. */
static void add_type(jm__strbuf *out, const lower_name *lower, size_t from)
{
    const char *opaque = strstr(lower->text, "opaquetype<");
    const char *numbers = strstr(lower->text, "aryfunctor<"); /* its operation may compute in another type */
    const char *type = number_type(numbers != NULL ? numbers : lower->text + from);
    if (opaque != NULL)
        jm__strbuf_format(out, " %d-byte", opaque[strlen("opaquetype<")] - '0');
    else if (type != NULL)
        jm__strbuf_format(out, " %s", type);
}

static bool add_cpp_name(jm__strbuf *out, const rule *found, const lower_name *lower, const char *name)
{
    identifier frame = function_of(name), operation = frame;
    bool framed = IS_ONE_OF(frames, frame.text, frame.length), drawn = contains(frame, "distribution");
    if (framed) operation = operation_in(frame);
    char words[120];
    write_words(words, sizeof words, operation);
    if (words[0] == '\0') return false;
    if (contains(frame, "elementwise") && found->class == JM_KERNEL_CLASS_ELEMENTWISE)
        jm__strbuf_add(out, drawn ? "random " : "elementwise ");
    if (found->class == JM_KERNEL_CLASS_ATTENTION) jm__strbuf_add(out, "attention ");
    add_phrase(out, words);
    if (drawn) operation = frame; /* its generator computes in another type */
    size_t from = (size_t)(operation.text + operation.length - name);
    if (strstr(words, "float") == NULL) add_type(out, lower, from < NAME_PREFIX ? from : 0);
    bool strided = frame.length == strlen("elementwise_kernel") && framed;
    if (strided) jm__strbuf_add(out, " strided");
    if (strstr(lower->text, "loadwithcast") != NULL) jm__strbuf_add(out, " with cast");
    return true;
}

bool jm__kernel_short_name_add(jm__strbuf *out, const char *name)
{
    lower_name lower;
    make_lower(&lower, name);
    const rule *found = name[0] != '[' ? find_rule(&lower) : NULL;
    if (found == NULL) return false;
    jm__strbuf text = {0};
    bool by_library = found->class == JM_KERNEL_CLASS_MATRIX || found->class == JM_KERNEL_CLASS_CONVOLUTION ||
                      found->family == JM_KERNEL_FAMILY_ATTENTION ||
                      found->class == JM_KERNEL_CLASS_COLLECTIVE;
    bool cpp = strstr(name, "::") != NULL || strchr(name, '<') != NULL;
    bool known = (by_library && add_library_name(&text, found, &lower, name));
    if (!known) {
        jm__strbuf_free(&text);
        text = (jm__strbuf){0};
        known = cpp && add_cpp_name(&text, found, &lower, name);
    }
    if (known) jm__strbuf_add(out, text.text != NULL ? text.text : "");
    out->failed = out->failed || text.failed;
    jm__strbuf_free(&text);
    return known;
}
