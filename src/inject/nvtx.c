/* NVTX ranges and marks as spans and marks of this process, and NCCL's ranges as collectives. */
#include "base/plain.h"
#include "base/utf8.h"
#include "inject/inject.h"
#include "inject/nvtx_abi.h"
#include "inject/ranges.h"
#include "inject/xla.h"
#include "record/timeline/ring_format.h"
#include "record/timeline/track.h"

#include <inttypes.h>
#include <joulemap/span.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- NCCL's collectives: operation, communicator and bytes, from its NVTX ranges.
 *
 * NCCL pushes a range around each of its calls in the domain "NCCL", from 2.26 on with the communicator's
 * hash and the bytes of the message (its src/include/nvtx_payload_schemas.h). Between ncclGroupStart and
 * ncclGroupEnd calls launch nothing; ncclGroupEnd launches them, so it gets their sum. PyTorch puts all its
 * calls into groups. */

#define NCCL_DOMAIN "NCCL"

/* A call, its operation, and the size of its payload with a communicator (from 2.26 on) and without (from
 * 2.18 on). Payloads of other sizes are from an unknown version and are not read. */
typedef struct operation {
    const char *call, *name;
    size_t with, without;
} operation;

static const operation operations[] = {
    {"ncclAllGather", "all-gather", 16, 8}, {"ncclAllReduce", "all-reduce", 24, 16},
    {"ncclBroadcast", "broadcast", 24, 16}, {"ncclReduce", "reduce", 24, 16},
    {"ncclSend", "send", 24, 16},           {"ncclReduceScatter", "reduce-scatter", 24, 16},
    {"ncclRecv", "recv", 24, 16},           {"ncclAlltoAll", "all-to-all", 16, 0},
    {"ncclAllToAll", "all-to-all", 16, 0},  {"ncclGather", "gather", 24, 0},
    {"ncclScatter", "scatter", 24, 0},
};
enum { SEND = 4, RECV = 6, OPERATIONS = sizeof operations / sizeof *operations, PAIR = OPERATIONS, MIXED };

typedef struct collective {
    uint64_t communicator; /* 0: unknown */
    uint64_t bytes;
    bool has_bytes;
} collective;

/* nvtxPayloadData_t: the data of a payload with a schema. */
typedef struct payload_data {
    uint64_t schema;
    size_t size;
    const void *bytes;
} payload_data;

#define PAYLOAD_WITH_SCHEMA                                                                                  \
    ((int32_t)0xDFBD0009) /* NVTX_PAYLOAD_TYPE_EXT; `reserved` is the number of payloads */

static collective read_payload(const operation *op, const nvtx_event_attributes *a)
{
    collective none = {0};
    if (a->payload_type != PAYLOAD_WITH_SCHEMA || a->reserved < 1 || a->payload.u64 == 0) return none;
    const payload_data *data = (const payload_data *)(uintptr_t)a->payload.u64;
    uint64_t words[2];
    if (data->bytes == NULL || (data->size != op->with && data->size != op->without)) return none;
    bool with = data->size == op->with;
    memcpy(words, data->bytes, with ? sizeof words : sizeof words[0]);
    return with ? (collective){words[0], words[1], true} : (collective){0, words[0], true};
}

/* ---- interned names, which are valid for the life of the process */

/* A thread uses few communicators. Two that share a slot replace each other. */
enum { COMMUNICATORS_KEPT = 16 };
static _Thread_local struct {
    uint64_t communicator;
    uint32_t name;
} kept[COMMUNICATORS_KEPT];

static uint32_t name_of_communicator(uint64_t communicator)
{
    size_t at = (size_t)(communicator * UINT64_C(0x9E3779B97F4A7C15) >> 60) % COMMUNICATORS_KEPT;
    if (communicator == 0) return 0;
    if (kept[at].communicator == communicator && kept[at].name != 0) return kept[at].name;
    char text[48];
    snprintf(text, sizeof text, JM_COMMUNICATOR "%016" PRIx64, communicator);
    kept[at].name = jm__track_register(text, sizeof text);
    kept[at].communicator = communicator;
    return kept[at].name;
}

