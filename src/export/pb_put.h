/* Protocol buffers on their way out: fields one after the other into a text of bytes, messages by their
 * length. https://protobuf.dev/programming-guides/encoding */
#ifndef JM_EXPORT_PB_PUT_H
#define JM_EXPORT_PB_PUT_H

#include "base/strbuf.h"

#include <stdint.h>

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
