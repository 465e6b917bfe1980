/* `joulemap cap show`: each GPU's power cap, what can be set, and who holds it. */
#include "cli/cap_board.h"

#include "cli/json.h"

#include <math.h>
#include <string.h>
#include <time.h>

static int64_t unix_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* "700 W", "?" */
static const char *watts(char *text, size_t size, double value)
{
    if (isnan(value))
        snprintf(text, size, "?");
    else
        snprintf(text, size, "%.4g W", value);
    return text;
}

static void range(char *text, size_t size, const jm_cap_board *board)
{
    if (isnan(board->low_w)) /* then both are */
        snprintf(text, size, "?");
    else
        snprintf(text, size, "%.4g to %.4g W", board->low_w, board->high_w);
}

static void print_lease(const jm_cap_lease_info *lease)
{
    char holder[JM_LEASE_TEXT + 64], since[32], left[32];
    int64_t now_ns = unix_now_ns();
    if (isnan(lease->found_w)) {
        puts("    has a lease that cannot be read");
        return;
    }
    cli_cap_time_text(since, sizeof since, now_ns - lease->since_unix_ns);
    printf("    found at %.4g W%s by %s\n", lease->found_w,
           lease->lost ? ", which is still to be put back," : "",
           cli_cap_holder_text(holder, sizeof holder, lease));
    if (lease->until_unix_ns > 0)
        printf("    held for %s, %s left\n", since,
               cli_cap_time_text(left, sizeof left, lease->until_unix_ns - now_ns));
    else if (lease->pid > 0)
        printf("    held for %s\n", since);
    else
        printf("    held for %s, until `joulemap cap reset`\n", since);
}

static void print_board(const jm_cap_board *board)
{
    char name[32], cap[24], by_default[24], enforced[24], settable[48];
    jm_text_printable(name, sizeof name - 4, board->name);
    range(settable, sizeof settable, board);
    printf("%3d %-24.24s %7s %8s %9s  %-14s %s\n", (int)board->index, name,
           watts(cap, sizeof cap, board->cap_w), watts(by_default, sizeof by_default, board->default_w),
           watts(enforced, sizeof enforced, board->enforced_w), settable,
           board->may_set[0] != '\0' ? board->may_set : "-");
    if (board->may_not_set[0] != '\0') printf("    to set it: %s\n", board->may_not_set);
    if (board->has_lease) print_lease(&board->lease);
}

static json_t *text_or_null(const char *text)
{
    char clean[JM_LEASE_TEXT * 3];
    return text[0] != '\0' ? json_string(jm_text_printable(clean, sizeof clean, text)) : json_null();
}

static json_t *lease_json(const jm_cap_board *board)
{
    const jm_cap_lease_info *lease = &board->lease;
    if (!board->has_lease) return json_null();
    return json_pack("{s:o, s:o, s:I, s:f, s:o, s:o, s:o, s:b}", "who", text_or_null(lease->who), "pid",
                     lease->pid > 0 ? json_integer(lease->pid) : json_null(), "uid", (json_int_t)lease->uid,
                     "since_unix_s", (double)lease->since_unix_ns * 1e-9, "until_unix_s",
                     lease->until_unix_ns > 0 ? json_real((double)lease->until_unix_ns * 1e-9) : json_null(),
                     "found_w", cli_json_number(lease->found_w), "cap_w", cli_json_number(lease->cap_w),
                     "lost", lease->lost);
}

static json_t *board_json(const jm_cap_board *board)
{
    return json_pack("{s:i, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "index",
                     (int)board->index, "uuid", text_or_null(board->uuid), "name", text_or_null(board->name),
                     "simulated", board->simulated, "cap_w", cli_json_number(board->cap_w), "enforced_w",
                     cli_json_number(board->enforced_w), "default_w", cli_json_number(board->default_w),
                     "low_w", cli_json_number(board->low_w), "high_w", cli_json_number(board->high_w),
                     "may_set", text_or_null(board->may_set), "may_not_set", text_or_null(board->may_not_set),
                     "lease", lease_json(board));
}

int cli_cap_show(const cli_args *args)
{
    int code = 0;
    jm_cap_boards *boards = cli_cap_boards(args, &code);
    if (boards == NULL) return code;
    if (cli_has(args, "--board") && cli_cap_board_meant(args, boards, &code) == NULL) {
        jm_cap_boards_free(boards);
        return code;
    }
    json_t *array = json_array();
    bool json = cli_has(args, "--json");
    if (!json)
        printf("GPU %-24s %7s %8s %9s  %-14s %s\n", "", "cap", "default", "enforced", "can be set", "by");
    for (size_t i = 0; i < jm_cap_boards_count(boards); i++) {
        const jm_cap_board *board = jm_cap_boards_board(boards, i);
        if (!cli_cap_is_meant(args, board)) continue;
        if (json)
            json_array_append_new(array, board_json(board));
        else
            print_board(board);
    }
    jm_cap_boards_free(boards);
    if (json) return cli_json_write(args, json_pack("{s:o}", "boards", array));
    json_decref(array);
    return 0;
}
