/* How sentences come into the list of notes, and who writes them. */
#ifndef JM_ATTRIBUTE_NOTES_NOTE_WRITER_H
#define JM_ATTRIBUTE_NOTES_NOTE_WRITER_H

#include "attribute/attribution.h"

typedef struct jm__note {
    char *text;
    bool essential; /* the figures are incomplete, or rest on less than they could */
} jm__note;

typedef JM_VEC(jm__note) jm__notes;

typedef struct jm__note_writer {
    jm__notes *notes;
    const jm__attribution *a;
    char label[JM_BOARD_TEXT + 32]; /* of the board that is spoken of */
    bool failed;                    /* no memory: notes are missing */
} jm__note_writer;

void jm__note_writer_speak_of(jm__note_writer *w, const jm_board *board);

__attribute__((format(printf, 2, 3))) void jm__say(jm__note_writer *w, const char *format, ...);

/* What nobody may overlook. */
__attribute__((format(printf, 2, 3))) void jm__warn(jm__note_writer *w, const char *format, ...);

void jm__notes_of_board(jm__note_writer *w, const jm__board_part *part);
void jm__notes_of_ranks(jm__note_writer *w);
void jm__notes_of_recording(jm__note_writer *w);
void jm__notes_of_tracing(jm__note_writer *w);
void jm__notes_of_stands(jm__note_writer *w);

#endif
