/* `joulemap cap reset`: leases ended, whoever holds them. */
#include "cli/cap_board.h"

#include <math.h>

/* False: it failed, which was said. */
static bool reset(const cli_args *args, const jm_cap_board *board, int *code)
{
    jm_cap_restored back;
    jm_error err;
    char holder[JM_LEASE_TEXT + 64];
    if (jm_cap_reset(board->uuid, &back, &err) != JM_OK) {
        *code = cli_fail(args, &err);
        return false;
    }
    cli_cap_holder_text(holder, sizeof holder, &back.lease);
    if (isnan(back.left_w))
        cli_tell(args, "put GPU %d back to %.4g W: the lease of %s is over", (int)board->index,
                 back.lease.found_w, holder);
    else
        cli_tell(args, "GPU %d keeps %.4g W, which somebody else set: the lease of %s is over",
                 (int)board->index, back.left_w, holder);
    return true;
}

int cli_cap_reset(const cli_args *args)
{
    int code = 0;
    size_t count = 0;
    jm_cap_boards *boards = cli_cap_boards(args, &code);
    if (boards == NULL) return code;
    if (cli_has(args, "--board") && cli_cap_board_meant(args, boards, &code) == NULL) {
        jm_cap_boards_free(boards);
        return code;
    }
    for (size_t i = 0; i < jm_cap_boards_count(boards); i++) {
        const jm_cap_board *board = jm_cap_boards_board(boards, i);
        if (!board->has_lease || !cli_cap_is_meant(args, board)) continue;
        (void)reset(args, board, &code);
        count++;
    }
    if (count == 0)
        cli_tell(args, "no lease%s: nothing is to be put back",
                 cli_has(args, "--board") ? " on this GPU" : "");
    jm_cap_boards_free(boards);
    return code;
}
