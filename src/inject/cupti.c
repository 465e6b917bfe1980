/* The libcupti in use: loads it, manages its buffers, handles callbacks of launches and graphs, and detaches
 * from it. */
#include "inject/cupti.h"

#include "base/clock.h"
#include "record/timeline/ring_format.h"
#include "record/timeline/track.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- loading the first usable libcupti of the search */

jm__cupti jm__cupti_used;
static jm__cupti *const cupti = &jm__cupti_used;

static void resolve(void *library)
{
    const struct {
        const char *symbol;
        size_t offset;
    } table[] = {
#define X(symbol) {#symbol, offsetof(jm__cupti, symbol)},
        JM_CUPTI_MAP(X)
#undef X
            {"cuptiGetGraphNodeId", offsetof(jm__cupti, cuptiGetGraphNodeId)},
        {"cuptiGetGraphId", offsetof(jm__cupti, cuptiGetGraphId)},
        {"cuptiGetGraphExecId", offsetof(jm__cupti, cuptiGetGraphExecId)},
        {"cuptiFinalize", offsetof(jm__cupti, cuptiFinalize)},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        void *address = dlsym(library, table[i].symbol);
        memcpy((char *)cupti + table[i].offset, &address, sizeof address);
    }
}

static _Atomic bool forbidden; /* to detach from CUPTI */

#define CALLBACK_IDS 2048

/* By callback id. The runtime launches work through a driver call with the same correlation id. */
static enum { NO_WORK, WORK, GRAPH } call_kinds[CALLBACK_IDS];

static bool is_launch(const char *name)
{
    return strstr(name, "Launch") != NULL && strstr(name, "HostFunc") == NULL &&
           strstr(name, "Attribute") == NULL && strstr(name, "Config") == NULL;
}

static bool is_copy_or_set(const char *name)
{
    return strstr(name, "Graph") == NULL /* building a graph launches nothing */ &&
           (strstr(name, "emcpy") != NULL || strstr(name, "emset") != NULL);
}

/* The names come from the library itself, so that calls newer than our headers are found. */
static void find_launches(void)
{
    for (uint32_t id = 1; id < CALLBACK_IDS; id++) {
        const char *name = NULL;
        call_kinds[id] = NO_WORK;
        if (cupti->cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) != CUPTI_SUCCESS) continue;
        if (name == NULL || !(is_launch(name) || is_copy_or_set(name))) continue;
        call_kinds[id] = strstr(name, "Graph") != NULL ? GRAPH : WORK;
    }
}

bool jm__cupti_load(char *why, size_t why_size)
{
    char program[PATH_MAX];
    jm__cupti_candidates *all = calloc(1, sizeof *all);
    if (all == NULL) {
        snprintf(why, why_size, "No memory to look for CUPTI: kernels are not recorded.");
        return false;
    }
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    jm__cupti_search(all, program, false);
    why[0] = '\0';
    void *library = NULL;
    for (size_t i = 0; i < all->count && library == NULL; i++) {
        char fault[480];
        library = jm__cupti_open(all->items[i].path, &cupti->version, fault, sizeof fault);
        if (library == NULL && fault[0] != '\0' && why[0] == '\0')
            snprintf(why, why_size, "%s: kernels are not recorded.", fault); /* keep the first reason */
    }
    free(all);
    if (library != NULL) {
        const char *keep = getenv("JOULEMAP_KEEP_CUPTI");
        if (keep != NULL && keep[0] != '\0') forbidden = true;
        resolve(library);
        find_launches();
    } else if (why[0] == '\0') {
        snprintf(why, why_size,
                 "CUPTI was not found: kernels are not recorded. `pip install nvidia-cuda-cupti`, or set "
                 "JOULEMAP_CUPTI to libcupti.so.");
    }
    return library != NULL;
}

/* ---- the pool of activity buffers */

typedef struct buffer {
    uint8_t *memory;  /* NULL: not allocated yet */
    int64_t taken_ns; /* 0: free */
} buffer;

static pthread_mutex_t buffers_mutex = PTHREAD_MUTEX_INITIALIZER;
static buffer buffers[JM_BUFFERS_MAX];

