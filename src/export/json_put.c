/* One value of a longer text of JSON. */
#include "export/json_put.h"

bool jm__json_put(FILE *out, const char *before, json_t *value)
{
    enum { DIGITS = 15 };
    const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(DIGITS);
    if (value == NULL) return false;
    fputs(before, out);
    bool whole = json_dumpf(value, out, flags) == 0 || ferror(out);
    json_decref(value);
    return whole;
}
