/* A program of so many seconds, with a step each 50 us: a recording of it grows by half a megabyte a second.
 *
 *   stdout: how many steps it did */
#include <joulemap/span.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_S 1000000000LL

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

int main(int count, char **arguments)
{
    long long until_ns = now_ns() + (long long)((count > 1 ? atof(arguments[1]) : 1) * (double)NS_PER_S),
              steps = 0;
    const struct timespec wait = {.tv_nsec = 50000};
    jm_span_id phase = jm_span_begin(JM_SPAN_PHASE, jm_name_intern("all"), 0, 0);
    for (; now_ns() < until_ns; steps++) {
        jm_span_id step = jm_span_begin(JM_SPAN_STEP, jm_name_intern("step"), 0, 1);
        nanosleep(&wait, NULL);
        jm_span_end(step);
    }
    jm_span_end(phase);
    printf("%lld\n", steps);
    return 0;
}
