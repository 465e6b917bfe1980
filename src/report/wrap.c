/* Sentences in lines that fit the terminal. */
#include "report/wrap.h"

#include "base/utf8.h"

#include <string.h>

void jm__wrap(jm__strbuf *out, const char *name, size_t indent, const char *text, size_t width)
{
    jm__strbuf clean = {0};
    jm__utf8_add(&clean, text, true);
    jm__strbuf_format(out, "%-*s", (int)indent, name);
    size_t column = indent;
    for (const char *word = clean.text; word != NULL && *word != '\0';) {
        size_t bytes = strcspn(word, " "), wide = 0;
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
