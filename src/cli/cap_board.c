/* Which GPU `joulemap cap` is about, and words for times and holders. */
#include "cli/cap_board.h"
#include "cli/verb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

jm_cap_boards *cli_cap_boards(const cli_args *args, int *code)
{
    jm_cap_boards *boards = NULL;
    jm_error err;
    if (jm_cap_boards_create(&boards, cli_get(args, "--sim"), &err) != JM_OK) {
        *code = cli_fail(args, &err);
        return NULL;
    }
    if (jm_cap_boards_count(boards) > 0) return boards;
    *code = cli_error(args, JM_NO_DEVICE, "`joulemap doctor` tells why; `--sim h200` simulates a GPU",
                      "no GPU found whose power cap can be read");
    jm_cap_boards_free(boards);
    return NULL;
}

bool cli_cap_is_meant(const cli_args *args, const jm_cap_board *board)
{
    const char *name = cli_get(args, "--board");
    char index[16];
    if (name == NULL) return true;
    snprintf(index, sizeof index, "%d", (int)board->index);
    return strcmp(name, index) == 0 || strcmp(name, board->uuid) == 0;
}

const jm_cap_board *cli_cap_board_meant(const cli_args *args, const jm_cap_boards *boards, int *code)
{
    const jm_cap_board *meant = NULL;
    size_t count = 0;
    for (size_t i = 0; i < jm_cap_boards_count(boards); i++) {
        const jm_cap_board *board = jm_cap_boards_board(boards, i);
        if (!cli_cap_is_meant(args, board)) continue;
        meant = board;
        count++;
    }
    if (count == 1) return meant;
    *code = count > 1 ? cli_usage_error(args, "there are %zu GPUs: say which with --board", count)
                      : cli_error(args, JM_NOT_FOUND, "`joulemap cap show` shows those there are",
                                  "there is no GPU %s whose power cap can be read", cli_get(args, "--board"));
    return NULL;
}

bool cli_cap_get_time(const cli_args *args, const char *name, int64_t *out_ns)
{
    static const char units[] = "smh";
    static const double seconds[] = {1, 60, 3600};
    static const double most_s = 366.0 * 24 * 3600;
    const char *text = cli_get(args, name);
    if (text == NULL) return true;
    char *end = NULL;
    double value = strtod(text, &end);
    bool plain = end > text && strspn(text, "0123456789.") == (size_t)(end - text);
    const char *unit = plain && *end != '\0' && end[1] == '\0' ? strchr(units, *end) : NULL;
    if (unit != NULL && value > 0 && value * seconds[unit - units] <= most_s) {
        *out_ns = (int64_t)llround(value * seconds[unit - units] * 1e9);
        return true;
    }
    cli_usage_error(args, "option \"%s\" cannot be \"%s\": it is a time like 30s, 10m or 2h", name, text);
    return false;
}

const char *cli_cap_time_text(char *text, size_t size, int64_t duration_ns)
{
    long long s = duration_ns < 0 ? 0 : (long long)(duration_ns / 1000000000);
    if (s < 60)
        snprintf(text, size, "%lld s", s);
    else if (s < 3600)
        snprintf(text, size, "%lld min %lld s", s / 60, s % 60);
    else
        snprintf(text, size, "%lld h %lld min", s / 3600, s / 60 % 60);
    return text;
}

const char *cli_cap_holder_text(char *text, size_t size, const jm_cap_lease_info *lease)
{
    char who[44]; /* with the rest a line of 80 columns */
    const char *name = lease->who[0] != '\0' ? lease->who : "a program";
    jm_text_printable(who, sizeof who, name);
    if (strlen(who) < strlen(name) && strlen(who) + 4 > sizeof who - 3)
        snprintf(who + strlen(who) - 3, 4, "...");
    if (lease->pid > 0)
        snprintf(text, size, "%s (pid %lld, user %lld)", who, (long long)lease->pid, (long long)lease->uid);
    else
        snprintf(text, size, "%s (user %lld)", who, (long long)lease->uid);
    return text;
}
