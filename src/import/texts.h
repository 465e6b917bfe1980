/* Names of parts and kernels as numbers from 1; 0 is "". */
#ifndef JM_IMPORT_TEXTS_H
#define JM_IMPORT_TEXTS_H

#include "base/map.h"
#include "base/vec.h"
#include <joulemap/status.h>

typedef struct jm__texts {
    JM_VEC(char *) items;
    jm__map numbers; /* by text */
} jm__texts;

/* The number of a text, given to it if it is new. LIMIT beyond a million. */
jm_status jm__texts_number(jm__texts *t, const char *text, size_t *number, jm_error *err);
const char *jm__texts_at(const jm__texts *t, size_t number);
void jm__texts_free(jm__texts *t);

#endif
