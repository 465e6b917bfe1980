/* Regions of OpenACC as ranges: "FUNCTION:LINE", of type "OpenACC parallel" and so on. */
#include "inject/ranges.h"

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- OpenACC's profiling interface (specification 2.6, chapter 5), in our own declarations. A runtime finds
 * acc_register_library in the library of ACC_PROFLIB.
 *
 * Threads: any. A region's begin and end come from one thread. */

/* Pairs of events, by the number of the first. */
enum {
    ACC_EVENT_ENTER_DATA = 10,
    ACC_EVENT_EXIT_DATA = 12,
    ACC_EVENT_UPDATE = 14,
    ACC_EVENT_COMPUTE = 16,
    ACC_EVENT_WAIT = 24,
};

/* Only its first `valid_bytes` are valid. */
typedef struct acc_prof_info {
    int32_t event;
    int32_t valid_bytes;
    int32_t version;
    int32_t device_type;
    int32_t device_number;
    int32_t thread;
    int64_t async, async_queue;
    const char *file; /* NULL, and lines 0 or -1, if unknown */
    const char *function;
    int32_t line, end_line;
    int32_t function_line, function_end_line;
} acc_prof_info;

typedef struct acc_event_info { /* the common beginning of all event infos */
    int32_t event;
    int32_t valid_bytes;
    int32_t construct;
    int32_t implicit;
} acc_event_info;

_Static_assert(offsetof(acc_prof_info, file) == 40, "OpenACC's layout");
_Static_assert(offsetof(acc_prof_info, line) == 56, "OpenACC's layout");
_Static_assert(offsetof(acc_event_info, construct) == 8, "OpenACC's layout");

typedef void acc_callback(const acc_prof_info *info, const acc_event_info *event, const void *api);
typedef void acc_register(int event, acc_callback *callback, int how);

JM_API void acc_register_library(acc_register *enable, acc_register *disable, void *lookup);

static const char *const constructs[] = {
    "parallel", "kernels",  "loop", "data",   "enter data", "exit data", "host_data", "atomic", "declare",
    "init",     "shutdown", "set",  "update", "routine",    "wait",      "runtime",   "serial"};

/* Pairs of events; each is the owner of its pushed ranges. */
static const struct {
    int first;
    const char *text; /* type if the construct is unknown */
} pairs[] = {
    {ACC_EVENT_COMPUTE, "compute"},     {ACC_EVENT_ENTER_DATA, "enter data"},
    {ACC_EVENT_EXIT_DATA, "exit data"}, {ACC_EVENT_UPDATE, "update"},
    {ACC_EVENT_WAIT, "wait"},
};
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

#define HAS(info, field)                                                                                     \
    ((size_t)((info)->valid_bytes < 0 ? 0 : (info)->valid_bytes) >=                                          \
     offsetof(__typeof__(*(info)), field) + sizeof(info)->field)

static const char *construct_of(const acc_event_info *event, const char *fallback)
{
    bool known = event != NULL && HAS(event, construct) && event->construct >= 0 &&
                 (size_t)event->construct < sizeof constructs / sizeof constructs[0];
    return known ? constructs[event->construct] : fallback;
}

/* The name of a region: its place in the source, else its construct. */
static uint32_t name_of(const acc_prof_info *info, const char *construct)
{
    char name[JM_TRACK_NAME_MAX + 32];
    const char *where = NULL;
    if (HAS(info, file) && info->file != NULL && info->file[0] != '\0') {
        const char *slash = strrchr(info->file, '/');
        where = slash == NULL ? info->file : slash + 1;
    }
    if (HAS(info, function) && info->function != NULL && info->function[0] != '\0') where = info->function;
    bool has_line = where != NULL && HAS(info, line) && info->line > 0;
    if (has_line)
        snprintf(name, sizeof name, "%.*s:%d", (int)JM_TRACK_NAME_MAX, where, info->line);
    else
        snprintf(name, sizeof name, "%.*s", (int)JM_TRACK_NAME_MAX, where == NULL ? construct : where);
    return jm__track_intern(name);
}

static void on_event(const acc_prof_info *info, const acc_event_info *event, const void *api)
{
    (void)api;
    if (info == NULL) return;
    for (size_t i = 0; i < PAIRS; i++) {
        if (info->event == pairs[i].first + 1) jm__ranges_pop(&pairs[i]);
        if (info->event != pairs[i].first) continue;
        char type[64];
        bool compute = pairs[i].first == ACC_EVENT_COMPUTE;
        const char *construct = compute ? construct_of(event, pairs[i].text) : pairs[i].text;
        snprintf(type, sizeof type, "OpenACC %s", construct);
        const jm__range range = {.name = name_of(info, construct), .type = jm__track_intern(type)};
        jm__ranges_push(&pairs[i], &range);
    }
}

JM_API void acc_register_library(acc_register *enable, acc_register *disable, void *lookup)
{
    (void)disable, (void)lookup;
    for (size_t i = 0; i < PAIRS && enable != NULL; i++) {
        enable(pairs[i].first, on_event, 0);
        enable(pairs[i].first + 1, on_event, 0);
    }
}
