/* Sensors' gains in two runs. */
#include "report/gains.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_TWIN ((size_t)-1)

/* A CPU's package has no UUID, but it has a machine. */
static bool is_same(const jm_board *a, const jm_board *b)
{
    if (a->uuid[0] != '\0' || b->uuid[0] != '\0') return strcmp(a->uuid, b->uuid) == 0;
    return a->host[0] != '\0' && strcmp(a->host, b->host) == 0 && strcmp(a->backend, b->backend) == 0 &&
           strcmp(a->name, b->name) == 0 && a->index == b->index;
}

static size_t twin_of(const jm__gains *gains, int side, const jm_board *board)
{
    int other = 1 - side;
    for (size_t i = 0; i < gains->counts[other]; i++)
        if (is_same(board, gains->items[other][i].board.board)) return i;
    return NO_TWIN;
}

static void find_twins(jm__gains *gains)
{
    for (int r = 0; r < 2; r++) {
        for (size_t i = 0; i < gains->counts[r]; i++) {
            const jm_board *board = gains->items[r][i].board.board;
            gains->items[r][i].twin = twin_of(gains, r, board);
            if (gains->items[r][i].twin != NO_TWIN) continue;
            bool nameless = board->uuid[0] == '\0' && board->host[0] == '\0';
            if (gains->sameness != JM_SAMENESS_DIFFERENT)
                gains->sameness = nameless ? JM_SAMENESS_UNKNOWN : JM_SAMENESS_DIFFERENT;
        }
    }
}

jm_status jm__gains_find(jm__gains *gains, const jm_report *a, const jm_report *b, jm_error *err)
{
    const jm_report *reports[2] = {a, b};
    for (int r = 0; r < 2; r++) {
        gains->counts[r] = jm_report_board_count(reports[r]);
        gains->items[r] = calloc(gains->counts[r] + 1, sizeof *gains->items[r]);
        if (gains->items[r] == NULL) return jm__no_memory(err, "jm_diff_create");
        for (size_t i = 0; i < gains->counts[r]; i++)
            JM_TRY(jm_report_board_get(reports[r], i, &gains->items[r][i].board, err));
    }
    find_twins(gains);
    return JM_OK;
}

void jm__gains_free(jm__gains *gains)
{
    free(gains->items[0]);
    free(gains->items[1]);
    *gains = (jm__gains){0};
}

double jm__gains_of_total(const jm__gains *gains, int side)
{
    double all_j = 0, square = 0;
    for (size_t i = 0; i < gains->counts[side]; i++) {
        const jm__gain *gain = &gains->items[side][i];
        if (!isfinite(gain->board.energy_j)) continue;
        all_j += gain->board.energy_j;
        if (gain->twin == NO_TWIN) square += pow(gain->board.gain_u * gain->board.energy_j, 2);
    }
    return all_j > 0 ? sqrt(square) / all_j : 0;
}

/* "0,12" names board 12. */
static bool names(const char *boards, int32_t index)
{
    if (boards[0] == '\0') return true;
    for (;;) {
        char *end;
        if (strtol(boards, &end, 10) == index && end != boards) return true;
        if (*end != ',') return false;
        boards = end + 1;
    }
}

static double gain_of_row(const jm__gains *gains, int side, const char *mine, const char *others)
{
    double most_u = 0;
    for (size_t i = 0; i < gains->counts[side]; i++) {
        const jm__gain *gain = &gains->items[side][i];
        if (!names(mine, gain->board.index)) continue;
        bool shared = gain->twin != NO_TWIN && names(others, gains->items[1 - side][gain->twin].board.index);
        if (!shared) most_u = fmax(most_u, gain->board.gain_u);
    }
    return most_u;
}

void jm__gains_of_rows(const jm__gains *gains, const char *boards_a, const char *boards_b, double *gain_a_u,
                       double *gain_b_u)
{
    *gain_a_u = gain_of_row(gains, 0, boards_a, boards_b);
    *gain_b_u = gain_of_row(gains, 1, boards_b, boards_a);
}