/* The name of an operation, or of a group of several operations. */
static uint32_t name_of_kind(size_t kind)
{
    static _Thread_local uint32_t names[MIXED + 1];
    const char *text = kind == MIXED ? "collectives" : kind == PAIR ? "send, recv" : operations[kind].name;
    if (names[kind] == 0) names[kind] = jm__track_register(text, 32);
    return names[kind];
}

static uint64_t begin_collective(size_t kind, const collective *what)
{
    jm__track_number payload = {.kind = JM_PAYLOAD_NONE};
    if (what->has_bytes)
        payload = (jm__track_number){.kind = JM_PAYLOAD_NATURAL, .value = {.natural = what->bytes}};
    return jm__track_begin_with(JM_SPAN_COLLECTIVE, name_of_kind(kind),
                                name_of_communicator(what->communicator), 0, &payload);
}

/* ---- groups */

static _Thread_local struct {
    unsigned depth;
    unsigned calls;
    size_t first;    /* index in `operations` */
    bool only_pairs; /* only sends and receives */
    bool one_kind, one_communicator;
    collective sum;
} group;

static void add_to_group(size_t op, const collective *what)
{
    bool pair = op == SEND || op == RECV;
    if (group.calls++ == 0) {
        group.first = op;
        group.sum = *what;
        group.only_pairs = pair;
        group.one_kind = group.one_communicator = true;
        return;
    }
    group.only_pairs = group.only_pairs && pair;
    group.one_kind = group.one_kind && strcmp(operations[op].name, operations[group.first].name) == 0;
    group.one_communicator = group.one_communicator && what->communicator == group.sum.communicator;
    group.sum.has_bytes = group.sum.has_bytes && what->has_bytes;
    group.sum.bytes += what->bytes;
}

static uint64_t begin_group(void)
{
    collective sum = group.sum;
    if (!group.one_communicator) sum.communicator = 0;
    size_t kind = group.one_kind ? group.first : group.only_pairs ? PAIR : MIXED;
    group.calls = 0;
    return begin_collective(kind, &sum);
}

/* OPERATIONS: no operation. */
static size_t operation_of(const char *call)
{
    size_t i = 0;
    while (i < OPERATIONS && strcmp(operations[i].call, call) != 0)
        i++;
    return i;
}

/* Begin the span of a range that NCCL pushes. `text`: its name in the domain ("NCCL:ncclAllReduce");
 * `attributes` are complete. False: no collective call, but an ordinary range. *span is 0 if the call
 * launches nothing. */
static bool begin_nccl(const char *text, const nvtx_event_attributes *attributes, uint64_t *span)
{
    static const char prefix[] = NCCL_DOMAIN ":";
    *span = 0;
    if (text == NULL || strncmp(text, prefix, sizeof prefix - 1) != 0) return false;
    const char *call = text + sizeof prefix - 1;
    if (strcmp(call, "ncclGroupStart") == 0) {
        group.depth++;
        return true;
    }
    if (strcmp(call, "ncclGroupEnd") == 0) {
        if (group.depth > 0) group.depth--;
        if (group.depth == 0 && group.calls > 0) *span = begin_group();
        return true;
    }
    size_t op = operation_of(call);
    if (op == OPERATIONS) return false;
    const collective what = read_payload(&operations[op], attributes);
    if (group.depth > 0)
        add_to_group(op, &what);
    else
        *span = begin_collective(op, &what);
    return true;
}

