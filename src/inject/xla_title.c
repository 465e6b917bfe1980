/* Reading XLA's titles.
 *
 * An operation's name is JAX's name stack: the function, the scopes around the operation, and the primitive.
 * What differentiates a function wraps the outermost scope: "jvp(block1)/attn/dot_general" is forward,
 * "transpose(jvp(block1))/attn/dot_general" its backward pass. A fusion of several operations has what their
 * names begin with, perhaps without a primitive. */
#include "inject/xla_title.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct piece {
    const char *text;
    size_t length;
} piece;

static bool is(piece p, const char *word)
{
    return strlen(word) == p.length && strncmp(p.text, word, p.length) == 0;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The value of a key in "...:#key=value,key=value#": commas and '#' end it, but for those in brackets. */
static piece value_of(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = strchr(text, '#'); at != NULL && at[0] != '\0'; at = strpbrk(at + 1, ",#")) {
        if (strncmp(at + 1, key, length) != 0 || at[1 + length] != '=') continue;
        const char *value = at + length + 2;
        size_t end = 0;
        for (int depth = 0; value[end] != '\0'; end++) {
            depth += (value[end] == '(' || value[end] == '[') - (value[end] == ')' || value[end] == ']');
            if (depth <= 0 && (value[end] == ',' || value[end] == '#')) break;
        }
        return (piece){value, end};
    }
    return (piece){NULL, 0};
}

static void keep(char out[JM_XLA_NAME_MAX], piece p)
{
    snprintf(out, JM_XLA_NAME_MAX, "%.*s", (int)(p.length < JM_XLA_NAME_MAX ? p.length : JM_XLA_NAME_MAX - 1),
             p.text == NULL ? "" : p.text);
}

/* Up to the next '/' outside of brackets; moves on behind it. */
static piece next_part(const char **path)
{
    piece part = {*path, 0};
    int depth = 0;
    for (; part.text[part.length] != '\0'; part.length++) {
        char c = part.text[part.length];
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (depth <= 0 && c == '/') break;
    }
    *path = part.text + part.length + (part.text[part.length] == '/');
    return part;
}

/* Names of JAX's primitives: the last part of an operation's name, where no scope of the program is. In the
 * order of strcmp.
 *
 * One that is missing here is a row of its own, inside of its scope's; python3 -c 'from jax._src.interpreters
 * import mlir; print(sorted(p.name for p in mlir._lowerings))' lists them. */
