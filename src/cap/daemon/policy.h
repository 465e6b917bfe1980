/* Who may set which caps on which boards, as an administrator wrote it down. */
#ifndef JM_CAP_DAEMON_POLICY_H
#define JM_CAP_DAEMON_POLICY_H

#include <joulemap/board.h>
#include <sys/types.h>

enum { JM_CAPD_IDS_MAX = 64, JM_CAPD_BOARDS_MAX = 64, JM_CAPD_RULES_MAX = 64 };

/* What somebody may do to a board. */
typedef struct jm__capd_right {
    double low_w, high_w;
    bool clocks;
    int64_t longest_ns; /* of a lease; 0: any */
} jm__capd_right;

typedef struct jm__capd_board_id {
    int32_t index;            /* -1: by UUID */
    char uuid[JM_BOARD_TEXT]; /* "*": any board */
} jm__capd_board_id;

typedef struct jm__capd_rule {
    uid_t users[JM_CAPD_IDS_MAX];
    gid_t groups[JM_CAPD_IDS_MAX];
    jm__capd_board_id boards[JM_CAPD_BOARDS_MAX];
    size_t user_count, group_count, board_count;
    jm__capd_right right;
} jm__capd_rule;

typedef struct jm__capd_policy {
    jm__capd_rule rules[JM_CAPD_RULES_MAX];
    size_t rule_count;
} jm__capd_policy;

/* Who asks: a process at the other end of a socket, as the kernel tells. */
typedef struct jm__capd_peer {
    int64_t pid;
    uid_t uid;
    gid_t groups[JM_CAPD_IDS_MAX];
    size_t group_count;
} jm__capd_peer;

/* Nothing is allowed that is not written there: a key that is not known, a user that there is not, a number
 * that cannot be are errors (BAD_DATA), and so is a file that others than root and this user may write
 * (NO_PERMISSION). NOT_FOUND: there is no file. */
jm_status jm__capd_policy_read(jm__capd_policy *policy, const char *path, jm_error *err);
jm_status jm__capd_policy_parse(jm__capd_policy *policy, const char *text, size_t size, const char *path,
                                jm_error *err);

/* Some rule names who asks, or it is root. */
bool jm__capd_policy_names(const jm__capd_policy *policy, const jm__capd_peer *peer);

/* Root may do all. Of several rules the first that names who asks, and the board, counts. False: none does.
 */
bool jm__capd_policy_find(const jm__capd_policy *policy, const jm__capd_peer *peer, int32_t index,
                          const char *uuid, jm__capd_right *right);

#endif
