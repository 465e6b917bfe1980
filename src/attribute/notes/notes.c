/* What a reader of a report must know, in order. */
#include "attribute/notes/notes.h"

#include "base/status.h"

#include <stdlib.h>

jm_status jm__notes_write(jm__notes *notes, const jm__attribution *a, jm_error *err)
{
    jm__note_writer w = {.notes = notes, .a = a};
    bool simulated = false;
    for (size_t b = 0; b < a->dataset->board_count; b++)
        simulated = simulated || (a->boards[b].wanted && a->boards[b].board->simulated);
    if (simulated) jm__say(&w, "The GPU is simulated: these joules were never drawn from a wall.");
    if (a->dataset->damage != NULL) jm__warn(&w, "The recording is damaged: %s", a->dataset->damage);
    if (a->dataset->board_count == 0) jm__warn(&w, "The recording has no board: no energy is known.");
    for (size_t b = 0; b < a->dataset->board_count; b++)
        if (a->boards[b].wanted) jm__notes_of_board(&w, &a->boards[b]);
    jm__notes_of_ranks(&w);
    jm__notes_of_recording(&w);
    jm__notes_of_tracing(&w);
    return w.failed ? jm__no_memory(err, "jm__notes_write") : JM_OK;
}

void jm__notes_free(jm__notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free(notes->items[i].text);
    jm__vec_free(notes);
}
