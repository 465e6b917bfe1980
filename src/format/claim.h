/* The file of a new recording: made, or refused with words. */
#ifndef JM_FORMAT_CLAIM_H
#define JM_FORMAT_CLAIM_H

#include "format/written.h"

#include <joulemap/status.h>
#include <stdbool.h>

/* A name claimed, so that two recorders never write one file. */
typedef struct jm__claim {
    char *path;
    char *aside; /* what the file replaces waits here, with the journals beside it; NULL: nothing */
    jm__written file;
} jm__claim;

/* SQLite fills the empty file. An existing one is refused (IO) unless `overwrite`, and then put aside until
 * it is known that the new one comes to something; one that is still being written is refused in any case
 * (BUSY). */
jm_status jm__claim_make(jm__claim *claim, const char *path, bool overwrite, jm_error *err);

/* The new file stands: what it replaces goes. */
void jm__claim_keep(jm__claim *claim);

/* The new file goes, and what it would have replaced is there again. */
void jm__claim_undo(jm__claim *claim);

void jm__claim_free(jm__claim *claim); /* leaves the files as they are */

/* BUSY, with words, if somebody writes a recording there. */
jm_status jm__claim_refuse_written(const char *path, jm_error *err);

/* A recording with all that lies beside it. 0, or the errno of the file itself: then all is still there. */
int jm__claim_remove_files(const char *path);

#endif
