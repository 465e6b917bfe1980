/* Messages between a holder and its helper, as lines of JSON. */
#include "cap/lease/transport.h"

#include "base/clock.h"
#include "base/json_value.h"
#include "base/plain.h"
#include "base/status.h"
#include "base/utf8.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* ---- lines of JSON over a stream socket */

/* Wait until the socket is ready for `events`; false: not by `until_ns`. */
static bool wait_for(int fd, short events, int64_t until_ns)
{
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = events};
        int64_t left_ns = until_ns - jm__now_ns();
        int left_ms = left_ns <= 0 ? 0 : (int)(left_ns / JM_NS_PER_MS) + 1;
        int count = poll(&ready, 1, left_ms);
        if (count > 0) return true;
        if (count == 0 && left_ns <= 0) return false;
        if (count < 0 && errno != EINTR) return true; /* the next call reports the error */
    }
}

static bool is_retryable(int code)
{
    return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

static jm__transport_result send_all(int fd, const char *bytes, size_t count, int64_t until_ns)
{
    while (count > 0) {
        ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && !is_retryable(errno)) return JM_TRANSPORT_CLOSED;
        if (sent < 0 && !wait_for(fd, POLLOUT, until_ns)) return JM_TRANSPORT_LATE;
        if (sent < 0) continue;
        bytes += sent;
        count -= (size_t)sent;
    }
    return JM_TRANSPORT_LINE;
}

jm__transport_result jm__transport_send(jm__transport *transport, json_t *object, int64_t until_ns)
{
    char line[JM_TRANSPORT_LINE_MAX];
    size_t length = object == NULL ? 0 : json_dumpb(object, line, sizeof line - 1, JSON_COMPACT);
    json_decref(object);
    if (length == 0 || length > sizeof line - 1) return JM_TRANSPORT_GARBAGE;
    line[length] = '\n';
    return send_all(transport->fd, line, length + 1, until_ns);
}

/* Take a complete line from the received bytes, if there is one. */
static jm__transport_result take_line(jm__transport *transport, json_t **object)
{
    const char *end = memchr(transport->bytes, '\n', transport->count);
    if (end == NULL)
        return transport->count == sizeof transport->bytes ? JM_TRANSPORT_GARBAGE : JM_TRANSPORT_LATE;
    size_t length = (size_t)(end - transport->bytes);
    *object = json_loadb(transport->bytes, length, JSON_REJECT_DUPLICATES, NULL);
    transport->count -= length + 1;
    memmove(transport->bytes, end + 1, transport->count);
    if (json_is_object(*object)) return JM_TRANSPORT_LINE;
    json_decref(*object);
    *object = NULL;
    return JM_TRANSPORT_GARBAGE;
}

jm__transport_result jm__transport_receive(jm__transport *transport, json_t **object, int64_t until_ns)
{
    *object = NULL;
    for (;;) {
        jm__transport_result result = take_line(transport, object);
        if (result != JM_TRANSPORT_LATE) return result;
        ssize_t count = recv(transport->fd, transport->bytes + transport->count,
                             sizeof transport->bytes - transport->count, MSG_DONTWAIT);
        if (count == 0 || (count < 0 && !is_retryable(errno))) return JM_TRANSPORT_CLOSED;
        if (count > 0)
            transport->count += (size_t)count;
        else if (!wait_for(transport->fd, POLLIN, until_ns))
            return JM_TRANSPORT_LATE;
    }
}

/* ---- requests and answers as JSON */

#define FOR_NS_MAX (INT64_C(366) * 24 * 3600 * 1000000000)

double jm__json_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

void jm__json_copy(char *out, size_t size, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    size_t length = text == NULL ? 0 : jm__utf8_cut(text, size - 1);
    if (length > 0) memcpy(out, text, length);
    out[length] = '\0';
}

/* ---- bounds */

bool jm__within_read(const char *text, double *low_w, double *high_w)
{
    char *end;
    *low_w = jm__real_of(text, &end);
    if (end == text || *end != ':') return false;
    text = end + 1;
    *high_w = jm__real_of(text, &end);
    return end != text && *end == '\0' && *low_w > 0 && *high_w >= *low_w && isfinite(*high_w);
}

/* ---- requests */

static json_t *take_json(const jm__request *request)
{
    json_t *board = request->uuid[0] != '\0' ? jm__json_text(request->uuid) : json_integer(request->index);
    return json_pack("{s:{s:o, s:o, s:I, s:b, s:I}}", "take", "board", board, "who",
                     jm__json_text(request->who), "for_ns", (json_int_t)request->for_ns, "detached",
                     request->detached, "pid", (json_int_t)request->pid);
}

json_t *jm__request_json(const jm__request *request)
{
    switch (request->kind) {
    case JM_REQUEST_TAKE:
        return take_json(request);
    case JM_REQUEST_SET:
        return json_pack("{s:f}", "set_w", request->number);
    case JM_REQUEST_CLOCK:
        return json_pack("{s:f}", "clock_mhz", request->number);
    case JM_REQUEST_END:
        return json_pack("{s:b}", "end", 1);
    case JM_REQUEST_RESTORE:
        return json_pack("{s:o}", "restore", jm__json_text(request->uuid));
    case JM_REQUEST_RESET:
        return json_pack("{s:o}", "reset", jm__json_text(request->uuid));
    }
    return NULL;
}

