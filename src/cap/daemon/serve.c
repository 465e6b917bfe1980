/* Connections of the daemon, in one thread: nobody is waited for but the helper of a lease. */
#include "cap/daemon/serve.h"

#include "base/clock.h"
#include "base/status.h"
#include "cap/lease/wire.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    CLIENTS_MAX = 256,
    CLIENTS_OF_USER_MAX = 32,
    STRANGERS_MAX = 64, /* whom the policy names nowhere, together: one user may have thousands of numbers */
    LINES_AT_ONCE = 16, /* of one client, before the next one's turn */
    ACCEPTS_AT_ONCE = 64,
    TICK_MS = 500,     /* how late a client that hangs is seen */
    GROUPS_MAX = 4096, /* of a process: with more, its first alone counts */
};
#define SILENT_NS (INT64_C(5) * JM_NS_PER_S) /* without a lease */
#define HALF_NS   (INT64_C(3) * JM_NS_PER_S) /* in the midst of a line */

typedef struct connection {
    jm__capd_client client;
    jm__wire wire;
    bool stranger;    /* the policy named it nowhere when it came */
    int64_t heard_ns; /* its last whole line, or its beginning */
    int64_t half_ns;  /* since when there is a piece of a line; 0: there is none */
    bool more;        /* lines that have come, or may have, and wait for their turn */
} connection;

typedef struct server {
    jm__capd *daemon;
    const jm__capd_serve_options *options;
    int listener, signals;
    bool rests; /* no client is let in before the next tick: descriptors have run out */
    connection *connections[CLIENTS_MAX];
    size_t count;
    uid_t served[CLIENTS_MAX]; /* who had a helper at work in this round: each user one, then the others' turn
                                */
    size_t served_count;
} server;

/* ---- clients come */

static void find_peer(int fd, jm__capd_peer *peer)
{
    struct ucred credentials = {.pid = 0, .uid = (uid_t)-1, .gid = (gid_t)-1};
    socklen_t size = sizeof credentials;
    (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size);
    *peer = (jm__capd_peer){
        .pid = credentials.pid, .uid = credentials.uid, .groups = {credentials.gid}, .group_count = 1};
    /* Those that the process has, not those that its user could have: and no directory service is waited for.
     */
    gid_t groups[GROUPS_MAX];
    size = sizeof groups;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) != 0) return;
    size_t count = size / sizeof groups[0], room = JM_CAPD_IDS_MAX - 1;
    if (count > room) count = room; /* more than there is room for: those that fit */
    memcpy(peer->groups + 1, groups, count * sizeof groups[0]);
    peer->group_count = 1 + count;
}

static size_t count_of_user(const server *s, uid_t uid)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += s->connections[i]->client.peer.uid == uid;
    return count;
}

static size_t count_of_strangers(const server *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += s->connections[i]->stranger;
    return count;
}

/* NULL: there is room. */
static const char *look_for_room(const server *s, const jm__capd_peer *peer)
{
    if (s->count == CLIENTS_MAX) return "too many clients";
    if (peer->uid != 0 && count_of_user(s, peer->uid) >= CLIENTS_OF_USER_MAX)
        return "too many clients of this user";
    if (!jm__capd_knows(s->daemon, peer) && count_of_strangers(s) >= STRANGERS_MAX)
        return "too many clients that may set nothing";
    return NULL;
}

static void turn_away(const server *s, int fd, const jm__capd_peer *peer, const char *why)
{
    jm__wire wire = {.fd = fd};
    (void)jm__wire_send(
        &wire,
        json_pack("{s:s, s:s, s:s}", "status", jm_status_name(JM_BUSY), "error", why, "hint", "try again"),
        0);
    jm__capd_refuse(s->daemon, peer, why);
    close(fd);
}

/* False: there is none. */
static bool accept_one(server *s, int64_t now_ns)
{
    jm__capd_peer peer;
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    /* It has gone again; or descriptors have run out, and it would be there at once again. */
    s->rests = fd < 0 && errno != EAGAIN && errno != ECONNABORTED && errno != EINTR;
    if (fd < 0) return false;
    find_peer(fd, &peer);
    const char *why = look_for_room(s, &peer);
    if (why != NULL) {
        turn_away(s, fd, &peer, why);
        return true;
    }
    connection *c = calloc(1, sizeof *c);
    if (c == NULL) {
        turn_away(s, fd, &peer, "out of memory");
        return true;
    }
    c->client.peer = peer;
    c->wire.fd = fd;
    c->stranger = !jm__capd_knows(s->daemon, &peer);
    c->heard_ns = now_ns;
    s->connections[s->count++] = c;
    return true;
}

