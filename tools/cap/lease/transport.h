/* Lines of JSON over a stream socket, between a lease's holder and its helper. One object per line, at most
 * JM_TRANSPORT_LINE_MAX bytes including its newline; input is limited before it is parsed. */
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

typedef enum jm__transport_result {
    JM_TRANSPORT_LINE,    /* an object was received or sent */
    JM_TRANSPORT_LATE,    /* not before the deadline */
    JM_TRANSPORT_CLOSED,  /* the other end is gone */
    JM_TRANSPORT_GARBAGE, /* a line that is too long or not a JSON object; what follows cannot be trusted */
} jm__transport_result;

/* Send one object, which is taken over. NULL (no memory) gives GARBAGE. `until_ns`: deadline,
 * CLOCK_MONOTONIC. */
jm__transport_result jm__transport_send(jm__transport *transport, json_t *object, int64_t until_ns);

/* The next object, which is the caller's. `until_ns` 0: do not wait. */
jm__transport_result jm__transport_receive(jm__transport *transport, json_t **object, int64_t until_ns);

/* Messages as structs: requests of a holder, answers of a helper.
 *
 *     {"take": {"board": "GPU-..." or index, "who": "...", "for_ns": 0, "detached": false, "pid": 1}}
 *     {"set_w": 400.0}   {"clock_mhz": 1200.0}   {"end": true}
 *     {"restore": "GPU-..."}   {"reset": "GPU-..."}
 *
 *     {"ok": true, ...}  {"status": "NO_PERMISSION", "error": "...", "hint": "..."}
 *
 * Without a request, before the helper exits: {"over": "why", "back": true}; `back`: the cap from before is
 * back. */

typedef enum jm__request_kind {
    JM_REQUEST_TAKE,
    JM_REQUEST_SET,
    JM_REQUEST_CLOCK,
    JM_REQUEST_END,
    JM_REQUEST_RESTORE,
    JM_REQUEST_RESET,
} jm__request_kind;

typedef struct jm__request {
    jm__request_kind kind;
    char uuid[JM_BOARD_TEXT]; /* TAKE, RESTORE, RESET; "": by `index` */
    int32_t index;
    char who[JM_LEASE_TEXT];
    int64_t for_ns;
    bool detached;
    int64_t pid;   /* TAKE: the holder's */
    double number; /* SET: watts, finite and above 0; CLOCK: MHz, from 0 on */
} jm__request;

/* Parse "300:600", the watts in a sudo rule. */
bool jm__within_read(const char *text, double *low_w, double *high_w);

json_t *jm__request_json(const jm__request *request);

/* BAD_DATA: not a request; the error says why. Long texts are cut. */
jm_status jm__request_read(jm__request *request, const json_t *object, jm_error *err);

/* {"ok": true} to add to; NULL: no memory. */
json_t *jm__answer_ok(void);
json_t *jm__answer_fault(const jm_error *err);

/* A board, for the answer to TAKE. */
json_t *jm__answer_board(const jm_cap_board *board);
void jm__answer_board_read(jm_cap_board *board, const json_t *answer);

/* OK for {"ok": true, ...}, else the error in it; BAD_DATA: not an answer. */
jm_status jm__answer_status(const json_t *answer, jm_error *err);

/* {"over": ...}: its text, borrowed; NULL: another message. */
const char *jm__answer_over(const json_t *answer, bool *back);

/* A member's number; NAN: there is none. */
double jm__json_number(const json_t *object, const char *key);

/* A member's text, cut to whole characters, "" for none. */
void jm__json_copy(char *out, size_t size, const json_t *object, const char *key);

#endif
