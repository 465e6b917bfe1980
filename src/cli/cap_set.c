/* `joulemap cap set`: a cap while a command runs, or for a time. */
#include "cli/cap_board.h"

#include "cli/child.h"
#include "cli/verb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct wish {
    double cap_w;
    double clock_mhz; /* 0: none */
    int64_t for_ns;   /* 0: none */
} wish;

/* A number above 0, with or without its unit; NAN: it is none. */
static double positive(const char *text, const char *unit)
{
    char *end = NULL;
    double value = strtod(text, &end);
    bool plain = end > text && strspn(text, "0123456789.") == (size_t)(end - text);
    return plain && (*end == '\0' || strcasecmp(end, unit) == 0) && value > 0 ? value : NAN;
}

static int read_wish(const cli_args *args, wish *out)
{
    const char *watts = cli_operand(args, 1), *clock = cli_get(args, "--clock");
    *out = (wish){0};
    if (watts == NULL) return cli_usage_error(args, "set needs WATTS: joulemap cap set 400");
    out->cap_w = positive(watts, "W");
    if (isnan(out->cap_w)) return cli_usage_error(args, "\"%s\" is no number of watts", watts);
    if (clock != NULL) out->clock_mhz = positive(clock, "MHz");
    if (isnan(out->clock_mhz))
        return cli_usage_error(args, "option \"--clock\" cannot be \"%s\": it is a number of MHz", clock);
    if (!cli_cap_get_time(args, "--for", &out->for_ns)) return jm_status_exit_code(JM_USAGE);
    if (cli_command(args) != NULL && cli_command(args)[0] == NULL)
        return cli_usage_error(args, "the command is missing after \"--\"");
    return CLI_GO_ON;
}

static jm_status take(jm_cap_lease **lease, const cli_args *args, const jm_cap_board *board, const wish *what,
                      jm_error *err)
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

/* Take, set, say what the GPU keeps to from now on. The lease is there even if setting failed. */
static jm_status set(jm_cap_lease **lease, const cli_args *args, const jm_cap_board *board, const wish *what,
                     jm_error *err)
{
    double enforced_w;
    jm_status status = take(lease, args, board, what, err);
    if (status == JM_OK) status = jm_cap_lease_set(*lease, what->cap_w, &enforced_w, err);
    if (status == JM_OK && what->clock_mhz > 0) status = jm_cap_lease_clock(*lease, what->clock_mhz, err);
    if (status != JM_OK) return status;
    char left[32] = "";
    if (what->for_ns > 0) cli_cap_time_text(left, sizeof left, what->for_ns);
    cli_tell(args, "GPU %d: %.4g W, found %.4g W; put back %s%s", (int)board->index, enforced_w,
             jm_cap_lease_board(*lease)->cap_w,
             what->for_ns > 0            ? "after "
             : cli_command(args) != NULL ? "when the command ends"
                                         : "by `joulemap cap reset`",
             left);
    return JM_OK;
}

/* With the cap from before its start to after its end. */
static int run_command(const cli_args *args, const jm_cap_board *board, const wish *what)
{
    static const char *const nothing[] = {NULL};
    jm_cap_lease *lease = NULL;
    cli_child child = {0};
    jm_error err;
    cli_child_prepare();
    jm_status status = set(&lease, args, board, what, &err);
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

static int run_detached(const cli_args *args, const jm_cap_board *board, const wish *what)
{
    jm_cap_lease *lease = NULL;
    jm_error err, end_err;
    jm_status status = set(&lease, args, board, what, &err);
    int code = status == JM_OK ? 0 : cli_fail(args, &err);
    /* The cap was set and the clock was not: neither is to stay. */
    if (status != JM_OK && lease != NULL) (void)jm_cap_reset(board->uuid, NULL, &end_err);
    jm_status ended = jm_cap_lease_end(lease, &end_err);
    return status == JM_OK && ended != JM_OK ? cli_fail(args, &end_err) : code;
}

int cli_cap_set(const cli_args *args)
{
    wish what;
    int code = read_wish(args, &what);
    if (code != CLI_GO_ON) return code;
    jm_cap_boards *boards = cli_cap_boards(args, &code);
    if (boards == NULL) return code;
    const jm_cap_board *board = cli_cap_board_meant(args, boards, &code);
    if (board != NULL && board->may_not_set[0] != '\0')
        code = cli_error(args, JM_NO_PERMISSION, board->may_not_set,
                         "GPU %d: its power cap is not yours to set", (int)board->index);
    else if (board != NULL)
        code = cli_command(args) != NULL ? run_command(args, board, &what) : run_detached(args, board, &what);
    jm_cap_boards_free(boards);
    return code;
}