static const char *const primitives[] = {
    "abs",
    "acos",
    "acosh",
    "add",
    "add_any",
    "after_all",
    "all_gather",
    "all_gather_invariant",
    "all_to_all",
    "and",
    "approx_top_k",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "axis_index",
    "bessel_i0e",
    "bessel_i1e",
    "bitcast_convert_type",
    "broadcast_in_dim",
    "broadcast_to",
    "cbrt",
    "ceil",
    "checkpoint",
    "cholesky",
    "cholesky_update",
    "clamp",
    "clz",
    "complex",
    "composite",
    "concatenate",
    "cond",
    "conj",
    "conv_general_dilated",
    "convert",
    "convert_element_type",
    "convolution",
    "copy",
    "cos",
    "cosh",
    "cudnn_fusion",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "custom_jvp_call",
    "custom_lin",
    "custom_linear_solve",
    "custom_partitioning",
    "custom_vjp_call",
    "custom_vjp_call_jaxpr",
    "custom_vmap_call",
    "device_put",
    "digamma",
    "div",
    "dot",
    "dot_general",
    "dot_product_attention_bwd",
    "dot_product_attention_fp8_bwd",
    "dot_product_attention_fp8_fwd",
    "dot_product_attention_fwd",
    "dynamic_slice",
    "dynamic_update_slice",
    "eig",
    "eigh",
    "eq",
    "erf",
    "erf_inv",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "ffi_call",
    "fft",
    "floor",
    "gather",
    "ge",
    "gt",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "imag",
    "integer_pow",
    "io_callback",
    "iota",
    "iota_2x32_shape",
    "is_finite",
    "layout_constraint",
    "le",
    "lgamma",
    "linear_call",
    "log",
    "log1p",
    "logistic",
    "lt",
    "lu",
    "lu_pivots_to_permutation",
    "max",
    "min",
    "mul",
    "mulhi",
    "ne",
    "neg",
    "nextafter",
    "not",
    "optimization_barrier",
    "or",
    "pad",
    "pallas_call",
    "pbroadcast",
    "philox2x32",
    "philox4x32",
    "pjit",
    "pmax",
    "pmin",
    "polygamma",
    "population_count",
    "pow",
    "ppermute",
    "psum",
    "psum2",
    "psum_invariant",
    "pure_callback",
    "qr",
    "ragged_all_to_all",
    "ragged_dot_general",
    "random_bits",
    "random_fold_in",
    "random_gamma",
    "random_seed",
    "random_split",
    "real",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_precision",
    "reduce_prod",
    "reduce_scatter",
    "reduce_sum",
    "reduce_window",
    "reduce_window_max",
    "reduce_window_min",
    "reduce_window_sum",
    "reduce_xor",
    "regularized_incomplete_beta",
    "rem",
    "remat",
    "remat2",
    "remat_opt",
    "reshape",
    "reshard",
    "rev",
    "rng_bit_generator",
    "rng_uniform",
    "round",
    "rsqrt",
    "scaled_dot",
    "scaled_matmul",
    "scan",
    "scatter",
    "scatter-add",
    "scatter-max",
    "scatter-min",
    "scatter-mul",
    "scatter-sub",
    "schur",
    "select",
    "select_and_gather_add",
    "select_and_scatter",
    "select_and_scatter_add",
    "select_n",
    "shard_map",
    "sharding_constraint",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "sin",
    "sinh",
    "slice",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stop_gradient",
    "sub",
    "svd",
    "symmetric_product",
    "tan",
    "tanh",
    "threefry2x32",
    "threefry4x32",
    "tile",
    "top_k",
    "transpose",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
    "triton_kernel_call",
    "unstack",
    "while",
    "xla_call",
    "xor",
    "zeta",
};

static int compare(const void *key, const void *entry)
{
    const piece *wanted = key;
    const char *known = *(const char *const *)entry;
    int order = strncmp(wanted->text, known, wanted->length);
    return order != 0 ? order : -(known[wanted->length] != '\0');
}

bool jm__xla_is_primitive(const char *name, size_t length)
{
    const piece wanted = {name, length};
    return bsearch(&wanted, primitives, sizeof primitives / sizeof primitives[0], sizeof primitives[0],
                   compare) != NULL;
}

/* What transformations have made of it. */
typedef struct wraps {
    bool function; /* jit(f): another function inside, a part of this one */
    bool forward;
    bool backward;
    bool any;
} wraps;

/* "transpose(jvp(block1))" to "block1". */
static piece unwrap(piece part, wraps *found)
{
    for (;;) {
        size_t open = 0;
        while (open < part.length && part.text[open] != '(' && part.text[open] != '[')
            open++;
        if (open == part.length || part.text[open] == '[') return (piece){part.text, open}; /* [parameters] */
        if (open == 0 || part.text[part.length - 1] != ')') return part;
        piece word = {part.text, open};
        found->any = true;
        found->function = is(word, "jit") || is(word, "pjit") || is(word, "pmap");
        found->forward |= is(word, "jvp");
        found->backward |= is(word, "transpose");
        part = (piece){part.text + open + 1, part.length - open - 2};
    }
}

