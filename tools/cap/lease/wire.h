/* Lines of JSON over a stream socket: how a lease's holder, its helper and the daemon speak. One object a
 * line, at most JM_WIRE_LINE_MAX bytes with its end; whatever comes is bounded before it is parsed. */
#ifndef JM_CAP_LEASE_WIRE_H
#define JM_CAP_LEASE_WIRE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JM_WIRE_LINE_MAX 4096

typedef struct jm__wire {
    int fd; /* borrowed */
    char bytes[JM_WIRE_LINE_MAX];
    size_t count;
} jm__wire;

typedef enum jm__wire_is {
    JM_WIRE_LINE,    /* an object came, or has gone */
    JM_WIRE_LATE,    /* not by then */
    JM_WIRE_CLOSED,  /* the other end is gone */
    JM_WIRE_GARBAGE, /* a line that is too long, or no object of JSON: nothing after it can be believed */
} jm__wire_is;

/* Send one object, which is taken over; NULL (no memory to make it) is GARBAGE. By `until_ns`
 * (CLOCK_MONOTONIC). */
jm__wire_is jm__wire_send(jm__wire *wire, json_t *object, int64_t until_ns);

/* The next object, the caller's from now on. 0 as `until_ns`: what is there. */
jm__wire_is jm__wire_receive(jm__wire *wire, json_t **object, int64_t until_ns);

#endif
