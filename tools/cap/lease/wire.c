/* Lines of JSON over a stream socket. */
#include "cap/lease/wire.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Until the socket is ready for `events`; false: not by then. */
static bool wait_for(int fd, short events, int64_t until_ns)
{
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = events};
        int64_t left_ns = until_ns - jm__now_ns();
        int left_ms = left_ns <= 0 ? 0 : (int)(left_ns / JM_NS_PER_MS) + 1;
        int count = poll(&ready, 1, left_ms);
        if (count > 0) return true;
        if (count == 0 && left_ns <= 0) return false;
        if (count < 0 && errno != EINTR) return true; /* the call that follows says what it is */
    }
}

static bool may_come_later(int code)
{
    return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

static jm__wire_is send_all(int fd, const char *bytes, size_t count, int64_t until_ns)
{
    while (count > 0) {
        ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && !may_come_later(errno)) return JM_WIRE_CLOSED;
        if (sent < 0 && !wait_for(fd, POLLOUT, until_ns)) return JM_WIRE_LATE;
        if (sent < 0) continue;
        bytes += sent;
        count -= (size_t)sent;
    }
    return JM_WIRE_LINE;
}

jm__wire_is jm__wire_send(jm__wire *wire, json_t *object, int64_t until_ns)
{
    char line[JM_WIRE_LINE_MAX];
    size_t length = object == NULL ? 0 : json_dumpb(object, line, sizeof line - 1, JSON_COMPACT);
    json_decref(object);
    if (length == 0 || length > sizeof line - 1) return JM_WIRE_GARBAGE;
    line[length] = '\n';
    return send_all(wire->fd, line, length + 1, until_ns);
}

/* A whole line out of what has come, if there is one. */
static jm__wire_is take_line(jm__wire *wire, json_t **object)
{
    const char *end = memchr(wire->bytes, '\n', wire->count);
    if (end == NULL) return wire->count == sizeof wire->bytes ? JM_WIRE_GARBAGE : JM_WIRE_LATE;
    size_t length = (size_t)(end - wire->bytes);
    *object = json_loadb(wire->bytes, length, JSON_REJECT_DUPLICATES, NULL);
    wire->count -= length + 1;
    memmove(wire->bytes, end + 1, wire->count);
    if (json_is_object(*object)) return JM_WIRE_LINE;
    json_decref(*object);
    *object = NULL;
    return JM_WIRE_GARBAGE;
}

jm__wire_is jm__wire_receive(jm__wire *wire, json_t **object, int64_t until_ns)
{
    *object = NULL;
    for (;;) {
        jm__wire_is is = take_line(wire, object);
        if (is != JM_WIRE_LATE) return is;
        ssize_t count =
            recv(wire->fd, wire->bytes + wire->count, sizeof wire->bytes - wire->count, MSG_DONTWAIT);
        if (count == 0 || (count < 0 && !may_come_later(errno))) return JM_WIRE_CLOSED;
        if (count > 0)
            wire->count += (size_t)count;
        else if (!wait_for(wire->fd, POLLIN, until_ns))
            return JM_WIRE_LATE;
    }
}
