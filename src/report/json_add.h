/* Values of JSON, and their way into a text. */
#ifndef JM_REPORT_JSON_ADD_H
#define JM_REPORT_JSON_ADD_H

#include "base/json_value.h"
#include "base/strbuf.h"

/* Add a value that stands `depth` deep inside others. False: it is NULL, or memory is out; `out` remembers
 * too. */
bool jm__json_add(jm__strbuf *out, const json_t *value, int depth);

#endif
