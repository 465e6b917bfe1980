/* A private copy of a recording and its journal, for files in a folder that cannot be written, or that must
 * not be locked. */
#ifndef JM_FORMAT_COPY_H
#define JM_FORMAT_COPY_H

#include "base/status.h"

typedef struct jm__copy jm__copy;

/* Copies into a new folder under TMPDIR (/tmp without it). */
jm_status jm__copy_create(jm__copy **out, const char *path, jm_error *err);
const char *jm__copy_path(const jm__copy *copy);
void jm__copy_free(
    jm__copy *copy); /* removes it, except in a forked child; open descriptors can still read it */

#endif
