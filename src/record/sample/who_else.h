/* Which processes are on a board, now and then: those that nobody records draw power there too. */
#ifndef JM_RECORD_SAMPLE_WHO_ELSE_H
#define JM_RECORD_SAMPLE_WHO_ELSE_H

#include "record/device/device.h"

/* The pids of one board, and what they are called: "4711 (python3), 4712". "" if there are none, or if they
 * cannot be told. Pids are the machine's, so in a namespace of its own nobody can say which are the run's:
 * nothing is said there, but of a simulated board. */
void jm__who_else(char *text, size_t size, jm__devices *devices, size_t board);

#endif
