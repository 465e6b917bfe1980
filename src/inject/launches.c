/* CUPTI's callbacks of the calls that start work. */
#include "inject/launches.h"

#include "record/timeline/track.h"

#include <stdatomic.h>
#include <string.h>

#define CALLBACK_IDS 2048

_Static_assert(offsetof(CUpti_CallbackData, functionName) == 8, "CUPTI moved its data of calls");
_Static_assert(offsetof(CUpti_CallbackData, correlationId) == 64, "CUPTI moved its data of calls");

/* By callback id. What the runtime starts it starts by a call of the driver's with the same correlation id.
 */
static enum { NO_WORK, WORK, GRAPH } starts[CALLBACK_IDS];
static _Atomic uint32_t heard; /* 0: nothing is recorded; else one more than CUPTI was taken again */

static bool is_launch(const char *name)
{
    return strstr(name, "Launch") != NULL && strstr(name, "HostFunc") == NULL &&
           strstr(name, "Attribute") == NULL && strstr(name, "Config") == NULL;
}

static bool is_copy_or_set(const char *name)
{
    return strstr(name, "Graph") == NULL /* building one */ &&
           (strstr(name, "emcpy") != NULL || strstr(name, "emset") != NULL);
}

/* Asked of the library itself: so calls that are newer than our headers are found too. */
void jm__launches_find(const jm__cupti *cupti)
{
    for (uint32_t id = 1; id < CALLBACK_IDS; id++) {
        const char *name = NULL;
        starts[id] = NO_WORK;
        if (cupti->cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) != CUPTI_SUCCESS) continue;
        if (name == NULL || !(is_launch(name) || is_copy_or_set(name))) continue;
        starts[id] = strstr(name, "Graph") != NULL ? GRAPH : WORK;
    }
}

/* Of graphs in any case: one that was launched while CUPTI was there does not outlive cuptiFinalize. Fails if
 * none can be had: one that the library only knows the name of is no reason to go without the others. */
static CUptiResult listen(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber, bool on)
{
    CUptiResult fault = CUPTI_SUCCESS;
    bool any = false;
    for (uint32_t id = 1; id < CALLBACK_IDS; id++) {
        if (starts[id] == NO_WORK) continue;
        bool wanted = on || starts[id] == GRAPH;
        CUptiResult result = cupti->cuptiEnableCallback(wanted, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
        any |= result == CUPTI_SUCCESS;
        if (result != CUPTI_SUCCESS) fault = result;
    }
    return any ? CUPTI_SUCCESS : fault;
}

CUptiResult jm__launches_record(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber, uint32_t again)
{
    heard = 1 + again;
    return listen(cupti, subscriber, true);
}

void jm__launches_call(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber)
{
    heard = 0;
    listen(cupti, subscriber, true);
}

void jm__launches_ignore(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber)
{
    heard = 0;
    listen(cupti, subscriber, false);
}

static bool is_call(CUpti_CallbackDomain domain, const CUpti_CallbackData *call)
{
    return domain == CUPTI_CB_DOMAIN_DRIVER_API && call != NULL && call->callbackSite == CUPTI_API_ENTER;
}

bool jm__launches_is_of_graph(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    return is_call(domain, data) && id < CALLBACK_IDS && starts[id] == GRAPH;
}

void jm__launches_hear(CUpti_CallbackDomain domain, const void *data)
{
    const CUpti_CallbackData *call = data;
    uint32_t now = atomic_load_explicit(&heard, memory_order_relaxed);
    if (is_call(domain, call) && now != 0) jm__track_launch(call->correlationId, now - 1);
}

void jm__launches_forget(void)
{
    heard = 0;
}
