/* Lines of JSON over a stream socket: how a lease's holder, its helper and the daemon speak. One object a
 * line, at most JM_TRANSPORT_LINE_MAX bytes with its end; whatever comes is bounded before it is parsed. */
#ifndef JM_CAP_LEASE_TRANSPORT_H
#define JM_CAP_LEASE_TRANSPORT_H

#include <jansson.h>
#include <joulemap/lease.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JM_TRANSPORT_LINE_MAX 4096

typedef struct jm__transport {
    int fd; /* borrowed */
    char bytes[JM_TRANSPORT_LINE_MAX];
    size_t count;
} jm__transport;

typedef enum jm__transport_is {
    JM_TRANSPORT_LINE,    /* an object came, or has gone */
    JM_TRANSPORT_LATE,    /* not by then */
    JM_TRANSPORT_CLOSED,  /* the other end is gone */
    JM_TRANSPORT_GARBAGE, /* a line that is too long, or no object of JSON: nothing after it can be assumed
                           */
} jm__transport_is;

/* Send one object, which is taken over; NULL (no memory to make it) is GARBAGE. By `until_ns`
 * (CLOCK_MONOTONIC). */
jm__transport_is jm__transport_send(jm__transport *transport, json_t *object, int64_t until_ns);

/* The next object, the caller's from now on. 0 as `until_ns`: what is there. */
jm__transport_is jm__transport_receive(jm__transport *transport, json_t **object, int64_t until_ns);

/* What is said over the wire, as structs: requests of a holder, answers of a helper.
 *
 *     {"take": {"board": "GPU-..." or index, "who": "...", "for_ns": 0, "detached": false, "pid": 1}}
 *     {"set_w": 400.0}   {"clock_mhz": 1200.0}   {"end": true}   {"restore": "GPU-..."}   {"reset":
 * "GPU-..."}
 *
 *     {"ok": true, ...}  {"status": "NO_PERMISSION", "error": "...", "hint": "..."}
 *
 * Unasked, before it leaves: {"over": "why", "back": true}; `back`: what was found has been put back. */

typedef enum jm__ask {
    JM_ASK_TAKE,
    JM_ASK_SET,
    JM_ASK_CLOCK,
    JM_ASK_END,
    JM_ASK_RESTORE,
    JM_ASK_RESET,
} jm__ask;

typedef struct jm__request {
    jm__ask ask;
    char uuid[JM_BOARD_TEXT]; /* TAKE, RESTORE, RESET; "": by `index` */
    int32_t index;
    char who[JM_LEASE_TEXT];
    int64_t for_ns;
    bool detached;
    int64_t pid;   /* TAKE: the holder's */
    double number; /* SET: watts, finite and above 0; CLOCK: MHz, from 0 on */
} jm__request;

/* "300:600", the watts that a rule pins. */
bool jm__within_read(const char *text, double *low_w, double *high_w);

json_t *jm__request_json(const jm__request *request);

/* BAD_DATA: no request, and why. Texts of any length are cut. */
jm_status jm__request_read(jm__request *request, const json_t *object, jm_error *err);

/* {"ok": true} to add to; NULL: no memory. */
json_t *jm__answer_ok(void);
json_t *jm__answer_fault(const jm_error *err);

/* A board as a holder is told it, for the answer to TAKE. */
json_t *jm__answer_board(const jm_cap_board *board);
void jm__answer_board_read(jm_cap_board *board, const json_t *answer);

/* OK for {"ok": true, ...}, else the error that it tells; BAD_DATA: it is no answer. */
jm_status jm__answer_status(const json_t *answer, jm_error *err);

/* {"over": ...}: the words, borrowed; NULL: it is something else. */
const char *jm__answer_over(const json_t *answer, bool *back);

/* A member's number; NAN: there is none. */
double jm__json_number(const json_t *object, const char *key);

/* A member's text, cut to whole characters, "" for none. */
void jm__json_copy(char *out, size_t size, const json_t *object, const char *key);

#endif
