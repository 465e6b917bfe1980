/* Obeying a holder, and noticing that it is gone, that time is up, that the guard was killed. */
#include "cap/helper/serve.h"

#include "base/clock.h"
#include "base/status.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* Who started this process asks at once; and takes an answer, unless it stands still. */
#define FIRST_NS (INT64_C(30) * JM_NS_PER_S)
#define SAY_NS   (INT64_C(5) * JM_NS_PER_S)
/* A guard that could not be started is tried again: descriptors or processes had run out. */
enum { WITHOUT_GUARD_MS = 500 };

static bool say(jm__server *server, json_t *object)
{
    return jm__wire_send(&server->link, object, jm__now_ns() + SAY_NS) == JM_WIRE_LINE;
}

/* ---- requests */

/* Written down before it is set: whoever comes after a kill knows of it. */
static jm_status set_cap(jm__server *server, double cap_w, double *enforced_w, jm_error *err)
{
    jm__lease_state *state = &server->state;
    double before_w = state->info.cap_w;
    if (!(cap_w >= server->low_w && cap_w <= server->high_w)) {
        jm__fail(err, JM_NO_PERMISSION, 0, NULL, "GPU %d: this user may set %.4g to %.4g W, not %.6g W",
                 (int)state->index, server->low_w, server->high_w, cap_w);
        return jm__hint(err, JM_NO_PERMISSION, "%s", "");
    }
    if (isfinite(before_w)) state->before_w = before_w;
    state->info.cap_w = cap_w;
    JM_TRY(jm__lease_state_write(state, &server->folder, err));
    jm_status status = jm__setter_set(&server->setter, cap_w, enforced_w, err);
    if (status == JM_OK)
        server->has_set = true;
    else if (status == JM_USAGE) /* nothing was set */
        state->info.cap_w = before_w;
    return status;
}

static bool is_refused(jm_status status)
{
    return status == JM_USAGE || status == JM_NOT_SUPPORTED || status == JM_NO_PERMISSION;
}

static jm_status hold_clock(jm__server *server, double clock_mhz, jm_error *err)
{
    bool before = server->state.clock_held;
    if (clock_mhz <= 0 && !before) return JM_OK; /* what others hold is theirs */
    if (isfinite(server->high_w) || server->board != NULL) {
        jm__fail(err, JM_NO_PERMISSION, 0, NULL, "GPU %d: this user may set its cap, not its clock",
                 (int)server->state.index);
        return jm__hint(err, JM_NO_PERMISSION, "%s", "");
    }
    server->state.clock_held = true;
    JM_TRY(jm__lease_state_write(&server->state, &server->folder, err));
    jm_status status = jm__setter_clock(&server->setter, clock_mhz, err);
    if (status == JM_OK && clock_mhz > 0) server->has_set = true;
    if (status == JM_OK)
        server->state.clock_held = clock_mhz > 0;
    else if (is_refused(status)) { /* nothing is to be let go of: where that cannot be done either, no end
                                      would be */
        server->state.clock_held = before;
        (void)jm__lease_state_write(&server->state, &server->folder, NULL);
    }
    return status;
}

static json_t *with_watts(json_t *answer, const char *key, double watts)
{
    if (answer != NULL && isfinite(watts)) json_object_set_new(answer, key, json_real(watts));
    return answer;
}

/* The answer; *over: it was the last. */
static json_t *obey(jm__server *server, const jm__request *request, bool *over)
{
    jm_error err = {0};
    double enforced_w = NAN;
    json_t *answer = jm__answer_ok();
    jm_status status = JM_OK;
    if (request->ask == JM_ASK_SET) {
        status = set_cap(server, request->number, &enforced_w, &err);
        answer = with_watts(answer, "enforced_w", enforced_w);
    } else if (request->ask == JM_ASK_CLOCK) {
        status = hold_clock(server, request->number, &err);
    } else if (request->ask == JM_ASK_END) {
        *over = true;
        status = jm__server_put_back(server, &err);
        if (status != JM_OK)
            jm__hint(&err, status, "%.4g W, as found, is still to be put back: `joulemap cap restore`",
                     server->state.info.found_w);
    } else {
        status = jm__fail(&err, JM_USAGE, 0, NULL, "a lease has one board, from its first request on");
    }
    if (status == JM_OK) return answer;
    json_decref(answer);
    return jm__answer_fault(&err);
}

/* ---- a lease */

/* It ends for another reason than its holder's word. */
static void leave(jm__server *server, const char *why)
{
    jm_error err = {0};
    bool back = jm__server_put_back(server, &err) == JM_OK;
    (void)say(server, json_pack("{s:s, s:b, s:s}", "over", back ? why : err.text, "back", back, "why", why));
}

