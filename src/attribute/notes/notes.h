/* Notes of a report: sentences that its reader needs besides the figures. */
#ifndef JM_ATTRIBUTE_NOTES_NOTES_H
#define JM_ATTRIBUTE_NOTES_NOTES_H

#include "attribute/attribution.h"

typedef struct jm__note {
    char *text;
    bool essential; /* the figures are incomplete or less certain */
} jm__note;

typedef JM_VEC(jm__note) jm__notes;

jm_status jm__notes_write(jm__notes *notes, const jm__attribution *a, jm_error *err);
void jm__notes_free(jm__notes *notes);

#endif
