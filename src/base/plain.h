/* Text in and out that is the same in every locale: a program that we are part of may have set one with a
 * decimal comma, or one in which "I" is no capital "i". */
#ifndef JM_BASE_PLAIN_H
#define JM_BASE_PLAIN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* As snprintf, vsnprintf and fprintf. */
int jm__print(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int jm__vprint(char *out, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
int jm__print_to(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Past a byte order mark, if the file begins with one (false: it is one of UTF-16); and how many bytes one
 * takes of a text, 0 for none. */
bool jm__pass_mark(FILE *file);
size_t jm__mark_length(const char *text, size_t size);
bool jm__is_utf16(const char *text, size_t size);

/* As strtod. */
double jm__real_of(const char *text, char **end);

/* Of ASCII alone. */
char jm__lower(char letter);
bool jm__same_letters(const char *a, const char *b);

#endif
