/* The policy file: read, looked through, asked. */
#include "cap/daemon/policy.h"

#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <jansson.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20 };
#define LONGEST_S (366.0 * 24 * 3600)

/* Where in the file: for words. */
typedef struct place {
    const char *path;
    size_t rule; /* from 1 */
} place;

static jm_status fail_rule(const place *at, jm_error *err, const char *what)
{
    return jm__fail(err, JM_BAD_DATA, 0, NULL, "%.300s: rule %zu of \"allow\": %s", at->path, at->rule, what);
}

/* ---- lists of a rule */

static bool find_user(const json_t *item, uid_t *user)
{
    const struct passwd *known = json_is_string(item) ? getpwnam(json_string_value(item)) : NULL;
    if (json_is_integer(item) && json_integer_value(item) >= 0 && json_integer_value(item) < UINT32_MAX)
        *user = (uid_t)json_integer_value(item);
    else if (known != NULL)
        *user = known->pw_uid;
    else
        return false;
    return true;
}

static bool find_group(const json_t *item, gid_t *group)
{
    const struct group *known = json_is_string(item) ? getgrnam(json_string_value(item)) : NULL;
    if (json_is_integer(item) && json_integer_value(item) >= 0 && json_integer_value(item) < UINT32_MAX)
        *group = (gid_t)json_integer_value(item);
    else if (known != NULL)
        *group = known->gr_gid;
    else
        return false;
    return true;
}

static bool find_board(const json_t *item, jm__capd_board_id *board)
{
    *board = (jm__capd_board_id){.index = -1};
    if (json_is_integer(item) && json_integer_value(item) >= 0 && json_integer_value(item) < INT32_MAX) {
        board->index = (int32_t)json_integer_value(item);
        return true;
    }
    const char *text = json_string_value(item);
    if (text == NULL || text[0] == '\0' || strlen(text) >= sizeof board->uuid) return false;
    memcpy(board->uuid, text, strlen(text) + 1);
    return true;
}

static jm_status fail_item(const place *at, const char *what, const json_t *item, jm_error *err)
{
    char text[96], words[160];
    size_t length = json_dumpb(item, text, sizeof text - 1, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    text[length < sizeof text ? length : sizeof text - 1] = '\0';
    snprintf(words, sizeof words, "there is no %s %s", what, length < sizeof text ? text : "of that name");
    return fail_rule(at, err, words);
}

static bool is_list(const json_t *value)
{
    return value == NULL || json_is_array(value);
}

static jm_status read_lists(jm__capd_rule *rule, const json_t *object, const place *at, jm_error *err)
{
    const json_t *users = json_object_get(object, "users"), *groups = json_object_get(object, "groups"),
                 *boards = json_object_get(object, "boards");
    if (!is_list(users) || !is_list(groups) || !is_list(boards))
        return fail_rule(at, err, "\"users\", \"groups\" and \"boards\" are lists");
    rule->user_count = json_array_size(users);
    rule->group_count = json_array_size(groups);
    rule->board_count = json_array_size(boards);
    if (rule->user_count + rule->group_count == 0)
        return fail_rule(at, err, "\"users\" or \"groups\" names nobody");
    if (rule->board_count == 0) return fail_rule(at, err, "\"boards\" names none; [\"*\"] are all of them");
    if (rule->user_count > JM_CAPD_IDS_MAX || rule->group_count > JM_CAPD_IDS_MAX ||
        rule->board_count > JM_CAPD_BOARDS_MAX)
        return fail_rule(at, err, "a list has more than 64 members");
    for (size_t i = 0; i < rule->user_count; i++)
        if (!find_user(json_array_get(users, i), &rule->users[i]))
            return fail_item(at, "user", json_array_get(users, i), err);
    for (size_t i = 0; i < rule->group_count; i++)
        if (!find_group(json_array_get(groups, i), &rule->groups[i]))
            return fail_item(at, "group", json_array_get(groups, i), err);
    for (size_t i = 0; i < rule->board_count; i++)
        if (!find_board(json_array_get(boards, i), &rule->boards[i]))
            return fail_item(at, "board", json_array_get(boards, i), err);
    return JM_OK;
}

/* ---- the rest of a rule */

static jm_status read_right(jm__capd_right *right, const json_t *object, const place *at, jm_error *err)
{
    const json_t *low = json_object_get(object, "low_w"), *high = json_object_get(object, "high_w"),
                 *longest = json_object_get(object, "longest_s"), *clocks = json_object_get(object, "clocks");
    *right = (jm__capd_right){.low_w = json_number_value(low),
                              .high_w = json_number_value(high),
                              .clocks = json_is_true(clocks),
                              .longest_ns = (int64_t)0};
    if (!json_is_number(low) || !json_is_number(high) || !(right->low_w > 0) ||
        !(right->high_w >= right->low_w))
        return fail_rule(at, err, "\"low_w\" and \"high_w\" are watts above 0, the lower one first");
    if (clocks != NULL && !json_is_boolean(clocks)) return fail_rule(at, err, "\"clocks\" is true or false");
    double seconds = json_number_value(longest);
    if (longest != NULL && !(json_is_number(longest) && seconds > 0 && seconds <= LONGEST_S))
        return fail_rule(at, err, "\"longest_s\" is a number of seconds above 0, a year at most");
    right->longest_ns = (int64_t)ceil(seconds * 1e9); /* 0 were any time */
    return JM_OK;
}

static jm_status look_at_keys(const json_t *object, const char *const *known, const char *path, jm_error *err)
{
    void *at = json_object_iter((json_t *)(uintptr_t)object);
    for (; at != NULL; at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
        size_t i = 0;
        while (known[i] != NULL && strcmp(known[i], json_object_iter_key(at)) != 0)
            i++;
        if (known[i] != NULL) continue;
        jm__fail(err, JM_BAD_DATA, 0, NULL, "%.300s: what is \"%.60s\"?", path, json_object_iter_key(at));
        return jm__hint(err, JM_BAD_DATA, "a key that is not known is refused: docs/capd.md has them");
    }
    return JM_OK;
}

static jm_status read_rule(jm__capd_rule *rule, const json_t *object, const place *at, jm_error *err)
{
    static const char *const keys[] = {"users",  "groups", "boards",    "low_w",
                                       "high_w", "clocks", "longest_s", NULL};
    if (!json_is_object(object)) return fail_rule(at, err, "it is no object");
    JM_TRY(look_at_keys(object, keys, at->path, err));
    JM_TRY(read_lists(rule, object, at, err));
    return read_right(&rule->right, object, at, err);
}

/* ---- the file */

static jm_status read_rules(jm__capd_policy *policy, const json_t *root, const char *path, jm_error *err)
{
    static const char *const keys[] = {"allow", NULL};
    const json_t *allow = json_object_get(root, "allow");
    if (!json_is_object(root) || !json_is_array(allow))
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "%.300s: it has no list \"allow\"", path);
    JM_TRY(look_at_keys(root, keys, path, err));
    if (json_array_size(allow) > JM_CAPD_RULES_MAX)
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "%.300s: more than %d rules", path, JM_CAPD_RULES_MAX);
    policy->rule_count = json_array_size(allow);
    for (size_t i = 0; i < policy->rule_count; i++) {
        const place at = {path, i + 1};
        JM_TRY(read_rule(&policy->rules[i], json_array_get(allow, i), &at, err));
    }
    return JM_OK;
}

