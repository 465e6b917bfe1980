/* NVTX ranges and marks as spans and marks of this process's track. */
#include "inject/activity.h"
#include "inject/inject.h"
#include "inject/nvtx_abi.h"
#include "inject/ranges.h"
#include "inject/xla.h"
#include "timeline/track.h"

#include <joulemap/span.h>

#include <stdatomic.h>
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

static uint32_t name_of_wide(const wchar_t *text)
{
    char narrowed[NAME_BYTES_MOST + 1];
    if (text == NULL) return 0;
    narrow(text, narrowed, sizeof narrowed);
    return jm__track_intern(narrowed, NAME_BYTES_MOST);
}

static uint32_t name_of(const nvtx_event_attributes *attributes)
{
    if (attributes == NULL || attributes->size < sizeof *attributes) return 0;
    switch (attributes->message_type) {
    case NVTX_MESSAGE_ASCII:
        return jm__track_intern(attributes->message.ascii, NAME_BYTES_MOST);
    case NVTX_MESSAGE_UNICODE:
        return name_of_wide(attributes->message.unicode);
    case NVTX_MESSAGE_REGISTERED:
        return (uint32_t)(uintptr_t)attributes->message.registered;
    default:
        return 0;
    }
}

static uint64_t begin(uint32_t name)
{
    return jm__track_begin(JM_SPAN_NVTX, name, 0, 0);
}

/* XLA's domain is that one name; 0: nobody made it. */
static _Atomic uint32_t xla_domain;

static bool is_xla(const void *domain)
{
    uint32_t known = atomic_load_explicit(&xla_domain, memory_order_relaxed);
    return known != 0 && (uintptr_t)domain == known;
}

static uint32_t name_in(const void *domain, const nvtx_event_attributes *attributes)
{
    return is_xla(domain) ? jm__xla_name(attributes) : name_of(attributes);
}

static void mark_ex(const nvtx_event_attributes *attributes)
{
    jm__track_mark_number(name_of(attributes));
}
static void mark_a(const char *message)
{
    jm__track_mark_number(jm__track_intern(message, NAME_BYTES_MOST));
}
static void mark_w(const wchar_t *message)
{
    jm__track_mark_number(name_of_wide(message));
}
static uint64_t range_start_ex(const nvtx_event_attributes *attributes)
{
    return begin(name_of(attributes));
}
static uint64_t range_start_a(const char *message)
{
    return begin(jm__track_intern(message, NAME_BYTES_MOST));
}
static uint64_t range_start_w(const wchar_t *message)
{
    return begin(name_of_wide(message));
}
static void range_end(uint64_t id)
{
    jm__track_end(id);
}
static int range_push_ex(const nvtx_event_attributes *attributes)
{
    return jm__ranges_push(NULL, name_of(attributes), 0);
}
static int range_push_a(const char *message)
{
    return jm__ranges_push(NULL, jm__track_intern(message, NAME_BYTES_MOST), 0);
}
static int range_push_w(const wchar_t *message)
{
    return jm__ranges_push(NULL, name_of_wide(message), 0);
}
static int range_pop(void)
{
    return jm__ranges_pop(NULL);
}
static void domain_mark_ex(const void *domain, const nvtx_event_attributes *attributes)
{
    jm__track_mark_number(name_in(domain, attributes));
}
static uint64_t domain_range_start_ex(const void *domain, const nvtx_event_attributes *attributes)
{
    return begin(name_in(domain, attributes));
}
static void domain_range_end(const void *domain, uint64_t id)
{
    (void)domain;
    jm__track_end(id);
}
static int domain_range_push_ex(const void *domain, const nvtx_event_attributes *attributes)
{
    return is_xla(domain) ? jm__xla_push(attributes) : jm__ranges_push(domain, name_of(attributes), 0);
}
static int domain_range_pop(const void *domain)
{
    return is_xla(domain) ? jm__xla_pop() : jm__ranges_pop(domain);
}

/* Domains and registered strings are known to the program by a pointer of ours that it never looks behind:
 * the number of the name, which holds for the life of the process. */
static const void *handle_of(uint32_t number)
{
    return (const void *)(uintptr_t)number;
}
static const void *register_a(const void *domain, const char *text)
{
    if (is_xla(domain)) return jm__xla_register(text);
    return handle_of(jm__track_register(text, NAME_BYTES_MOST));
}
static const void *register_w(const void *domain, const wchar_t *text)
{
    char narrowed[NAME_BYTES_MOST + 1] = "";
    if (text != NULL) narrow(text, narrowed, sizeof narrowed);
    return register_a(domain, narrowed);
}
static const void *domain_create_a(const char *name)
{
    uint32_t number = jm__track_register(name, NAME_BYTES_MOST);
    if (name != NULL && strcmp(name, JM_XLA_DOMAIN) == 0) {
        atomic_store_explicit(&xla_domain, number, memory_order_relaxed);
        jm__activity_meet_xla();
    }
    return handle_of(number);
}
static const void *domain_create_w(const wchar_t *name)
{
    return register_w(NULL, name);
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
};
static const slot core2[] = {
    SLOT(DomainMarkEx, domain_mark_ex),      SLOT(DomainRangeStartEx, domain_range_start_ex),
    SLOT(DomainRangeEnd, domain_range_end),  SLOT(DomainRangePushEx, domain_range_push_ex),
    SLOT(DomainRangePop, domain_range_pop),  SLOT(DomainRegisterStringA, register_a),
    SLOT(DomainRegisterStringW, register_w), SLOT(DomainCreateA, domain_create_a),
    SLOT(DomainCreateW, domain_create_w),
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
    return 1;
}
