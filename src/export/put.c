/* Writes CSV cells, JSON values, and protocol buffers. */
#include "export/put.h"

#include "base/csv.h"
#include "base/utf8.h"

#include <endian.h>
#include <string.h>

void jm__csv_put(FILE *out, const char *text)
{
    const char *apostrophe = jm__csv_looks_like_a_formula(text) ? "'" : "";
    size_t length = strlen(text); /* readers may strip blanks at the ends */
    bool blank_at_end = length > 0 && (text[0] == ' ' || text[length - 1] == ' ' || text[length - 1] == '\t');
    if (!blank_at_end && text[strcspn(text, ",\"\r\n")] == '\0') {
        fprintf(out, "%s%s", apostrophe, text);
        return;
    }
    fprintf(out, "\"%s", apostrophe);
    for (; *text != '\0'; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

bool jm__json_put(FILE *out, const char *prefix, json_t *value)
{
    enum { DIGITS = 15 };
    const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(DIGITS);
    if (value == NULL) return false;
    fputs(prefix, out);
    bool ok = json_dumpf(value, out, flags) == 0 || ferror(out);
    json_decref(value);
    return ok;
}

/* ---- protocol buffers */

/* Wire types. */
enum { VARINT = 0, EIGHT_BYTES = 1, LENGTH = 2 };

static void add_varint(jm__strbuf *to, uint64_t value)
{
    char bytes[10];
    size_t count = 0;
    for (; value > 0x7f; value >>= 7)
        bytes[count++] = (char)((value & 0x7f) | 0x80);
    bytes[count++] = (char)value;
    jm__strbuf_add_bytes(to, bytes, count);
}

static void add_tag(jm__strbuf *to, uint32_t field, uint32_t wire_type)
{
    add_varint(to, (uint64_t)field << 3 | wire_type);
}

static void add_bytes(jm__strbuf *to, uint32_t field, const jm__strbuf *bytes)
{
    add_tag(to, field, LENGTH);
    add_varint(to, bytes->length);
    if (bytes->length > 0) jm__strbuf_add_bytes(to, bytes->text, bytes->length);
    to->failed |= bytes->failed;
}

void jm__pb_int(jm__strbuf *to, uint32_t field, int64_t value)
{
    add_tag(to, field, VARINT);
    add_varint(to, (uint64_t)value);
}

void jm__pb_double(jm__strbuf *to, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = htole64(bits);
    add_tag(to, field, EIGHT_BYTES);
    jm__strbuf_add_bytes(to, (const char *)&bits, sizeof bits);
}

void jm__pb_text(jm__strbuf *to, uint32_t field, const char *text)
{
    jm__strbuf clean = {0};
    jm__utf8_add(&clean, text, false);
    add_bytes(to, field, &clean);
    jm__strbuf_free(&clean);
}

void jm__pb_ints(jm__strbuf *to, uint32_t field, const int64_t *values, size_t count)
{
    jm__strbuf packed = {0};
    for (size_t i = 0; i < count; i++)
        add_varint(&packed, (uint64_t)values[i]);
    add_bytes(to, field, &packed);
    jm__strbuf_free(&packed);
}

void jm__pb_message(jm__strbuf *to, uint32_t field, jm__strbuf *message)
{
    add_bytes(to, field, message);
    message->length = 0;
}