/* ---- NVTX's domains: which are recorded, and the names of domains and categories.
 *
 * A program identifies a domain by a pointer of ours; the default one is NULL. Ranges of a named domain are
 * called "DOMAIN:NAME", as in NVIDIA's own tools. A category is the type of a range. Nothing is locked, as a
 * fork may come at any time, and nothing allocated but names.
 *
 * JOULEMAP_NVTX_DOMAINS lists the domains to record, with commas between, "default" for the default one. With
 * a minus before each name it lists those to leave out: "-CCCL,-NCCL". */

#define NAME_BYTES_MAX JM_TRACK_NAME_MAX
#define DOMAIN_BYTES   120u /* bytes of a domain's name; longer ones are cut */
#define DOMAINS_MAX    256u
#define CATEGORIES_MAX 4096u /* a power of two */
#define PROBES_MAX     64u

typedef struct nvtx_domain {
    _Atomic uint32_t number; /* number of its name; 0: free */
    _Atomic bool ready;      /* the members below are written */
    bool recorded, xla, nccl;
    uint32_t length;
    char name[DOMAIN_BYTES];
} nvtx_domain;

static nvtx_domain domains[DOMAINS_MAX]; /* the last one is shared by all domains beyond */

/* ---- which domains are recorded */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char domain_list[1024];
static bool default_recorded;

static bool is_word(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && strncmp(word, name, length) == 0;
}

static bool is_listed(const char *name)
{
    bool any_included = false, hit = false;
    for (const char *at = domain_list; *at != '\0';) {
        size_t length = strcspn(at, ",");
        bool excluded = *at == '-';
        bool same = is_word(at + excluded, length - excluded, name);
        if (excluded && same) return false;
        any_included = any_included || (!excluded && length > 0);
        hit = hit || (!excluded && same);
        at += length + (at[length] == ',');
    }
    return hit || !any_included;
}

/* A list that is too long is ignored, as a cut one could leave out wanted domains. */
static void read_domain_list(void)
{
    const char *value = getenv("JOULEMAP_NVTX_DOMAINS");
    if (value != NULL && strlen(value) < sizeof domain_list) memcpy(domain_list, value, strlen(value) + 1);
    default_recorded = is_listed("default");
}

/* ---- domains */

static const nvtx_domain *fill_domain(nvtx_domain *domain, const char *name)
{
    domain->length = (uint32_t)jm__utf8_cut(name, DOMAIN_BYTES - 1);
    memcpy(domain->name, name, domain->length);
    domain->recorded = is_listed(name);
    domain->xla = strcmp(name, JM_XLA_DOMAIN) == 0;
    domain->nccl = strcmp(name, NCCL_DOMAIN) == 0;
    atomic_store_explicit(&domain->ready, true, memory_order_release);
    return domain;
}

/* Find or make a domain. A domain that another thread is writing is skipped: two entries of one name do no
 * harm. */
static const nvtx_domain *make_domain(const char *name)
{
    pthread_once(&once, read_domain_list);
    uint32_t number = jm__track_register(name, DOMAIN_BYTES - 1);
    if (number == 0) return NULL;
    for (size_t i = 0; i < DOMAINS_MAX; i++) {
        bool last = i == DOMAINS_MAX - 1;
        uint32_t known = domains[i].number;
        if (known == 0 && atomic_compare_exchange_strong(&domains[i].number, &known, number))
            return fill_domain(&domains[i], last ? "(other domains)" : name);
        bool ready = atomic_load_explicit(&domains[i].ready, memory_order_acquire);
        if (ready && (known == number || last)) return &domains[i];
    }
    return NULL;
}

static const nvtx_domain *domain_of(const void *handle)
{
    uintptr_t at = (uintptr_t)handle, first = (uintptr_t)domains;
    bool ours = at >= first && at < first + sizeof domains && (at - first) % sizeof domains[0] == 0;
    return ours ? &domains[(at - first) / sizeof domains[0]] : NULL;
}

static bool is_recorded(const nvtx_domain *domain)
{
    if (domain != NULL) return domain->recorded;
    pthread_once(&once, read_domain_list);
    return default_recorded;
}

