/* Values on their way out: cells of CSV, JSON that is too long to be held, protocol buffers field by field
 * (https://protobuf.dev/programming-guides/encoding). */
#ifndef JM_EXPORT_PUT_H
#define JM_EXPORT_PUT_H

#include "base/json_value.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A cell of CSV. What a spreadsheet would take for a formula has an apostrophe before it. */
void jm__csv_put(FILE *out, const char *text);

/* Write `before` and the value, which it takes. False if that is NULL or there is no memory; an error of the
 * stream is for whoever has it. */
bool jm__json_put(FILE *out, const char *before, json_t *value);

/* int64, uint64, bool and enumerations; a field of 0 is written too. */
void jm__pb_int(jm__strbuf *to, uint32_t field, int64_t value);

void jm__pb_double(jm__strbuf *to, uint32_t field, double value);

/* Whole UTF-8, which readers insist on. */
void jm__pb_text(jm__strbuf *to, uint32_t field, const char *text);

/* Of a repeated number, all in one field. */
void jm__pb_ints(jm__strbuf *to, uint32_t field, const int64_t *values, size_t count);

/* A message inside; if that has failed, `to` has too. It is emptied, and keeps its room for the next one. */
void jm__pb_message(jm__strbuf *to, uint32_t field, jm__strbuf *message);

#endif
