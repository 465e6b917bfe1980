/* `joulemap cap`: show, set and reset; the choice of the GPU. */
#include "cap/command/caps.h"
#include "cli/child.h"
#include "cli/verb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool is_selected(const cli_args *args, const jm_cap_board *board)
{
    const char *name = cli_get(args, "--board");
    char index[16];
    if (name == NULL) return true;
    snprintf(index, sizeof index, "%d", (int)board->index);
    return strcmp(name, index) == 0 || strcmp(name, board->uuid) == 0;
}

const jm_cap_board *cli_cap_board_selected(const cli_args *args, const jm_cap_boards *boards, int *code)
{
    const jm_cap_board *selected = NULL;
    size_t count = 0;
    for (size_t i = 0; i < jm_cap_boards_count(boards); i++) {
        const jm_cap_board *board = jm_cap_boards_board(boards, i);
        if (!is_selected(args, board)) continue;
        selected = board;
        count++;
    }
    if (count == 1) return selected;
    *code = count > 1 ? cli_usage_error(args, "there are %zu GPUs: select one with --board", count)
                      : cli_error(args, JM_NOT_FOUND, "`joulemap cap show` lists the GPUs",
                                  "there is no GPU %s whose power cap can be read", cli_get(args, "--board"));
    return NULL;
}

jm_cap_boards *cli_cap_boards(const cli_args *args, int *code)
{
    jm_cap_boards *boards = NULL;
    jm_error err;
    if (jm_cap_boards_create(&boards, cli_get(args, "--sim"), &err) != JM_OK) {
        *code = cli_fail(args, &err);
        return NULL;
    }
    if (jm_cap_boards_count(boards) == 0)
        *code = cli_error(args, JM_NO_DEVICE, "`joulemap doctor` shows why; `--sim h200` simulates a GPU",
                          "no GPU found whose power cap can be read");
    else if (!cli_has(args, "--board") || cli_cap_board_selected(args, boards, code) != NULL)
        return boards;
    jm_cap_boards_free(boards);
    return NULL;
}

static bool get_time(const cli_args *args, const char *name, int64_t *out_ns)
{
    static const char units[] = "smh";
    static const double seconds[] = {1, 60, 3600};
    static const double longest_s = 366.0 * 24 * 3600;
    const char *text = cli_get(args, name);
    if (text == NULL) return true;
    char *end = NULL;
    double value = strtod(text, &end);
    bool plain = end > text && strspn(text, "0123456789.") == (size_t)(end - text);
    const char *unit = plain && *end != '\0' && end[1] == '\0' ? strchr(units, *end) : NULL;
    if (unit != NULL && value > 0 && value * seconds[unit - units] <= longest_s) {
        *out_ns = (int64_t)llround(value * seconds[unit - units] * 1e9);
        return true;
    }
    cli_usage_error(args, "option \"%s\" cannot be \"%s\": it is a time like 30s, 10m or 2h", name, text);
    return false;
}

static const char *time_text(char *text, size_t size, int64_t duration_ns)
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

/* ---- `joulemap cap show`: each GPU's power cap, the range that can be set, and its holder */

/* "700 W", "?" */
static const char *watts(char *text, size_t size, double value)
{
    if (isnan(value))
        snprintf(text, size, "?");
    else
        snprintf(text, size, "%.4g W", value);
    return text;
}

static void range_text(char *text, size_t size, const jm_cap_board *board)
{
    if (isnan(board->low_w)) /* then both are NAN */
        snprintf(text, size, "?");
    else
        snprintf(text, size, "%.4g to %.4g W", board->low_w, board->high_w);
}

static void print_lease(const jm_cap_lease_info *lease)
{
    char holder[JM_LEASE_TEXT + 64], since[32], left[32];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    if (isnan(lease->found_w)) {
        puts("    has a lease that cannot be read");
        return;
    }
    time_text(since, sizeof since, now_ns - lease->since_unix_ns);
    printf("    found at %.4g W%s by %s\n", lease->found_w,
           lease->lost ? ", which must still be put back," : "",
           cli_cap_holder_text(holder, sizeof holder, lease));
    if (lease->until_unix_ns > 0)
        printf("    held for %s, %s left\n", since,
               time_text(left, sizeof left, lease->until_unix_ns - now_ns));
    else if (lease->pid > 0)
        printf("    held for %s\n", since);
    else
        printf("    held for %s, until `joulemap cap reset`\n", since);
}