static bool is_xla(const nvtx_domain *domain)
{
    return domain != NULL && domain->xla && domain->recorded;
}

static bool is_nccl(const nvtx_domain *domain)
{
    return domain != NULL && domain->nccl && domain->recorded;
}

static uint32_t text_in(const nvtx_domain *domain, const char *text, bool registered)
{
    if (!is_recorded(domain)) return 0;
    char prefixed[NAME_BYTES_MAX + DOMAIN_BYTES +
                  8]; /* one longer than the limit, so that interning cuts it at a character */
    if (domain != NULL) {
        size_t length = text == NULL ? 0 : strnlen(text, NAME_BYTES_MAX + 1), at = domain->length;
        memcpy(prefixed, domain->name, at);
        if (length > 0) {
            prefixed[at++] = ':';
            memcpy(prefixed + at, text, length);
        }
        prefixed[at + length] = '\0';
        text = prefixed;
    }
    return registered ? jm__track_register(text, NAME_BYTES_MAX) : jm__track_intern(text);
}

/* ---- categories */

typedef struct category_slot {
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint32_t name;
} category_slot;
static category_slot categories[CATEGORIES_MAX];

/* NULL: the table is full. */
static category_slot *category_at(const nvtx_domain *domain, uint32_t id)
{
    uint64_t place = domain == NULL ? 0 : (uint64_t)(domain - domains) + 1;
    uint64_t key = UINT64_C(1) << 63 | place << 32 | id, hash = key * UINT64_C(0x9E3779B97F4A7C15) >> 40;
    for (uint64_t i = 0; i < PROBES_MAX; i++) {
        category_slot *at = &categories[(hash + i) % CATEGORIES_MAX];
        uint64_t known = at->key;
        if (known == 0 && atomic_compare_exchange_strong(&at->key, &known, key)) return at;
        if (known == key) return at;
    }
    return NULL;
}

static void name_category(const nvtx_domain *domain, uint32_t id, const char *name)
{
    if (id == 0 || !is_recorded(domain)) return;
    category_slot *at = category_at(domain, id);
    uint32_t number = name == NULL || name[0] == '\0' ? 0 : text_in(domain, name, true);
    if (at != NULL && number != 0) at->name = number;
}

static uint32_t category_name(const nvtx_domain *domain, uint32_t id)
{
    if (id == 0) return 0;
    category_slot *at = category_at(domain, id);
    if (at == NULL) return 0;
    if (at->name == 0) {
        char text[32];
        snprintf(text, sizeof text, "category %u", id);
        uint32_t number = text_in(domain, text, true), none = 0;
        atomic_compare_exchange_strong(&at->name, &none, number);
    }
    return at->name;
}

/* ---- marks with their JSON. Written at once, so not for hot paths */

#define TEXT_BYTES 250u /* bytes of a name in JSON; longer ones are cut */
#define META_BYTES (6 * TEXT_BYTES + 128)

/* Write a text as a JSON string. */
static void quote(char *out, size_t size, const char *text)
{
    size_t length = jm__utf8_cut(text, TEXT_BYTES), at = 0;
    out[at++] = '"';
    for (size_t i = 0; i < length && at + 8 < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            out[at++] = (char)c;
        else
            at += (size_t)snprintf(out + at, size - at, "\\u%04x", c);
    }
    out[at++] = '"';
    out[at] = '\0';
}

/* A number that JSON cannot write (NAN, infinity) becomes null. */
static void write_number(char *out, size_t size, const jm__track_number *payload)
{
    if (payload->kind == JM_PAYLOAD_INTEGER)
        snprintf(out, size, "%" PRId64, payload->value.integer);
    else if (payload->kind == JM_PAYLOAD_NATURAL)
        snprintf(out, size, "%" PRIu64, payload->value.natural);
    else if (isfinite(payload->value.real))
        jm__print(out, size, "%.17g", payload->value.real);
    else
        snprintf(out, size, "null");
}

