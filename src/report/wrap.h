/* Sentences in lines that fit the terminal. */
#ifndef JM_REPORT_WRAP_H
#define JM_REPORT_WRAP_H

#include "base/strbuf.h"

/* "name      text": `indent` columns for the name, words beyond column `width` (0: none are) on lines of
 * their own below the text. The text may hold any bytes. */
void jm__wrap(jm__strbuf *out, const char *name, size_t indent, const char *text, size_t width);

#endif
