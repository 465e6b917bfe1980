/* Sentences into the list of notes. */
#include "attribute/notes/note_writer.h"

#include "base/plain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Two equal GPUs are told apart by their index. */
void jm__note_writer_speak_of(jm__note_writer *w, const jm_board *board)
{
    if (jm__board_is_fitted(board) && board->index >= 0)
        snprintf(w->label, sizeof w->label, "GPU %d (%s)", (int)board->index, board->name);
    else
        snprintf(w->label, sizeof w->label, "%s", board->name);
}

__attribute__((format(printf, 3, 0))) static void add(jm__note_writer *w, bool essential, const char *format,
                                                      va_list args)
{
    va_list again;
    va_copy(again, args);
    size_t size = (size_t)jm__vprint(NULL, 0, format, args) + 1;
    jm__note note = {.essential = essential, .text = malloc(size)};
    if (note.text != NULL) jm__vprint(note.text, size, format, again);
    va_end(again);
    if (note.text != NULL && jm__vec_push(w->notes, note)) return;
    free(note.text);
    w->failed = true;
}

void jm__say(jm__note_writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(w, false, format, args);
    va_end(args);
}

void jm__warn(jm__note_writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(w, true, format, args);
    va_end(args);
}
