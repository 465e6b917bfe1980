/* OpenACC's profiling interface (specification 2.6, chapter 5), in our own declarations: what a runtime finds
 * in the library of ACC_PROFLIB.
 *
 * Threads: any. A region's begin and end come from one thread. */
#ifndef JM_INJECT_OPENACC_H
#define JM_INJECT_OPENACC_H

#include <joulemap/status.h>
#include <stddef.h>
#include <stdint.h>

/* Pairs of events, by the number of the first. */
enum {
    ACC_EVENT_ENTER_DATA = 10,
    ACC_EVENT_EXIT_DATA = 12,
    ACC_EVENT_UPDATE = 14,
    ACC_EVENT_COMPUTE = 16,
    ACC_EVENT_WAIT = 24,
};

/* `valid_bytes` of it are there. */
typedef struct acc_prof_info {
    int32_t event;
    int32_t valid_bytes;
    int32_t version;
    int32_t device_type;
    int32_t device_number;
    int32_t thread;
    int64_t async, async_queue;
    const char *file; /* these: NULL, and lines 0 or -1, if not known */
    const char *function;
    int32_t line, end_line;
    int32_t function_line, function_end_line;
} acc_prof_info;

typedef struct acc_event_info { /* what all kinds of it begin with */
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

#endif
