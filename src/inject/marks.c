/* Marks, and the JSON that goes with them. */
#include "inject/marks.h"

#include "base/plain.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 250u /* of a name in JSON; longer ones are cut */
#define META_BYTES (6 * TEXT_BYTES + 128)

/* A text in quotes. */
static void quote(char *out, size_t size, const char *text)
{
    size_t length = jm__utf8_cut(text, TEXT_BYTES), at = 0;
    out[at++] = '"';
    for (size_t i = 0; i < length && at + 8 < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            out[at++] = (char)c;
        else
            at += (size_t)snprintf(out + at, size - at, "\\u%04x", c);
    }
    out[at++] = '"';
    out[at] = '\0';
}

/* What is no number of JSON is null. */
static void number(char *out, size_t size, const jm__track_number *payload)
{
    if (payload->kind == JM_PAYLOAD_INTEGER)
        snprintf(out, size, "%" PRId64, payload->value.integer);
    else if (payload->kind == JM_PAYLOAD_NATURAL)
        snprintf(out, size, "%" PRIu64, payload->value.natural);
    else if (isfinite(payload->value.real))
        jm__print(out, size, "%.17g", payload->value.real);
    else
        snprintf(out, size, "null");
}

void jm__mark_put(const jm__range *range)
{
    char category[6 * TEXT_BYTES + 16], payload[40], meta[META_BYTES];
    const char *text = range->type == 0 ? NULL : jm__track_text(range->type);
    bool numbered = range->payload.kind != JM_PAYLOAD_NONE;
    if (text == NULL && !numbered) {
        jm__track_mark_number(range->name);
        return;
    }
    if (text != NULL) quote(category, sizeof category, text);
    if (numbered) number(payload, sizeof payload, &range->payload);
    snprintf(meta, sizeof meta, "{%s%s%s%s%s}", text != NULL ? "\"category\": " : "",
             text != NULL ? category : "", text != NULL && numbered ? ", " : "",
             numbered ? "\"payload\": " : "", numbered ? payload : "");
    jm__track_mark_with(range->name, meta);
}

void jm__mark_named(const char *of, uint64_t id, const char *name)
{
    static const char title[] = "NVTX name";
    char quoted[6 * TEXT_BYTES + 16], meta[META_BYTES];
    if (name == NULL || name[0] == '\0') return;
    quote(quoted, sizeof quoted, name);
    snprintf(meta, sizeof meta, "{\"of\": \"%s\", \"id\": %" PRIu64 ", \"name\": %s}", of, id, quoted);
    jm__track_mark_with(jm__track_intern(title, sizeof title), meta);
}