static uint8_t *make_buffer(int more_flags)
{
    void *memory =
        mmap(NULL, JM_BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void jm__buffers_prepare(void)
{
    pthread_mutex_lock(&buffers_mutex);
    for (int i = 0; i < JM_BUFFERS_KEPT; i++)
        if (buffers[i].memory == NULL)
            buffers[i].memory = make_buffer(MAP_POPULATE); /* no page faults later */
    pthread_mutex_unlock(&buffers_mutex);
}

uint8_t *jm__buffers_take(void)
{
    uint8_t *memory = NULL;
    pthread_mutex_lock(&buffers_mutex);
    for (int i = 0; i < JM_BUFFERS_MAX && memory == NULL; i++) {
        if (buffers[i].taken_ns != 0) continue;
        if (buffers[i].memory == NULL) buffers[i].memory = make_buffer(0);
        if (buffers[i].memory == NULL) break;
        buffers[i].taken_ns = jm__now_ns();
        memory = buffers[i].memory;
    }
    pthread_mutex_unlock(&buffers_mutex);
    return memory;
}

void jm__buffers_return(const uint8_t *memory)
{
    pthread_mutex_lock(&buffers_mutex);
    for (int i = 0; i < JM_BUFFERS_MAX; i++)
        if (buffers[i].memory == memory) buffers[i].taken_ns = 0;
    pthread_mutex_unlock(&buffers_mutex);
}

/* CUPTI is gone, so all buffers are free. Returns the number that it had. */
static size_t free_all_buffers(void)
{
    size_t taken = 0;
    pthread_mutex_lock(&buffers_mutex);
    for (int i = 0; i < JM_BUFFERS_MAX; i++) {
        taken += buffers[i].taken_ns != 0;
        buffers[i].taken_ns = 0;
    }
    pthread_mutex_unlock(&buffers_mutex);
    return taken;
}

void jm__buffers_release(void)
{
    pthread_mutex_lock(&buffers_mutex);
    for (int i = 0; i < JM_BUFFERS_MAX; i++)
        if (buffers[i].memory != NULL && buffers[i].taken_ns == 0 &&
            munmap(buffers[i].memory, JM_BUFFER_BYTES) == 0)
            buffers[i].memory = NULL;
    pthread_mutex_unlock(&buffers_mutex);
}

int64_t jm__buffers_oldest_ns(void)
{
    int64_t oldest_ns = INT64_MAX;
    pthread_mutex_lock(&buffers_mutex);
    for (int i = 0; i < JM_BUFFERS_MAX; i++)
        if (buffers[i].taken_ns != 0 && buffers[i].taken_ns < oldest_ns) oldest_ns = buffers[i].taken_ns;
    pthread_mutex_unlock(&buffers_mutex);
    return oldest_ns;
}

/* ---- callbacks of driver calls that launch work */

_Static_assert(offsetof(CUpti_CallbackData, functionName) == 8, "CUPTI moved its data of calls");
_Static_assert(offsetof(CUpti_CallbackData, correlationId) == 64, "CUPTI moved its data of calls");

/* 0: launches are not recorded; else 1 + the number of reattachments to CUPTI. */
static _Atomic uint32_t recording_round;

/* Enable the callbacks of all launches, or only those of graphs: graphs launched under CUPTI do not survive
 * cuptiFinalize. Fails only if no callback can be enabled, as the library may name calls that it does not
 * support. */
static CUptiResult enable_callbacks(bool on)
{
    CUptiResult fault = CUPTI_SUCCESS;
    bool any = false;
    for (uint32_t id = 1; id < CALLBACK_IDS; id++) {
        if (call_kinds[id] == NO_WORK) continue;
        bool enable = on || call_kinds[id] == GRAPH;
        CUptiResult result =
            cupti->cuptiEnableCallback(enable, cupti->subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
        any |= result == CUPTI_SUCCESS;
        if (result != CUPTI_SUCCESS) fault = result;
    }
    return any ? CUPTI_SUCCESS : fault;
}

CUptiResult jm__launches_record(uint32_t again)
{
    recording_round = 1 + again;
    return enable_callbacks(true);
}

void jm__launches_ignore(void)
{
    recording_round = 0;
    enable_callbacks(false);
}

static bool is_call(CUpti_CallbackDomain domain, const CUpti_CallbackData *call)
{
    return domain == CUPTI_CB_DOMAIN_DRIVER_API && call != NULL && call->callbackSite == CUPTI_API_ENTER;
}

bool jm__launches_is_graph(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    return is_call(domain, data) && id < CALLBACK_IDS && call_kinds[id] == GRAPH;
}

void jm__launches_on_callback(CUpti_CallbackDomain domain, const void *data)
{
    const CUpti_CallbackData *call = data;
    uint32_t now = atomic_load_explicit(&recording_round, memory_order_relaxed);
    if (is_call(domain, call) && now != 0) jm__track_launch(call->correlationId, now - 1);
}

/* ---- callbacks of CUDA graphs, recorded in the calling thread's ring */

/* The values are the same from CUDA 11 to 13; check the headers at hand. */
_Static_assert(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING == 10, "CUPTI renumbered its callbacks");
_Static_assert(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED == 13, "CUPTI renumbered its callbacks");
_Static_assert(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING == 17, "CUPTI renumbered its callbacks");
_Static_assert(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED == 18, "CUPTI renumbered its callbacks");
_Static_assert(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING == 19, "CUPTI renumbered its callbacks");
_Static_assert(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED == 20, "CUPTI renumbered its callbacks");
_Static_assert(offsetof(CUpti_ResourceData, resourceDescriptor) == 16, "CUPTI moved its data of resources");
_Static_assert(offsetof(CUpti_GraphData, node) == 16, "CUPTI moved its data of graphs");
_Static_assert(offsetof(CUpti_GraphData, graphExec) == 48, "CUPTI moved its data of graphs");

static const CUpti_CallbackId graph_callbacks[] = {
    CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,      CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
    CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING,
    CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED,      CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
};

bool jm__graphs_follow(void)
{
    if (cupti->cuptiGetGraphNodeId == NULL) return false;
    for (size_t i = 0; i < sizeof graph_callbacks / sizeof graph_callbacks[0]; i++) {
        CUptiResult result =
            cupti->cuptiEnableCallback(1, cupti->subscriber, CUPTI_CB_DOMAIN_RESOURCE, graph_callbacks[i]);
        bool needed = graph_callbacks[i] == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED ||
                      graph_callbacks[i] == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
        if (needed && result != CUPTI_SUCCESS) return false;
    }
    return true;
}

/* 0: unknown. */
static uint32_t graph_id(CUgraph graph)
{
    uint32_t id = 0;
    if (graph == NULL || cupti->cuptiGetGraphId == NULL) return 0;
    return cupti->cuptiGetGraphId(graph, &id) == CUPTI_SUCCESS ? id : 0;
}

static uint32_t exec_id(CUgraphExec graph)
{
    uint32_t id = 0;
    if (graph == NULL || cupti->cuptiGetGraphExecId == NULL) return 0;
    return cupti->cuptiGetGraphExecId(graph, &id) == CUPTI_SUCCESS ? id : 0;
}

/* Record a node of any type: CUPTI 13.0 calls all of them kernels, and nodes inside an executable graph are
 * counted. */
static void record_node(const CUpti_GraphData *data, bool cloned)
{
    uint64_t node = 0, original = 0;
    if (data->node == NULL) return;
    if (cupti->cuptiGetGraphNodeId(data->node, &node) != CUPTI_SUCCESS || node == 0) return;
    if (cloned) {
        if (data->originalNode == NULL) return;
        if (cupti->cuptiGetGraphNodeId(data->originalNode, &original) != CUPTI_SUCCESS || original == 0)
            return;
    }
    jm__track_node(node, original, graph_id(data->graph));
}

void jm__graphs_on_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    if (domain != CUPTI_CB_DOMAIN_RESOURCE || data == NULL) return;
    const CUpti_GraphData *graph = ((const CUpti_ResourceData *)data)->resourceDescriptor;
    if (graph == NULL) return;
    uint32_t gone = 0;
    switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
        record_node(graph, id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
        break;
    case CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING:
        gone = graph_id(graph->graph);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING:
        jm__track_graph(JM_RING_EXEC_BEGUN, 0);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED:
        jm__track_graph(JM_RING_EXEC_MADE, exec_id(graph->graphExec));
        break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING:
        gone = exec_id(graph->graphExec);
        break;
    default:
        break;
    }
    if (gone != 0) jm__track_graph(JM_RING_GRAPH_GONE, gone);
}

/* ---- detaching from CUPTI while the program goes on */

/* The first CUPTI whose cuptiFinalize has no known defect, that of CUDA 12.6. */
#define FINALIZE_VERSION_MIN 24

#define LOCK_WAIT_NS (2 * JM_NS_PER_S)

/* A driver call without side effects. */
static const CUpti_CallbackId own_call = CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion;

static pthread_mutex_t detach_mutex = PTHREAD_MUTEX_INITIALIZER;
static enum { ATTACHED, REQUESTED, DETACHED } state; /* guarded by detach_mutex */
static _Thread_local bool in_own_call;
static _Atomic size_t lost_buffers;

void jm__detach_lock(void)
{
    pthread_mutex_lock(&detach_mutex);
}

bool jm__detach_lock_timed(void)
{
    static _Atomic bool is_late;
    return jm__lock_for(&detach_mutex, &is_late, LOCK_WAIT_NS);
}

void jm__detach_unlock(void)
{
    pthread_mutex_unlock(&detach_mutex);
}

static bool can_detach(void)
{
    return !forbidden && cupti->cuptiFinalize != NULL && cupti->version >= FINALIZE_VERSION_MIN;
}

void jm__detach_request(void)
{
    if (!jm__detach_is_possible()) return;
    state = REQUESTED;
    recording_round = 0; /* the next launch is awaited, not recorded */
    enable_callbacks(true);
}

bool jm__detach_is_possible(void)
{
    return state == ATTACHED && can_detach();
}

bool jm__detach_is_done(void)
{
    return state == DETACHED;
}

bool jm__detach_cancel(void)
{
    bool attached = state != DETACHED;
    if (state == REQUESTED) jm__launches_ignore();
    state = ATTACHED;
    return attached;
}

void jm__detach_mark_lost(void)
{
    state = DETACHED;
}

static void finalize(void)
{
    if (cupti->cuptiFinalize() != CUPTI_SUCCESS) {
        forbidden = true; /* we are still attached */
        return;
    }
    lost_buffers += free_all_buffers();
    state = DETACHED;
}

bool jm__detach_now(void)
{
    if (!can_detach()) return false;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    CUresult(CUDAAPI * call)(int *) = NULL;
    if (driver != NULL) *(void **)&call = dlsym(driver, "cuDriverGetVersion");
    if (call != NULL && cupti->cuptiEnableCallback(1, cupti->subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                                                   own_call) == CUPTI_SUCCESS) {
        int version;
        in_own_call = true;
        call(&version);
        in_own_call = false;
    }
    if (driver != NULL) dlclose(driver);
    bool done = state == DETACHED;
    state = ATTACHED; /* for the next run */
    return done;
}

void jm__detach_on_callback(CUpti_CallbackDomain domain, const void *data)
{
    const CUpti_CallbackData *call = data;
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API || call == NULL || call->callbackSite != CUPTI_API_EXIT) return;
    if (in_own_call) { /* this thread already holds the lock */
        in_own_call = false;
        if (!forbidden) finalize();
        return;
    }
    if (forbidden || pthread_mutex_trylock(&detach_mutex) != 0) return; /* the next launch will do it */
    if (state == REQUESTED && !forbidden) finalize();
    pthread_mutex_unlock(&detach_mutex);
}

size_t jm__detach_lost_buffers(void)
{
    return atomic_exchange(&lost_buffers, 0);
}

void jm__detach_forbid(void)
{
    forbidden = true;
}

void jm__cupti_forget(void)
{
    state = ATTACHED;
    recording_round = 0;
    pthread_mutex_init(&detach_mutex, NULL);
    pthread_mutex_init(&buffers_mutex, NULL);
    free_all_buffers();
}