/* What JAX puts into the stack besides scopes. */
static bool is_structure(piece p)
{
    static const char *const words[] = {"main",
                                        "while",
                                        "body",
                                        "cond",
                                        "scan",
                                        "closed_call",
                                        "core_call",
                                        "xla_call",
                                        "pjit",
                                        "eval_jaxpr",
                                        "checkpoint",
                                        "remat",
                                        "remat2",
                                        "custom_jvp_call",
                                        "custom_vjp_call",
                                        "shard_map",
                                        "shmap_body",
                                        "custom_vjp_call_jaxpr",
                                        "custom_linear_solve"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (is(p, words[i])) return true;
    return p.length > 11 && begins(p.text, "branch_") && strncmp(p.text + p.length - 4, "_fun", 4) == 0;
}

/* Room for a dot and an end is left. */
static void add_scope(char name[JM_XLA_NAME_MAX], piece p)
{
    size_t length = strlen(name);
    snprintf(name + length, JM_XLA_NAME_MAX - length, "%s%.*s", length > 0 ? "." : "", (int)p.length, p.text);
}

static void read_operation(jm__xla_title *title, const char *path)
{
    wraps all = {0};
    bool again = false;
    size_t first = 0; /* bytes of the outermost scope */
    while (*path != '\0') {
        wraps around = {0};
        piece part = unwrap(next_part(&path), &around);
        bool last = *path == '\0';
        all.forward |= around.forward;
        all.backward |= around.backward;
        again |= is(part, "rematted_computation");
        if (around.function || part.length == 0 || is_structure(part) || is(part, "rematted_computation"))
            continue;
        if (last && !around.any && jm__xla_is_primitive(part.text, part.length)) continue;
        /* What is differentiated twice has its scopes twice, the outermost one wrapped again. */
        if (around.any && first == part.length && strncmp(title->name, part.text, first) == 0)
            title->name[0] = '\0';
        if (title->name[0] == '\0') first = part.length;
        add_scope(title->name, part);
    }
    title->span = again          ? JM_SPAN_RECOMPUTE
                  : all.backward ? JM_SPAN_BACKWARD
                  : all.forward  ? JM_SPAN_FORWARD
                                 : JM_SPAN_FUNCTION;
}

static void read_function(jm__xla_title *title, const char *text)
{
    static const char *const makers[] = {"jit_", "pjit_", "pmap_"};
    piece module = value_of(text, "hlo_module");
    title->kind = value_of(text, "program_id").text == NULL ? JM_XLA_AUTOTUNING : JM_XLA_FUNCTION;
    title->span = JM_SPAN_FUNCTION;
    for (size_t i = 0; module.text != NULL && i < sizeof makers / sizeof makers[0]; i++) {
        size_t length = strlen(makers[i]);
        if (module.length <= length || strncmp(module.text, makers[i], length) != 0) continue;
        title->kind = JM_XLA_FUNCTION;
        module = (piece){module.text + length, module.length - length};
        break;
    }
    keep(title->name, module);
    keep(title->prefix, value_of(text, "prefix"));
}

bool jm__xla_is_foreign(const char *text)
{
    return !begins(text, "Xla") && !begins(text, "Thunk:#");
}

void jm__xla_title_read(jm__xla_title *title, const char *text, const char *prefix)
{
    *title = (jm__xla_title){.kind = JM_XLA_FOREIGN, .span = JM_SPAN_NVTX};
    if (jm__xla_is_foreign(text)) return;
    if (begins(text, "XlaModule:#")) {
        read_function(title, text);
    } else if (begins(text, "Thunk:#")) {
        piece name = value_of(text, "name");
        title->kind = name.text == NULL ? JM_XLA_UNNAMED : JM_XLA_OPERATION;
        char path[2 * JM_XLA_NAME_MAX];
        int before = snprintf(path, sizeof path, "%s%s", prefix, prefix[0] != '\0' ? "/" : "");
        if (name.text == NULL) return;
        size_t room = sizeof path - (size_t)before - 1;
        snprintf(path + before, room + 1, "%.*s", (int)(name.length < room ? name.length : room), name.text);
        read_operation(title, path);
    } else {
        title->kind = JM_XLA_COMPILER;
    }
}
