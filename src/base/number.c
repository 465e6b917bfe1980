/* One pass finds runs of digits and what stands between them; both readings are tried on those. */
#include "base/number.h"

#include "base/plain.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { RUNS_MAX = 24, DIGITS_MAX = 64 };
_Static_assert(DIGITS_MAX + 16 <= JM_NUMBER_BYTES, "a sign, a point, an exponent and the end beside them");

typedef struct runs {
    bool negative;
    size_t count;
    const char *digits[RUNS_MAX];
    size_t lengths[RUNS_MAX];
    char between[RUNS_MAX]; /* [i]: what stands behind run i: '.', ',', or ' ' for all that only groups */
    const char *exponent;   /* "e-05"; NULL: none */
} runs;

/* Bytes of a sign that only ever groups digits, 0 for none. */
static size_t group_sign(const char *text)
{
    static const char *const signs[] = {" ", "'", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89", "\xe2\x80\x99"};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (strncmp(text, signs[i], strlen(signs[i])) == 0) return strlen(signs[i]);
    return 0;
}

static bool is_exponent(const char *text, const char **end)
{
    if (*text != 'e' && *text != 'E') return false;
    text++;
    if (*text == '-' || *text == '+') text++;
    size_t digits = strspn(text, "0123456789");
    *end = text + digits;
    return digits > 0 && digits < 4;
}

static const char *skip_spaces(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

static bool is_end(const char *text)
{
    text = skip_spaces(text);
    return *text == '\0' || *text == '(';
}

static bool find_runs(const char *text, runs *r)
{
    size_t all = 0;
    text = skip_spaces(text);
    *r = (runs){.negative = *text == '-'};
    if (*text == '-' || *text == '+') text++;
    for (;;) {
        if (r->count == RUNS_MAX) return false;
        size_t length = strspn(text, "0123456789");
        all += length;
        r->digits[r->count] = text;
        r->lengths[r->count++] = length;
        text += length;
        if (is_exponent(text, &r->exponent)) {
            const char *end = r->exponent;
            r->exponent = text;
            text = end;
        } else {
            r->exponent = NULL;
        }
        if (is_end(text)) return all > 0 && all <= DIGITS_MAX;
        if (r->exponent != NULL) return false;
        size_t group = group_sign(text);
        if (*text == '.' || *text == ',') group = 1;
        if (group == 0) return false;
        r->between[r->count - 1] = group == 1 && (*text == '.' || *text == ',') ? *text : ' ';
        text += group;
    }
}

/* false if it cannot be read so. */
static bool write_plain(const runs *r, char decimal, char plain[JM_NUMBER_BYTES])
{
    size_t used = 0;
    size_t whole = r->count; /* runs before the decimal sign */
    for (size_t i = 0; i + 1 < r->count; i++) {
        if (r->between[i] != decimal) continue;
        if (i + 2 != r->count) return false; /* it comes once, and last */
        whole = i + 1;
    }
    char grouped = '\0';
    for (size_t i = 0; i < whole; i++) {
        bool last = i + 1 == whole;
        if (!last && grouped != '\0' && r->between[i] != grouped)
            return false; /* one sign groups all of them */
        if (!last) grouped = r->between[i];
        if (whole == 1) break;
        if (i == 0 && (r->lengths[0] == 0 || r->lengths[0] > 3 || r->digits[0][0] == '0')) return false;
        if (i > 0 && last && r->lengths[i] != 3) return false;
        if (i > 0 && !last && r->lengths[i] != 3 && r->lengths[i] != 2) return false; /* 12,34,567 of India */
    }
    plain[used++] = r->negative ? '-' : '+';
    for (size_t i = 0; i < r->count; i++) {
        if (i == whole) plain[used++] = '.';
        memcpy(plain + used, r->digits[i], r->lengths[i]);
        used += r->lengths[i];
    }
    if (whole < r->count && r->lengths[whole] == 0 && r->lengths[0] == 0) return false;
    if (r->exponent != NULL) {
        size_t length = strcspn(r->exponent, " \t(");
        memcpy(plain + used, r->exponent, length);
        used += length;
    }
    plain[used] = '\0';
    return true;
}

/* NAN if it cannot be read so. */
static double read_as(const runs *r, char decimal)
{
    char plain[JM_NUMBER_BYTES], *end;
    if (!write_plain(r, decimal, plain)) return NAN;
    double value = jm__real_of(plain, &end);
    return *end == '\0' && isfinite(value) ? value : NAN;
}

static bool is_missing(const char *text)
{
    static const char *const words[] = {"",     "n/a",  "na",   "nan",     "-nan", "-nan(ind)", "inf",
                                        "-inf", "none", "null", "no data", "-",    "(!) n/a",   "<n/a>"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (jm__same_letters(text, words[i])) return true;
    return false;
}

jm__number_kind jm__number_read(const char *text, double *point, double *comma)
{
    runs r;
    *point = *comma = NAN;
    text = skip_spaces(text);
    if (is_missing(text)) return JM_NUMBER_MISSING;
    if (!find_runs(text, &r)) return JM_NUMBER_NONE;
    *point = read_as(&r, '.');
    *comma = read_as(&r, ',');
    if (isnan(*point) && isnan(*comma)) return JM_NUMBER_NONE;
    if (isnan(*comma)) return JM_NUMBER_POINT;
    if (isnan(*point)) return JM_NUMBER_COMMA;
    return *point == *comma ? JM_NUMBER_PLAIN : JM_NUMBER_AMBIGUOUS;
}

bool jm__number_plain(const char *text, char decimal, char out[JM_NUMBER_BYTES])
{
    runs r;
    return find_runs(text, &r) && write_plain(&r, decimal, out);
}
