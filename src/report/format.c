/* Formats figures, sentences and kernel names for display. */
#include "report/format.h"

#include "attribute/work/kernel_name.h"
#include "base/plain.h"
#include "base/status.h"
#include "base/utf8.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct unit {
    const char *text;
    double size;
} unit;

static const unit energy_units[] = {{"uJ", 1e-6}, {"mJ", 1e-3}, {"J", 1}, {"kJ", 1e3}, {"MJ", 1e6}};
static const unit power_units[] = {{"mW", 1e-3}, {"W", 1}, {"kW", 1e3}};
static const unit time_units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
static const unit count_units[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}};

/* The position of the first digit: 3 for 1234, -1 for 0.12. */
static int first_digit(double value)
{
    return value > 0 ? (int)floor(log10(value)) : 0;
}

/* `value` rounded to `digits` digits: 999.96 with four is 1000. */
static double rounded(double value, int digits)
{
    double step = pow(10, first_digit(value) - digits + 1);
    return value > 0 ? round(value / step) * step : value;
}

/* The largest unit that leaves a figure of at least one. */
static const unit *unit_for(const unit *units, size_t count, double value)
{
    const unit *best = units;
    for (size_t i = 1; i < count; i++) {
        if (value >= units[i].size * (1 - 1e-12)) best = &units[i];
    }
    return best;
}
#define UNIT_FOR(units, value) unit_for(units, sizeof(units) / sizeof *(units), value)

/* Decimals with which `value` has `digits` digits. */
static int decimals_for(double value, int digits)
{
    int decimals = digits - 1 - first_digit(value);
    return decimals > 0 ? decimals : 0;
}

/* Drop the sign of a figure that rounds to 0. */
static void drop_sign_of_zero(char out[JM_CELL])
{
    if (out[0] != '-') return;
    char after = out[1 + strspn(out + 1, "0.")];
    if (after == ' ' || after == '\0') memmove(out, out + 1, strlen(out));
}

static void format_plain(char out[JM_CELL], double value, const unit *units, size_t count, int digits)
{
    if (!isfinite(value)) {
        snprintf(out, JM_CELL, "-");
        return;
    }
    double size = rounded(fabs(value), digits);
    const unit *best = unit_for(units, count, size > 0 ? size : 1);
    int decimals = size > 0 ? decimals_for(size / best->size, digits) : 0;
    jm__print(out, JM_CELL, "%.*f %s", decimals, value / best->size, best->text);
}

void jm__format_energy(char out[JM_CELL], double energy_j, double low_j, double high_j)
{
    enum { DIGITS = 4, MOST_DECIMALS = 6 };
    double half = (high_j - low_j) / 2;
    if (!isfinite(energy_j) || !isfinite(half) || (energy_j == 0 && half == 0)) {
        format_plain(out, energy_j, energy_units, sizeof energy_units / sizeof *energy_units, DIGITS);
        return;
    }
    double size = rounded(fabs(energy_j), DIGITS);
    double larger = fmax(size, half);
    const unit *best = UNIT_FOR(energy_units, larger > 0 ? larger : 1);
    /* Two digits of the interval decide; an exact figure keeps its usual digits. */
    int decimals =
        half > 0 ? decimals_for(rounded(half, 2) / best->size, 2) : decimals_for(size / best->size, DIGITS);
    if (decimals > MOST_DECIMALS) decimals = MOST_DECIMALS;
    jm__print(out, JM_CELL, "%.*f \302\261%.*f %s", decimals, energy_j / best->size, decimals,
              half / best->size, best->text);
    drop_sign_of_zero(out);
}

jm__energy_scale jm__energy_scale_for(double largest_j)
{
    enum { DIGITS = 4 };
    double size = rounded(fabs(largest_j), DIGITS);
    const unit *best = UNIT_FOR(energy_units, size > 0 && isfinite(size) ? size / 10 : 1);
    int decimals = size > 0 ? decimals_for(size / best->size, DIGITS) : 0;
    return (jm__energy_scale){best->text, best->size, decimals > 0 ? decimals : 1};
}

void jm__format_scaled(char out[JM_CELL], double energy_j, const jm__energy_scale *scale)
{
    if (!isfinite(energy_j)) {
        snprintf(out, JM_CELL, "-");
        return;
    }
    jm__print(out, JM_CELL, "%.*f", scale->decimals, energy_j / scale->size_j);
    drop_sign_of_zero(out);
}

void jm__format_half(char out[JM_CELL], double energy_j, double low_j, double high_j)
{
    double percent = 100 * (high_j - low_j) / 2 / fabs(energy_j);
    if (!isfinite(percent))
        snprintf(out, JM_CELL, "-");
    else if (percent > 999)
        snprintf(out, JM_CELL, "> 999 %%");
    else
        jm__print(out, JM_CELL, "%.*f %%", percent > 0 && percent < 0.95 ? 1 : 0, percent);
}