jm_status jm__capd_policy_parse(jm__capd_policy *policy, const char *text, size_t size, const char *path,
                                jm_error *err)
{
    json_error_t fault;
    memset(policy, 0, sizeof *policy);
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &fault);
    if (root == NULL && json_error_code(&fault) == json_error_out_of_memory)
        return jm__no_memory(err, "json_loadb");
    if (root == NULL)
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "%.300s: line %d: %.150s", path, fault.line, fault.text);
    jm_status status = read_rules(policy, root, path, err);
    json_decref(root);
    if (status != JM_OK) memset(policy, 0, sizeof *policy); /* a half is none */
    return status;
}

static jm_status look_at_owner(const struct stat *found, const char *path, jm_error *err)
{
    if (S_ISREG(found->st_mode) && (found->st_uid == 0 || found->st_uid == geteuid()) &&
        (found->st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return JM_OK;
    jm__fail(err, JM_NO_PERMISSION, 0, NULL, "%.300s is not believed: others may write to it", path);
    return jm__hint(err, JM_NO_PERMISSION, "chown root %.200s; chmod 644 %.200s", path, path);
}

jm_status jm__capd_policy_read(jm__capd_policy *policy, const char *path, jm_error *err)
{
    struct stat found;
    memset(policy, 0, sizeof *policy);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return jm__fail(err, errno == ENOENT ? JM_NOT_FOUND : JM_IO, errno, "open", "%.300s: %s", path,
                        strerror(errno));
    jm_status status = fstat(fd, &found) != 0
                           ? jm__fail(err, JM_IO, errno, "fstat", "%.300s: %s", path, strerror(errno))
                           : look_at_owner(&found, path, err);
    char *text = status == JM_OK ? malloc(FILE_MAX) : NULL;
    ssize_t size = text == NULL ? 0 : read(fd, text, FILE_MAX);
    if (status == JM_OK && text == NULL) status = jm__no_memory(err, "malloc");
    if (status == JM_OK && (size < 0 || size == FILE_MAX))
        status = jm__fail(err, JM_BAD_DATA, 0, "read", "%.300s cannot be read, or is over 1 MiB", path);
    if (status == JM_OK) status = jm__capd_policy_parse(policy, text, (size_t)size, path, err);
    free(text);
    close(fd);
    return status;
}

/* ---- asked */

static bool names_peer(const jm__capd_rule *rule, const jm__capd_peer *peer)
{
    for (size_t i = 0; i < rule->user_count; i++)
        if (rule->users[i] == peer->uid) return true;
    for (size_t i = 0; i < rule->group_count; i++)
        for (size_t j = 0; j < peer->group_count; j++)
            if (rule->groups[i] == peer->groups[j]) return true;
    return false;
}

static bool names_board(const jm__capd_rule *rule, int32_t index, const char *uuid)
{
    for (size_t i = 0; i < rule->board_count; i++) {
        const jm__capd_board_id *board = &rule->boards[i];
        if (board->index >= 0 ? board->index == index
                              : strcmp(board->uuid, "*") == 0 || strcmp(board->uuid, uuid) == 0)
            return true;
    }
    return false;
}

bool jm__capd_policy_names(const jm__capd_policy *policy, const jm__capd_peer *peer)
{
    for (size_t i = 0; i < policy->rule_count; i++)
        if (names_peer(&policy->rules[i], peer)) return true;
    return peer->uid == 0;
}

bool jm__capd_policy_find(const jm__capd_policy *policy, const jm__capd_peer *peer, int32_t index,
                          const char *uuid, jm__capd_right *right)
{
    for (size_t i = 0; peer->uid != 0 && i < policy->rule_count; i++) {
        const jm__capd_rule *rule = &policy->rules[i];
        if (!names_peer(rule, peer) || !names_board(rule, index, uuid)) continue;
        *right = rule->right;
        return true;
    }
    *right = (jm__capd_right){.high_w = INFINITY, .clocks = true};
    return peer->uid == 0;
}
