/* jansson refuses invalid UTF-8 and non-finite numbers: both are replaced first. */
#include "base/json_value.h"

#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

json_t *jm__json_text(const char *value)
{
    if (value == NULL) return json_null();
    jm__strbuf clean = {0};
    jm__utf8_add(&clean, value, false);
    char *valid_text = jm__strbuf_take(&clean);
    json_t *string = valid_text != NULL ? json_string(valid_text) : NULL;
    free(valid_text);
    return string;
}

bool jm__json_copy_text(char *out, size_t size, const json_t *text)
{
    const char *value = json_string_value(text);
    if (value == NULL) return false;
    int length = snprintf(out, size, "%s", value);
    return length >= 0 && (size_t)length < size;
}

json_t *jm__json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

void jm__json_set(json_t **object, const char *key, json_t *value_take)
{
    if (json_object_set_new(*object, key, value_take) == 0) return;
    json_decref(*object);
    *object = NULL;
}

json_t *jm__json_array(size_t count, json_t *(*item)(const void *context, size_t i), const void *context)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < count; i++) {
        if (json_array_append_new(array, item(context, i)) == 0) continue;
        json_decref(array);
        return NULL;
    }
    return array;
}

json_t *jm__json_columns(const jm__json_column *columns, size_t column_count, size_t count,
                         const void *context)
{
    json_t *table = json_object();
    for (size_t c = 0; table != NULL && c < column_count; c++) {
        json_t *cells = jm__json_array(count, columns[c].cell, context);
        if (json_object_set_new(table, columns[c].key, cells) == 0) continue;
        json_decref(table);
        return NULL;
    }
    return table;
}
