/* The way of JSON into a text. */
#include "report/json_add.h"

#include <string.h>

/* Where a value's text goes, and how deep inside others it stands. */
typedef struct place {
    jm__strbuf *out;
    int spaces;
} place;

enum { INDENT = 2 };

/* A line's end stands for itself: in a text it is written as two characters. */
static int add_bytes(const char *bytes, size_t count, void *to)
{
    const place *at = to;
    for (size_t used = 0, part; used < count; used += part) {
        const char *end = memchr(bytes + used, '\n', count - used);
        part = end != NULL ? (size_t)(end - bytes) + 1 - used : count - used;
        jm__strbuf_add_bytes(at->out, bytes + used, part);
        if (end != NULL) jm__strbuf_format(at->out, "%*s", at->spaces, "");
    }
    return 0; /* the buffer remembers */
}

/* Into a buffer of our own: json_dumps leaves a key out for which its buffer could not grow (jansson 2.14).
 */
bool jm__json_add(jm__strbuf *out, const json_t *value, int depth)
{
    enum { DIGITS = 15 };
    place at = {out, depth * INDENT};
    return value != NULL &&
           json_dump_callback(value, add_bytes, &at, JSON_INDENT(INDENT) | JSON_REAL_PRECISION(DIGITS)) == 0;
}
