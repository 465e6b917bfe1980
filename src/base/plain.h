/* Text input and output that does not depend on the locale. The program around us may have set one with a
 * decimal comma, or one in which "i" is not the lower case of "I". */
#ifndef JM_BASE_PLAIN_H
#define JM_BASE_PLAIN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Like snprintf, vsnprintf and fprintf. */
int jm__print(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int jm__vprint(char *out, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
int jm__print_to(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Skip a UTF-8 byte order mark at the beginning of the file; false if the file is UTF-16. jm__bom_length: the
 * length of such a mark at the beginning of a text, 0 if there is none. */
bool jm__skip_bom(FILE *file);
size_t jm__bom_length(const char *text, size_t size);
bool jm__is_utf16(const char *text, size_t size);

/* Like strtod. */
double jm__real_of(const char *text, char **end);

/* ASCII only. */
char jm__lower(char letter);
bool jm__equal_ignoring_case(const char *a, const char *b);

/* Texts that may be missing (NULL): missing ones are equal. */
bool jm__equal_or_both_none(const char *a, const char *b);

#endif
