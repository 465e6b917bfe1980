/* Files of the source tree that the build embeds in the library as tables (jm_embed in CMakeLists.txt). */
#ifndef JM_BASE_EMBEDDED_H
#define JM_BASE_EMBEDDED_H

#include <stddef.h>

typedef struct jm__embedded {
    const char *name; /* of the file, without its extension; NULL ends the table */
    const char *text; /* not NUL-terminated */
    size_t length;
} jm__embedded;

#endif
