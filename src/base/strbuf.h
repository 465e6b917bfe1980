/* A growing text. An allocation failure leaves the content as it was and sets `failed`: check once, at the
 * end. Zero-initialise; free with jm__strbuf_free. */
#ifndef JM_BASE_STRBUF_H
#define JM_BASE_STRBUF_H

#include <stdbool.h>
#include <stddef.h>

typedef struct jm__strbuf {
    char *text; /* NUL-terminated; NULL while nothing was added */
    size_t length;
    size_t capacity;
    bool failed;
} jm__strbuf;

void jm__strbuf_add(jm__strbuf *buffer, const char *text);
void jm__strbuf_add_bytes(jm__strbuf *buffer, const char *bytes, size_t count);
void jm__strbuf_format(jm__strbuf *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the text, which the caller frees with free(); an allocated "" if empty; NULL if an allocation
 * failed. */
char *jm__strbuf_take(jm__strbuf *buffer);
void jm__strbuf_drop_spaces(jm__strbuf *buffer); /* trailing ones */
void jm__strbuf_free(jm__strbuf *buffer);

/* An arena for many texts with one lifetime: a few large blocks instead of one allocation per text. */
typedef struct jm__text_store {
    struct jm__text_block *newest;
} jm__text_store; /* zeroed: empty */

/* Reserves `bytes`, which must include the terminating NUL; NULL if memory is out. */
char *jm__text_store_reserve(jm__text_store *store, size_t bytes);

/* A copy of the first `length` bytes, NUL-terminated; NULL if memory is out. */
const char *jm__text_store_add(jm__text_store *store, const char *text, size_t length);

void jm__text_store_free(jm__text_store *store);

#endif
