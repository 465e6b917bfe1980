/* The daemon's log. */
#include "cap/daemon/audit.h"

#include "base/clock.h"
#include "base/json_value.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { REFUSED_MAX = 50 };

jm_status jm__capd_audit_open(jm__capd_audit *audit, jm_error *err)
{
    if (audit->path == NULL) {
        audit->fd = STDERR_FILENO;
        return JM_OK;
    }
    int fd = open(audit->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0)
        return jm__fail(err, JM_IO, errno, "open", "the log %.300s: %s", audit->path, strerror(errno));
    if (audit->fd > STDERR_FILENO) close(audit->fd);
    audit->fd = fd;
    audit->broken = false;
    return JM_OK;
}

static void add_text(json_t *line, const char *key, const char *text)
{
    if (text != NULL && text[0] != '\0') json_object_set_new(line, key, jm__json_text(text));
}

static void add_number(json_t *line, const char *key, double number)
{
    if (isfinite(number)) json_object_set_new(line, key, json_real(number));
}

/* The program at the other end, as far as it can be told. */
static void add_peer(json_t *line, const jm__capd_peer *peer)
{
    char link[48], exe[512];
    if (peer == NULL) return;
    json_object_set_new(line, "uid", json_integer((json_int_t)peer->uid));
    json_object_set_new(line, "pid", json_integer((json_int_t)peer->pid));
    snprintf(link, sizeof link, "/proc/%lld/exe", (long long)peer->pid);
    ssize_t length = readlink(link, exe, sizeof exe - 1);
    exe[length < 0 ? 0 : length] = '\0';
    add_text(line, "exe", exe);
}

static json_t *line_of(const jm__capd_event *event, int64_t now_ns, size_t left_out)
{
    char text[32];
    time_t second = (time_t)(now_ns / JM_NS_PER_S);
    struct tm parts;
    json_t *line = json_object();
    if (line == NULL || gmtime_r(&second, &parts) == NULL) return line;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    add_text(line, "time", text);
    add_text(line, "event", event->event);
    add_peer(line, event->peer);
    add_text(line, "board", event->board);
    add_text(line, "who", event->who);
    add_number(line, "found_w", event->found_w);
    add_number(line, "cap_w", event->cap_w);
    add_number(line, "clock_mhz", event->clock_mhz);
    add_text(line, "status", jm_status_name(event->status));
    add_text(line, "why", event->why);
    if (left_out > 0) json_object_set_new(line, "left_out", json_integer((json_int_t)left_out));
    return line;
}

static bool write_line(int fd, const json_t *line)
{
    char *text = line == NULL ? NULL : json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII);
    size_t length = text == NULL ? 0 : strlen(text);
    if (text != NULL) text[length] = '\n'; /* in the end's place: one write a line */
    bool whole = text != NULL && write(fd, text, length + 1) == (ssize_t)length + 1;
    free(text);
    return whole;
}

/* Not refused, but failed: a board may stand as it should not. */
static bool has_failed(jm_status status)
{
    return status == JM_DEVICE_LOST || status == JM_IO || status == JM_INTERNAL || status == JM_NO_MEMORY;
}

/* Somebody who is refused a thousand times a second fills no disk. */
static bool is_too_much(jm__capd_audit *audit, const jm__capd_event *event, int64_t now_ns)
{
    if (event->status == JM_OK || has_failed(event->status)) return false;
    if (audit->second != now_ns / JM_NS_PER_S) audit->refused = 0;
    audit->second = now_ns / JM_NS_PER_S;
    if (audit->refused++ < REFUSED_MAX) return false;
    audit->left_out++;
    return true;
}

void jm__capd_audit_write(jm__capd_audit *audit, const jm__capd_event *event)
{
    int64_t now_ns = jm__anchor_take().realtime_ns;
    if (is_too_much(audit, event, now_ns)) return;
    json_t *line = line_of(event, now_ns, audit->left_out);
    if (write_line(audit->fd, line)) {
        audit->left_out = 0;
    } else if (!audit->broken) {
        audit->broken = true;
        fprintf(stderr, "joulemap capd: the log %s cannot be written: %s; what follows is not in it\n",
                audit->path == NULL ? "on standard error" : audit->path, strerror(errno));
    }
    json_decref(line);
}
