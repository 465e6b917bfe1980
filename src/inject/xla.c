/* XLA's ranges as spans: finds XLA's libraries, reads range titles, begins and ends spans. */
#include "inject/xla.h"

#include "record/timeline/track.h"

#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- detecting XLA by the names of loaded libraries */

/* The loader's count of loads at the last search. */
static _Atomic unsigned long long loads_seen;

typedef struct library_search {
    unsigned long long loads;
    bool found;
} library_search;

static int check_library(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char *const starts[] = {"xla_cuda", "xla_extension", "libtensorflow_cc"};
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash == NULL ? info->dlpi_name : slash + 1;
    library_search *l = context;
    (void)size;
    l->loads = info->dlpi_adds;
    if (l->loads == loads_seen) return 1;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0) l->found = true;
    return l->found;
}

bool jm__xla_was_loaded(void)
{
    library_search l = {0};
    dl_iterate_phdr(check_library, &l);
    loads_seen = l.loads;
    return l.found;
}

/* ---- Titles. An operation's name is JAX's name stack: the function, the scopes around the operation, and
 * the primitive. Differentiation wraps the outermost scope: "jvp(block1)/attn/dot_general" is forward,
 * "transpose(jvp(block1))/attn/dot_general" its backward pass. A fusion of several operations has the common
 * beginning of their names, perhaps without a primitive. */

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

/* The value of a key in "...:#key=value,key=value#". A comma or '#' outside brackets ends it. */
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

static void copy_piece(char out[JM_XLA_NAME_MAX], piece p)
{
    snprintf(out, JM_XLA_NAME_MAX, "%.*s", (int)(p.length < JM_XLA_NAME_MAX ? p.length : JM_XLA_NAME_MAX - 1),
             p.text == NULL ? "" : p.text);
}

/* The part up to the next '/' outside brackets. Advances *path behind it. */
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

/* Names of JAX's primitives, which are the last part of an operation's name and no scope of the program.
 * Sorted as by strcmp.
 *
 * A primitive that is missing here gets its own row inside its scope. python3 -c 'from jax._src.interpreters
 * import mlir; print(sorted(p.name for p in mlir._lowerings))' lists them. */
/* clang-format off */
static const char *const primitives[] = {
    "abs", "acos", "acosh", "add", "add_any", "after_all", "all_gather", "all_gather_invariant",
    "all_to_all", "and", "approx_top_k", "argmax", "argmin", "asin", "asinh", "atan", "atan2", "atanh",
    "axis_index", "bessel_i0e", "bessel_i1e", "bitcast_convert_type", "broadcast_in_dim",
    "broadcast_to", "cbrt", "ceil", "checkpoint", "cholesky", "cholesky_update", "clamp", "clz",
    "complex", "composite", "concatenate", "cond", "conj", "conv_general_dilated", "convert",
    "convert_element_type", "convolution", "copy", "cos", "cosh", "cudnn_fusion", "cumlogsumexp",
    "cummax", "cummin", "cumprod", "cumsum", "custom_jvp_call", "custom_lin", "custom_linear_solve",
    "custom_partitioning", "custom_vjp_call", "custom_vjp_call_jaxpr", "custom_vmap_call", "device_put",
    "digamma", "div", "dot", "dot_general", "dot_product_attention_bwd",
    "dot_product_attention_fp8_bwd", "dot_product_attention_fp8_fwd", "dot_product_attention_fwd",
    "dynamic_slice", "dynamic_update_slice", "eig", "eigh", "eq", "erf", "erf_inv", "erfc", "exp",
    "exp2", "expm1", "ffi_call", "fft", "floor", "gather", "ge", "gt", "igamma", "igamma_grad_a",
    "igammac", "imag", "integer_pow", "io_callback", "iota", "iota_2x32_shape", "is_finite",
    "layout_constraint", "le", "lgamma", "linear_call", "log", "log1p", "logistic", "lt", "lu",
    "lu_pivots_to_permutation", "max", "min", "mul", "mulhi", "ne", "neg", "nextafter", "not",
    "optimization_barrier", "or", "pad", "pallas_call", "pbroadcast", "philox2x32", "philox4x32",
    "pjit", "pmax", "pmin", "polygamma", "population_count", "pow", "ppermute", "psum", "psum2",
    "psum_invariant", "pure_callback", "qr", "ragged_all_to_all", "ragged_dot_general", "random_bits",
    "random_fold_in", "random_gamma", "random_seed", "random_split", "real", "reduce", "reduce_and",
    "reduce_max", "reduce_min", "reduce_or", "reduce_precision", "reduce_prod", "reduce_scatter",
    "reduce_sum", "reduce_window", "reduce_window_max", "reduce_window_min", "reduce_window_sum",
    "reduce_xor", "regularized_incomplete_beta", "rem", "remat", "remat2", "remat_opt", "reshape",
    "reshard", "rev", "rng_bit_generator", "rng_uniform", "round", "rsqrt", "scaled_dot",
    "scaled_matmul", "scan", "scatter", "scatter-add", "scatter-max", "scatter-min", "scatter-mul",
    "scatter-sub", "schur", "select", "select_and_gather_add", "select_and_scatter",
    "select_and_scatter_add", "select_n", "shard_map", "sharding_constraint", "shift_left",
    "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "sinh", "slice", "sort", "split",
    "sqrt", "square", "squeeze", "stack", "stop_gradient", "sub", "svd", "symmetric_product", "tan",
    "tanh", "threefry2x32", "threefry4x32", "tile", "top_k", "transpose", "triangular_solve",
    "tridiagonal", "tridiagonal_solve", "triton_kernel_call", "unstack", "while", "xla_call", "xor",
    "zeta"
};
/* clang-format on */

