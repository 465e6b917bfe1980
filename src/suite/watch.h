/* Somebody who waits: signals that ask for the end, sleep that ends with them, a bar on stderr. */
#ifndef SUITE_WATCH_H
#define SUITE_WATCH_H

#include <stdbool.h>

/* From now on SIGINT, SIGTERM and SIGHUP are noted alone, so that the recording can be closed. */
void suite_watch_signals(void);

/* The number of the signal that asked for the end; 0: none did. */
int suite_ended(void);

/* False: a signal ended it. */
bool suite_sleep(double seconds);

/* Seconds of CLOCK_MONOTONIC. */
double suite_now_s(void);

/* Show how far `what` is, 0 to 1, if stderr is a terminal; NULL takes the line away. */
void suite_bar(const char *what, double share);

#endif
