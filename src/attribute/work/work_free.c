/* What a pass left goes: all of it, or what is not needed any more. */
#include "attribute/work/work.h"

#include <stdlib.h>

void jm__work_drop_cells(jm__work_set *work)
{
    for (size_t b = 0; b < work->board_count && work->boards != NULL; b++) {
        jm__work_cells_free(&work->boards[b].tally.work);
        jm__work_cells_free(&work->boards[b].tally.waits);
        jm__work_cells_free(&work->boards[b].tally.lent);
    }
}

void jm__work_drop_pieces(jm__work_set *work)
{
    for (size_t b = 0; b < work->board_count && work->boards != NULL; b++) {
        jm__pieces_free(&work->boards[b].pieces);
        free(work->boards[b].column_of);
        free(work->boards[b].scale_of);
        work->boards[b].column_of = NULL;
        work->boards[b].scale_of = NULL;
    }
}

void jm__work_free(jm__work_set *work)
{
    jm__work_drop_pieces(work);
    for (size_t b = 0; b < work->board_count && work->boards != NULL; b++) {
        jm__tally_free(&work->boards[b].tally);
        jm__columns_free(&work->boards[b].columns);
        free(work->boards[b].seconds);
        free(work->boards[b].use_scale);
    }
    free(work->boards);
    jm__vec_free(&work->classes);
    jm__ranks_free(&work->ranks);
    jm__contexts_free(&work->contexts);
    jm__uses_free(&work->uses);
    free(work->use_of);
    *work = (jm__work_set){0};
}
