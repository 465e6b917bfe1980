/* CUPTI's callbacks of the calls that start work. */
#include "inject/launches.h"

#include "base/clock.h"
#include "inject/outlet.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALLBACK_IDS 2048

_Static_assert(offsetof(CUpti_CallbackData, functionName) == 8, "CUPTI moved its data of calls");
_Static_assert(offsetof(CUpti_CallbackData, correlationId) == 64, "CUPTI moved its data of calls");

/* By callback id. A launch by the runtime is one by the driver, too, with the same correlation id. */
static unsigned char by_driver[CALLBACK_IDS], by_runtime[CALLBACK_IDS];
static _Atomic uint32_t era; /* 0: nothing is recorded; else another one each time it begins */
static _Atomic uint32_t forks;

static bool launches(const char *name)
{
    return strstr(name, "Launch") != NULL && strstr(name, "HostFunc") == NULL &&
           strstr(name, "Attribute") == NULL && strstr(name, "Config") == NULL;
}

static bool copies_or_sets(const char *name)
{
    return strstr(name, "Graph") == NULL /* building one */ &&
           (strstr(name, "emcpy") != NULL || strstr(name, "emset") != NULL);
}

/* Asked of the library itself: so calls that are newer than our headers are found too. NULL: no such call. */
static const char *name_of(const jm__cupti *cupti, CUpti_CallbackDomain domain, uint32_t id)
{
    const char *name = NULL;
    return cupti->cuptiGetCallbackName(domain, id, &name) == CUPTI_SUCCESS ? name : NULL;
}

void jm__launches_find(const jm__cupti *cupti)
{
    for (uint32_t id = 1; id < CALLBACK_IDS; id++) {
        const char *driver = name_of(cupti, CUPTI_CB_DOMAIN_DRIVER_API, id);
        const char *runtime = name_of(cupti, CUPTI_CB_DOMAIN_RUNTIME_API, id);
        by_driver[id] = driver != NULL && (launches(driver) || copies_or_sets(driver));
        by_runtime[id] = runtime != NULL && copies_or_sets(runtime);
    }
}

/* Of the last one that failed, if none could be followed: one that a library only knows by name is no reason
 * to go without the others. */
static CUptiResult follow(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber,
                          CUpti_CallbackDomain domain, const unsigned char *calls, bool on)
{
    CUptiResult fault = CUPTI_SUCCESS;
    bool any = false;
    for (uint32_t id = 1; id < CALLBACK_IDS; id++) {
        if (!calls[id]) continue;
        CUptiResult result = cupti->cuptiEnableCallback(on, subscriber, domain, id);
        any |= result == CUPTI_SUCCESS;
        if (result != CUPTI_SUCCESS) fault = result;
    }
    return any ? CUPTI_SUCCESS : fault;
}

CUptiResult jm__launches_follow(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber,
                                jm__launches_wanted wanted)
{
    static uint32_t last_era; /* guarded as all calls of CUPTI are */
    era = wanted == JM_LAUNCHES_ALL ? ++last_era : 0;
    CUptiResult driver =
        follow(cupti, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, by_driver, wanted != JM_LAUNCHES_NONE);
    CUptiResult runtime =
        follow(cupti, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, by_runtime, wanted == JM_LAUNCHES_ALL);
    return driver != CUPTI_SUCCESS ? driver : runtime;
}

static int64_t realtime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * JM_NS_PER_S + now.tv_nsec;
}

static int32_t own_tid(void)
{
    static _Thread_local int32_t tid;
    static _Thread_local uint32_t known_at;
    uint32_t now = atomic_load_explicit(&forks, memory_order_relaxed);
    if (tid == 0 || known_at != now) tid = (int32_t)syscall(SYS_gettid);
    known_at = now;
    return tid;
}

/* A call of the driver's inside one of the runtime's has its id: it is told once, from where the outer one
 * began to where the inner one ends. */
void jm__launches_hear(CUpti_CallbackDomain domain, const void *data)
{
    static _Thread_local struct {
        uint32_t correlation, era; /* era 0: this thread is in no such call */
        int64_t since_ns;
    } open;
    const CUpti_CallbackData *call = data;
    uint32_t now = atomic_load_explicit(&era, memory_order_relaxed);
    bool of_api = domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
    if (!of_api || call == NULL || now == 0) return;
    bool is_open = open.era == now && open.correlation == call->correlationId;
    if (call->callbackSite == CUPTI_API_ENTER && !is_open) {
        open.correlation = call->correlationId;
        open.era = now;
        open.since_ns = realtime_ns();
    } else if (call->callbackSite == CUPTI_API_EXIT && is_open) {
        jm__outlet_launch(open.correlation, own_tid(), open.since_ns, realtime_ns());
        open.era = 0;
    }
}

void jm__launches_forget(void)
{
    atomic_fetch_add(&forks, 1);
    era = 0;
}
