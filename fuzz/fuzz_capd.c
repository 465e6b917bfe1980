/* What others may say to joulemap-capd, and what may stand in its policy file. No board is asked for
 * anything: leases are those of a setter of this file, which holds the daemon to what it promises.
 *
 * The first byte says which: 'p', a policy file; else lines of JSON, each after two letters: who asks ("a" to
 * "d": uid 0 to 3), and how long after the last line ("0" to "9": in 0.2 s; "x": that client is gone). */
#include "fuzz.h"

#include "base/clock.h"
#include "base/status.h"
#include "cap/daemon/client.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLIENTS = 4, BOARDS = 2 };

static const char *const uuids[BOARDS] = {"GPU-0", "GPU-1"};
static const char policy_text[] =
    "{\"allow\": [{\"users\": [1], \"boards\": [0], \"low_w\": 300, \"high_w\": 500, \"longest_s\": 60},"
    "{\"users\": [1, 2], \"boards\": [\"GPU-1\"], \"low_w\": 250, \"high_w\": 600, \"clocks\": true}]}";

/* ---- boards that are none */

struct jm_cap_lease {
    jm_cap_board board;
    int64_t uid;
    bool detached;
};

static struct {
    int64_t now_ns, changed_ns[BOARDS];
    int live; /* leases */
    struct jm_cap_lease *holder[BOARDS];
    const jm__capd *daemon;
} world;

static jm_status take(jm_cap_lease **out, const jm_cap_lease_options *options, jm_error *err)
{
    int32_t at = strcmp(options->uuid, uuids[1]) == 0;
    FUZZ_PROMISE(strcmp(options->uuid, uuids[at]) == 0);
    FUZZ_PROMISE(options->of_uid != 3); /* whom no rule names */
    FUZZ_PROMISE(options->of_uid == 0 || at == 1 || options->of_uid == 1);
    FUZZ_PROMISE(options->of_uid != 1 || at == 1 || (options->for_ns > 0 && options->for_ns <= 60000000000));
    FUZZ_PROMISE(!options->detached || options->for_ns > 0);
    for (const char *c = options->who; *c != '\0'; c++)
        FUZZ_PROMISE((unsigned char)*c >= ' ' && *c != 0x7f);
    if (world.holder[at] != NULL) return jm__fail(err, JM_BUSY, 0, NULL, "GPU %d is held", (int)at);
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return jm__no_memory(err, "calloc");
    (*out)->board = (jm_cap_board){.index = at, .cap_w = 700, .low_w = 200, .high_w = 700};
    memcpy((*out)->board.uuid, uuids[at], sizeof "GPU-0");
    (*out)->uid = options->of_uid;
    (*out)->detached = options->detached;
    world.holder[at] = *out;
    world.live++;
    return JM_OK;
}

static void change(const jm_cap_lease *lease)
{
    int64_t *changed_ns = &world.changed_ns[lease->board.index];
    FUZZ_PROMISE(world.holder[lease->board.index] == lease);
    FUZZ_PROMISE(*changed_ns == 0 || world.now_ns - *changed_ns >= JM_CAPD_CHANGE_NS);
    *changed_ns = world.now_ns;
}

static jm_status set(jm_cap_lease *lease, double cap_w, double *enforced_w, jm_error *err)
{
    static const double low_w[] = {200, 300, 250}, high_w[] = {700, 500, 600};
    (void)err;
    double low = lease->uid == 1 && lease->board.index == 1 ? 250 : low_w[lease->uid],
           high = lease->uid == 1 && lease->board.index == 1 ? 600 : high_w[lease->uid];
    FUZZ_PROMISE(cap_w >= low && cap_w <= high);
    change(lease);
    *enforced_w = cap_w;
    return JM_OK;
}

static jm_status hold_clock(jm_cap_lease *lease, double clock_mhz, jm_error *err)
{
    (void)err;
    FUZZ_PROMISE(lease->uid == 0 || lease->board.index == 1);
    FUZZ_PROMISE(isfinite(clock_mhz));
    change(lease);
    return JM_OK;
}

static const jm_cap_board *board_of(const jm_cap_lease *lease)
{
    return &lease->board;
}

static jm_status end(jm_cap_lease *lease, jm_error *err)
{
    (void)err;
    FUZZ_PROMISE(lease != NULL && world.holder[lease->board.index] == lease);
    world.holder[lease->board.index] = NULL;
    world.live--;
    free(lease);
    return JM_OK;
}

static void attach(jm_cap_lease *lease)
{
    lease->detached = false;
}

