/* Text from outside the process: made valid UTF-8, measured and cut by characters. A character counts as one
 * column, which is wrong for East Asian wide characters. */
#ifndef JM_BASE_UTF8_H
#define JM_BASE_UTF8_H

#include "base/strbuf.h"

#include <string.h>

/* Is it a continuation byte? */
static inline bool jm__utf8_continues(const char *text)
{
    return ((unsigned char)*text & 0xC0) == 0x80;
}

/* The length of the longest prefix of `text` of at most `most` bytes that splits no character. Inline,
 * because the injected library needs only this function. */
static inline size_t jm__utf8_cut(const char *text, size_t most)
{
    size_t length = strnlen(text, most + 1);
    if (length <= most) return length;
    length = most;
    while (length > 0 && jm__utf8_continues(text + length))
        length--;
    return length;
}

/* The length in bytes of the character at `text`; 0 at the end of the text or if it is not valid UTF-8. */
size_t jm__utf8_character(const char *text);

/* Append `text` with U+FFFD for invalid bytes. With `printable` also for control characters, which could move
 * a terminal's cursor. */
void jm__utf8_add(jm__strbuf *buffer, const char *text, bool printable);

size_t jm__utf8_columns(const char *text); /* `text` must be valid UTF-8 */

/* Append `text` (valid UTF-8) in at most `columns`; if it is longer, an ellipsis replaces its middle. */
void jm__utf8_add_cut(jm__strbuf *buffer, const char *text, size_t columns);

/* Append at most `columns` of `text`; an ellipsis replaces the cut end. */
void jm__utf8_add_head(jm__strbuf *buffer, const char *text, size_t columns);

#endif