static void put_mark(const jm__range *range)
{
    char category[6 * TEXT_BYTES + 16], payload[40], meta[META_BYTES];
    const char *text = range->type == 0 ? NULL : jm__track_text(range->type);
    bool numbered = range->payload.kind != JM_PAYLOAD_NONE;
    if (text == NULL && !numbered) {
        jm__track_mark_with(range->name, NULL);
        return;
    }
    if (text != NULL) quote(category, sizeof category, text);
    if (numbered) write_number(payload, sizeof payload, &range->payload);
    snprintf(meta, sizeof meta, "{%s%s%s%s%s}", text != NULL ? "\"category\": " : "",
             text != NULL ? category : "", text != NULL && numbered ? ", " : "",
             numbered ? "\"payload\": " : "", numbered ? payload : "");
    jm__track_mark_with(range->name, meta);
}

static void mark_object_name(const char *kind, uint64_t id, const char *name)
{
    char quoted[6 * TEXT_BYTES + 16], meta[META_BYTES];
    if (name == NULL || name[0] == '\0') return;
    quote(quoted, sizeof quoted, name);
    snprintf(meta, sizeof meta, "{\"of\": \"%s\", \"id\": %" PRIu64 ", \"name\": %s}", kind, id, quoted);
    jm__track_mark_with(jm__track_intern("NVTX name"), meta);
}

/* ---- NVTX's functions */

JM_API int InitializeInjectionNvtx2(nvtx_get_export_table get_export_table);

/* Convert to UTF-8, cut to the size of `out`. "" for NULL. */
static const char *to_utf8(const wchar_t *text, char out[NAME_BYTES_MAX + 1])
{
    size_t at = 0;
    for (; text != NULL && *text != L'\0'; text++) {
        uint32_t c = (uint32_t)*text;
        size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        if (c > 0x10FFFF || at + bytes > NAME_BYTES_MAX) break;
        static const unsigned char leads[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
        for (size_t i = bytes; i > 1; i--, c >>= 6)
            out[at + i - 1] = (char)(0x80u | (c & 0x3Fu));
        out[at] = (char)(leads[bytes] | c);
        at += bytes;
    }
    out[at] = '\0';
    return out;
}

static uint32_t text_of_wide(const nvtx_domain *domain, const wchar_t *text, bool registered)
{
    char narrowed[NAME_BYTES_MAX + 1];
    return text_in(domain, to_utf8(text, narrowed), registered);
}

static bool is_complete(const nvtx_event_attributes *attributes)
{
    return attributes != NULL && attributes->size >= sizeof *attributes;
}

static uint32_t message_number(const nvtx_domain *domain, int32_t type, const nvtx_message *message)
{
    switch (type) {
    case NVTX_MESSAGE_UNICODE:
        return text_of_wide(domain, message->unicode, false);
    case NVTX_MESSAGE_REGISTERED:
        return (uint32_t)(uintptr_t)message->registered;
    default:
        return text_in(domain, type == NVTX_MESSAGE_ASCII ? message->ascii : NULL, false);
    }
}

static uint32_t name_of(const nvtx_domain *domain, const nvtx_event_attributes *attributes)
{
    if (is_xla(domain)) return jm__xla_name(attributes);
    const nvtx_message none = {NULL};
    if (!is_complete(attributes)) return message_number(domain, 0, &none);
    return message_number(domain, attributes->message_type, &attributes->message);
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
    default: /* none, or a payload with a schema (NVTX's extension), which has no number */
        return (jm__track_number){.kind = JM_PAYLOAD_NONE};
    }
}

static jm__range range_of(const nvtx_domain *domain, const nvtx_event_attributes *attributes)
{
    if (!is_recorded(domain)) return (jm__range){0};
    jm__range range = {.name = name_of(domain, attributes)};
    if (is_complete(attributes)) {
        range.type = category_name(domain, attributes->category);
        range.payload = payload_of(attributes);
    }
    return range;
}

