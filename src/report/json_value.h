/* Values of JSON, and their way into a text. */
#ifndef JM_REPORT_JSON_VALUE_H
#define JM_REPORT_JSON_VALUE_H

#include "base/strbuf.h"

#include <jansson.h>

json_t *jm__json_real(double value); /* null where there is none (NAN) */

/* NULL gives null; what is no UTF-8, which jansson refuses, is replaced. */
json_t *jm__json_text(const char *value);

/* Add a value that stands `depth` deep inside others. False: it is NULL, or memory is out; `out` remembers
 * too. */
bool jm__json_add(jm__strbuf *out, const json_t *value, int depth);

#endif