static int compare(const void *key, const void *entry)
{
    const piece *name_piece = key;
    const char *known = *(const char *const *)entry;
    int order = strncmp(name_piece->text, known, name_piece->length);
    return order != 0 ? order : -(known[name_piece->length] != '\0');
}

bool jm__xla_is_primitive(const char *name, size_t length)
{
    const piece name_piece = {name, length};
    return bsearch(&name_piece, primitives, sizeof primitives / sizeof primitives[0], sizeof primitives[0],
                   compare) != NULL;
}

/* The transformations around a scope. */
typedef struct wraps {
    bool function; /* jit(f): an inner function, which is part of this one */
    bool forward;
    bool backward;
    bool any;
} wraps;

/* Unwrap "transpose(jvp(block1))" to "block1". */
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

/* Whether JAX itself put this part into the name stack. */
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

/* Append a scope, with a dot between. */
static void add_scope(char name[JM_XLA_NAME_MAX], piece p)
{
    size_t length = strlen(name);
    snprintf(name + length, JM_XLA_NAME_MAX - length, "%s%.*s", length > 0 ? "." : "", (int)p.length, p.text);
}

static void read_operation(jm__xla_title *title, const char *path)
{
    wraps all = {0};
    bool recomputed = false;
    size_t first = 0; /* length of the outermost scope */
    while (*path != '\0') {
        wraps wrapped = {0};
        piece part = unwrap(next_part(&path), &wrapped);
        bool last = *path == '\0';
        all.forward |= wrapped.forward;
        all.backward |= wrapped.backward;
        recomputed |= is(part, "rematted_computation");
        if (wrapped.function || part.length == 0 || is_structure(part) || is(part, "rematted_computation"))
            continue;
        if (last && !wrapped.any && jm__xla_is_primitive(part.text, part.length)) continue;
        /* Code differentiated twice has its scopes twice, the outermost one wrapped again. */
        if (wrapped.any && first == part.length && strncmp(title->name, part.text, first) == 0)
            title->name[0] = '\0';
        if (title->name[0] == '\0') first = part.length;
        add_scope(title->name, part);
    }
    title->span = recomputed     ? JM_SPAN_RECOMPUTE
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
    copy_piece(title->name, module);
    copy_piece(title->prefix, value_of(text, "prefix"));
}

/* Not XLA's own range; it keeps its text as name. */
static bool is_foreign(const char *text)
{
    return !begins(text, "Xla") && !begins(text, "Thunk:#");
}

void jm__xla_title_read(jm__xla_title *title, const char *text, const char *prefix)
{
    *title = (jm__xla_title){.kind = JM_XLA_FOREIGN, .span = JM_SPAN_NVTX};
    if (is_foreign(text)) return;
    if (begins(text, "XlaModule:#")) {
        read_function(title, text);
    } else if (begins(text, "Thunk:#")) {
        piece name = value_of(text, "name");
        title->kind = name.text == NULL ? JM_XLA_UNNAMED : JM_XLA_OPERATION;
        char path[2 * JM_XLA_NAME_MAX];
        int before = snprintf(path, sizeof path, "%s%s", prefix, prefix[0] != '\0' ? "/" : "");
        if (name.text == NULL) return;
        size_t available = sizeof path - (size_t)before - 1;
        snprintf(path + before, available + 1, "%.*s",
                 (int)(name.length < available ? name.length : available), name.text);
        read_operation(title, path);
    } else {
        title->kind = JM_XLA_COMPILER;
    }
}

/* ---- spans */

#define DEPTH_MAX 64 /* open ranges per thread; deeper ones get no span */

/* The span that a range begins. */
typedef struct range_kind {
    jm_span_kind span;
    uint32_t name; /* 0: no span; its work belongs to the enclosing range */
    uint32_t type;
} range_kind;

/* The function whose operations are being registered: XLA registers it first, on the same thread. */
static _Thread_local char function[JM_XLA_NAME_MAX], prefix[JM_XLA_NAME_MAX];

/* An ended range stays open as a span until the next begin, which may be of the same scope. */
typedef struct open_range {
    uint64_t span; /* 0: no span of its own */
    uint32_t name; /* name of the innermost span */
    jm_span_kind span_kind;
} open_range;
static _Thread_local open_range open_ranges[DEPTH_MAX + 1];
static _Thread_local int open_count, too_deep;
static _Thread_local bool lingering; /* open_ranges[open_count] has ended */

