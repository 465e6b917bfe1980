/* Texts that came from somewhere else: whole UTF-8 without surprises, measured and cut by characters.
 * A character counts as one column; that is true of names in practice, not of East Asian ones. */
#ifndef JM_BASE_UTF8_H
#define JM_BASE_UTF8_H

#include "base/strbuf.h"

#include <string.h>

/* A byte inside a character, not the first of it. */
static inline bool jm__utf8_continues(const char *text)
{
    return ((unsigned char)*text & 0xC0) == 0x80;
}

/* Bytes of the beginning of `text`, at most `most`, that split no character. Here, so that the injected
 * library has it without the rest. */
static inline size_t jm__utf8_cut(const char *text, size_t most)
{
    size_t length = strnlen(text, most + 1);
    if (length <= most) return length;
    length = most;
    while (length > 0 && jm__utf8_continues(text + length))
        length--;
    return length;
}

/* Bytes of the valid character at `text`, 0 at its end or where it is not UTF-8. */
size_t jm__utf8_character(const char *text);

/* Add `text`; what is not UTF-8 becomes U+FFFD, and so do control characters if `printable`
 * (a name must not move the cursor of a terminal). */
void jm__utf8_add(jm__strbuf *buffer, const char *text, bool printable);

size_t jm__utf8_columns(const char *text); /* of valid UTF-8 */

/* Add `text` (valid UTF-8), at most `columns` wide: what is too much goes out of the
 * middle, and an ellipsis takes its place. */
void jm__utf8_add_cut(jm__strbuf *buffer, const char *text, size_t columns);

/* Add at most `columns` of the beginning of `text`, an ellipsis for what is left out. */
void jm__utf8_add_head(jm__strbuf *buffer, const char *text, size_t columns);

#endif
