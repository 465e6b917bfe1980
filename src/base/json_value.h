/* Values of JSON out of ours. */
#ifndef JM_BASE_JSON_VALUE_H
#define JM_BASE_JSON_VALUE_H

#include <jansson.h>

/* A text of any bytes, whole UTF-8 (base/utf8.h); null for NULL. NULL if memory is out. */
json_t *jm__json_text(const char *value);

/* null for what is not finite. */
json_t *jm__json_real(double value);

#endif
