/* Requests of the daemon's clients: looked at, held against the policy, passed on to leases, written down. */
#include "cap/daemon/client.h"

#include "base/clock.h"
#include "base/status.h"
#include "cap/lease/reach.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const jm__capd_setter jm__capd_leases = {
    .take = jm_cap_lease_take,
    .set = jm_cap_lease_set,
    .clock = jm_cap_lease_clock,
    .board = jm_cap_lease_board,
    .end = jm_cap_lease_end,
    .attach = jm__lease_attach,
    .reset = jm_cap_reset,
    .find = jm_cap_boards_create,
};

/* ---- boards */

jm_status jm__capd_look(jm__capd *daemon, jm_error *err)
{
    jm_cap_boards *found;
    JM_TRY(daemon->setter->find(&found, daemon->sim, err));
    size_t before = daemon->board_count;
    for (size_t i = 0; i < before; i++)
        daemon->boards[i].index = -1; /* one that has gone gives its index to another */
    for (size_t i = 0; i < jm_cap_boards_count(found); i++) {
        const jm_cap_board *board = jm_cap_boards_board(found, i);
        size_t at = 0;
        if (board->uuid[0] == '\0') continue; /* a lease would be of whichever has the index then */
        while (at < before && strcmp(daemon->boards[at].uuid, board->uuid) != 0)
            at++;
        if (at == before && (at = daemon->board_count) == JM_CAPD_BOARDS_MAX) break;
        jm__capd_board *known = &daemon->boards[at];
        if (at == daemon->board_count) *known = (jm__capd_board){.index = -1};
        if (at == daemon->board_count) daemon->board_count++;
        snprintf(known->uuid, sizeof known->uuid, "%s", board->uuid);
        known->index = board->index;
        known->low_w = board->low_w;
        known->high_w = board->high_w;
    }
    jm_cap_boards_free(found);
    return JM_OK;
}

static bool find_known(const jm__capd *daemon, const jm__request *request, size_t *at)
{
    for (*at = 0; *at < daemon->board_count; ++*at) {
        const jm__capd_board *board = &daemon->boards[*at];
        if (request->uuid[0] != '\0' ? strcmp(board->uuid, request->uuid) == 0
                                     : board->index == request->index)
            return true;
    }
    return false;
}

static jm_status find_board(const jm__capd *daemon, const jm__request *request, size_t *at, jm_error *err)
{
    if (find_known(daemon, request, at)) return JM_OK;
    if (request->uuid[0] != '\0')
        return jm__fail(err, JM_NOT_FOUND, 0, NULL, "there is no GPU %.95s", request->uuid);
    return jm__fail(err, JM_NOT_FOUND, 0, NULL, "there is no GPU %d", (int)request->index);
}

/* ---- what is written down */

static jm__capd_event event_of(const jm__capd *daemon, const jm__capd_client *client, const char *name)
{
    jm__capd_event event = {.event = name,
                            .peer = &client->peer,
                            .found_w = NAN,
                            .cap_w = NAN,
                            .clock_mhz = NAN,
                            .status = JM_OK};
    if (client->lease == NULL) return event;
    event.board = daemon->boards[client->board].uuid;
    event.found_w = daemon->setter->board(client->lease)->cap_w;
    return event;
}

static void note(jm__capd *daemon, jm__capd_event *event, jm_status status, const jm_error *err)
{
    event->status = status;
    if (status != JM_OK) event->why = err->text;
    jm__capd_audit_write(&daemon->audit, event);
}

void jm__capd_refuse(jm__capd *daemon, const jm__capd_peer *peer, const char *why)
{
    const jm__capd_event event = {.event = "refused",
                                  .peer = peer,
                                  .found_w = NAN,
                                  .cap_w = NAN,
                                  .clock_mhz = NAN,
                                  .status = JM_BAD_DATA,
                                  .why = why};
    jm__capd_audit_write(&daemon->audit, &event);
}

/* ---- rights */

