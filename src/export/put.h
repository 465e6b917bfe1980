/* Writing values: CSV cells, JSON too large for memory, and protocol buffers field by field
 * (https://protobuf.dev/programming-guides/encoding). */
#ifndef JM_EXPORT_PUT_H
#define JM_EXPORT_PUT_H

#include "base/json_value.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A CSV cell. Text that a spreadsheet would read as a formula gets an apostrophe. */
void jm__csv_put(FILE *out, const char *text);

/* Write `prefix` and the value, which is taken. False: the value is NULL or memory is out. The caller checks
 * the stream for errors. */
bool jm__json_put(FILE *out, const char *prefix, json_t *value);

/* An int64, uint64, bool or enumeration; a 0 is written too. */
void jm__pb_int(jm__strbuf *to, uint32_t field, int64_t value);

void jm__pb_double(jm__strbuf *to, uint32_t field, double value);

/* Text as valid UTF-8, which readers require. */
void jm__pb_text(jm__strbuf *to, uint32_t field, const char *text);

/* A packed repeated number. */
void jm__pb_ints(jm__strbuf *to, uint32_t field, const int64_t *values, size_t count);

/* A nested message. If it has failed, `to` fails too. It is emptied and keeps its buffer for the next one. */
void jm__pb_message(jm__strbuf *to, uint32_t field, jm__strbuf *message);

#endif
