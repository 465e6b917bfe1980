/* Lines of a table as JSON: an array a column, which is a third of an object a row. */
#ifndef JM_PAGE_LINES_JSON_H
#define JM_PAGE_LINES_JSON_H

#include "base/json_value.h"
#include "page/lines.h"

/* NULL if memory is out. */
json_t *jm__page_lines_json(const jm__page_lines *lines);

#endif