static jm_status look_for_right(const jm__capd *daemon, const jm__capd_client *client, size_t at,
                                jm__capd_right *right, jm_error *err)
{
    const jm__capd_board *board = &daemon->boards[at];
    if (jm__capd_policy_find(&daemon->policy, &client->peer, board->index, board->uuid, right)) {
        right->low_w = fmax(right->low_w, board->low_w);
        right->high_w = fmin(right->high_w, board->high_w);
        return JM_OK;
    }
    jm__fail(err, JM_NO_PERMISSION, 0, NULL, "user %lld may not set caps of GPU %d",
             (long long)client->peer.uid, (int)board->index);
    return jm__hint(err, JM_NO_PERMISSION, "ask who looks after this machine: `joulemap capd` allows it");
}

static jm_status bound_time(const jm__capd_right *right, jm__request *request, jm_error *err)
{
    if (right->longest_ns > 0 && request->for_ns == 0) request->for_ns = right->longest_ns;
    if (right->longest_ns > 0 && request->for_ns > right->longest_ns)
        return jm__fail(err, JM_NO_PERMISSION, 0, NULL, "a lease of this user is for %.6g s at most",
                        (double)right->longest_ns * 1e-9);
    if (!request->detached || request->for_ns > 0) return JM_OK;
    jm__fail(err, JM_NO_PERMISSION, 0, NULL, "a cap that outlives its program needs an end");
    return jm__hint(err, JM_NO_PERMISSION, "joulemap cap set ... --for 10m");
}

/* Too soon: how long to wait. */
static jm_status look_at_rate(const jm__capd_board *board, int64_t now_ns, double *wait_s, jm_error *err)
{
    int64_t left_ns = board->changed_ns + JM_CAPD_CHANGE_NS - now_ns;
    if (board->changed_ns == 0 || left_ns <= 0) return JM_OK;
    *wait_s = (double)left_ns * 1e-9;
    jm__fail(err, JM_BUSY, 0, NULL, "GPU %d was changed less than a second ago", (int)board->index);
    return jm__hint(err, JM_BUSY, "wait for %.2f s", *wait_s);
}

/* ---- requests */

static jm_status take(jm__capd *daemon, jm__capd_client *client, jm__request *request, json_t **answer,
                      jm_error *err)
{
    size_t at;
    jm__capd_right right;
    char who[JM_LEASE_TEXT];
    if (client->lease != NULL)
        return jm__fail(err, JM_USAGE, 0, NULL, "a connection has one board, from its first request on");
    JM_TRY(find_board(daemon, request, &at, err));
    JM_TRY(look_for_right(daemon, client, at, &right, err));
    JM_TRY(bound_time(&right, request, err));
    jm_text_printable(who, sizeof who, request->who); /* others' terminals show it */
    const jm_cap_lease_options options = {.size = sizeof options,
                                          .sim = daemon->sim,
                                          .uuid = daemon->boards[at].uuid,
                                          .who = who[0] != '\0' ? who : "a client of joulemap capd",
                                          .for_ns = request->for_ns,
                                          .detached = request->detached,
                                          .of_pid = client->peer.pid,
                                          .of_uid = (int64_t)client->peer.uid};
    JM_TRY(daemon->setter->take(&client->lease, &options, err));
    client->board = at;
    client->detached = request->detached;
    client->stays = false;
    client->right = right;
    jm_cap_board told = *daemon->setter->board(client->lease);
    told.low_w = right.low_w;
    told.high_w = right.high_w;
    *answer = jm__answer_board(&told);
    return JM_OK;
}

static jm_status set(jm__capd *daemon, jm__capd_client *client, double cap_w, int64_t now_ns, json_t **answer,
                     double *wait_s, jm_error *err)
{
    double enforced_w = NAN;
    jm__capd_board *board = &daemon->boards[client->board];
    JM_TRY(look_for_right(daemon, client, client->board, &client->right, err));
    if (!(cap_w >= client->right.low_w && cap_w <= client->right.high_w))
        return jm__fail(err, JM_NO_PERMISSION, 0, NULL, "this user may set GPU %d from %.4g to %.4g W",
                        (int)board->index, client->right.low_w, client->right.high_w);
    JM_TRY(look_at_rate(board, now_ns, wait_s, err));
    board->changed_ns = now_ns;
    JM_TRY(daemon->setter->set(client->lease, cap_w, &enforced_w, err));
    client->stays = client->detached;
    *answer = jm__answer_ok();
    if (*answer != NULL && isfinite(enforced_w))
        json_object_set_new(*answer, "enforced_w", json_real(enforced_w));
    return JM_OK;
}

