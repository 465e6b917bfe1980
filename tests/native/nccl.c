/* Ranges as NCCL pushes them, with NVIDIA's own header of NVTX: calls alone, in groups, of older versions,
 * and payloads that no version has.
 *
 * usage: native_nccl JOULEMAP FILE: under that recorder, and without one. */
#include "under_recorder.h"

#include <nvtx3/nvToolsExt.h>
#include <stdint.h>

#define COMMUNICATOR 0x1234abcd5678ef01

/* nvtxPayloadData_t, and a payload of 2.26: communicator, bytes, operation or root. */
typedef struct data {
    uint64_t schema;
    size_t size;
    const void *bytes;
} data;

typedef struct payload {
    uint64_t communicator;
    size_t bytes;
    int more;
} payload;

static nvtxDomainHandle_t nccl;

static void push(const char *call, const void *bytes, size_t size)
{
    data told = {1 << 24, size, bytes};
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(nccl, call);
    if (bytes != NULL) {
        event.payloadType = (int32_t)0xDFBD0009; /* NVTX_PAYLOAD_TYPE_EXT */
        event.reserved0 = 1;
        event.payload.ullValue = (uint64_t)(uintptr_t)&told;
    }
    nvtxDomainRangePushEx(nccl, &event);
}

static void call(const char *name, uint64_t communicator, size_t bytes, size_t size)
{
    const payload told = {communicator, bytes, 0};
    push(name, &told, size);
    nvtxDomainRangePop(nccl);
}

static void group_begins(void)
{
    push("ncclGroupStart", NULL, 0);
    nvtxDomainRangePop(nccl);
}

/* What it launches lies in it. */
static void group_ends(const char *launched)
{
    push("ncclGroupEnd", NULL, 0);
    nvtxRangePushA(launched);
    nvtxRangePop();
    nvtxDomainRangePop(nccl);
}

static int be_the_program(void)
{
    const size_t old = 1000;
    nccl = nvtxDomainCreateA("NCCL");
    call("ncclAllGather", COMMUNICATOR, 4096, 16);
    group_begins();
    group_begins();
    call("ncclAllReduce", COMMUNICATOR, 100, 24);
    group_ends("inner group");
    call("ncclAllReduce", COMMUNICATOR, 200, 24);
    group_ends("outer group");
    group_begins();
    call("ncclSend", COMMUNICATOR, 10, 24);
    call("ncclRecv", COMMUNICATOR, 20, 24);
    group_ends("pair");
    group_begins();
    call("ncclAllReduce", COMMUNICATOR, 1, 24);
    call("ncclBroadcast", COMMUNICATOR + 1, 2, 24);
    group_ends("of two communicators");
    push("ncclAllGather", &old, sizeof old); /* 2.18: no communicator */
    nvtxDomainRangePop(nccl);
    call("ncclReduceScatter", COMMUNICATOR, 7, 23); /* of no version */
    push("ncclReduce", NULL, 0);
    nvtxDomainRangePop(nccl);
    push("ncclCommInitRank", NULL, 0);
    nvtxDomainRangePop(nccl);
    group_begins();
    group_ends("nothing");
    return 0;
}

/* The only collective of that name with these bytes (less than 0: none told); checks its group. */
static void check_call(const jm_timeline *t, const char *name, int64_t bytes, const char *group)
{
    size_t count = 0;
    for (size_t i = 0; i < jm_timeline_span_count(t); i++) {
        const jm_timeline_span *span = jm_timeline_span_get(t, i);
        bool told = span->payload_kind == JM_PAYLOAD_INTEGER;
        if (span->kind != JM_SPAN_COLLECTIVE || strcmp(span->name, name) != 0) continue;
        if (told ? span->payload.integer != bytes : bytes >= 0) continue;
        count++;
        check(strcmp(span->type, group) == 0 && span->ended, name, (int)bytes);
    }
    check(count == 1, name, (int)bytes);
}

static void check_all(const jm_timeline *t)
{
    static const char group[] = "communicator 1234abcd5678ef01";
    size_t collectives = 0;
    check_call(t, "all-gather", 4096, group);
    check_call(t, "all-reduce", 300, group);
    check_call(t, "send, recv", 30, group);
    check_call(t, "collectives", 3, "");
    check_call(t, "all-gather", 1000, "");
    check_call(t, "reduce-scatter", -1, "");
    check_call(t, "reduce", -1, "");
    CHECK(count_of(t, "inner group", "", "") == 1); /* launches nothing */
    CHECK(count_of(t, "outer group", "", "all-reduce") == 1);
    CHECK(count_of(t, "pair", "", "send, recv") == 1);
    CHECK(count_of(t, "nothing", "", "") == 1);
    CHECK(count_of(t, "NCCL:ncclCommInitRank", "", "") == 1);
    for (size_t i = 0; i < jm_timeline_span_count(t); i++)
        collectives += jm_timeline_span_get(t, i)->kind == JM_SPAN_COLLECTIVE;
    CHECK(collectives == 7);
}

int main(int argc, char **argv)
{
    if (argc == 2) return be_the_program();
    if (argc != 3) return 2;
    const char *joulemap = argv[1], *file = argv[2], *self = argv[0];
    CHECK(RUN(self, "--alone") == 0); /* nobody records */
    CHECK(RUN(joulemap, "record", "-f", "-o", file, "--", self, "--recorded") == 0);
    check_recording(file, check_all);
    return faults > 0;
}
