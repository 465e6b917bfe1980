/* CLOCK_MONOTONIC, and anchors between it and CLOCK_REALTIME. */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * JM_NS_PER_S + now.tv_nsec;
}

int64_t jm__now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

jm__anchor jm__anchor_take(void)
{
    jm__anchor best = {0, 0};
    int64_t best_width = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        int64_t before = read_clock(CLOCK_MONOTONIC);
        int64_t realtime = read_clock(CLOCK_REALTIME);
        int64_t after = read_clock(CLOCK_MONOTONIC);
        if (after - before < best_width) {
            best_width = after - before;
            best.monotonic_ns = before + (after - before) / 2;
            best.realtime_ns = realtime;
        }
    }
    return best;
}

struct timespec jm__clock_after(clockid_t clock, int64_t duration_ns)
{
    int64_t then_ns = read_clock(clock) + duration_ns;
    return (struct timespec){.tv_sec = then_ns / JM_NS_PER_S, .tv_nsec = then_ns % JM_NS_PER_S};
}

void jm__sleep_ns(int64_t duration_ns)
{
    if (duration_ns <= 0) return;
    struct timespec left = {duration_ns / JM_NS_PER_S, duration_ns % JM_NS_PER_S};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
    }
}
