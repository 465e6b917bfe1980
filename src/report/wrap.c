/* Sentences in lines that fit the terminal. */
#include "report/wrap.h"

#include "base/utf8.h"

#include <string.h>

/* The word at `next` belongs to the figure before it, which ends at `end`: "\302\2610.5", "W", "%",
 * "\302\260C". */
static bool is_bound(const char *end, const char *next)
{
    enum { UNIT = 2 };
    size_t letters = 0, wide = 0;
    if (strchr("0123456789", end[-1]) == NULL) return false;
    if (strncmp(next, "\302\261", 2) == 0) return true;
    for (; next[letters] != '\0' && strchr(" ,;:.)", next[letters]) == NULL; letters++)
        wide += !jm__utf8_continues(next + letters);
    return wide > 0 && wide <= UNIT && strchr("0123456789", next[0]) == NULL;
}

/* Bytes up to the next space at which a line may end. */
static size_t unit_length(const char *word)
{
    size_t bytes = strcspn(word, " ");
    while (bytes > 0 && word[bytes] == ' ' && is_bound(word + bytes, word + bytes + 1))
        bytes += 1 + strcspn(word + bytes + 1, " ");
    return bytes;
}

void jm__wrap(jm__strbuf *out, const char *name, size_t indent, const char *text, size_t width)
{
    jm__strbuf clean = {0};
    jm__utf8_add(&clean, text, true);
    jm__strbuf_format(out, "%-*s", (int)indent, name);
    size_t column = indent;
    for (const char *word = clean.text; word != NULL && *word != '\0';) {
        size_t bytes = unit_length(word), wide = 0;
        for (size_t i = 0; i < bytes; i++)
            wide += !jm__utf8_continues(word + i);
        if (width > 0 && column > indent && column + 1 + wide > width) {
            jm__strbuf_format(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            jm__strbuf_add(out, " ");
            column++;
        }
        jm__strbuf_add_bytes(out, word, bytes);
        column += wide;
        word += bytes + (word[bytes] == ' ');
    }
    jm__strbuf_add(out, "\n");
    if (clean.failed) out->failed = true;
    jm__strbuf_free(&clean);
}