static jm_status reset(const char *uuid, jm_cap_restored *out, jm_error *err)
{
    (void)uuid;
    (void)out;
    (void)err;
    fuzz_broken("no lease of another process is ended: there is none here", __FILE__, __LINE__);
}

static jm_status find(jm_cap_boards **out, const char *sim, jm_error *err)
{
    (void)sim;
    *out = NULL; /* of no boards; jm_cap_boards_count(NULL) is 0 */
    return jm__fail(err, JM_BUSY, 0, NULL, "not now");
}

static const jm__capd_setter setter = {take, set, hold_clock, board_of, end, attach, reset, find};

/* ---- a talk */

static void say(jm__capd *daemon, jm__capd_client *client, const char *line, size_t size)
{
    json_t *object = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(object)) { /* the wire's matter: fuzz_lease.c */
        json_decref(object);
        return;
    }
    bool costly;
    json_t *answer = jm__capd_obey(daemon, client, object, world.now_ns, &costly);
    FUZZ_PROMISE(answer != NULL);
    char *text = json_dumps(answer, JSON_COMPACT);
    FUZZ_PROMISE(text != NULL && strlen(text) < 4096);
    FUZZ_PROMISE(json_is_true(json_object_get(answer, "ok")) ||
                 json_is_string(json_object_get(answer, "error")));
    free(text);
    json_decref(answer);
    json_decref(object);
}

static void talk(const char *text, size_t size)
{
    static jm__capd daemon; /* some 0.5 MB */
    jm__capd_client clients[CLIENTS];
    jm_error err = {0};
    memset(&daemon, 0, sizeof daemon);
    memset(&world, 0, sizeof world);
    world.now_ns = jm__now_ns();
    daemon.setter = &setter;
    daemon.audit = (jm__capd_audit){.fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};
    FUZZ_PROMISE(jm__capd_policy_parse(&daemon.policy, policy_text, sizeof policy_text - 1, "p", &err) ==
                 JM_OK);
    daemon.board_count = BOARDS;
    for (int32_t i = 0; i < BOARDS; i++) {
        daemon.boards[i] = (jm__capd_board){.index = i, .low_w = 200, .high_w = 700};
        memcpy(daemon.boards[i].uuid, uuids[i], sizeof "GPU-0");
    }
    for (uid_t i = 0; i < CLIENTS; i++)
        clients[i] = (jm__capd_client){.peer = {.pid = 1, .uid = i}};
    for (const char *line = text, *after = text + size; line < after;) {
        const char *stop = memchr(line, '\n', (size_t)(after - line));
        if (stop == NULL) stop = after;
        if (stop - line >= 2 && line[0] >= 'a' && line[0] < 'a' + CLIENTS) {
            jm__capd_client *client = &clients[line[0] - 'a'];
            if (line[1] >= '0' && line[1] <= '9') world.now_ns += (line[1] - '0') * INT64_C(200000000);
            if (line[1] == 'x') jm__capd_drop(&daemon, client, NULL);
            say(&daemon, client, line + 2, (size_t)(stop - line - 2));
        }
        line = stop + 1;
    }
    for (int i = 0; i < CLIENTS; i++)
        jm__capd_drop(&daemon, &clients[i], "the end");
    FUZZ_PROMISE(world.live == 0);
    close(daemon.audit.fd);
}

/* ---- a policy */

static void read_policy(const char *text, size_t size)
{
    static jm__capd_policy policy;
    jm_error err = {0};
    jm_status status = jm__capd_policy_parse(&policy, text, size, "capd.json", &err);
    FUZZ_PROMISE(status == JM_OK || (status == JM_BAD_DATA && strstr(err.text, "capd.json") != NULL));
    FUZZ_PROMISE(status == JM_OK || policy.rule_count == 0);
    for (size_t i = 0; i < policy.rule_count; i++) {
        const jm__capd_rule *rule = &policy.rules[i];
        FUZZ_PROMISE(rule->user_count + rule->group_count > 0 && rule->board_count > 0);
        FUZZ_PROMISE(rule->right.low_w > 0 && rule->right.low_w <= rule->right.high_w);
        FUZZ_PROMISE(rule->right.longest_ns >= 0);
    }
    const jm__capd_peer nobody = {.uid = 4711, .groups = {4712}, .group_count = 1};
    jm__capd_right right;
    if (policy.rule_count == 0) FUZZ_PROMISE(!jm__capd_policy_find(&policy, &nobody, 0, "GPU-0", &right));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    if (data[0] == 'p')
        read_policy((const char *)data + 1, size - 1);
    else
        talk((const char *)data + 1, size - 1);
    return 0;
}