static int wait_ms(const jm__server *server)
{
    const int most_ms = server->guard.link < 0 ? WITHOUT_GUARD_MS : 60000;
    if (server->until_ns == INT64_MAX) return server->guard.link < 0 ? most_ms : -1;
    int64_t left_ms = (server->until_ns - jm__now_ns()) / JM_NS_PER_MS + 1;
    return left_ms < 0 ? 0 : left_ms > most_ms ? most_ms : (int)left_ms;
}

/* What came over the link. False: the lease is over. */
static bool hear(jm__server *server)
{
    json_t *object;
    jm_error err = {0};
    jm__request request;
    bool over = false;
    jm__wire_is is = jm__wire_receive(&server->link, &object, 0);
    if (is == JM_WIRE_LATE) return true;
    if (is == JM_WIRE_CLOSED && server->detached && server->has_set) {
        server->link.fd = -1; /* from now on it stands by itself */
        server->holder = -1;
        return true;
    }
    if (is == JM_WIRE_CLOSED) {
        leave(server, "its holder ended");
        return false;
    }
    jm_status status = is == JM_WIRE_GARBAGE ? jm__fail(&err, JM_BAD_DATA, 0, NULL, "a line is no request")
                                             : jm__request_read(&request, object, &err);
    json_decref(object);
    if (status != JM_OK) {
        (void)say(server, jm__answer_fault(&err));
        leave(server, "its holder said what cannot be understood");
        return false;
    }
    /* One that does not hear the answer is gone, or stands still: the descriptors tell. */
    (void)say(server, obey(server, &request, &over));
    return !over;
}

static void hold(jm__server *server)
{
    for (;;) {
        struct pollfd ready[] = {{.fd = server->link.fd, .events = POLLIN},
                                 {.fd = server->holder, .events = POLLIN},
                                 {.fd = server->terminated, .events = POLLIN},
                                 {.fd = server->guard.link, .events = POLLIN}};
        if (poll(ready, 4, wait_ms(server)) < 0 && errno != EINTR) break;
        if (ready[2].revents != 0) break;
        if (jm__now_ns() >= server->until_ns) {
            leave(server, "its time was up");
            return;
        }
        if (ready[3].revents != 0) jm__guard_reap(&server->guard);
        if (server->guard.link < 0)
            (void)jm__guard_start(&server->guard, &server->folder, server->state.uuid, server->lock);
        if (ready[0].revents != 0 && !hear(server)) return;
        /* What the holder asked for before it went was done first. */
        if (ready[1].revents == 0 || ready[0].revents != 0) continue;
        if (server->detached && server->has_set) {
            server->holder = -1;
            continue;
        }
        leave(server, "its holder ended");
        return;
    }
    leave(server, "it was reset");
}

/* ---- the first request */

static void do_once(jm__server *server, const jm__request *request)
{
    jm_error err = {0};
    int32_t index;
    jm_status status = request->ask == JM_ASK_RESET ? jm__server_reset(server, request->uuid, &index, &err)
                                                    : jm__server_restore(server, request->uuid, &index, &err);
    json_t *answer = status == JM_OK ? jm__answer_ok() : jm__answer_fault(&err);
    if (answer != NULL) json_object_set_new(answer, "index", json_integer(index));
    (void)say(server, answer);
}

/* The board as it was found, and which process to look for where this one does not answer. */
static json_t *taken_json(const jm__server *server)
{
    jm_cap_board board = server->setter.board;
    board.low_w = fmax(board.low_w, server->low_w);
    board.high_w = fmin(board.high_w, server->high_w);
    json_t *answer = jm__answer_board(&board);
    if (answer == NULL) return NULL;
    json_object_set_new(answer, "helper_pid", json_integer(server->state.helper_pid));
    json_object_set_new(answer, "helper_start", json_integer(server->state.helper_start));
    return answer;
}

void jm__serve(jm__server *server)
{
    json_t *object;
    jm_error err = {0};
    jm__request request;
    if (jm__wire_receive(&server->link, &object, jm__now_ns() + FIRST_NS) != JM_WIRE_LINE) return;
    jm_status status = jm__request_read(&request, object, &err);
    json_decref(object);
    if (status == JM_OK) status = jm__lease_folder_find(&server->folder, &err);
    if (status == JM_OK && (request.ask == JM_ASK_RESTORE || request.ask == JM_ASK_RESET)) {
        do_once(server, &request);
        return;
    }
    if (status == JM_OK && request.ask != JM_ASK_TAKE)
        status = jm__fail(&err, JM_USAGE, 0, NULL, "a lease begins with \"take\"");
    if (status == JM_OK) status = jm__server_take(server, &request, &err);
    if (status != JM_OK)
        (void)say(server, jm__answer_fault(&err));
    else if (say(server, taken_json(server)))
        hold(server);
    else
        leave(server, "its holder takes no answer");
}