static uint64_t start(const nvtx_domain *domain, jm__range range)
{
    return is_recorded(domain) ? jm__range_begin(&range) : 0;
}

static int push(const nvtx_domain *domain, jm__range range)
{
    return is_recorded(domain) ? jm__ranges_push(domain, &range) : NVTX_NOT_TRACKED;
}

static int pop(const nvtx_domain *domain)
{
    return is_recorded(domain) ? jm__ranges_pop(domain) : NVTX_NOT_TRACKED;
}

static void mark(const nvtx_domain *domain, jm__range range)
{
    if (is_recorded(domain)) put_mark(&range);
}

/* A function of the default domain in three forms: attributes, char and wchar_t. */
#define IN_THREE_FORMS(call, type, what)                                                                     \
    static type call##_ex(const nvtx_event_attributes *attributes)                                           \
    {                                                                                                        \
        jm__range range = range_of(NULL, attributes);                                                        \
        what;                                                                                                \
    }                                                                                                        \
    static type call##_a(const char *message)                                                                \
    {                                                                                                        \
        jm__range range = {.name = text_in(NULL, message, false)};                                           \
        what;                                                                                                \
    }                                                                                                        \
    static type call##_w(const wchar_t *message)                                                             \
    {                                                                                                        \
        jm__range range = {.name = text_of_wide(NULL, message, false)};                                      \
        what;                                                                                                \
    }

IN_THREE_FORMS(mark, void, mark(NULL, range))
IN_THREE_FORMS(range_start, uint64_t, return start(NULL, range))
IN_THREE_FORMS(range_push, int, return push(NULL, range))

static void range_end(uint64_t id)
{
    jm__track_end(id);
}
static int range_pop(void)
{
    return pop(NULL);
}
static void domain_mark_ex(const void *handle, const nvtx_event_attributes *attributes)
{
    const nvtx_domain *domain = domain_of(handle);
    mark(domain, range_of(domain, attributes));
}
static uint64_t domain_range_start_ex(const void *handle, const nvtx_event_attributes *attributes)
{
    const nvtx_domain *domain = domain_of(handle);
    return start(domain, range_of(domain, attributes));
}
static void domain_range_end(const void *handle, uint64_t id)
{
    (void)handle;
    jm__track_end(id);
}
/* NCCL's calls are collectives; its other ranges, such as making a communicator, are ordinary. */
static int push_nccl(const nvtx_domain *domain, const nvtx_event_attributes *attributes)
{
    uint64_t span;
    uint32_t name = name_of(domain, attributes);
    if (is_complete(attributes) && begin_nccl(jm__track_text(name), attributes, &span))
        return jm__ranges_push_span(domain, span);
    return push(domain, range_of(domain, attributes));
}

static int domain_range_push_ex(const void *handle, const nvtx_event_attributes *attributes)
{
    const nvtx_domain *domain = domain_of(handle);
    if (is_xla(domain)) return jm__xla_push(attributes);
    if (is_nccl(domain)) return push_nccl(domain, attributes);
    return push(domain, range_of(domain, attributes));
}
static int domain_range_pop(const void *handle)
{
    const nvtx_domain *domain = domain_of(handle);
    return is_xla(domain) ? jm__xla_pop() : pop(domain);
}

/* The handle of a registered string is the number of its name. The program never dereferences it. */
static const void *register_a(const void *handle, const char *text)
{
    const nvtx_domain *domain = domain_of(handle);
    if (is_xla(domain)) return jm__xla_register(text);
    return (const void *)(uintptr_t)text_in(domain, text, true);
}
static const void *register_w(const void *handle, const wchar_t *text)
{
    char narrowed[NAME_BYTES_MAX + 1];
    return register_a(handle, to_utf8(text, narrowed));
}
static const void *domain_create_a(const char *name)
{
    const nvtx_domain *domain = make_domain(name);
    if (name != NULL && strcmp(name, JM_XLA_DOMAIN) == 0) jm__inject_xla_found();
    return domain;
}
static const void *domain_create_w(const wchar_t *name)
{
    char narrowed[NAME_BYTES_MAX + 1];
    return domain_create_a(to_utf8(name, narrowed));
}

