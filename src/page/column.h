/* Tables of the page: an array a column. */
#ifndef JM_PAGE_COLUMN_H
#define JM_PAGE_COLUMN_H

#include "base/json_value.h"

typedef struct jm__page_column {
    const char *key;
    json_t *(*cell)(const void *context, size_t i); /* NULL: memory is out */
} jm__page_column;

/* {"key": [cells], ...}; NULL if memory is out. */
json_t *jm__page_columns(const jm__page_column *columns, size_t column_count, size_t count,
                         const void *context);

/* The same of a sequence of objects: an array of count values, NULL if memory is out. */
json_t *jm__page_array(size_t count, json_t *(*item)(const void *context, size_t i), const void *context);

#endif
