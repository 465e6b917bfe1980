/* Text for people: figures with a fitting unit and as many digits as are known, wrapped sentences, and short
 * kernel names. */
#ifndef JM_REPORT_FORMAT_H
#define JM_REPORT_FORMAT_H

#include "base/strbuf.h"

#include <joulemap/report.h>
#include <joulemap/status.h>
#include <stddef.h>
#include <stdint.h>

enum { JM_CELL = 40 }; /* size of any of these texts */

/* "12.34 ±0.31 kJ"; without an interval (NAN) "12.34 kJ". */
void jm__format_energy(char out[JM_CELL], double energy_j, double low_j, double high_j);

/* The unit and decimals of a column of energies: the largest gets four digits, and at least one decimal. */
typedef struct jm__energy_scale {
    const char *unit; /* "mJ" */
    double size_j;
    int decimals;
} jm__energy_scale;

jm__energy_scale jm__energy_scale_for(double largest_j);
void jm__format_scaled(char out[JM_CELL], double energy_j, const jm__energy_scale *scale); /* "12.340" */

/* Half of the interval relative to the energy: "3 %", "0.4 %". */
void jm__format_half(char out[JM_CELL], double energy_j, double low_j, double high_j);

/* "86.50 ±0.52" in the unit of a column, with at most its decimals. */
void jm__format_energy_in(char out[JM_CELL], const jm__energy_scale *scale, double energy_j, double low_j,
                          double high_j);

/* 0.123 in [0.113, 0.133]: "+12.3 ±1.0 %"; without an interval "+12.3 %". */
void jm__format_change(char out[JM_CELL], double change, double low, double high);

void jm__format_power(char out[JM_CELL], double power_w); /* "612 W" */
void jm__format_time(char out[JM_CELL], double time_s);   /* "1.23 ms" */
void jm__format_share(char out[JM_CELL], double share);   /* 0.123: "12.3 %" */
void jm__format_count(char out[JM_CELL], int64_t count);  /* "123", "1.23M" */

/* ---- C++ kernel names, shortened for a table */

/* How much of a name is left out. */
typedef enum jm__brevity {
    JM_BREVITY_SIGNATURE,  /* without "void " and the list of parameters */
    JM_BREVITY_NAMESPACES, /* and without namespaces */
    JM_BREVITY_INNER,      /* and with "<>" in place of the template arguments of template arguments */
    JM_BREVITY_TEMPLATES,  /* and without all template arguments */
    JM_BREVITY_COUNT
} jm__brevity;

/* A demangled C++ name, as opposed to a layer's or a C function's. */
bool jm__is_cpp_name(const char *name);

/* Add a shortened C++ name. */
void jm__kernel_name_add(jm__strbuf *out, const char *name, jm__brevity brevity);

/* A kernel, copy, fill or collective, whose name may be shortened. */
bool jm__row_is_kernel(const jm_row *row);

/* Add the short name of a kernel to an empty text, without its class inside the row of that (JM_BY_CLASS).
 * False if the row has none. */
bool jm__row_short_name_add(jm__strbuf *out, const jm_row *row, jm_by by);

/* Add a name cut to `columns`: the middle of the function's name goes, and the end of its template arguments,
 * whose beginning identifies the kernel best. */
void jm__kernel_name_add_cut(jm__strbuf *out, const char *name, size_t columns);

/* Add "name      text": `indent` columns for the name, then the text, wrapped at column `width` (0: not
 * wrapped) and indented. The text may hold any bytes. */
void jm__wrap(jm__strbuf *out, const char *name, size_t indent, const char *text, size_t width);
void jm__wrap_take(jm__strbuf *out, const char *name, size_t indent, jm__strbuf *text,
                   size_t width); /* frees it */

/* Return a view's text as its result. On failure the text is freed. Returns `status`, or NO_MEMORY. */
jm_status jm__hand_over(char **out, jm__strbuf *text, jm_status status, const char *operation, jm_error *err);

/* Terminal escapes (ECMA-48, SGR), for headings, verdicts and weakly known rows. */
#define JM_COLOUR_BOLD   "\033[1m"
#define JM_COLOUR_FAINT  "\033[2m"
#define JM_COLOUR_RED    "\033[31m"
#define JM_COLOUR_GREEN  "\033[32m"
#define JM_COLOUR_YELLOW "\033[33m"
#define JM_COLOUR_NONE   "\033[0m"

#endif
