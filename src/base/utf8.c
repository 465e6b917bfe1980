/* Valid UTF-8 from any bytes, and cuts between characters. */
#include "base/utf8.h"

#include <joulemap/status.h>

#define REPLACEMENT "\xef\xbf\xbd"
#define ELLIPSIS    "\xe2\x80\xa6"

size_t jm__utf8_character(const char *text)
{
    unsigned char first = (unsigned char)text[0];
    if (first == 0) return 0;
    if (first < 0x80) return 1;
    unsigned char second = (unsigned char)text[1];
    if (first >= 0xC2 && first <= 0xDF) return jm__utf8_continues(text + 1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        if (first == 0xE0 && second < 0xA0) return 0;  /* overlong */
        if (first == 0xED && second >= 0xA0) return 0; /* a surrogate */
        return jm__utf8_continues(text + 1) && jm__utf8_continues(text + 2) ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        if (first == 0xF0 && second < 0x90) return 0;
        if (first == 0xF4 && second >= 0x90) return 0; /* above U+10FFFF */
        return jm__utf8_continues(text + 1) && jm__utf8_continues(text + 2) && jm__utf8_continues(text + 3)
                   ? 4
                   : 0;
    }
    return 0;
}

/* C0, DEL, C1, and the bidirectional controls (U+202A to U+202E, U+2066 to U+2069), which can make one name
 * look like another. */
static bool is_control(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (bytes[0] < 0x20 || bytes[0] == 0x7F) return true;
    if (bytes[0] == 0xC2) return bytes[1] < 0xA0;
    bool general = bytes[0] == 0xE2 && (bytes[1] == 0x80 || bytes[1] == 0x81);
    return general &&
           (bytes[1] == 0x80 ? bytes[2] >= 0xAA && bytes[2] <= 0xAE : bytes[2] >= 0xA6 && bytes[2] <= 0xA9);
}

void jm__utf8_add(jm__strbuf *buffer, const char *text, bool printable)
{
    while (*text != '\0') {
        size_t bytes = jm__utf8_character(text);
        if (bytes == 0 || (printable && is_control(text)))
            jm__strbuf_add(buffer, REPLACEMENT);
        else
            jm__strbuf_add_bytes(buffer, text, bytes);
        text += bytes == 0 ? 1 : bytes;
    }
}

char *jm_text_printable(char *out, size_t size, const char *text)
{
    size_t length = 0;
    while (*text != '\0') {
        size_t bytes = jm__utf8_character(text);
        bool bad = bytes == 0 || is_control(text);
        size_t room = bad ? sizeof REPLACEMENT - 1 : bytes;
        if (length + room >= size) break;
        memcpy(out + length, bad ? REPLACEMENT : text, room);
        length += room;
        text += bytes == 0 ? 1 : bytes;
    }
    if (size > 0) out[length] = '\0';
    return out;
}

size_t jm__utf8_columns(const char *text)
{
    size_t columns = 0;
    for (; *text != '\0'; text++)
        columns += !jm__utf8_continues(text);
    return columns;
}

static const char *skip_characters(const char *text, size_t count)
{
    while (count > 0 && *text != '\0') {
        text++;
        while (jm__utf8_continues(text))
            text++;
        count--;
    }
    return text;
}

void jm__utf8_add_cut(jm__strbuf *buffer, const char *text, size_t columns)
{
    size_t have = jm__utf8_columns(text);
    if (have <= columns) {
        jm__strbuf_add(buffer, text);
        return;
    }
    if (columns == 0) return;
    size_t kept = columns - 1, tail = kept * 2 / 5, head = kept - tail;
    jm__strbuf_add_bytes(buffer, text, (size_t)(skip_characters(text, head) - text));
    jm__strbuf_add(buffer, ELLIPSIS);
    jm__strbuf_add(buffer, skip_characters(text, have - tail));
}

void jm__utf8_add_head(jm__strbuf *buffer, const char *text, size_t columns)
{
    if (jm__utf8_columns(text) <= columns) {
        jm__strbuf_add(buffer, text);
    } else if (columns > 0) {
        jm__strbuf_add_bytes(buffer, text, (size_t)(skip_characters(text, columns - 1) - text));
        jm__strbuf_add(buffer, ELLIPSIS);
    }
}
