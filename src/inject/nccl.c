/* Calls of NCCL as spans of kind "collective". All that is kept is the calling thread's. */
#include "inject/nccl.h"

#include "record/timeline/ring_format.h"
#include "record/timeline/track.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A call, what it is, and how long its payload is with a communicator before the bytes (from 2.26 on) and
 * without one (from 2.18 on). Other lengths are of a version that we do not know: no figure is taken from it.
 */
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

typedef struct told {
    uint64_t communicator; /* 0: not told */
    uint64_t bytes;
    bool has_bytes;
} told;

/* nvtxPayloadData_t: what a payload of a schema points to. */
typedef struct payload_data {
    uint64_t schema;
    size_t size;
    const void *bytes;
} payload_data;

#define PAYLOAD_OF_SCHEMA ((int32_t)0xDFBD0009) /* NVTX_PAYLOAD_TYPE_EXT; `reserved` is how many */

static told read_payload(const operation *op, const nvtx_event_attributes *a)
{
    told none = {0};
    if (a->payload_type != PAYLOAD_OF_SCHEMA || a->reserved < 1 || a->payload.u64 == 0) return none;
    const payload_data *data = (const payload_data *)(uintptr_t)a->payload.u64;
    uint64_t words[2];
    if (data->bytes == NULL || (data->size != op->with && data->size != op->without)) return none;
    bool with = data->size == op->with;
    memcpy(words, data->bytes, with ? sizeof words : sizeof words[0]);
    return with ? (told){words[0], words[1], true} : (told){0, words[0], true};
}

/* ---- numbers of names, which hold as long as the process */

/* Few communicators a thread; of two that share a place the older one is told anew. */
enum { KEPT = 16 };
static _Thread_local struct {
    uint64_t communicator;
    uint32_t name;
} kept[KEPT];

static uint32_t name_of_communicator(uint64_t communicator)
{
    size_t at = (size_t)(communicator * UINT64_C(0x9E3779B97F4A7C15) >> 60) % KEPT;
    if (communicator == 0) return 0;
    if (kept[at].communicator == communicator && kept[at].name != 0) return kept[at].name;
    char text[48];
    snprintf(text, sizeof text, JM_COMMUNICATOR "%016" PRIx64, communicator);
    kept[at].name = jm__track_register(text, sizeof text);
    kept[at].communicator = communicator;
    return kept[at].name;
}

/* Of an operation, or of a group of several kinds. */
static uint32_t name_of_kind(size_t kind)
{
    static _Thread_local uint32_t names[MIXED + 1];
    const char *text = kind == MIXED ? "collectives" : kind == PAIR ? "send, recv" : operations[kind].name;
    if (names[kind] == 0) names[kind] = jm__track_register(text, 32);
    return names[kind];
}

static uint64_t begin(size_t kind, const told *what)
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
    size_t first;    /* of `operations` */
    bool pair_alone; /* sends and receives */
    bool one_kind, one_communicator;
    told sum;
} group;

static void add_to_group(size_t op, const told *what)
{
    bool pair = op == SEND || op == RECV;
    if (group.calls++ == 0) {
        group.first = op;
        group.sum = *what;
        group.pair_alone = pair;
        group.one_kind = group.one_communicator = true;
        return;
    }
    group.pair_alone = group.pair_alone && pair;
    group.one_kind = group.one_kind && strcmp(operations[op].name, operations[group.first].name) == 0;
    group.one_communicator = group.one_communicator && what->communicator == group.sum.communicator;
    group.sum.has_bytes = group.sum.has_bytes && what->has_bytes;
    group.sum.bytes += what->bytes;
}

static uint64_t begin_group(void)
{
    told sum = group.sum;
    if (!group.one_communicator) sum.communicator = 0;
    size_t kind = group.one_kind ? group.first : group.pair_alone ? PAIR : MIXED;
    group.calls = 0;
    return begin(kind, &sum);
}

/* OPERATIONS: it is none. */
static size_t operation_of(const char *call)
{
    size_t i = 0;
    while (i < OPERATIONS && strcmp(operations[i].call, call) != 0)
        i++;
    return i;
}

bool jm__nccl_begin(const char *text, const nvtx_event_attributes *attributes, uint64_t *span)
{
    static const char prefix[] = JM_NCCL_DOMAIN ":";
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
    const told what = read_payload(&operations[op], attributes);
    if (group.depth > 0)
        add_to_group(op, &what);
    else
        *span = begin(op, &what);
    return true;
}
