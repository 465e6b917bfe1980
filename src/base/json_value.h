/* Values of JSON out of ours. */
#ifndef JM_BASE_JSON_VALUE_H
#define JM_BASE_JSON_VALUE_H

#include <jansson.h>

/* A text of any bytes, whole UTF-8 (base/utf8.h); null for NULL. NULL if memory is out. */
json_t *jm__json_text(const char *value);

/* null for what is not finite. */
json_t *jm__json_real(double value);

/* Of count values; NULL if memory is out, as that of one. */
json_t *jm__json_array(size_t count, json_t *(*item)(const void *context, size_t i), const void *context);

/* A table: an array a column. */
typedef struct jm__json_column {
    const char *key;
    json_t *(*cell)(const void *context, size_t i); /* NULL: memory is out */
} jm__json_column;

/* {"key": [cells], ...}; NULL if memory is out. */
json_t *jm__json_columns(const jm__json_column *columns, size_t column_count, size_t count,
                         const void *context);

#endif