static jm_status hold_clock(jm__capd *daemon, jm__capd_client *client, double clock_mhz, int64_t now_ns,
                            double *wait_s, jm_error *err)
{
    jm__capd_board *board = &daemon->boards[client->board];
    JM_TRY(look_for_right(daemon, client, client->board, &client->right, err));
    if (!client->right.clocks)
        return jm__fail(err, JM_NO_PERMISSION, 0, NULL, "this user may not hold clocks of GPU %d",
                        (int)board->index);
    JM_TRY(look_at_rate(board, now_ns, wait_s, err));
    board->changed_ns = now_ns;
    JM_TRY(daemon->setter->clock(client->lease, clock_mhz, err));
    client->stays = client->stays || (client->detached && clock_mhz > 0);
    return JM_OK;
}

/* A board that was put back is a board that was changed: the next one waits. One that nobody changed was not.
 */
static void was_put_back(jm__capd_board *board)
{
    int64_t now_ns = jm__now_ns();
    if (board->changed_ns != 0 && board->changed_ns < now_ns) board->changed_ns = now_ns;
}

static jm_status put_back(jm__capd *daemon, size_t at, const char *uuid, jm_error *err)
{
    jm_status status = daemon->setter->reset(uuid, NULL, err);
    was_put_back(&daemon->boards[at]);
    return status;
}

/* Another connection's, or a detached lease: its own user may end it. */
static jm_status reset(jm__capd *daemon, const jm__capd_client *client, const jm__request *request,
                       jm_error *err)
{
    size_t at;
    jm__capd_right right;
    jm_cap_boards *boards;
    jm_status status = JM_NOT_FOUND;
    JM_TRY(find_board(daemon, request, &at, err));
    /* Before NVML is started, which takes long: anybody may ask. */
    JM_TRY(look_for_right(daemon, client, at, &right, err));
    JM_TRY(daemon->setter->find(&boards, daemon->sim, err));
    jm__fail(err, JM_NOT_FOUND, 0, NULL, "GPU %d has no lease", (int)daemon->boards[at].index);
    for (size_t i = 0; i < jm_cap_boards_count(boards); i++) {
        const jm_cap_board *board = jm_cap_boards_board(boards, i);
        if (strcmp(board->uuid, daemon->boards[at].uuid) != 0 || !board->has_lease) continue;
        if (client->peer.uid == 0 || board->lease.uid == (int64_t)client->peer.uid)
            status = put_back(daemon, at, board->uuid, err);
        else
            status = jm__fail(err, JM_NO_PERMISSION, 0, NULL, "GPU %d is held by %s of user %lld",
                              (int)board->index, board->lease.who, (long long)board->lease.uid);
    }
    jm_cap_boards_free(boards);
    return status;
}

static jm_status end(jm__capd *daemon, jm__capd_client *client, jm_error *err)
{
    jm_cap_lease *lease = client->lease;
    jm__capd_board *board = &daemon->boards[client->board];
    client->lease = NULL;
    jm_status status = daemon->setter->end(lease, err);
    if (!client->stays) was_put_back(board);
    return status;
}

/* It said so itself: also what would outlive it ends. */
static jm_status end_now(jm__capd *daemon, jm__capd_client *client, jm_error *err)
{
    daemon->setter->attach(client->lease);
    client->stays = false;
    return end(daemon, client, err);
}

/* Which board is asked for, also where it is not given. */
static const char *board_asked(const jm__capd *daemon, const jm__request *request)
{
    size_t at;
    return find_known(daemon, request, &at) ? daemon->boards[at].uuid : NULL;
}

static jm_status look_for(jm__capd *daemon, const jm__capd_client *client, const jm__request *request,
                          json_t **answer, jm_error *err)
{
    size_t at;
    jm__capd_right right;
    JM_TRY(find_board(daemon, request, &at, err));
    JM_TRY(look_for_right(daemon, client, at, &right, err));
    *answer = json_pack("{s:b, s:f, s:f, s:b}", "ok", 1, "low_w", right.low_w, "high_w", right.high_w,
                        "clocks", right.clocks);
    return JM_OK;
}

