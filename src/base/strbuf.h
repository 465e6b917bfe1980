/* A growing text. After a failed allocation it stays failed and holds what it
 * had: check once, at the end. Zero-initialise; free with jm__strbuf_free. */
#ifndef JM_BASE_STRBUF_H
#define JM_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct jm__strbuf {
    char *text; /* NUL-terminated once anything was added, else NULL */
    size_t length;
    size_t capacity;
    bool failed;
} jm__strbuf;

void jm__strbuf_add(jm__strbuf *buffer, const char *text);
void jm__strbuf_add_bytes(jm__strbuf *buffer, const char *bytes, size_t count);
void jm__strbuf_format(jm__strbuf *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text, now the caller's (free()), "" allocated if empty; NULL if an allocation failed. */
char *jm__strbuf_take(jm__strbuf *buffer);
void jm__strbuf_drop_spaces(jm__strbuf *buffer); /* at its end */
void jm__strbuf_free(jm__strbuf *buffer);

/* Many texts that live and go together: a few large pieces of memory in place of one a text. */
typedef struct jm__text_store {
    struct jm__text_block *newest;
} jm__text_store; /* zeroed: empty */

/* Room for so many bytes, the end of the text among them; NULL if memory is out. */
char *jm__text_store_room(jm__text_store *store, size_t bytes);

/* A copy of the first `length` bytes, NUL-terminated; NULL if memory is out. */
const char *jm__text_store_add(jm__text_store *store, const char *text, size_t length);

void jm__text_store_free(jm__text_store *store);

#endif
