/* The clock of each use, what ran beside others, and how long it counts for. */
#include "attribute/fit/power_law.h"

#include "attribute/work/clock_track.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* Of the logarithm of the clock while work ran, a choice: with less than a percent, nothing moved. */
static const double least_spread = 0.01;

/* Of the time of work, a choice: of less beside others no row is more than a percent off. */
static const double least_joint = 0.01;

static double learnt_s(const jm__board_work *board, size_t use)
{
    bool ran = use < board->tally.uses.count && board->tally.uses.items[use].ran_s >= 0;
    return ran ? board->tally.uses.items[use].inside.learn_s : 0;
}

/* Fills log_clock; false if the clock did not move while work ran. */
static bool find_clocks(jm__power_law *law, const jm__work_set *set, const jm__board_work *board)
{
    double weight = 0, sum = 0, square = 0;
    for (size_t u = 0; u < law->uses; u++) {
        int64_t step = jm__use_context(set, u)->clock;
        double seconds = learnt_s(board, u);
        if (step == 0 || u >= board->tally.uses.count || board->tally.uses.items[u].ran_s < 0) continue;
        law->log_clock[u] = log(jm__clock_step_mhz(step));
        weight += seconds;
        sum += seconds * law->log_clock[u];
        square += seconds * law->log_clock[u] * law->log_clock[u];
    }
    for (size_t u = 0; weight > 0 && u < law->uses; u++)
        if (law->log_clock[u] != 0) law->log_clock[u] -= sum / weight;
    return weight > 0 && square / weight - pow(sum / weight, 2) > least_spread * least_spread;
}

/* Fills joint; false if next to nothing ran beside others. */
static bool find_joint(jm__power_law *law, const jm__work_set *set, const jm__board_work *board)
{
    double joint_s = 0, all_s = 0;
    for (size_t u = 0; u < law->uses; u++) {
        law->joint[u] = set->classes.items[set->uses.items.items[u].class_index].joint;
        all_s += learnt_s(board, u);
        if (law->joint[u]) joint_s += learnt_s(board, u);
    }
    return joint_s > least_joint * all_s;
}

jm_status jm__power_law_find(jm__power_law *law, const jm__work_set *set, const jm__board_work *board,
                             jm_error *err)
{
    *law = (jm__power_law){.codes = JM_IDLE_STATES + set->pass_uses,
                           .uses = set->uses.items.count,
                           .use_of = set->use_of,
                           .gap_column = jm__gap_column(board)};
    law->log_clock = calloc(law->uses + 1, sizeof *law->log_clock);
    law->joint = calloc(law->uses + 1, sizeof *law->joint);
    law->scale = calloc(law->codes, sizeof *law->scale);
    if (law->log_clock == NULL || law->joint == NULL || law->scale == NULL)
        return jm__no_memory(err, "jm__power_law_find");
    law->varies[JM_LAW_CLOCK] = find_clocks(law, set, board);
    law->varies[JM_LAW_OVERLAP] = find_joint(law, set, board);
    return JM_OK;
}

void jm__power_law_free(jm__power_law *law)
{
    free(law->log_clock);
    free(law->joint);
    free(law->scale);
    free(law->relative);
    *law = (jm__power_law){0};
}

bool jm__power_law_holds(const jm__power_law *law)
{
    return law->varies[JM_LAW_CLOCK] || law->varies[JM_LAW_OVERLAP];
}

static double scale_of(const jm__power_law *law, const jm__law_values *values, size_t use)
{
    double scale = law->varies[JM_LAW_CLOCK] ? exp(values->of[JM_LAW_CLOCK] * law->log_clock[use]) : 1;
    bool more = law->varies[JM_LAW_OVERLAP] && law->joint[use];
    return more ? scale * (1 + values->of[JM_LAW_OVERLAP]) : scale;
}

void jm__power_law_set(const jm__power_law *law, const jm__law_values *values, jm__pieces *pieces)
{
    if (law == NULL) return;
    for (size_t i = 0; i < law->codes; i++)
        law->scale[i] = i < JM_IDLE_STATES ? 1 : scale_of(law, values, law->use_of[i - JM_IDLE_STATES]);
    pieces->scale_of = law->scale;
    pieces->rest_column = law->gap_column;
}

double *jm__power_law_scales(const jm__power_law *law, const jm__law_values *values)
{
    double *scales = malloc((law->uses + 1) * sizeof *scales);
    for (size_t u = 0; scales != NULL && u < law->uses; u++)
        scales[u] = scale_of(law, values, u);
    return scales;
}

/* seconds[columns] with these values. */
static void add_up(double *seconds, const jm__power_law *law, const jm__board_work *board,
                   const jm__law_values *values)
{
    for (size_t u = 0; u < law->uses; u++)
        if (learnt_s(board, u) > 0)
            seconds[board->columns.of_use[u]] += learnt_s(board, u) * scale_of(law, values, u);
}

jm_status jm__power_law_relate(jm__power_law *law, const jm__board_work *board, const jm__law_values *usual,
                               const jm__law_values *others, size_t count, jm_error *err)
{
    size_t columns = board->columns.count;
    double *usual_s = calloc(columns + 1, sizeof *usual_s);
    free(law->relative);
    law->relative = calloc(count * columns + 1, sizeof *law->relative);
    jm_status status =
        usual_s == NULL || law->relative == NULL ? jm__no_memory(err, "jm__power_law_relate") : JM_OK;
    if (status == JM_OK) add_up(usual_s, law, board, usual);
    for (size_t p = 0; status == JM_OK && p < count; p++) {
        double *row = law->relative + p * columns;
        add_up(row, law, board, &others[p]);
        for (size_t k = 0; k < columns; k++)
            row[k] = usual_s[k] > 0 ? row[k] / usual_s[k] : 1;
    }
    free(usual_s);
    return status;
}