static void print_board(const jm_cap_board *board)
{
    char name[32], cap[24], by_default[24], enforced[24], settable[48];
    jm_text_printable(name, sizeof name - 4, board->name);
    range_text(settable, sizeof settable, board);
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
    json_t *array = json_array();
    bool json = cli_has(args, "--json");
    if (!json)
        printf("GPU %-24s %7s %8s %9s  %-14s %s\n", "", "cap", "default", "enforced", "can be set", "by");
    for (size_t i = 0; i < jm_cap_boards_count(boards); i++) {
        const jm_cap_board *board = jm_cap_boards_board(boards, i);
        if (!is_selected(args, board)) continue;
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

/* ---- `joulemap cap set`: a cap while a command runs, or for a time */

typedef struct request {
    double cap_w;
    double clock_mhz; /* 0: none */
    int64_t for_ns;   /* 0: none */
} request;

/* A number above 0, with or without its unit; NAN: no such number. */
static double parse_positive(const char *text, const char *unit)
{
    char *end = NULL;
    double value = strtod(text, &end);
    bool plain = end > text && strspn(text, "0123456789.") == (size_t)(end - text);
    return plain && (*end == '\0' || strcasecmp(end, unit) == 0) && value > 0 ? value : NAN;
}

static int read_request(const cli_args *args, request *out)
{
    const char *watts = cli_operand(args, 1), *clock = cli_get(args, "--clock");
    *out = (request){0};
    if (watts == NULL) return cli_usage_error(args, "set needs WATTS: joulemap cap set 400");
    out->cap_w = parse_positive(watts, "W");
    if (isnan(out->cap_w)) return cli_usage_error(args, "\"%s\" is not a number of watts", watts);
    if (clock != NULL) out->clock_mhz = parse_positive(clock, "MHz");
    if (isnan(out->clock_mhz))
        return cli_usage_error(args, "option \"--clock\" cannot be \"%s\": it is a number of MHz", clock);
    if (!get_time(args, "--for", &out->for_ns)) return jm_status_exit_code(JM_USAGE);
    if (cli_command(args) != NULL && cli_command(args)[0] == NULL)
        return cli_usage_error(args, "the command is missing after \"--\"");
    return CLI_GO_ON;
}

static jm_status take_lease(jm_cap_lease **lease, const cli_args *args, const jm_cap_board *board,
                            const request *what, jm_error *err)
{
    char *command = cli_command(args) != NULL ? cli_child_text(cli_command(args)) : NULL;
    const jm_cap_lease_options options = {.size = sizeof options,
                                          .sim = cli_get(args, "--sim"),
                                          .board = board->index,
                                          .uuid = board->uuid,
                                          .who = command != NULL ? command : "joulemap cap set",
                                          .for_ns = what->for_ns,
                                          .detached = cli_command(args) == NULL};
    jm_status status = jm_cap_lease_take(lease, &options, err);
    free(command);
    return status;
}

/* Take, set, and print the enforced cap. The lease exists even if setting failed. */
static jm_status take_and_set(jm_cap_lease **lease, const cli_args *args, const jm_cap_board *board,
                              const request *what, jm_error *err)
{
    double enforced_w;
    jm_status status = take_lease(lease, args, board, what, err);
    if (status == JM_OK) status = jm_cap_lease_set(*lease, what->cap_w, &enforced_w, err);
    if (status == JM_OK && what->clock_mhz > 0) status = jm_cap_lease_clock(*lease, what->clock_mhz, err);
    if (status != JM_OK) return status;
    char left[32] = "";
    if (what->for_ns > 0) time_text(left, sizeof left, what->for_ns);
    cli_message(args, "GPU %d: %.4g W, found %.4g W; put back %s%s", (int)board->index, enforced_w,
                jm_cap_lease_board(*lease)->cap_w,
                what->for_ns > 0            ? "after "
                : cli_command(args) != NULL ? "when the command ends"
                                            : "by `joulemap cap reset`",
                left);
    return JM_OK;
}

/* The cap holds from before the command's start to after its end. */
static int run_command(const cli_args *args, const jm_cap_board *board, const request *what)
{
    static const char *const nothing[] = {NULL};
    jm_cap_lease *lease = NULL;
    cli_child child = {0};
    jm_error err;
    cli_child_prepare();
    jm_status status = take_and_set(&lease, args, board, what, &err);
    int code = status == JM_OK ? 0 : cli_fail(args, &err);
    if (status == JM_OK) {
        status = cli_child_start(&child, cli_command(args), nothing, &err);
        if (status == JM_OK) cli_child_wait(&child);
        if (status != JM_OK) cli_fail(args, &err);
        code = child.exit_code;
    }
    jm_status ended = jm_cap_lease_end(lease, &err);
    if (ended != JM_OK && status == JM_OK) {
        int failure = cli_fail(args, &err);
        if (code == 0) code = failure;
    }
    if (child.pid > 0) cli_child_release(&child);
    return code;
}

static int run_detached(const cli_args *args, const jm_cap_board *board, const request *what)
{
    jm_cap_lease *lease = NULL;
    jm_error err, end_err;
    jm_status status = take_and_set(&lease, args, board, what, &err);
    int code = status == JM_OK ? 0 : cli_fail(args, &err);
    /* The cap may be set and the clock not: undo both. */
    if (status != JM_OK && lease != NULL) (void)jm_cap_reset(board->uuid, NULL, &end_err);
    jm_status ended = jm_cap_lease_end(lease, &end_err);
    return status == JM_OK && ended != JM_OK ? cli_fail(args, &end_err) : code;
}

int cli_cap_set(const cli_args *args)
{
    request what;
    int code = read_request(args, &what);
    if (code != CLI_GO_ON) return code;
    jm_cap_boards *boards = cli_cap_boards(args, &code);
    if (boards == NULL) return code;
    const jm_cap_board *board = cli_cap_board_selected(args, boards, &code);
    if (board != NULL && board->may_not_set[0] != '\0')
        code = cli_error(args, JM_NO_PERMISSION, board->may_not_set, "GPU %d: you may not set its power cap",
                         (int)board->index);
    else if (board != NULL)
        code = cli_command(args) != NULL ? run_command(args, board, &what) : run_detached(args, board, &what);
    jm_cap_boards_free(boards);
    return code;
}

/* ---- `joulemap cap reset`: ends leases, whoever holds them */

/* False: it failed, which was reported. */
static bool reset_board(const cli_args *args, const jm_cap_board *board, int *code)
{
    jm_cap_restored restored;
    jm_error err;
    char holder[JM_LEASE_TEXT + 64];
    if (jm_cap_reset(board->uuid, &restored, &err) != JM_OK) {
        *code = cli_fail(args, &err);
        return false;
    }
    cli_cap_holder_text(holder, sizeof holder, &restored.lease);
    if (isnan(restored.left_w))
        cli_message(args, "put GPU %d back to %.4g W: the lease of %s is over", (int)board->index,
                    restored.lease.found_w, holder);
    else
        cli_message(args, "GPU %d keeps %.4g W, which somebody else set: the lease of %s is over",
                    (int)board->index, restored.left_w, holder);
    return true;
}

int cli_cap_reset(const cli_args *args)
{
    int code = 0;
    size_t count = 0;
    jm_cap_boards *boards = cli_cap_boards(args, &code);
    if (boards == NULL) return code;
    for (size_t i = 0; i < jm_cap_boards_count(boards); i++) {
        const jm_cap_board *board = jm_cap_boards_board(boards, i);
        if (!board->has_lease || !is_selected(args, board)) continue;
        (void)reset_board(args, board, &code);
        count++;
    }
    if (count == 0)
        cli_message(args, "no lease%s: nothing to put back", cli_has(args, "--board") ? " on this GPU" : "");
    jm_cap_boards_free(boards);
    return code;
}
