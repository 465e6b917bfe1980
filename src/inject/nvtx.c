/* NVTX ranges and marks as spans and marks of this process's track. */
#include "inject/activity.h"
#include "inject/domains.h"
#include "inject/inject.h"
#include "inject/marks.h"
#include "inject/nccl.h"
#include "inject/nvtx_abi.h"
#include "inject/ranges.h"
#include "inject/xla.h"
#include "record/timeline/track.h"

#include <joulemap/span.h>

#include <stdbool.h>
#include <string.h>

#define NAME_BYTES_MOST 4095u

JM_API int InitializeInjectionNvtx2(nvtx_get_export_table get_export_table);

/* UTF-8, cut to what fits. */
static void narrow(const wchar_t *text, char *out, size_t size)
{
    size_t at = 0;
    for (; *text != L'\0'; text++) {
        uint32_t c = (uint32_t)*text;
        size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        if (c > 0x10FFFF || at + bytes >= size) break;
        static const unsigned char leads[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
        for (size_t i = bytes; i > 1; i--, c >>= 6)
            out[at + i - 1] = (char)(0x80u | (c & 0x3Fu));
        out[at] = (char)(leads[bytes] | c);
        at += bytes;
    }
    out[at] = '\0';
}

static uint32_t text_of_wide(const jm__domain *domain, const wchar_t *text, bool registered)
{
    char narrowed[NAME_BYTES_MOST + 1] = "";
    if (text != NULL) narrow(text, narrowed, sizeof narrowed);
    return jm__domain_text(domain, narrowed, registered);
}

static bool is_whole(const nvtx_event_attributes *attributes)
{
    return attributes != NULL && attributes->size >= sizeof *attributes;
}

static uint32_t message_number(const jm__domain *domain, int32_t type, const nvtx_message *message)
{
    switch (type) {
    case NVTX_MESSAGE_UNICODE:
        return text_of_wide(domain, message->unicode, false);
    case NVTX_MESSAGE_REGISTERED:
        return (uint32_t)(uintptr_t)message->registered;
    default:
        return jm__domain_text(domain, type == NVTX_MESSAGE_ASCII ? message->ascii : NULL, false);
    }
}

static uint32_t name_of(const jm__domain *domain, const nvtx_event_attributes *attributes)
{
    if (jm__domain_is_xla(domain)) return jm__xla_name(attributes);
    const nvtx_message none = {NULL};
    bool whole = is_whole(attributes);
    return message_number(domain, whole ? attributes->message_type : 0, whole ? &attributes->message : &none);
}

static jm__track_number payload_of(const nvtx_event_attributes *a)
{
    switch (a->payload_type) {
    case NVTX_PAYLOAD_U64:
        return (jm__track_number){.kind = JM_PAYLOAD_NATURAL, .value = {.natural = a->payload.u64}};
    case NVTX_PAYLOAD_U32:
        return (jm__track_number){.kind = JM_PAYLOAD_NATURAL, .value = {.natural = a->payload.u32}};
    case NVTX_PAYLOAD_I64:
        return (jm__track_number){.kind = JM_PAYLOAD_INTEGER, .value = {.integer = a->payload.i64}};
    case NVTX_PAYLOAD_I32:
        return (jm__track_number){.kind = JM_PAYLOAD_INTEGER, .value = {.integer = a->payload.i32}};
    case NVTX_PAYLOAD_F64:
        return (jm__track_number){.kind = JM_PAYLOAD_REAL, .value = {.real = a->payload.f64}};
    case NVTX_PAYLOAD_F32:
        return (jm__track_number){.kind = JM_PAYLOAD_REAL, .value = {.real = (double)a->payload.f32}};
    default: /* none, or one of a schema (NVTX's extension), which is in no attributes */
        return (jm__track_number){.kind = JM_PAYLOAD_NONE};
    }
}

static jm__range range_of(const jm__domain *domain, const nvtx_event_attributes *attributes)
{
    if (!jm__domain_is_kept(domain)) return (jm__range){0};
    jm__range range = {.name = name_of(domain, attributes)};
    if (is_whole(attributes)) {
        range.type = jm__domain_category(domain, attributes->category);
        range.payload = payload_of(attributes);
    }
    return range;
}

static jm__range plain(uint32_t name)
{
    return (jm__range){.name = name};
}

static uint64_t start(const jm__domain *domain, jm__range range)
{
    return jm__domain_is_kept(domain) ? jm__range_begin(&range) : 0;
}

static int push(const jm__domain *domain, jm__range range)
{
    return jm__domain_is_kept(domain) ? jm__ranges_push(domain, &range) : NVTX_NOT_TRACKED;
}

static int pop(const jm__domain *domain)
{
    return jm__domain_is_kept(domain) ? jm__ranges_pop(domain) : NVTX_NOT_TRACKED;
}

static void mark(const jm__domain *domain, jm__range range)
{
    if (jm__domain_is_kept(domain)) jm__mark_put(&range);
}

static void mark_ex(const nvtx_event_attributes *attributes)
{
    mark(NULL, range_of(NULL, attributes));
}
static void mark_a(const char *message)
{
    mark(NULL, plain(jm__domain_text(NULL, message, false)));
}
static void mark_w(const wchar_t *message)
{
    mark(NULL, plain(text_of_wide(NULL, message, false)));
}
static uint64_t range_start_ex(const nvtx_event_attributes *attributes)
{
    return start(NULL, range_of(NULL, attributes));
}
static uint64_t range_start_a(const char *message)
{
    return start(NULL, plain(jm__domain_text(NULL, message, false)));
}
static uint64_t range_start_w(const wchar_t *message)
{
    return start(NULL, plain(text_of_wide(NULL, message, false)));
}
static void range_end(uint64_t id)
{
    jm__track_end(id);
}
static int range_push_ex(const nvtx_event_attributes *attributes)
{
    return push(NULL, range_of(NULL, attributes));
}
static int range_push_a(const char *message)
{
    return push(NULL, plain(jm__domain_text(NULL, message, false)));
}
static int range_push_w(const wchar_t *message)
{
    return push(NULL, plain(text_of_wide(NULL, message, false)));
}
static int range_pop(void)
{
    return pop(NULL);
}
static void domain_mark_ex(const void *handle, const nvtx_event_attributes *attributes)
{
    const jm__domain *domain = jm__domain_of(handle);
    mark(domain, range_of(domain, attributes));
}
static uint64_t domain_range_start_ex(const void *handle, const nvtx_event_attributes *attributes)
{
    const jm__domain *domain = jm__domain_of(handle);
    return start(domain, range_of(domain, attributes));
}
static void domain_range_end(const void *handle, uint64_t id)
{
    (void)handle;
    jm__track_end(id);
}
/* Its calls are collectives, its other ranges (a communicator is made) ranges. */
static int push_of_nccl(const jm__domain *domain, const nvtx_event_attributes *attributes)
{
    uint64_t span;
    uint32_t name = name_of(domain, attributes);
    if (is_whole(attributes) && jm__nccl_begin(jm__track_text(name), attributes, &span))
        return jm__ranges_push_span(domain, span);
    return push(domain, range_of(domain, attributes));
}

static int domain_range_push_ex(const void *handle, const nvtx_event_attributes *attributes)
{
    const jm__domain *domain = jm__domain_of(handle);
    if (jm__domain_is_xla(domain)) return jm__xla_push(attributes);
    if (jm__domain_is_nccl(domain)) return push_of_nccl(domain, attributes);
    return push(domain, range_of(domain, attributes));
}
static int domain_range_pop(const void *handle)
{
    const jm__domain *domain = jm__domain_of(handle);
    return jm__domain_is_xla(domain) ? jm__xla_pop() : pop(domain);
}

/* Registered strings are known to the program by a pointer that it never looks behind: the number of the
 * name, which holds for the life of the process. */
static const void *register_a(const void *handle, const char *text)
{
    const jm__domain *domain = jm__domain_of(handle);
    if (jm__domain_is_xla(domain)) return jm__xla_register(text);
    return (const void *)(uintptr_t)jm__domain_text(domain, text, true);
}
static const void *register_w(const void *handle, const wchar_t *text)
{
    char narrowed[NAME_BYTES_MOST + 1] = "";
    if (text != NULL) narrow(text, narrowed, sizeof narrowed);
    return register_a(handle, narrowed);
}
static const void *domain_create_a(const char *name)
{
    const jm__domain *domain = jm__domain_make(name);
    if (name != NULL && strcmp(name, JM_XLA_DOMAIN) == 0) jm__activity_meet_xla();
    return domain;
}
static const void *domain_create_w(const wchar_t *name)
{
    char narrowed[NAME_BYTES_MOST + 1] = "";
    if (name != NULL) narrow(name, narrowed, sizeof narrowed);
    return domain_create_a(narrowed);
}

static void domain_name_category_a(const void *handle, uint32_t category, const char *name)
{
    jm__domain_name_category(jm__domain_of(handle), category, name);
}
static void domain_name_category_w(const void *handle, uint32_t category, const wchar_t *name)
{
    char narrowed[NAME_BYTES_MOST + 1] = "";
    if (name != NULL) narrow(name, narrowed, sizeof narrowed);
    domain_name_category_a(handle, category, narrowed);
}
static void name_category_a(uint32_t category, const char *name)
{
    domain_name_category_a(NULL, category, name);
}
static void name_category_w(uint32_t category, const wchar_t *name)
{
    domain_name_category_w(NULL, category, name);
}

/* ---- names of what is no range */

/* For `call` with a name in either of C's kinds of text. */
#define NAMED(call, of, type, number)                                                                        \
    static void call##_a(type id, const char *name)                                                          \
    {                                                                                                        \
        if (jm__domain_is_kept(NULL)) jm__mark_named(of, number, name);                                      \
    }                                                                                                        \
    static void call##_w(type id, const wchar_t *name)                                                       \
    {                                                                                                        \
        char narrowed[NAME_BYTES_MOST + 1] = "";                                                             \
        if (name != NULL) narrow(name, narrowed, sizeof narrowed);                                           \
        call##_a(id, narrowed);                                                                              \
    }

NAMED(name_thread, "thread", uint32_t, id)
NAMED(name_device, "device", int, (uint64_t)id)
NAMED(name_stream, "stream", const void *, (uintptr_t)id)
NAMED(name_context, "context", const void *, (uintptr_t)id)

/* A resource of any kind; what the program gets for it is looked behind by nobody. */
static const void *domain_resource_create(const void *handle, const nvtx_resource_attributes *attributes)
{
    static const char token;
    const jm__domain *domain = jm__domain_of(handle);
    if (attributes == NULL || attributes->size < sizeof *attributes || !jm__domain_is_kept(domain))
        return NULL;
    uint32_t name = message_number(domain, attributes->message_type, &attributes->message);
    bool named = name != jm__domain_text(domain, NULL, false); /* by more than its domain */
    if (named) jm__mark_named("resource", attributes->identifier, jm__track_text(name));
    return &token;
}

typedef struct slot {
    unsigned index;
    nvtx_function function;
} slot;

#define SLOT(name, function)                                                                                 \
    {                                                                                                        \
        NVTX_##name, (nvtx_function)(function)                                                               \
    }
static const slot core[] = {
    SLOT(MarkEx, mark_ex),
    SLOT(MarkA, mark_a),
    SLOT(MarkW, mark_w),
    SLOT(RangeStartEx, range_start_ex),
    SLOT(RangeStartA, range_start_a),
    SLOT(RangeStartW, range_start_w),
    SLOT(RangeEnd, range_end),
    SLOT(RangePushEx, range_push_ex),
    SLOT(RangePushA, range_push_a),
    SLOT(RangePushW, range_push_w),
    SLOT(RangePop, range_pop),
    SLOT(NameCategoryA, name_category_a),
    SLOT(NameCategoryW, name_category_w),
    SLOT(NameOsThreadA, name_thread_a),
    SLOT(NameOsThreadW, name_thread_w),
};
static const slot core2[] = {
    SLOT(DomainMarkEx, domain_mark_ex),
    SLOT(DomainRangeStartEx, domain_range_start_ex),
    SLOT(DomainRangeEnd, domain_range_end),
    SLOT(DomainRangePushEx, domain_range_push_ex),
    SLOT(DomainRangePop, domain_range_pop),
    SLOT(DomainRegisterStringA, register_a),
    SLOT(DomainRegisterStringW, register_w),
    SLOT(DomainCreateA, domain_create_a),
    SLOT(DomainCreateW, domain_create_w),
    SLOT(DomainNameCategoryA, domain_name_category_a),
    SLOT(DomainNameCategoryW, domain_name_category_w),
    SLOT(DomainResourceCreate, domain_resource_create),
};

static const slot cuda[] = {
    SLOT(NameCuDeviceA, name_device_a),   SLOT(NameCuDeviceW, name_device_w),
    SLOT(NameCuContextA, name_context_a), SLOT(NameCuContextW, name_context_w),
    SLOT(NameCuStreamA, name_stream_a),   SLOT(NameCuStreamW, name_stream_w),
};
static const slot cudart[] = {
    SLOT(NameCudaDeviceA, name_device_a),
    SLOT(NameCudaDeviceW, name_device_w),
    SLOT(NameCudaStreamA, name_stream_a),
    SLOT(NameCudaStreamW, name_stream_w),
};

static void fill(const nvtx_callbacks_table *table, int module, const slot *ours, size_t our_count)
{
    nvtx_function **slots = NULL;
    unsigned count = 0;
    if (!table->get_module_function_table(module, &slots, &count) || slots == NULL) return;
    for (size_t i = 0; i < our_count; i++)
        if (ours[i].index < count && slots[ours[i].index] != NULL) *slots[ours[i].index] = ours[i].function;
}

/* Called once by each copy of NVTX in the program. 0 tells it that there is no tool: its calls stay empty. */
int InitializeInjectionNvtx2(nvtx_get_export_table get_export_table)
{
    if (get_export_table == NULL) return 0;
    const nvtx_callbacks_table *table = get_export_table(NVTX_TABLE_CALLBACKS);
    if (table == NULL || table->struct_size < sizeof *table) return 0;
    fill(table, NVTX_MODULE_CORE, core, sizeof core / sizeof core[0]);
    fill(table, NVTX_MODULE_CORE2, core2, sizeof core2 / sizeof core2[0]);
    fill(table, NVTX_MODULE_CUDA, cuda, sizeof cuda / sizeof cuda[0]);
    fill(table, NVTX_MODULE_CUDART, cudart, sizeof cudart / sizeof cudart[0]);
    return 1;
}