void jm__format_energy_in(char out[JM_CELL], const jm__energy_scale *scale, double energy_j, double low_j,
                          double high_j)
{
    double half = (high_j - low_j) / 2 / scale->size_j;
    if (!isfinite(energy_j) || !isfinite(half)) {
        jm__format_scaled(out, energy_j, scale);
        return;
    }
    int decimals = half > 0 ? decimals_for(rounded(half, 2), 2) : scale->decimals;
    if (decimals > scale->decimals) decimals = scale->decimals;
    jm__print(out, JM_CELL, "%.*f \302\261%.*f", decimals, energy_j / scale->size_j, decimals, half);
    drop_sign_of_zero(out);
}

void jm__format_change(char out[JM_CELL], double change, double low, double high)
{
    double percent = change * 100, half = (high - low) / 2 * 100;
    int decimals = half >= 10 ? 0 : half >= 0.1 || fabs(percent) >= 10 ? 1 : 2;
    if (!isfinite(percent))
        snprintf(out, JM_CELL, "-");
    else if (!isfinite(half))
        jm__print(out, JM_CELL, "%+.1f %%", percent);
    else
        jm__print(out, JM_CELL, "%+.*f \302\261%.*f %%", decimals, percent, decimals, half);
}

void jm__format_power(char out[JM_CELL], double power_w)
{
    format_plain(out, power_w, power_units, sizeof power_units / sizeof *power_units, 3);
}

void jm__format_time(char out[JM_CELL], double time_s)
{
    format_plain(out, time_s, time_units, sizeof time_units / sizeof *time_units, 3);
}

void jm__format_share(char out[JM_CELL], double share)
{
    if (!isfinite(share)) {
        snprintf(out, JM_CELL, "-");
    } else {
        jm__print(out, JM_CELL, "%.1f %%", share * 100);
        drop_sign_of_zero(out);
    }
}

void jm__format_count(char out[JM_CELL], int64_t count)
{
    const unit *best = UNIT_FOR(count_units, count >= 100000 ? rounded((double)count, 3) : 1);
    if (best->size == 1) {
        snprintf(out, JM_CELL, "%lld", (long long)count);
    } else {
        double figure = rounded((double)count, 3) / best->size;
        jm__print(out, JM_CELL, "%.*f%s", decimals_for(figure, 3), figure, best->text);
    }
}

/* ---- C++ kernel names, shortened for a table: the least informative parts go first */

#define ANONYMOUS "(anonymous namespace)"

bool jm__is_cpp_name(const char *name)
{
    return strncmp(name, "void ", 5) == 0 || strstr(name, "::") != NULL;
}

/* Length of a name without the list of parameters at its end. */
static size_t without_parameters(const char *name, size_t length)
{
    if (length == 0 || name[length - 1] != ')') return length;
    size_t depth = 0;
    for (size_t i = length; i-- > 0;) {
        if (name[i] == ')') depth++;
        if (name[i] == '(' && --depth == 0) {
            bool names_a_scope = strncmp(name + i, ANONYMOUS, strlen(ANONYMOUS)) == 0;
            return i > 0 && !names_a_scope ? i : length;
        }
    }
    return length;
}

/* Length of `text` without the scope at its end ("native", "(anonymous namespace)"). */
static size_t without_scope(const char *text, size_t length)
{
    size_t anonymous = strlen(ANONYMOUS);
    if (length >= anonymous && strncmp(text + length - anonymous, ANONYMOUS, anonymous) == 0) {
        return length - anonymous;
    }
    while (length > 0 && (isalnum((unsigned char)text[length - 1]) || text[length - 1] == '_'))
        length--;
    return length;
}

/* A scope with template arguments ("Sum<int>::") stays, as it distinguishes kernels. */
static void drop_namespaces(jm__strbuf *out, const char *name, size_t length)
{
    size_t start = out->length;
    for (size_t i = 0; i < length && !out->failed; i++) {
        bool scope = i + 1 < length && name[i] == ':' && name[i + 1] == ':';
        size_t kept = scope ? start + without_scope(out->text + start, out->length - start) : out->length;
        if (!scope) {
            jm__strbuf_add_bytes(out, name + i, 1);
        } else if (kept < out->length) {
            out->length = kept;
            out->text[kept] = '\0';
            i++;
        } else {
            jm__strbuf_add(out, "::");
            i++;
        }
    }
}

/* Keep text inside fewer than `deep` angle brackets. */
static void drop_template_arguments(jm__strbuf *out, const char *name, size_t deep)
{
    size_t depth = 0;
    for (; *name != '\0'; name++) {
        if (*name == '>' && depth > 0) depth--;
        if (depth < deep) jm__strbuf_add_bytes(out, name, 1);
        if (*name == '<') depth++;
    }
}

