/* Whatever joulemap-counters may say: the recorder takes what can be true and ends the rest.
 *
 * An input is what comes through the socket; it is told to start and to stop as soon as that is in order. */
#include "fuzz.h"

#include "base/clock.h"
#include "record/counters/helper.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { AT_ONCE = 1 << 14 }; /* less than a socket holds */

static void take(void *context, const jm__counter_block *block)
{
    const jm__counter_helper *helper = context;
    FUZZ_PROMISE(helper->state == JM_COUNTERS_SAMPLING || helper->state == JM_COUNTERS_STOPPING);
    FUZZ_PROMISE(jm__counter_block_is_sound(block, helper->metric_count));
    FUZZ_PROMISE(block->end_ns <= jm__now_ns() + JM_NS_PER_S);
}

/* Its names are as many as it says, and JSON. */
static void check_names(const jm__counter_helper *helper)
{
    const char *const lists[] = {helper->metrics, helper->units};
    FUZZ_PROMISE(helper->metric_count >= 1 && helper->metric_count <= JM_COUNTER_METRICS_MAX);
    for (int i = 0; i < 2; i++) {
        json_t *list = json_loads(lists[i], 0, NULL);
        FUZZ_PROMISE(json_array_size(list) == (size_t)helper->metric_count);
        json_decref(list);
    }
}

static void obey(jm__counter_helper *helper)
{
    if (helper->state == JM_COUNTERS_IDLE) {
        check_names(helper);
        jm__counter_helper_command(helper, JM_COUNTERS_START);
    } else if (helper->state == JM_COUNTERS_SAMPLING && helper->samples > 2) {
        jm__counter_helper_command(helper, JM_COUNTERS_STOP);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2];
    jm__counter_helper helper = {.since_ns = jm__now_ns()};
    FUZZ_PROMISE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    FUZZ_PROMISE(jm__kept_file_set(&helper.link, ends[0]));
    while (size > 0 && helper.state != JM_COUNTERS_OVER) {
        ssize_t sent = send(ends[1], data, size < AT_ONCE ? size : AT_ONCE, MSG_NOSIGNAL);
        FUZZ_PROMISE(sent > 0);
        data += sent;
        size -= (size_t)sent;
        jm__counter_helper_receive(&helper, take, &helper);
        obey(&helper);
    }
    close(ends[1]);
    jm__counter_helper_receive(&helper, take, &helper);
    FUZZ_PROMISE(helper.state != JM_COUNTERS_OVER || helper.error[0] != '\0');
    jm__counter_helper_end(&helper, 0);
    return 0;
}