/* A round may be long, where a helper is waited for: who comes after many others does not wait for as many.
 */
static void accept_some(server *s)
{
    for (int i = 0; i < ACCEPTS_AT_ONCE && accept_one(s, jm__now_ns()); i++)
        continue;
}

/* ---- clients go */

static void drop(server *s, size_t at, const char *why)
{
    connection *c = s->connections[at];
    jm__capd_drop(s->daemon, &c->client, why);
    close(c->wire.fd);
    free(c);
    s->connections[at] = s->connections[--s->count];
}

/* ---- clients ask */

static bool was_served(const server *s, uid_t uid)
{
    for (size_t i = 0; i < s->served_count; i++)
        if (s->served[i] == uid) return true;
    return false;
}

/* False: it is gone, or is to go. */
static bool hear(server *s, connection *c, const char **why)
{
    c->more = was_served(s, c->client.peer.uid);
    if (c->more) return true;
    for (int lines = 0; lines < LINES_AT_ONCE; lines++) {
        json_t *object;
        jm__wire_is is = jm__wire_receive(&c->wire, &object, 0);
        int64_t now_ns = jm__now_ns();
        if (is == JM_WIRE_LATE) {
            if (c->wire.count == 0)
                c->half_ns = 0;
            else if (c->half_ns == 0)
                c->half_ns = now_ns;
            return true;
        }
        *why = is == JM_WIRE_GARBAGE ? "no line of JSON, or one that is too long" : NULL;
        if (is != JM_WIRE_LINE) return false;
        c->heard_ns = now_ns;
        c->half_ns = 0;
        bool costly;
        json_t *answer = jm__capd_obey(s->daemon, &c->client, object, now_ns, &costly);
        json_decref(object);
        *why = "it does not take its answers";
        if (jm__wire_send(&c->wire, answer, 0) != JM_WIRE_LINE) return false;
        if (!costly) continue;
        s->served[s->served_count++] = c->client.peer.uid;
        break;
    }
    c->more = true;
    return true;
}

/* NULL: it may stay. */
static const char *look_at_time(const connection *c, int64_t now_ns)
{
    if (c->half_ns > 0 && now_ns - c->half_ns > HALF_NS) return "half a line, and no more";
    if (c->client.lease == NULL && now_ns - c->heard_ns > SILENT_NS) return "it says nothing";
    return NULL;
}

/* `now_ns`: when it was looked what has come. What came since, while another's helper was waited for, is
 * heard in the next round: nobody is sent away for that. */
static void serve_clients(server *s, const struct pollfd *ready, int64_t now_ns)
{
    size_t count = s->count;
    s->served_count = 0;
    for (size_t i = count; i-- > 0;) { /* the last one takes the place of one that goes */
        const char *why = NULL;
        connection *c = s->connections[i];
        bool stays = ready[i].revents == 0 && !c->more ? true : hear(s, c, &why);
        if (stays) why = c->more ? NULL : look_at_time(c, now_ns);
        if (!stays || why != NULL) drop(s, i, why);
    }
}

/* ---- signals */

jm_status jm__capd_read_policy(jm__capd_policy *policy, const jm__capd_serve_options *options, jm_error *err)
{
    jm_status status = jm__capd_policy_read(policy, options->config, err);
    return status == JM_NOT_FOUND && !options->config_required ? JM_OK : status;
}

static void tell(const server *s, const char *event, jm_status status, const char *why)
{
    const jm__capd_event line = {
        .event = event, .found_w = NAN, .cap_w = NAN, .clock_mhz = NAN, .status = status, .why = why};
    jm__capd_audit_write(&s->daemon->audit, &line);
}

static void begin_again(server *s)
{
    static jm__capd_policy read; /* some 0.5 MB */
    jm_error err = {0};
    jm_status status = jm__capd_audit_open(&s->daemon->audit, &err);
    if (status != JM_OK) tell(s, "reload", status, err.text);
    status = jm__capd_read_policy(&read, s->options, &err);
    if (status == JM_OK) s->daemon->policy = read;
    if (status == JM_OK) status = jm__capd_look(s->daemon, &err);
    tell(s, "reload", status, status == JM_OK ? NULL : err.text);
    for (size_t i = s->count; i-- > 0;)
        if (jm__capd_revoke(s->daemon, &s->connections[i]->client)) drop(s, i, NULL);
}