static const char *const names[] = {
    [JM_ASK_TAKE] = "take", [JM_ASK_SET] = "set",       [JM_ASK_CLOCK] = "clock",
    [JM_ASK_END] = "end",   [JM_ASK_RESTORE] = "reset", [JM_ASK_MAY] = "look",
};

static jm_status obey(jm__capd *daemon, jm__capd_client *client, jm__request *request, int64_t now_ns,
                      json_t **answer, double *wait_s, jm_error *err)
{
    bool of_lease = request->ask == JM_ASK_SET || request->ask == JM_ASK_CLOCK || request->ask == JM_ASK_END;
    if (of_lease && client->lease == NULL)
        return jm__fail(err, JM_USAGE, 0, NULL, "there is no lease yet: \"take\" comes first");
    switch (request->ask) {
    case JM_ASK_TAKE:
        return take(daemon, client, request, answer, err);
    case JM_ASK_SET:
        return set(daemon, client, request->number, now_ns, answer, wait_s, err);
    case JM_ASK_CLOCK:
        return hold_clock(daemon, client, request->number, now_ns, wait_s, err);
    case JM_ASK_END:
        return end_now(daemon, client, err);
    case JM_ASK_RESTORE:
        return reset(daemon, client, request, err);
    case JM_ASK_MAY:
    default:
        return look_for(daemon, client, request, answer, err);
    }
}

bool jm__capd_knows(const jm__capd *daemon, const jm__capd_peer *peer)
{
    return jm__capd_policy_names(&daemon->policy, peer);
}

json_t *jm__capd_obey(jm__capd *daemon, jm__capd_client *client, const json_t *object, int64_t now_ns,
                      bool *costly)
{
    jm__request request;
    jm_error err = {0};
    json_t *answer = NULL;
    double wait_s = NAN;
    *costly = false;
    if (jm__request_read(&request, object, &err) != JM_OK) {
        jm__capd_refuse(daemon, &client->peer, err.text);
        return jm__answer_fault(&err);
    }
    jm__capd_event event = event_of(daemon, client, names[request.ask]); /* as it was before */
    jm_status status = obey(daemon, client, &request, now_ns, &answer, &wait_s, &err);
    if (request.ask == JM_ASK_TAKE) {
        if (status == JM_OK) event = event_of(daemon, client, "take");
        event.who = request.who;
    }
    if (request.ask == JM_ASK_RESTORE) event.found_w = NAN; /* that of the client's own lease */
    if (request.ask == JM_ASK_RESTORE || (request.ask == JM_ASK_TAKE && status != JM_OK))
        event.board = board_asked(daemon, &request);
    if (request.ask == JM_ASK_SET) event.cap_w = request.number;
    if (request.ask == JM_ASK_CLOCK) event.clock_mhz = request.number;
    *costly = request.ask != JM_ASK_MAY && jm__capd_knows(daemon, &client->peer);
    if (request.ask != JM_ASK_MAY) note(daemon, &event, status, &err);
    if (status == JM_OK) return answer != NULL ? answer : jm__answer_ok();
    answer = jm__answer_fault(&err);
    if (answer != NULL && isfinite(wait_s)) json_object_set_new(answer, "wait_s", json_real(wait_s));
    return answer;
}

bool jm__capd_revoke(jm__capd *daemon, jm__capd_client *client)
{
    jm__capd_right right;
    jm_error err = {0};
    if (client->lease == NULL || look_for_right(daemon, client, client->board, &right, NULL) == JM_OK)
        return false;
    jm__capd_event event = event_of(daemon, client, "revoke");
    note(daemon, &event, end_now(daemon, client, &err), &err);
    return true;
}

void jm__capd_drop(jm__capd *daemon, jm__capd_client *client, const char *why)
{
    jm_error err = {0};
    if (why != NULL) jm__capd_refuse(daemon, &client->peer, why);
    if (client->lease == NULL) return;
    jm__capd_event event = event_of(daemon, client, client->stays ? "leave" : "end");
    event.why = client->stays ? "it was to outlive its client" : "its client is gone";
    note(daemon, &event, end(daemon, client, &err), &err);
}
