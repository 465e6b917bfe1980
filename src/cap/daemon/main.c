/* joulemap-capd: sets power caps for ordinary users, within bounds that root gave. It sets nothing itself:
 * each cap is a lease, whose helper does. Started by `joulemap capd`, which has the options for people. */
#include "base/status.h"
#include "cap/daemon/serve.h"
#include "cap/lease/daemon.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where nothing else is said. */
#define CONFIG "/etc/joulemap/capd.json"

static int fail(const jm_error *err)
{
    fprintf(stderr, "joulemap capd: %s%s%s\n", err->text, err->hint[0] != '\0' ? ": " : "", err->hint);
    return jm_status_exit_code(err->status);
}

static int fail_memory(void)
{
    jm_error err = {0};
    jm__no_memory(&err, "strdup");
    return fail(&err);
}

static int check(const jm__capd *daemon, const jm__capd_serve_options *options)
{
    size_t users = 0, groups = 0;
    for (size_t i = 0; i < daemon->policy.rule_count; i++) {
        users += daemon->policy.rules[i].user_count;
        groups += daemon->policy.rules[i].group_count;
    }
    if (daemon->policy.rule_count == 0)
        printf("%s: root alone may set caps\n", options->config);
    else
        printf("%s: %zu rule%s, %zu user%s, %zu group%s, and root\n", options->config,
               daemon->policy.rule_count, daemon->policy.rule_count == 1 ? "" : "s", users,
               users == 1 ? "" : "s", groups, groups == 1 ? "" : "s");
    return 0;
}

/* What an earlier daemon and its helpers left, all killed at once: put back, or why it could not be. */
static jm_status restore(jm__capd *daemon, jm_error *err)
{
    static jm_cap_restored restored[JM_CAPD_BOARDS_MAX];
    size_t count;
    JM_TRY(jm_cap_restore(restored, JM_CAPD_BOARDS_MAX, &count, err));
    for (size_t i = 0; i < count && i < JM_CAPD_BOARDS_MAX; i++) {
        const bool back = restored[i].fault[0] == '\0';
        const jm__capd_event event = {.event = "restore",
                                      .board = restored[i].uuid,
                                      .who = restored[i].lease.who,
                                      .found_w = restored[i].lease.found_w,
                                      .cap_w = restored[i].lease.cap_w,
                                      .clock_mhz = NAN,
                                      .status = back ? JM_OK : JM_IO,
                                      .why = restored[i].fault};
        jm__capd_audit_write(&daemon->audit, &event);
    }
    return JM_OK;
}

int main(int argc, char **argv)
{
    static jm__capd daemon; /* some 0.5 MB */
    jm_error err = {0};
    if (argc != 6) {
        fprintf(stderr, "joulemap-capd: started by `joulemap capd` alone\n");
        return jm_status_exit_code(JM_USAGE);
    }
    /* "serve" or "check", then paths; "": what is usual */
    const jm__capd_serve_options options = {.socket =
                                                argv[2][0] != '\0' ? argv[2] : strdup(jm__capd_socket()),
                                            .config = argv[3][0] != '\0' ? argv[3] : CONFIG,
                                            .config_required = argv[3][0] != '\0'};
    if (options.socket == NULL) return fail_memory();
    daemon.setter = &jm__capd_leases;
    daemon.audit.path = argv[4][0] != '\0' ? argv[4] : NULL;
    daemon.sim = argv[5][0] != '\0' ? argv[5] : NULL;
    if (jm__capd_read_policy(&daemon.policy, &options, &err) != JM_OK) return fail(&err);
    if (strcmp(argv[1], "check") == 0) return check(&daemon, &options);
    if (jm__capd_audit_open(&daemon.audit, &err) != JM_OK) return fail(&err);
    unsetenv("JOULEMAP_CAPD_SOCKET"); /* its own leases ask no daemon: it would wait for itself */
    jm__capd_hold_signals();
    if (restore(&daemon, &err) != JM_OK) return fail(&err);
    if (jm__capd_look(&daemon, &err) != JM_OK) return fail(&err);
    if (daemon.board_count == 0) {
        fprintf(stderr, "joulemap capd: no GPU whose cap can be read: `joulemap doctor` tells why\n");
        return jm_status_exit_code(JM_NO_DEVICE);
    }
    return jm__capd_serve(&daemon, &options, &err) == JM_OK ? 0 : fail(&err);
}