void jm__kernel_name_add(jm__strbuf *out, const char *name, jm__brevity brevity)
{
    if (strncmp(name, "void ", 5) == 0) name += 5;
    size_t length = without_parameters(name, strlen(name));
    if (brevity == JM_BREVITY_SIGNATURE) {
        jm__strbuf_add_bytes(out, name, length);
        return;
    }
    if (brevity == JM_BREVITY_NAMESPACES) {
        drop_namespaces(out, name, length);
        return;
    }
    jm__strbuf without = {0};
    drop_namespaces(&without, name, length);
    if (without.failed)
        out->failed = true;
    else if (without.text != NULL)
        drop_template_arguments(out, without.text, brevity == JM_BREVITY_INNER ? 2 : 1);
    jm__strbuf_free(&without);
}

bool jm__row_is_kernel(const jm_row *row)
{
    static const char *const kinds[] = {"kernel", "memcpy", "memset", "collective"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(row->kind, kinds[i]) == 0) return true;
    return false;
}

bool jm__row_short_name_add(jm__strbuf *out, const jm_row *row, jm_by by)
{
    size_t length = strlen(row->type) + 1;
    if (!jm__row_is_kernel(row) || !jm__kernel_short_name_add(out, row->name)) return false;
    bool repeats = by == JM_BY_CLASS && out->length > length && out->text[length - 1] == ' ' &&
                   strncmp(out->text, row->type, length - 1) == 0;
    if (!repeats) return true;
    out->length -= length;
    memmove(out->text, out->text + length, out->length + 1);
    return true;
}

void jm__kernel_name_add_cut(jm__strbuf *out, const char *name, size_t columns)
{
    const char *arguments = name + strcspn(name, "<");
    jm__strbuf head = {0};
    jm__strbuf_add_bytes(&head, name, (size_t)(arguments - name));
    if (head.text == NULL) {
        out->failed = out->failed || head.failed;
        return;
    }
    size_t needed = jm__utf8_columns(arguments), least = columns * 2 / 5;
    size_t available = columns > needed + least ? columns - needed : least;
    size_t start = out->length;
    jm__utf8_add_cut(out, head.text, arguments[0] == '\0' ? columns : available);
    if (out->text != NULL) jm__utf8_add_head(out, arguments, columns - jm__utf8_columns(out->text + start));
    jm__strbuf_free(&head);
}

/* ---- wrapping sentences */

/* Whether the word at `next` must stay on the line of the figure that ends at `end`: "\302\2610.5", "W", "%",
 * "\302\260C". */
static bool is_bound(const char *end, const char *next)
{
    enum { UNIT = 2 };
    size_t letters = 0, wide = 0;
    if (strchr("0123456789", end[-1]) == NULL) return false;
    if (strncmp(next, "\302\261", 2) == 0) return true;
    for (; next[letters] != '\0' && strchr(" ,;:.)", next[letters]) == NULL; letters++)
        wide += !jm__utf8_continues(next + letters);
    return wide > 0 && wide <= UNIT && strchr("0123456789", next[0]) == NULL;
}

/* Bytes up to the next space where a line may break. */
static size_t unit_length(const char *word)
{
    size_t bytes = strcspn(word, " ");
    while (bytes > 0 && word[bytes] == ' ' && is_bound(word + bytes, word + bytes + 1))
        bytes += 1 + strcspn(word + bytes + 1, " ");
    return bytes;
}

void jm__wrap(jm__strbuf *out, const char *name, size_t indent, const char *text, size_t width)
{
    jm__strbuf clean = {0};
    jm__utf8_add(&clean, text, true);
    jm__strbuf_format(out, "%-*s", (int)indent, name);
    size_t column = indent;
    for (const char *word = clean.text; word != NULL && *word != '\0';) {
        size_t bytes = unit_length(word), wide = 0;
        for (size_t i = 0; i < bytes; i++)
            wide += !jm__utf8_continues(word + i);
        if (width > 0 && column > indent && column + 1 + wide > width) {
            jm__strbuf_format(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            jm__strbuf_add(out, " ");
            column++;
        }
        jm__strbuf_add_bytes(out, word, bytes);
        column += wide;
        word += bytes + (word[bytes] == ' ');
    }
    jm__strbuf_add(out, "\n");
    if (clean.failed) out->failed = true;
    jm__strbuf_free(&clean);
}

void jm__wrap_take(jm__strbuf *out, const char *name, size_t indent, jm__strbuf *text, size_t width)
{
    jm__wrap(out, name, indent, text->text != NULL ? text->text : "", width);
    out->failed = out->failed || text->failed;
    jm__strbuf_free(text);
}

jm_status jm__hand_over(char **out, jm__strbuf *text, jm_status status, const char *operation, jm_error *err)
{
    *out = status == JM_OK ? jm__strbuf_take(text) : NULL;
    jm__strbuf_free(text);
    return status == JM_OK && *out == NULL ? jm__no_memory(err, operation) : status;
}
