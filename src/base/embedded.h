/* Files of the source tree that are part of the library, made into tables at build time (jm_embed in
 * CMakeLists.txt). */
#ifndef JM_BASE_EMBEDDED_H
#define JM_BASE_EMBEDDED_H

#include <stddef.h>

typedef struct jm__embedded {
    const char *name; /* the file's, without ".json" or the like; NULL ends the table */
    const char *text; /* not terminated */
    size_t length;
} jm__embedded;

#endif
