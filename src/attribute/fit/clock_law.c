/* The clock of each use, and how long it counts for. */
#include "attribute/fit/clock_law.h"

#include "attribute/work/clock_track.h"
#include "attribute/work/sweep.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* Of the logarithm of the clock while work ran, a choice: with less than a percent, nothing moved. */
static const double least_spread = 0.01;

static double learnt_s(const jm__board_work *board, size_t use)
{
    bool ran = use < board->tally.uses.count && board->tally.uses.items[use].ran_s >= 0;
    return ran ? board->tally.uses.items[use].inside.learn_s : 0;
}

/* Fills log_clock; false if the clock did not move while work ran. */
static bool find_clocks(jm__clock_law *law, const jm__work_set *set, const jm__board_work *board)
{
    double weight = 0, sum = 0, square = 0, most = -INFINITY;
    for (size_t u = 0; u < law->uses; u++) {
        int64_t step = jm__use_context(set, u)->clock;
        double seconds = learnt_s(board, u);
        if (step == 0 || u >= board->tally.uses.count || board->tally.uses.items[u].ran_s < 0) continue;
        law->log_clock[u] = log(jm__clock_step_mhz(step));
        most = fmax(most, law->log_clock[u]);
        weight += seconds;
        sum += seconds * law->log_clock[u];
        square += seconds * law->log_clock[u] * law->log_clock[u];
    }
    for (size_t u = 0; u < law->uses; u++)
        if (law->log_clock[u] != 0) law->log_clock[u] -= most;
    return weight > 0 && square / weight - pow(sum / weight, 2) > least_spread * least_spread;
}

jm_status jm__clock_law_find(jm__clock_law *law, const jm__work_set *set, const jm__board_work *board,
                             jm_error *err)
{
    size_t codes = JM_IDLE_STATES + set->pass_uses;
    *law = (jm__clock_law){.codes = codes, .uses = set->uses.items.count};
    law->log_clock = calloc(law->uses + 1, sizeof *law->log_clock);
    law->of_code = calloc(codes, sizeof *law->of_code);
    law->scale = calloc(codes, sizeof *law->scale);
    if (law->log_clock == NULL || law->of_code == NULL || law->scale == NULL)
        return jm__no_memory(err, "jm__clock_law_find");
    law->moved = find_clocks(law, set, board);
    for (size_t u = 0; law->moved && u < set->pass_uses; u++)
        law->of_code[jm__piece_code((uint32_t)u)] = law->log_clock[set->use_of[u]];
    return JM_OK;
}

void jm__clock_law_free(jm__clock_law *law)
{
    free(law->log_clock);
    free(law->of_code);
    free(law->scale);
    free(law->relative);
    *law = (jm__clock_law){0};
}

void jm__clock_law_set(const jm__clock_law *law, double exponent, jm__pieces *pieces)
{
    if (law == NULL) return;
    for (size_t i = 0; i < law->codes; i++)
        law->scale[i] = exp(exponent * law->of_code[i]);
    pieces->scale_of = law->scale;
    pieces->rest_column = law->gap_column;
}

double *jm__clock_law_scales(const jm__clock_law *law, double exponent)
{
    double *scales = malloc((law->uses + 1) * sizeof *scales);
    for (size_t u = 0; scales != NULL && u < law->uses; u++)
        scales[u] = exp(exponent * law->log_clock[u]);
    return scales;
}

/* seconds[columns] with an exponent. */
static void add_up(double *seconds, const jm__clock_law *law, const jm__board_work *board, double exponent)
{
    for (size_t u = 0; u < law->uses; u++)
        if (learnt_s(board, u) > 0)
            seconds[board->columns.of_use[u]] += learnt_s(board, u) * exp(exponent * law->log_clock[u]);
}

jm_status jm__clock_law_relate(jm__clock_law *law, const jm__board_work *board, double exponent,
                               const double *exponents, size_t count, jm_error *err)
{
    size_t columns = board->columns.count;
    double *usual = calloc(columns + 1, sizeof *usual);
    free(law->relative);
    law->relative = calloc(count * columns + 1, sizeof *law->relative);
    jm_status status =
        usual == NULL || law->relative == NULL ? jm__no_memory(err, "jm__clock_law_relate") : JM_OK;
    if (status == JM_OK) add_up(usual, law, board, exponent);
    for (size_t p = 0; status == JM_OK && p < count; p++) {
        double *row = law->relative + p * columns;
        add_up(row, law, board, exponents[p]);
        for (size_t k = 0; k < columns; k++)
            row[k] = usual[k] > 0 ? row[k] / usual[k] : 1;
    }
    free(usual);
    return status;
}
