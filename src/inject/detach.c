/* Letting go of CUPTI while the program goes on. */
#include "inject/detach.h"

#include "base/clock.h"
#include "inject/buffers.h"
#include "inject/launches.h"
#include "inject/lock_for.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The first CUPTI whose cuptiFinalize has no known harm: that of CUDA 12.6. */
#define VERSION_LEAST 24

#define HOLD_WAIT_NS (2 * JM_NS_PER_S)

/* It changes nothing. */
static const CUpti_CallbackId own_call = CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static enum { ATTACHED, ASKED, DONE } state; /* guarded by it */
static const jm__cupti *in_use;              /* likewise */
static _Thread_local bool in_own_call;
static _Atomic bool never;
static _Atomic size_t lost_buffers;

void jm__detach_hold(void)
{
    pthread_mutex_lock(&mutex);
}

bool jm__detach_hold_for_a_while(void)
{
    static _Atomic bool is_late;
    return jm__lock_for(&mutex, &is_late, HOLD_WAIT_NS);
}

void jm__detach_allow(void)
{
    pthread_mutex_unlock(&mutex);
}

static bool may(const jm__cupti *cupti)
{
    return !never && cupti->cuptiFinalize != NULL && cupti->version >= VERSION_LEAST;
}

void jm__detach_prepare(void)
{
    const char *keep = getenv("JOULEMAP_KEEP_CUPTI");
    if (keep != NULL && keep[0] != '\0') never = true;
}

void jm__detach_ask(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber)
{
    if (state != ATTACHED || !may(cupti)) return;
    in_use = cupti;
    state = ASKED;
    jm__launches_call(cupti, subscriber);
}

bool jm__detach_is_to_come(const jm__cupti *cupti)
{
    return state == ATTACHED && may(cupti);
}

bool jm__detach_is_done(void)
{
    return state == DONE;
}

bool jm__detach_call_off(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber)
{
    bool attached = state != DONE;
    if (state == ASKED) jm__launches_ignore(cupti, subscriber);
    state = ATTACHED;
    return attached;
}

void jm__detach_stay_away(void)
{
    state = DONE;
}

static void let_go(void)
{
    if (in_use->cuptiFinalize() != CUPTI_SUCCESS) {
        never = true; /* it is ours still */
        return;
    }
    lost_buffers += jm__buffers_forget();
    state = DONE;
}

bool jm__detach_at_once(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber)
{
    if (!may(cupti)) return false;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    CUresult(CUDAAPI * call)(int *) = NULL;
    if (driver != NULL) *(void **)&call = dlsym(driver, "cuDriverGetVersion");
    if (call != NULL &&
        cupti->cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, own_call) == CUPTI_SUCCESS) {
        int version;
        in_use = cupti;
        in_own_call = true;
        call(&version);
        in_own_call = false;
    }
    if (driver != NULL) dlclose(driver);
    bool done = state == DONE;
    state = ATTACHED; /* for the next run */
    return done;
}

void jm__detach_hear(CUpti_CallbackDomain domain, const void *data)
{
    const CUpti_CallbackData *call = data;
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API || call == NULL || call->callbackSite != CUPTI_API_EXIT) return;
    if (in_own_call) { /* this thread holds the lock */
        in_own_call = false;
        if (!never) let_go();
        return;
    }
    if (never || pthread_mutex_trylock(&mutex) != 0) return; /* the next launch will do */
    if (state == ASKED && !never) let_go();
    pthread_mutex_unlock(&mutex);
}

size_t jm__detach_lost_buffers(void)
{
    return atomic_exchange(&lost_buffers, 0);
}

void jm__detach_never(void)
{
    never = true;
}

void jm__detach_forget(void)
{
    state = ATTACHED;
    pthread_mutex_init(&mutex, NULL); /* a thread may have held it */
}
