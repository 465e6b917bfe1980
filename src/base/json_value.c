/* jansson refuses what is not UTF-8 and what is not finite: both are replaced first. */
#include "base/json_value.h"

#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>

json_t *jm__json_text(const char *value)
{
    if (value == NULL) return json_null();
    jm__strbuf clean = {0};
    jm__utf8_add(&clean, value, false);
    char *whole = jm__strbuf_take(&clean);
    json_t *string = whole != NULL ? json_string(whole) : NULL;
    free(whole);
    return string;
}

json_t *jm__json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}
