/* CUPTI's activity records as records of the ring.
 *
 * Of each record only fields are read that lie in the same place from CUDA 12.1 to 13.x: newer layouts only
 * add behind them, which the assertions below hold against the headers at hand. */
#include "inject/convert.h"

#include "inject/devices.h"

#include <string.h>

/* The oldest layouts of these, which all header versions know. */
typedef CUpti_ActivityKernel9 kernel_record;
typedef CUpti_ActivityMemcpy5 memcpy_record;
typedef CUpti_ActivityMemcpyPtoP4 memcpy2_record;
typedef CUpti_ActivityMemset4 memset_record;
typedef CUpti_ActivityDevice4 device_record;

#define AT(type, field, offset)                                                                              \
    _Static_assert(offsetof(type, field) == (offset), "CUPTI moved " #field " of " #type)
AT(kernel_record, start, 16);
AT(kernel_record, end, 24);
AT(kernel_record, deviceId, 40);
AT(kernel_record, contextId, 44);
AT(kernel_record, streamId, 48);
AT(kernel_record, gridX, 52);
AT(kernel_record, blockX, 64);
AT(kernel_record, correlationId, 92);
AT(kernel_record, name, 104);
AT(kernel_record, graphNodeId, 144);
AT(memcpy_record, bytes, 8);
AT(memcpy_record, start, 16);
AT(memcpy_record, deviceId, 32);
AT(memcpy_record, correlationId, 44);
AT(memcpy_record, graphNodeId, 64);
AT(memcpy2_record, correlationId, 60);
AT(memcpy2_record, graphNodeId, 72);
AT(memset_record, bytes, 8);
AT(memset_record, start, 16);
AT(memset_record, correlationId, 44);
AT(memset_record, graphNodeId, 64);
AT(device_record, id, 112);
AT(device_record, uuid, 120);
#if CUPTI_API_VERSION >= 130000
#define SAME(newer, older, field)                                                                            \
    _Static_assert(offsetof(newer, field) == offsetof(older, field), "CUPTI moved " #field " of " #newer)
SAME(CUpti_ActivityKernel10, kernel_record, start);
SAME(CUpti_ActivityKernel10, kernel_record, end);
SAME(CUpti_ActivityKernel10, kernel_record, deviceId);
SAME(CUpti_ActivityKernel10, kernel_record, gridX);
SAME(CUpti_ActivityKernel10, kernel_record, blockX);
SAME(CUpti_ActivityKernel10, kernel_record, correlationId);
SAME(CUpti_ActivityKernel10, kernel_record, name);
SAME(CUpti_ActivityKernel10, kernel_record, graphNodeId);
SAME(CUpti_ActivityMemcpy6, memcpy_record, correlationId);
SAME(CUpti_ActivityMemcpy6, memcpy_record, graphNodeId);
SAME(CUpti_ActivityDevice5, device_record, uuid);
SAME(CUpti_ActivityDevice5, device_record, migUuid);
#endif

static const char *const copy_names[] = {
    [CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN] = "[memcpy]",   [CUPTI_ACTIVITY_MEMCPY_KIND_HTOD] = "[memcpy HtoD]",
    [CUPTI_ACTIVITY_MEMCPY_KIND_DTOH] = "[memcpy DtoH]", [CUPTI_ACTIVITY_MEMCPY_KIND_HTOA] = "[memcpy HtoA]",
    [CUPTI_ACTIVITY_MEMCPY_KIND_ATOH] = "[memcpy AtoH]", [CUPTI_ACTIVITY_MEMCPY_KIND_ATOA] = "[memcpy AtoA]",
    [CUPTI_ACTIVITY_MEMCPY_KIND_ATOD] = "[memcpy AtoD]", [CUPTI_ACTIVITY_MEMCPY_KIND_DTOA] = "[memcpy DtoA]",
    [CUPTI_ACTIVITY_MEMCPY_KIND_DTOD] = "[memcpy DtoD]", [CUPTI_ACTIVITY_MEMCPY_KIND_HTOH] = "[memcpy HtoH]",
    [CUPTI_ACTIVITY_MEMCPY_KIND_PTOP] = "[memcpy PtoP]",
};

/* A kernel's name lives as long as its module: the pointer finds the number at once, and the text, compared,
 * guards against a module unloaded and another in its place. */
static uint32_t kernel_name(jm__names *names, const char *text)
{
    static struct {
        const char *pointer;
        const char *text; /* ours */
        uint32_t number;
    } cache[1024];
    if (text == NULL) return 0;
    uintptr_t hash = (uintptr_t)text;
    size_t at = (hash >> 4 ^ hash >> 14) % 1024;
    if (cache[at].pointer == text && strcmp(cache[at].text, text) == 0) return cache[at].number;
    uint32_t number = jm__names_intern(names, text, strnlen(text, JM_NAME_MAX));
    const char *kept = jm__names_text(names, number);
    if (kept != NULL) {
        cache[at].pointer = text;
        cache[at].text = kept;
        cache[at].number = number;
    }
    return number;
}

static jm__conversion finished(const jm_ring_kernel *out)
{
    return out->start_ns > 0 && out->end_ns >= out->start_ns ? JM_CONVERTED : JM_UNFINISHED;
}

static jm__conversion convert_kernel(jm_ring_kernel *out, const kernel_record *record, jm__names *names)
{
    out->op = JM_RING_KERNEL;
    out->start_ns = (int64_t)record->start;
    out->end_ns = (int64_t)record->end;
    out->bytes = record->graphNodeId;
    out->correlation = record->correlationId;
    out->context = record->contextId;
    out->stream = record->streamId;
    out->device = (uint8_t)record->deviceId;
    out->grid[0] = (uint32_t)record->gridX;
    out->grid[1] = (uint32_t)record->gridY;
    out->grid[2] = (uint32_t)record->gridZ;
    out->block[0] = (uint16_t)record->blockX;
    out->block[1] = (uint16_t)record->blockY;
    out->block[2] = (uint16_t)record->blockZ;
    out->name = kernel_name(names, record->name);
    return finished(out);
}

static uint32_t copy_name(jm__names *names, uint8_t kind)
{
    bool known = kind < sizeof copy_names / sizeof copy_names[0] && copy_names[kind] != NULL;
    return kernel_name(names, copy_names[known ? kind : CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN]);
}

/* Copies within a board, to or from the host, between boards, and sets: the same fields under three types. */
#define CONVERT_BYTES(out, record, op_, name_)                                                               \
    ((out)->op = (op_), (out)->start_ns = (int64_t)(record)->start, (out)->end_ns = (int64_t)(record)->end,  \
     (out)->bytes = (record)->bytes, (out)->correlation = (record)->correlationId,                           \
     (out)->context = (record)->contextId, (out)->stream = (record)->streamId,                               \
     (out)->device = (uint8_t)(record)->deviceId, (out)->grid[0] = (uint32_t)(record)->graphNodeId,          \
     (out)->grid[1] = (uint32_t)((record)->graphNodeId >> 32), (out)->name = (name_), finished(out))

static jm__conversion hear_device(const device_record *record)
{
    const CUuuid *uuid = record->isMigEnabled ? &record->migUuid : &record->uuid;
    unsigned char bytes[16];
    memcpy(bytes, uuid->bytes, sizeof bytes);
    if (record->isCudaVisible) jm__devices_heard(record->id, bytes, record->isMigEnabled != 0);
    return JM_NOT_WANTED;
}

jm__conversion jm__convert(jm_ring_kernel *out, const CUpti_Activity *record, jm__names *names)
{
    memset(out, 0, sizeof *out);
    const void *any = record;
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return convert_kernel(out, any, names);
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const memcpy_record *copy = any;
        return CONVERT_BYTES(out, copy, JM_RING_MEMCPY, copy_name(names, copy->copyKind));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        const memcpy2_record *copy = any;
        return CONVERT_BYTES(out, copy, JM_RING_MEMCPY, copy_name(names, copy->copyKind));
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
        const memset_record *set = any;
        return CONVERT_BYTES(out, set, JM_RING_MEMSET, kernel_name(names, "[memset]"));
    }
    case CUPTI_ACTIVITY_KIND_DEVICE:
        return hear_device(any);
    default:
        return JM_NOT_WANTED;
    }
}
