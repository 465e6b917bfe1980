/* Many texts that live and go together: a few large pieces of memory in place of one a text. */
#ifndef JM_BASE_TEXT_STORE_H
#define JM_BASE_TEXT_STORE_H

#include <stddef.h>

typedef struct jm__text_store {
    struct jm__text_block *newest;
} jm__text_store; /* zeroed: empty */

/* Room for so many bytes, the end of the text among them; NULL if memory is out. */
char *jm__text_store_room(jm__text_store *store, size_t bytes);

/* A copy of the first `length` bytes, NUL-terminated; NULL if memory is out. */
const char *jm__text_store_add(jm__text_store *store, const char *text, size_t length);

void jm__text_store_free(jm__text_store *store);

#endif