/* False: it is to end. */
static bool take_signal(server *s)
{
    struct signalfd_siginfo signal;
    if (read(s->signals, &signal, sizeof signal) != (ssize_t)sizeof signal) return true;
    if (signal.ssi_signo != SIGHUP) return false;
    begin_again(s);
    return true;
}

static sigset_t signals_taken(void)
{
    sigset_t taken;
    sigemptyset(&taken);
    sigaddset(&taken, SIGTERM);
    sigaddset(&taken, SIGINT);
    sigaddset(&taken, SIGHUP);
    return taken;
}

void jm__capd_hold_signals(void)
{
    const sigset_t taken = signals_taken();
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &taken, NULL);
}

static int open_signals(void)
{
    const sigset_t taken = signals_taken();
    return signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- the socket */

static bool somebody_answers(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool answers = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) == 0;
    if (fd >= 0) close(fd);
    return answers;
}

static jm_status open_listener(server *s, jm_error *err)
{
    const char *path = s->options->socket;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return jm__fail(err, JM_USAGE, 0, NULL, "the path of the socket is longer than %zu bytes",
                        sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (somebody_answers(&address)) {
        jm__fail(err, JM_BUSY, 0, NULL, "a daemon serves %s already", path);
        return jm__hint(err, JM_BUSY, "stop it first");
    }
    struct stat found;
    /* Anybody may ask; the policy says who is answered. Not by chmod: who owns the folder could have put
     * another file there meanwhile. */
    mode_t before = umask(0111);
    if (lstat(path, &found) == 0 && S_ISSOCK(found.st_mode)) unlink(path); /* of one that was killed */
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool listens = s->listener >= 0 &&
                   bind(s->listener, (const struct sockaddr *)&address, sizeof address) == 0 &&
                   listen(s->listener, SOMAXCONN) == 0;
    umask(before);
    if (listens) return JM_OK;
    jm__fail(err, errno == EACCES ? JM_NO_PERMISSION : JM_IO, errno, "bind", "the socket %s: %s", path,
             strerror(errno));
    if (s->listener >= 0) close(s->listener);
    return err == NULL ? JM_IO : err->status;
}

/* ---- all of it */

static void serve_on(server *s)
{
    enum { LISTENER, SIGNALS, FIRST };
    for (;;) {
        static struct pollfd ready[FIRST + CLIENTS_MAX];
        bool more = false;
        ready[LISTENER] = (struct pollfd){.fd = s->rests ? -1 : s->listener, .events = POLLIN};
        ready[SIGNALS] = (struct pollfd){.fd = s->signals, .events = POLLIN};
        for (size_t i = 0; i < s->count; i++) {
            ready[FIRST + i] = (struct pollfd){.fd = s->connections[i]->wire.fd, .events = POLLIN};
            more = more || s->connections[i]->more;
        }
        int found = poll(ready, FIRST + s->count, more ? 0 : s->count > 0 || s->rests ? TICK_MS : -1);
        if (found < 0 && errno != EINTR) return;
        if (found < 0) continue;
        s->rests = false;
        serve_clients(s, ready + FIRST, jm__now_ns());
        if (ready[LISTENER].revents != 0) accept_some(s);
        if (ready[SIGNALS].revents != 0 && !take_signal(s)) return;
    }
}

jm_status jm__capd_serve(jm__capd *daemon, const jm__capd_serve_options *options, jm_error *err)
{
    static server s;
    s = (server){.daemon = daemon, .options = options, .signals = open_signals()};
    if (s.signals < 0) return jm__fail(err, JM_IO, errno, "signalfd", "no signalfd: %s", strerror(errno));
    jm_status status = open_listener(&s, err);
    if (status != JM_OK) {
        close(s.signals);
        return status;
    }
    tell(&s, "start", JM_OK, options->socket);
    serve_on(&s);
    unlink(options->socket); /* while it is served: later it may be another's */
    close(s.listener);
    while (s.count > 0)
        drop(&s, s.count - 1, NULL);
    tell(&s, "stop", JM_OK, NULL);
    close(s.signals);
    return JM_OK;
}
