/* A program with NVIDIA's own header of NVTX: domains, categories, payloads, names, and what no program
 * should do.
 *
 * usage: native_nvtx JOULEMAP FILE: under that recorder, and without one. */
#include "under_recorder.h"

#include <math.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS    16
#define BURSTS     100
#define DOMAINS    600  /* more than are told apart */
#define CATEGORIES 6000 /* more than have names */

static nvtxEventAttributes_t event_of(const char *text, uint32_t category)
{
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = text;
    event.category = category;
    return event;
}

static void push_and_pop(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    nvtxDomainRangePushEx(domain, event);
    nvtxDomainRangePop(domain);
}

static void payloads(nvtxDomainHandle_t domain)
{
    nvtxEventAttributes_t event = event_of("payload", 0);
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    event.payload.ullValue = UINT64_MAX;
    push_and_pop(domain, &event);
    event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    event.payload.llValue = -5000000000;
    push_and_pop(domain, &event);
    event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    event.payload.dValue = 0.1;
    push_and_pop(domain, &event);
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
    event.payload.uiValue = UINT32_MAX;
    push_and_pop(domain, &event);
    event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    event.payload.iValue = -7;
    push_and_pop(domain, &event);
    event.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    event.payload.fValue = 0.5f;
    push_and_pop(domain, &event);
    event.payloadType = NVTX_PAYLOAD_UNKNOWN;
    push_and_pop(domain, &event);
}

static void name_resource(nvtxDomainHandle_t domain, uint64_t id, int32_t type, nvtxMessageValue_t name)
{
    nvtxResourceAttributes_t resource = {.version = NVTX_VERSION, .size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE};
    resource.identifier.ullValue = id;
    resource.messageType = type;
    resource.message = name;
    nvtxDomainResourceCreate(domain, &resource);
}

/* One with a name, and others that have none, in any way of saying so. */
static void resources(nvtxDomainHandle_t domain, uint64_t first_id, const char *name, const wchar_t *wide)
{
    static const int32_t ascii = NVTX_MESSAGE_TYPE_ASCII, unicode = NVTX_MESSAGE_TYPE_UNICODE,
                         registered = NVTX_MESSAGE_TYPE_REGISTERED;
    nvtxStringHandle_t empty = nvtxDomainRegisterStringA(domain, "");
    name_resource(domain, first_id, NVTX_MESSAGE_UNKNOWN, (nvtxMessageValue_t){.ascii = NULL});
    name_resource(domain, first_id, ascii, (nvtxMessageValue_t){.ascii = NULL});
    name_resource(domain, first_id, ascii, (nvtxMessageValue_t){.ascii = ""});
    name_resource(domain, first_id, unicode, (nvtxMessageValue_t){.unicode = NULL});
    name_resource(domain, first_id, unicode, (nvtxMessageValue_t){.unicode = L""});
    name_resource(domain, first_id, registered, (nvtxMessageValue_t){.registered = NULL});
    name_resource(domain, first_id, registered, (nvtxMessageValue_t){.registered = empty});
    name_resource(domain, first_id + 1, ascii, (nvtxMessageValue_t){.ascii = name});
    name_resource(domain, first_id + 2, unicode, (nvtxMessageValue_t){.unicode = wide});
    nvtxStringHandle_t known = nvtxDomainRegisterStringW(domain, wide);
    name_resource(domain, first_id + 3, registered, (nvtxMessageValue_t){.registered = known});
}

static void usual(void)
{
    nvtxDomainHandle_t a = nvtxDomainCreateA("lib.a"), b = nvtxDomainCreateW(L"lib.\u00e4");
    nvtxNameCategoryA(3, "io");
    nvtxDomainNameCategoryA(a, 3, "solver");
    nvtxDomainNameCategoryW(b, 3, L"g\u00e9om\u00e9trie");
    nvtxEventAttributes_t same = event_of("same", 3), none = event_of("same", 0), other = event_of("same", 9);
    nvtxRangePushEx(&same);
    nvtxDomainRangePushEx(a, &same);
    nvtxDomainRangePushEx(b, &same);
    nvtxRangePop(); /* the first one: each domain has a stack of its own */
    nvtxDomainRangePop(b);
    nvtxDomainRangePop(a);
    push_and_pop(a, &none);
    push_and_pop(a, &other);
    nvtxEventAttributes_t registered = event_of(NULL, 3);
    registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    registered.message.registered = nvtxDomainRegisterStringA(a, "registered");
    push_and_pop(a, &registered);
    registered.message.registered = nvtxDomainRegisterStringW(b, L"\u00fcber");
    nvtxDomainRangeEnd(b, nvtxDomainRangeStartEx(b, &registered));
    payloads(a);
    nvtxEventAttributes_t mark = event_of("mark", 3);
    mark.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    mark.payload.iValue = 42;
    nvtxMarkEx(&mark);
    nvtxNameOsThreadA(4711, "loa\"der\n");
    resources(NULL, 815, "queue", L"t\u00fcr");
    resources(a, 915, "pool", L"b\u00fcro");
    nvtxEventAttributes_t nameless = event_of(NULL, 3);
    push_and_pop(a, &nameless);
    nvtxDomainDestroy(a); /* its ranges may go on for all that we know */
    push_and_pop(a, &none);
}