static const range_kind unnamed = {.span = JM_SPAN_NVTX};

/* The type of a scope without its number: "Dense" for "Dense_0". */
static uint32_t type_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    const char *last = dot == NULL ? name : dot + 1;
    size_t length = strlen(last), digits = length;
    while (digits > 0 && last[digits - 1] >= '0' && last[digits - 1] <= '9')
        digits--;
    if (digits > 1 && digits < length && last[digits - 1] == '_') length = digits - 1;
    return jm__track_register(last, length);
}

static range_kind operation(const jm__xla_title *title)
{
    char name[2 * JM_XLA_NAME_MAX];
    snprintf(name, sizeof name, "%s%s%s", function, title->name[0] != '\0' ? "." : "", title->name);
    return (range_kind){title->span, jm__track_register(name, JM_TRACK_NAME_MAX), type_of(name)};
}

static range_kind read_text(const char *text)
{
    jm__xla_title title;
    jm__xla_title_read(&title, text, prefix);
    if (title.kind == JM_XLA_OPERATION) return operation(&title);
    if (title.kind != JM_XLA_FUNCTION && title.kind != JM_XLA_AUTOTUNING) return unnamed;
    memcpy(function, title.name, sizeof function);
    memcpy(prefix, title.prefix, sizeof prefix);
    if (title.kind == JM_XLA_AUTOTUNING)
        return (range_kind){JM_SPAN_NVTX, jm__track_register("XLA autotuning", JM_TRACK_NAME_MAX), 0};
    uint32_t name = jm__track_register(title.name, JM_TRACK_NAME_MAX);
    return (range_kind){title.span, name, name};
}

/* A handle encodes the span in its bits. Nothing is stored, however many texts XLA registers. */
#define NUMBER_BITS 30 /* bits of a name's number: there are fewer names (ring.h) */
#define NUMBER_MASK ((UINT64_C(1) << NUMBER_BITS) - 1)
_Static_assert(sizeof(void *) == sizeof(uint64_t) && JM_SPAN_KIND_COUNT <= 16, "a range fits into a handle");

static const void *handle_of(range_kind made)
{
    uint64_t bits = (uint64_t)made.span << 2 * NUMBER_BITS | (uint64_t)made.type << NUMBER_BITS | made.name;
    return (const void *)(uintptr_t)bits;
}

static range_kind range_kind_of_handle(const void *handle)
{
    uint64_t bits = (uintptr_t)handle;
    return (range_kind){(jm_span_kind)(bits >> 2 * NUMBER_BITS), (uint32_t)(bits & NUMBER_MASK),
                        (uint32_t)(bits >> NUMBER_BITS & NUMBER_MASK)};
}

/* XLA also registers long descriptions of its operations, which are not interned as names. */
const void *jm__xla_register(const char *text)
{
    return text == NULL ? NULL : handle_of(read_text(text));
}

static range_kind begun_by(const nvtx_event_attributes *attributes)
{
    if (attributes == NULL || attributes->size < sizeof *attributes) return unnamed;
    if (attributes->message_type == NVTX_MESSAGE_REGISTERED)
        return range_kind_of_handle(attributes->message.registered);
    const char *text = attributes->message.ascii;
    if (attributes->message_type != NVTX_MESSAGE_ASCII || text == NULL) return unnamed;
    if (is_foreign(text)) return (range_kind){JM_SPAN_NVTX, jm__track_intern(text), 0};
    return read_text(text);
}

uint32_t jm__xla_name(const nvtx_event_attributes *attributes)
{
    return begun_by(attributes).name;
}

static void end_lingering(void)
{
    if (lingering) jm__track_end(open_ranges[open_count].span);
    lingering = false;
}

int jm__xla_push(const nvtx_event_attributes *attributes)
{
    static const open_range none;
    if (open_count == DEPTH_MAX) return DEPTH_MAX + too_deep++;
    const open_range *wrapped = open_count > 0 ? &open_ranges[open_count - 1] : &none;
    open_range *range = &open_ranges[open_count];
    range_kind begun = begun_by(attributes);
    bool same_as_outer = begun.name == wrapped->name && begun.span == wrapped->span_kind;
    bool own = begun.name != 0 && !same_as_outer;
    bool continues = lingering && own && range->name == begun.name && range->span_kind == begun.span;
    if (!continues) {
        end_lingering();
        *range = (open_range){0, wrapped->name, wrapped->span_kind};
        if (own)
            *range = (open_range){jm__track_begin((uint8_t)begun.span, begun.name, begun.type, 0), begun.name,
                                  begun.span};
    }
    lingering = false;
    return open_count++;
}

int jm__xla_pop(void)
{
    if (too_deep > 0) return DEPTH_MAX + --too_deep;
    if (open_count == 0) return -1;
    end_lingering();
    open_count--;
    lingering = open_ranges[open_count].span != 0;
    if (open_count == 0) end_lingering();
    return open_count;
}