static void domain_name_category_a(const void *handle, uint32_t category, const char *name)
{
    name_category(domain_of(handle), category, name);
}
static void domain_name_category_w(const void *handle, uint32_t category, const wchar_t *name)
{
    char narrowed[NAME_BYTES_MAX + 1];
    domain_name_category_a(handle, category, to_utf8(name, narrowed));
}
static void name_category_a(uint32_t category, const char *name)
{
    domain_name_category_a(NULL, category, name);
}
static void name_category_w(uint32_t category, const wchar_t *name)
{
    domain_name_category_w(NULL, category, name);
}

/* ---- names of threads, devices, streams and resources */

/* Defines `call` for char and wchar_t names. */
#define NAMED(call, kind, type, number)                                                                      \
    static void call##_a(type id, const char *name)                                                          \
    {                                                                                                        \
        if (is_recorded(NULL)) mark_object_name(kind, number, name);                                         \
    }                                                                                                        \
    static void call##_w(type id, const wchar_t *name)                                                       \
    {                                                                                                        \
        char narrowed[NAME_BYTES_MAX + 1];                                                                   \
        call##_a(id, to_utf8(name, narrowed));                                                               \
    }

NAMED(name_thread, "thread", uint32_t, id)
NAMED(name_device, "device", int, (uint64_t)id)
NAMED(name_stream, "stream", const void *, (uintptr_t)id)
NAMED(name_context, "context", const void *, (uintptr_t)id)

/* A resource of any kind. The program never dereferences the handle. */
static const void *domain_resource_create(const void *handle, const nvtx_resource_attributes *attributes)
{
    static const char token;
    const nvtx_domain *domain = domain_of(handle);
    if (attributes == NULL || attributes->size < sizeof *attributes || !is_recorded(domain)) return NULL;
    uint32_t name = message_number(domain, attributes->message_type, &attributes->message);
    bool named = name != text_in(domain, NULL, false); /* not only by its domain */
    if (named) mark_object_name("resource", attributes->identifier, jm__track_text(name));
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
static const slot core[] = {SLOT(MarkEx, mark_ex),
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
                            SLOT(NameOsThreadW, name_thread_w)};
static const slot core2[] = {SLOT(DomainMarkEx, domain_mark_ex),
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
                             SLOT(DomainResourceCreate, domain_resource_create)};

static const slot cuda[] = {SLOT(NameCuDeviceA, name_device_a),   SLOT(NameCuDeviceW, name_device_w),
                            SLOT(NameCuContextA, name_context_a), SLOT(NameCuContextW, name_context_w),
                            SLOT(NameCuStreamA, name_stream_a),   SLOT(NameCuStreamW, name_stream_w)};
static const slot cudart[] = {SLOT(NameCudaDeviceA, name_device_a), SLOT(NameCudaDeviceW, name_device_w),
                              SLOT(NameCudaStreamA, name_stream_a), SLOT(NameCudaStreamW, name_stream_w)};

static void fill(const nvtx_callbacks_table *table, int module, const slot *ours, size_t our_count)
{
    nvtx_function **slots = NULL;
    unsigned count = 0;
    if (!table->get_module_function_table(module, &slots, &count) || slots == NULL) return;
    for (size_t i = 0; i < our_count; i++)
        if (ours[i].index < count && slots[ours[i].index] != NULL) *slots[ours[i].index] = ours[i].function;
}

/* Each copy of NVTX in the program calls this once. 0 means that there is no tool: its functions stay empty.
 */
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
