/* JSON that is too long to be held: value after value into a stream. */
#ifndef JM_EXPORT_JSON_PUT_H
#define JM_EXPORT_JSON_PUT_H

#include "base/json_value.h"

#include <stdbool.h>
#include <stdio.h>

/* Write `before` and the value, which it takes. False if that is NULL or there is no memory; an error of the
 * stream is for whoever has it. */
bool jm__json_put(FILE *out, const char *before, json_t *value);

#endif
