/* Sensors' gains in the runs of two sides. */
#include "report/gains.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_nameless(const jm_board *board)
{
    return board->uuid[0] == '\0' && board->host[0] == '\0';
}

/* A CPU's package has no UUID, but it has a machine. */
static bool is_same(const jm_board *a, const jm_board *b)
{
    if (a->uuid[0] != '\0' || b->uuid[0] != '\0') return strcmp(a->uuid, b->uuid) == 0;
    return strcmp(a->host, b->host) == 0 && strcmp(a->backend, b->backend) == 0 &&
           strcmp(a->name, b->name) == 0 && a->index == b->index;
}

/* A nameless board may be the same in all runs or not. The worse is taken: one for a side, so that its gain
 * gets no smaller by the mean, and another one for the other side, so that it does not cancel. */
static bool find_gain(jm__gains *gains, const jm_report_board *board, int side, size_t *out)
{
    int only = is_nameless(board->board) ? side : -1;
    size_t i = 0;
    while (i < gains->items.count &&
           (gains->items.items[i].side != only || !is_same(gains->items.items[i].board, board->board)))
        i++;
    *out = i;
    if (i == gains->items.count &&
        !jm__vec_push(&gains->items, ((jm__gain){board->board, 0, only, {0}, {0}})))
        return false;
    jm__gain *gain = &gains->items.items[i];
    gain->gain_u = fmax(gain->gain_u, board->gain_u);
    gain->met[side] = true;
    return true;
}

static jm_status list_places(jm__gains *gains, const jm__diff_run *runs, jm_error *err)
{
    for (size_t r = 0; r < gains->runs[0] + gains->runs[1]; r++) {
        for (size_t i = 0; i < jm_report_board_count(runs[r].report); i++) {
            jm__gain_place place = {.run = r};
            JM_TRY(jm_report_board_get(runs[r].report, i, &place.board, err));
            if (!find_gain(gains, &place.board, runs[r].side, &place.gain) ||
                !jm__vec_push(&gains->places, place))
                return jm__no_memory(err, "jm_diff_create");
        }
    }
    return JM_OK;
}

static void find_shares(jm__gains *gains, const jm__diff_run *runs)
{
    double all_j[2] = {0, 0};
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < gains->places.count; i++) {
            const jm__gain_place *place = &gains->places.items[i];
            const jm__diff_run *run = &runs[place->run];
            double energy_j = place->board.energy_j / (double)run->units;
            if (!isfinite(energy_j)) continue;
            if (pass == 0)
                all_j[run->side] += energy_j;
            else if (all_j[run->side] > 0)
                gains->items.items[place->gain].share[run->side] += energy_j / all_j[run->side];
        }
    }
}

static void find_sameness(jm__gains *gains)
{
    for (size_t i = 0; i < gains->items.count; i++) {
        const jm__gain *gain = &gains->items.items[i];
        if (gain->met[0] && gain->met[1]) continue;
        if (gains->sameness != JM_SAMENESS_DIFFERENT)
            gains->sameness = gain->side >= 0 ? JM_SAMENESS_UNKNOWN : JM_SAMENESS_DIFFERENT;
    }
}

jm_status jm__gains_find(jm__gains *gains, const jm__diff_run *runs, const size_t counts[2], jm_error *err)
{
    memcpy(gains->runs, counts, sizeof gains->runs);
    JM_TRY(list_places(gains, runs, err));
    find_shares(gains, runs);
    find_sameness(gains);
    return JM_OK;
}

void jm__gains_free(jm__gains *gains)
{
    jm__vec_free(&gains->places);
    jm__vec_free(&gains->items);
    *gains = (jm__gains){0};
}

/* Of shares. */
static const double rounding = 1e-12;

void jm__gains_of_totals(const jm__gains *gains, double gain_u[2])
{
    gain_u[0] = gain_u[1] = 0;
    for (size_t i = 0; i < gains->items.count; i++) {
        const jm__gain *gain = &gains->items.items[i];
        double more = gain->share[1] - gain->share[0];
        int side = more > 0;
        if (fabs(more) < rounding) continue;
        gain_u[side] = hypot(gain_u[side], more * gain->gain_u);
    }
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

/* In how many of a side's runs, as a share of those that have the row, it may have run on a board. */
static double reach_of(const jm__gains *gains, size_t gain, int side, const jm_row *const *rows)
{
    size_t first = side == 0 ? 0 : gains->runs[0], have = 0, on_it = 0;
    for (size_t r = first; r < first + gains->runs[side]; r++)
        have += rows[r] != NULL;
    for (size_t i = 0; i < gains->places.count; i++) {
        const jm__gain_place *place = &gains->places.items[i];
        if (place->gain != gain || place->run < first || place->run >= first + gains->runs[side]) continue;
        on_it += rows[place->run] != NULL && names(rows[place->run]->boards, place->board.index);
    }
    return have > 0 ? (double)on_it / (double)have : 0;
}

void jm__gains_of_rows(const jm__gains *gains, const jm_row *const *rows, double gain_u[2])
{
    double more[2] = {0, 0};
    gain_u[0] = gain_u[1] = 0;
    for (size_t i = 0; i < gains->items.count; i++) {
        double apart = reach_of(gains, i, 1, rows) - reach_of(gains, i, 0, rows);
        int side = apart > 0;
        if (fabs(apart) < rounding) continue;
        more[side] += fabs(apart);
        gain_u[side] = fmax(gain_u[side], gains->items.items[i].gain_u);
    }
    for (int side = 0; side < 2; side++)
        gain_u[side] *= fmin(1, more[side]);
}