static void *end_it(void *id)
{
    nvtxRangeEnd(*(nvtxRangeId_t *)id);
    return NULL;
}

static void *bursts(void *unused)
{
    (void)unused;
    nvtxDomainHandle_t domain = nvtxDomainCreateA("threads");
    for (uint32_t i = 0; i < BURSTS; i++) {
        nvtxEventAttributes_t event = event_of("in a thread", 1 + i % 50);
        event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
        event.payload.uiValue = i;
        push_and_pop(domain, &event);
    }
    return NULL;
}

static void in_threads(void)
{
    pthread_t threads[THREADS];
    nvtxRangeId_t elsewhere = nvtxRangeStartA("ended elsewhere");
    pthread_create(&threads[0], NULL, end_it, &elsewhere);
    pthread_join(threads[0], NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, bursts, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Nothing of this may do any harm, or leave anything open. */
static void misuse(void)
{
    static char ours[64];
    char *huge = malloc((1 << 20) + 1), name[32];
    if (huge == NULL) _exit(91);
    memset(huge, 'x', 1 << 20);
    huge[1 << 20] = '\0';
    nvtxDomainHandle_t none = (nvtxDomainHandle_t)(void *)ours;
    nvtxEventAttributes_t event = event_of("in no domain", 3), broken = event_of("short", 3);
    broken.size = 8;
    nvtxRangePop();
    nvtxRangeEnd(0);
    nvtxRangeEnd(123456789);
    nvtxDomainRangePop(none);
    push_and_pop(none, &event);
    push_and_pop(NULL, NULL);
    push_and_pop(none, &broken);
    nvtxRangePushA(NULL);
    nvtxRangePop();
    nvtxRangePushA(huge);
    nvtxRangePop();
    nvtxRangePushW(NULL);
    nvtxRangePop();
    nvtxDomainCreateA(NULL);
    nvtxDomainCreateA(huge);
    nvtxNameCategoryA(5, huge);
    nvtxNameCategoryA(6, NULL);
    nvtxNameOsThreadA(1, NULL);
    for (uint32_t i = 100; i < CATEGORIES; i++)
        nvtxNameCategoryA(i, "one of many");
    for (uint32_t i = 0; i < DOMAINS; i++) {
        snprintf(name, sizeof name, "domain %u", i);
        event = event_of("many", i);
        push_and_pop(nvtxDomainCreateA(name), &event);
    }
    free(huge);
}

static int be_the_program(bool left_out)
{
    nvtxRangePushA("default");
    if (nvtxRangePushA("level") != (left_out ? -2 : 1)) return 92; /* NVTX_NO_PUSH_POP_TRACKING */
    nvtxRangePop();
    nvtxRangePop();
    usual();
    if (left_out) return 0;
    in_threads();
    misuse();
    return 0;
}

/* ---- what came of it */

static void check_payloads(const jm_timeline *t)
{
    const jm_timeline_span *spans[7] = {0};
    size_t count = 0;
    for (size_t i = 0; i < jm_timeline_span_count(t); i++) {
        const jm_timeline_span *span = jm_timeline_span_get(t, i);
        if (strcmp(span->name, "lib.a:payload") == 0 && count < 7) spans[count++] = span;
    }
    CHECK(count == 7);
    if (count != 7) return;
    CHECK(spans[0]->payload_kind == JM_PAYLOAD_NATURAL && spans[0]->payload.natural == UINT64_MAX);
    CHECK(spans[1]->payload_kind == JM_PAYLOAD_INTEGER && spans[1]->payload.integer == -5000000000);
    CHECK(spans[2]->payload_kind == JM_PAYLOAD_REAL && fabs(spans[2]->payload.real - 0.1) < 1e-15);
    CHECK(spans[3]->payload_kind == JM_PAYLOAD_INTEGER && spans[3]->payload.integer == UINT32_MAX);
    CHECK(spans[4]->payload_kind == JM_PAYLOAD_INTEGER && spans[4]->payload.integer == -7);
    CHECK(spans[5]->payload_kind == JM_PAYLOAD_REAL && fabs(spans[5]->payload.real - 0.5) < 1e-15);
    CHECK(spans[6]->payload_kind == JM_PAYLOAD_NONE);
}

static void check_threads(const jm_timeline *t)
{
    int64_t sum = 0;
    for (size_t i = 0; i < jm_timeline_span_count(t); i++) {
        const jm_timeline_span *span = jm_timeline_span_get(t, i);
        if (strcmp(span->name, "threads:in a thread") != 0) continue;
        char type[64];
        snprintf(type, sizeof type, "threads:category %d", (int)(1 + span->payload.integer % 50));
        CHECK(span->payload_kind == JM_PAYLOAD_INTEGER && strcmp(span->type, type) == 0);
        sum += span->payload.integer;
    }
    CHECK(sum == (int64_t)THREADS * BURSTS * (BURSTS - 1) / 2);
    CHECK(count_of(t, "ended elsewhere", "", NULL) == 1);
}

static const char *const in_a[] = {"lib.a:pool", "lib.a:b\u00fcro", "lib.a:b\u00fcro"};

/* Names of resources, from this mark on. */
static void check_resources(const jm_timeline *t, size_t first, int first_id, const char *const names[3])
{
    for (int i = 0; i < 3; i++) {
        char meta[96];
        const jm_timeline_mark *mark = jm_timeline_mark_get(t, first + (size_t)i);
        snprintf(meta, sizeof meta, "{\"of\": \"resource\", \"id\": %d, \"name\": \"%s\"}", first_id + 1 + i,
                 names[i]);
        CHECK(mark != NULL && strcmp(mark->name, "NVTX name") == 0 && strcmp(mark->meta, meta) == 0);
    }
}

static void check_marks(const jm_timeline *t)
{
    CHECK(jm_timeline_mark_count(t) == 8);
    if (jm_timeline_mark_count(t) != 8) return;
    const jm_timeline_mark *mark = jm_timeline_mark_get(t, 0), *name = jm_timeline_mark_get(t, 1);
    CHECK(strcmp(mark->name, "mark") == 0 &&
          strcmp(mark->meta, "{\"category\": \"io\", \"payload\": 42}") == 0);
    CHECK(strcmp(name->name, "NVTX name") == 0);
    CHECK(strcmp(name->meta, "{\"of\": \"thread\", \"id\": 4711, \"name\": \"loa\\u0022der\\u000a\"}") == 0);
    check_resources(t, 2, 815, (const char *const[]){"queue", "t\u00fcr", "t\u00fcr"});
    check_resources(t, 5, 915, in_a);
}

static void check_domains(const jm_timeline *t)
{
    CHECK(count_of(t, "lib.a:same", "lib.a:solver", NULL) == 1);
    CHECK(count_of(t, "lib.\u00e4:same", "lib.\u00e4:g\u00e9om\u00e9trie", NULL) == 1);
    CHECK(count_of(t, "lib.a:same", "", NULL) == 2);
    CHECK(count_of(t, "lib.a:same", "lib.a:category 9", NULL) == 1);
    CHECK(count_of(t, "lib.a:registered", "lib.a:solver", NULL) == 1);
    CHECK(count_of(t, "lib.a", "lib.a:solver", NULL) == 1); /* without a message */
    CHECK(count_of(t, "lib.\u00e4:\u00fcber", "lib.\u00e4:g\u00e9om\u00e9trie", NULL) == 1);
}

static void check_all(const jm_timeline *t)
{
    CHECK(count_of(t, "default", "", NULL) == 1 && count_of(t, "level", "", NULL) == 1);
    CHECK(count_of(t, "same", "io", NULL) == 1);
    check_domains(t);
    check_payloads(t);
    check_threads(t);
    check_marks(t);
    CHECK(count_of(t, "in no domain", "io", NULL) == 1); /* the default one's */
    CHECK(count_of(t, "domain 0:many", NULL, NULL) == 1);
    CHECK(count_of(t, "(other domains):many", NULL, NULL) > 0);
    for (size_t i = 0; i < jm_timeline_span_count(t); i++) {
        const jm_timeline_span *span = jm_timeline_span_get(t, i);
        CHECK(span->ended && strlen(span->name) <= 4095 && span->kind == JM_SPAN_NVTX);
    }
}

static void check_filtered(const jm_timeline *t)
{
    check_domains(t);
    CHECK(count_of(t, "default", "", NULL) == 0 && count_of(t, "same", NULL, NULL) == 0);
    CHECK(jm_timeline_mark_count(t) == 3);
    check_resources(t, 0, 915, in_a);
}

int main(int argc, char **argv)
{
    if (argc == 2) return be_the_program(strcmp(argv[1], "--filtered") == 0);
    if (argc != 3) return 2;
    const char *joulemap = argv[1], *file = argv[2], *self = argv[0];
    unsetenv("NVTX_INJECTION64_PATH");
    unsetenv("JOULEMAP_NVTX_DOMAINS");
    unsetenv("JOULEMAP_RUN");
    CHECK(RUN(joulemap, "record", "-f", "-o", file, "--", self, "--program") == 0);
    check_recording(file, check_all);
    const char *out = "-default,-nobody";
    CHECK(RUN(joulemap, "record", "-f", "--nvtx-domain", out, "-o", file, "--", self, "--filtered") == 0);
    check_recording(file, check_filtered);
    const char *alone = "lib.a,lib.\u00e4";
    CHECK(RUN(joulemap, "record", "-f", "--nvtx-domain", alone, "-o", file, "--", self, "--filtered") == 0);
    check_recording(file, check_filtered);
    CHECK(RUN(joulemap, "record", "--nvtx-domain", "", "-o", file, "--", "true") == 2);
    setenv("NVTX_INJECTION64_PATH", getenv("INJECT"), 1); /* no recorder, or none any more */
    CHECK(RUN(self, "--program") == 0);
    setenv("JOULEMAP_RUN", "/nonexistent/run", 1);
    CHECK(RUN(self, "--program") == 0);
    return faults == 0 ? 0 : 1;
}