static jm_status read_take(jm__request *request, const json_t *take, jm_error *err)
{
    const json_t *board = json_object_get(take, "board");
    const json_t *for_ns = json_object_get(take, "for_ns");
    request->kind = JM_REQUEST_TAKE;
    jm__json_copy(request->uuid, sizeof request->uuid, take, "board");
    jm__json_copy(request->who, sizeof request->who, take, "who");
    if (json_is_integer(board) && json_integer_value(board) >= 0 && json_integer_value(board) < INT32_MAX)
        request->index = (int32_t)json_integer_value(board);
    else if (request->uuid[0] == '\0')
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "\"take\" names no board");
    request->for_ns = json_integer_value(for_ns);
    if ((for_ns != NULL && !json_is_integer(for_ns)) || request->for_ns < 0 || request->for_ns > FOR_NS_MAX)
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "\"for_ns\" is not between 0 and a year");
    request->detached = json_is_true(json_object_get(take, "detached"));
    request->pid = json_integer_value(json_object_get(take, "pid"));
    if (request->pid > 0 && request->pid <= INT32_MAX) return JM_OK;
    return jm__fail(err, JM_BAD_DATA, 0, NULL, "\"take\" names no holder");
}

/* Reads one number; false: not a finite number, or too small. */
static bool read_number(jm__request *request, jm__request_kind kind, const json_t *object, const char *key,
                        double minimum)
{
    request->kind = kind;
    request->number = jm__json_number(object, key);
    return isfinite(request->number) && request->number >= minimum;
}

jm_status jm__request_read(jm__request *request, const json_t *object, jm_error *err)
{
    *request = (jm__request){.kind = JM_REQUEST_END};
    if (json_object_size(object) != 1) return jm__fail(err, JM_BAD_DATA, 0, NULL, "a request has one member");
    if (json_is_object(json_object_get(object, "take")))
        return read_take(request, json_object_get(object, "take"), err);
    if (json_object_get(object, "set_w") != NULL) {
        if (read_number(request, JM_REQUEST_SET, object, "set_w", 1e-3)) return JM_OK;
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "\"set_w\" is not a number of watts above 0");
    }
    if (json_object_get(object, "clock_mhz") != NULL) {
        if (read_number(request, JM_REQUEST_CLOCK, object, "clock_mhz", 0)) return JM_OK;
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "\"clock_mhz\" is not a number of MHz from 0 on");
    }
    if (json_is_true(json_object_get(object, "end"))) return JM_OK;
    request->kind = JM_REQUEST_RESTORE;
    jm__json_copy(request->uuid, sizeof request->uuid, object, "restore");
    if (request->uuid[0] != '\0') return JM_OK;
    request->kind = JM_REQUEST_RESET;
    jm__json_copy(request->uuid, sizeof request->uuid, object, "reset");
    if (request->uuid[0] != '\0') return JM_OK;
    return jm__fail(err, JM_BAD_DATA, 0, NULL,
                    "a request is none of take, set_w, clock_mhz, end, restore, reset");
}

/* ---- answers */

json_t *jm__answer_ok(void)
{
    return json_pack("{s:b}", "ok", 1);
}

json_t *jm__answer_fault(const jm_error *err)
{
    return json_pack("{s:s, s:o, s:o}", "status", jm_status_name(err->status), "error",
                     jm__json_text(err->text), "hint", jm__json_text(err->hint));
}

json_t *jm__answer_board(const jm_cap_board *board)
{
    return json_pack("{s:b, s:i, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "ok", 1, "index",
                     board->index, "uuid", jm__json_text(board->uuid), "name", jm__json_text(board->name),
                     "simulated", board->simulated, "found_w", jm__json_real(board->cap_w), "enforced_w",
                     jm__json_real(board->enforced_w), "default_w", jm__json_real(board->default_w), "low_w",
                     jm__json_real(board->low_w), "high_w", jm__json_real(board->high_w), "may_set",
                     jm__json_text(board->may_set));
}

void jm__answer_board_read(jm_cap_board *board, const json_t *answer)
{
    *board = (jm_cap_board){.index = (int32_t)json_integer_value(json_object_get(answer, "index")),
                            .simulated = json_is_true(json_object_get(answer, "simulated")),
                            .cap_w = jm__json_number(answer, "found_w"),
                            .enforced_w = jm__json_number(answer, "enforced_w"),
                            .default_w = jm__json_number(answer, "default_w"),
                            .low_w = jm__json_number(answer, "low_w"),
                            .high_w = jm__json_number(answer, "high_w")};
    jm__json_copy(board->uuid, sizeof board->uuid, answer, "uuid");
    jm__json_copy(board->name, sizeof board->name, answer, "name");
    jm__json_copy(board->may_set, sizeof board->may_set, answer, "may_set");
}

static jm_status status_of_name(const char *name)
{
    for (int status = JM_OK + 1; status < JM_STATUS_COUNT; status++)
        if (strcmp(jm_status_name((jm_status)status), name) == 0) return (jm_status)status;
    return JM_INTERNAL;
}

jm_status jm__answer_status(const json_t *answer, jm_error *err)
{
    char text[sizeof err->text], hint[sizeof err->hint];
    const char *name = json_string_value(json_object_get(answer, "status"));
    if (json_is_true(json_object_get(answer, "ok"))) return JM_OK;
    if (name == NULL) return jm__fail(err, JM_BAD_DATA, 0, NULL, "the answer is none");
    jm__json_copy(text, sizeof text, answer, "error");
    jm__json_copy(hint, sizeof hint, answer, "hint");
    jm_status status = status_of_name(name);
    jm__fail(err, status, 0, NULL, "%s", text);
    return jm__hint(err, status, "%s", hint);
}

const char *jm__answer_over(const json_t *answer, bool *back)
{
    *back = json_is_true(json_object_get(answer, "back"));
    return json_string_value(json_object_get(answer, "over"));
}
