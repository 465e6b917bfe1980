/* Lost leases of power caps: put back, and said so, before anybody looks at a GPU. */
#include "cli/cap_board.h"

#include <math.h>
#include <string.h>

enum { TOLD_MAX = 64 };

static void tell(const cli_args *args, const jm_cap_restored *one)
{
    const jm_cap_lease_info *lease = &one->lease;
    char board[JM_BOARD_TEXT + 16], holder[JM_LEASE_TEXT + 64];
    if (one->index >= 0)
        snprintf(board, sizeof board, "GPU %d", (int)one->index);
    else
        snprintf(board, sizeof board, "%s", one->uuid);
    if (one->fault[0] != '\0' && lease->found_w > 0)
        cli_tell(args, "%s is still to be put back to %.4g W, which %s found: %s", board, lease->found_w,
                 cli_cap_holder_text(holder, sizeof holder, lease), one->fault);
    else if (one->fault[0] != '\0')
        cli_tell(args, "a power cap may have been left on %s: %s", board, one->fault);
    else if (!isnan(one->left_w))
        cli_tell(args, "%s keeps %.4g W, which somebody else set after %s: nothing was put back", board,
                 one->left_w, cli_cap_holder_text(holder, sizeof holder, lease));
    else
        cli_tell(args, "put %s back to %.4g W: %s was killed together with what should have done it", board,
                 lease->found_w, cli_cap_holder_text(holder, sizeof holder, lease));
}

size_t cli_put_back_lost(const cli_args *args, size_t *failed)
{
    static jm_cap_restored all[TOLD_MAX];
    size_t count;
    jm_error err;
    *failed = 0;
    if (jm_cap_restore(all, TOLD_MAX, &count, &err) != JM_OK) {
        cli_fail(args, &err);
        *failed = 1;
        return 1;
    }
    for (size_t i = 0; i < count && i < TOLD_MAX; i++) {
        tell(args, &all[i]);
        *failed += all[i].fault[0] != '\0';
    }
    return count;
}
