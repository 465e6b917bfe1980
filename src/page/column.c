/* Arrays of JSON, value by value. */
#include "page/column.h"

json_t *jm__page_array(size_t count, json_t *(*item)(const void *context, size_t i), const void *context)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < count; i++) {
        if (json_array_append_new(array, item(context, i)) == 0) continue;
        json_decref(array);
        return NULL;
    }
    return array;
}

json_t *jm__page_columns(const jm__page_column *columns, size_t column_count, size_t count,
                         const void *context)
{
    json_t *table = json_object();
    for (size_t c = 0; table != NULL && c < column_count; c++) {
        json_t *cells = jm__page_array(count, columns[c].cell, context);
        if (json_object_set_new(table, columns[c].key, cells) == 0) continue;
        json_decref(table);
        return NULL;
    }
    return table;
}
