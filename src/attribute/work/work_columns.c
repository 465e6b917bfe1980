/* The columns that a board's work is fitted with: chosen, split, scaled; and what follows from them. */
#include "attribute/work/work.h"

#include "attribute/work/sweep.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* What follows from the columns of uses: those of pieces, and how long each ran. */
static jm_status count_columns(const jm__work_set *work, jm__board_work *board, jm_error *err)
{
    const jm__columns *columns = &board->columns;
    double *seconds = calloc(3 * columns->count, sizeof *seconds);
    uint32_t *column_of = malloc((JM_IDLE_STATES + work->pass_uses) * sizeof *column_of);
    free(board->seconds);
    free(board->column_of);
    board->seconds = seconds;
    board->pieces.column_of = board->column_of = column_of;
    if (seconds == NULL || column_of == NULL) return jm__no_memory(err, "jm__work_pass");
    board->learn_seconds = seconds + columns->count;
    board->stood_seconds = seconds + 2 * columns->count;
    for (uint32_t s = 0; s < JM_IDLE_STATES; s++) {
        column_of[s] = (uint32_t)columns->class_columns + s;
        board->seconds[column_of[s]] = board->tally.idle[s].report_s;
        board->learn_seconds[column_of[s]] = board->tally.idle[s].learn_s;
    }
    for (uint32_t u = 0; u < work->pass_uses; u++)
        column_of[jm__piece_code(u)] = columns->of_use[work->use_of[u]];
    for (size_t u = 0; u < board->tally.uses.count; u++) {
        const jm__use_sum *sum = &board->tally.uses.items[u];
        if (sum->ran_s < 0) continue;
        double scale = jm__use_scale(board, u);
        board->seconds[columns->of_use[u]] += scale * sum->inside.report_s;
        board->learn_seconds[columns->of_use[u]] += scale * sum->inside.learn_s;
        board->stood_seconds[columns->of_use[u]] += scale * sum->stood_s;
    }
    return JM_OK;
}

jm_status jm__work_choose_columns(jm__work_set *work, jm__board_work *board, jm_error *err)
{
    if (!jm__tally_renumber(&board->tally, work->use_of)) return jm__no_memory(err, "jm__work_pass");
    JM_TRY(jm__columns_choose(&board->columns, &board->tally, &work->uses, &work->classes, err));
    return count_columns(work, board, err);
}

jm_status jm__work_split(jm__work_set *work, jm__board_work *board, const jm__column_split *split,
                         jm_error *err)
{
    JM_TRY(jm__columns_split(&board->columns, split, work->uses.items.count, err));
    return count_columns(work, board, err);
}

jm_status jm__work_scale(jm__work_set *work, jm__board_work *board, const double *use_scale, jm_error *err)
{
    size_t uses = work->uses.items.count;
    double *of_code = malloc((JM_IDLE_STATES + work->pass_uses) * sizeof *of_code);
    double *of_use = malloc((uses + 1) * sizeof *of_use);
    free(board->use_scale);
    free(board->scale_of);
    board->use_scale = of_use;
    board->pieces.scale_of = board->scale_of = of_code;
    if (of_code == NULL || of_use == NULL) return jm__no_memory(err, "jm__work_scale");
    memcpy(of_use, use_scale, uses * sizeof *of_use);
    for (size_t s = 0; s < JM_IDLE_STATES; s++)
        of_code[s] = 1;
    for (uint32_t u = 0; u < work->pass_uses; u++)
        of_code[jm__piece_code(u)] = use_scale[work->use_of[u]];
    return count_columns(work, board, err);
}
