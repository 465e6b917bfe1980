/* C values as JSON. */
#ifndef JM_BASE_JSON_VALUE_H
#define JM_BASE_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>

/* Invalid UTF-8 is replaced (base/utf8.h); NULL becomes null. Returns NULL if memory is out. */
json_t *jm__json_text(const char *value);

/* Copies a string; false if `text` is none or does not fit. */
bool jm__json_copy_text(char *out, size_t size, const json_t *text);

/* NaN and infinities become null. */
json_t *jm__json_real(double value);

/* Set a member. *object becomes NULL if `value_take` is NULL or memory is out, and then stays so: check once.
 */
void jm__json_set(json_t **object, const char *key, json_t *value_take);

/* An array of `count` values from `item`; NULL if memory is out, also if `item` returns NULL. */
json_t *jm__json_array(size_t count, json_t *(*item)(const void *context, size_t i), const void *context);

/* A table: one array per column. */
typedef struct jm__json_column {
    const char *key;
    json_t *(*cell)(const void *context, size_t i); /* NULL: memory is out */
} jm__json_column;

/* {"key": [cells], ...}; NULL if memory is out. */
json_t *jm__json_columns(const jm__json_column *columns, size_t column_count, size_t count,
                         const void *context);

#endif
