/* Locale-dependent calls, made in the C locale. */
#include "base/plain.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t plain; /* 0 if memory is out: uselocale then changes nothing */

static void make_plain(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Sets the locale of this thread; returns the previous one. */
static locale_t enter(void)
{
    pthread_once(&once, make_plain);
    return uselocale(plain);
}

int jm__vprint(char *out, size_t size, const char *format, va_list args)
{
    locale_t before = enter();
    int length = vsnprintf(out, size, format, args);
    uselocale(before);
    return length;
}

int jm__print(char *out, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = jm__vprint(out, size, format, args);
    va_end(args);
    return length;
}

int jm__print_to(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    locale_t before = enter();
    int length = vfprintf(out, format, args);
    uselocale(before);
    va_end(args);
    return length;
}

size_t jm__bom_length(const char *text, size_t size)
{
    return size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

bool jm__is_utf16(const char *text, size_t size)
{
    return size >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
}

bool jm__skip_bom(FILE *file)
{
    char mark[3];
    size_t size = fread(mark, 1, sizeof mark, file);
    if (jm__bom_length(mark, size) == 0) rewind(file);
    return !jm__is_utf16(mark, size);
}

double jm__real_of(const char *text, char **end)
{
    locale_t before = enter();
    double value = strtod(text, end);
    uselocale(before);
    return value;
}

char jm__lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

bool jm__equal_ignoring_case(const char *a, const char *b)
{
    while (*a != '\0' && jm__lower(*a) == jm__lower(*b))
        a++, b++;
    return *a == *b;
}

bool jm__equal_or_both_none(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}
