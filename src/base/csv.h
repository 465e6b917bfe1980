/* Reading CSV files with a header line, plain or gzipped: RFC 4180 and the variants of spreadsheets and
 * loggers. A byte order mark is skipped. Lines end in LF, CRLF or CR. Fields are separated by commas,
 * semicolons or tabs, whichever the header has most of; blanks around fields are dropped. If the separator is
 * not a comma, numbers may have a decimal comma ("1.234,5"). Ambiguous numbers are read like the other
 * numbers of the column; if those do not decide, BAD_DATA.
 *
 * Bounded: a record of more than 1 MiB or 8192 fields is BAD_DATA. Every error names the file, the line and,
 * if there is one, the column. */
#ifndef JM_BASE_CSV_H
#define JM_BASE_CSV_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct jm__csv jm__csv;

/* Opens the file and reads its header line. */
jm_status jm__csv_open(jm__csv **out, const char *path, jm_error *err);
void jm__csv_close(jm__csv *csv);

/* For a table with other text before it, such as a program's output: opens the file and reads no header
 * line. */
jm_status jm__csv_open_text(jm__csv **out, const char *path, jm_error *err);

/* The next line (at most 1 MiB of it), unparsed; NULL at the end of the file. Valid until the next call of
 * any function here. The line is read again except for the bytes that jm__csv_skip skips; more bytes than it
 * has skip the whole line. */
jm_status jm__csv_peek(jm__csv *csv, const char **line, jm_error *err);
void jm__csv_skip(jm__csv *csv, size_t bytes);

/* The number of fields of a line, if its quotes are balanced. */
size_t jm__csv_fields_of(const jm__csv *csv, const char *line);

/* Read the next record as the header line. */
jm_status jm__csv_header(jm__csv *csv, jm_error *err);

/* The line where the current record begins, and its number of fields. */
int64_t jm__csv_line(const jm__csv *csv);
size_t jm__csv_field_count(const jm__csv *csv);

/* Find a column by its name, ignoring case if nothing matches exactly. _find: JM_CSV_NONE if there is none,
 * whose fields are all missing. _column: BAD_DATA, whose text lists the columns. */
#define JM_CSV_NONE ((size_t)-1)
size_t jm__csv_find(const jm__csv *csv, const char *name);
jm_status jm__csv_column(const jm__csv *csv, const char *name, size_t *column, jm_error *err);

size_t jm__csv_column_count(const jm__csv *csv);
const char *jm__csv_column_name(const jm__csv *csv, size_t column);

/* Has it no name? Spreadsheets leave such columns at the end; pandas writes its row numbers into one. */
bool jm__csv_unnamed(const jm__csv *csv, size_t column);

/* The next record; *more is false at the end. Empty lines are skipped. After jm__csv_open also rows of empty
 * fields and repeated header lines. */
jm_status jm__csv_next(jm__csv *csv, bool *more, jm_error *err);

/* A field of the current record, valid until the next; "" past its end. */
const char *jm__csv_text(const jm__csv *csv, size_t column);

/* Spreadsheets run a text that begins with = + - @, a tab or a carriage return as a formula
 * (https://owasp.org/www-community/attacks/CSV_Injection). Our own CSV puts an apostrophe before such names,
 * also before those that begin with apostrophes; jm__csv_name removes it. */
bool jm__csv_looks_like_a_formula(const char *text);
const char *jm__csv_name(const jm__csv *csv, size_t column);

/* Empty, or a word for "no value": "N/A", "[Not Supported]", "-". */
bool jm__csv_missing(const jm__csv *csv, size_t column);

jm_status jm__csv_number(const jm__csv *csv, size_t column, double *value, jm_error *err);
jm_status jm__csv_integer(const jm__csv *csv, size_t column, int64_t *value, jm_error *err);

/* A decimal number times 10^digits, as an integer: seconds to ns have 9 digits. Exact where a double is
 * not. */
jm_status jm__csv_scaled(const jm__csv *csv, size_t column, int digits, int64_t *value, jm_error *err);

/* An error at a field of the current record, or at a column's name before the first record. */
jm_status jm__csv_bad(const jm__csv *csv, size_t column, jm_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- numbers as spreadsheets and ncu print them, in any locale: 1,234.5 and 1.234,5 and 1 234,5 ---- */

typedef enum jm__number_kind {
    JM_NUMBER_NONE,      /* not a number */
    JM_NUMBER_MISSING,   /* empty, "n/a", "nan" */
    JM_NUMBER_PLAIN,     /* the same in every locale */
    JM_NUMBER_POINT,     /* its decimal sign can only be a point */
    JM_NUMBER_COMMA,     /* its decimal sign can only be a comma */
    JM_NUMBER_AMBIGUOUS, /* "1,234": other numbers of the file must decide */
} jm__number_kind;

/* `point`, `comma`: the value with that decimal sign, NAN if it cannot have it. Text in brackets behind the
 * number is ignored: "12 (5; 7)", the values of single units. */
jm__number_kind jm__number_read(const char *text, double *point, double *comma);

#endif
