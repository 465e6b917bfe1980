/* A flag, a clock, a line that fills. */
#include "suite/watch.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 40 };

static volatile sig_atomic_t ended_by;

static void note(int number)
{
    ended_by = number;
}

void suite_watch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = note}; /* no SA_RESTART: it ends a sleep */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

int suite_ended(void)
{
    return ended_by;
}

double suite_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool suite_sleep(double seconds)
{
    const double until_s = suite_now_s() + seconds;
    for (double left_s = seconds; left_s > 0 && suite_ended() == 0; left_s = until_s - suite_now_s()) {
        const double whole_s = floor(left_s);
        const struct timespec time = {(time_t)whole_s, (long)(1e9 * (left_s - whole_s))};
        nanosleep(&time, NULL);
    }
    return suite_ended() == 0;
}

void suite_bar(const char *what, double share)
{
    static bool shown;
    if (!isatty(STDERR_FILENO)) return;
    if (what == NULL) {
        if (shown) fprintf(stderr, "\r%*s\r", WIDTH + 18, "");
        shown = false;
        return;
    }
    const int full = (int)round(WIDTH * fmin(1, fmax(0, share)));
    fprintf(stderr, "\r%-14.14s [", what);
    for (int i = 0; i < WIDTH; i++)
        fputc(i < full ? '#' : ' ', stderr);
    fputc(']', stderr);
    fflush(stderr);
    shown = true;
}
