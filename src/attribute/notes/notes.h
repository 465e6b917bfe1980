/* How sentences come into the list of notes, and who writes them. */
#ifndef JM_ATTRIBUTE_NOTES_NOTES_H
#define JM_ATTRIBUTE_NOTES_NOTES_H

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
__attribute__((format(printf, 2, 3))) void jm__say(jm__note_writer *w, const char *format, ...);

/* What nobody may overlook. */
__attribute__((format(printf, 2, 3))) void jm__warn(jm__note_writer *w, const char *format, ...);

/* What a reader of a report must know besides its figures. */

jm_status jm__notes_write(jm__notes *notes, const jm__attribution *a, jm_error *err);
void jm__notes_free(jm__notes *notes);

#endif
