/* Reading CSV files with a header line, plain or gzipped: RFC 4180, and what spreadsheets and loggers make of
 * it. A byte order mark is passed over; lines end in LF, CRLF or CR; fields are parted by commas, semicolons
 * or tabs, whichever the header has most of. Where that is no comma, numbers may be of any country
 * ("1.234,5"), and what could be two is what the column's other numbers tell, or BAD_DATA. Blanks around
 * fields are none of them.
 *
 * Bounded: a record of more than 1 MiB or 8192 fields is BAD_DATA. Every error
 * names file, line and, where there is one, column. */
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

/* For a table that something else stands before, as a program's own output does: the file is open, and no
 * header line was read. */
jm_status jm__csv_open_text(jm__csv **out, const char *path, jm_error *err);

/* The next line (at most 1 MiB of it) as it stands there, NULL at the end of the file; valid until the next
 * call of anything here. It stays to be read, but for what is passed over: so many bytes of it, all of it and
 * its end if that is more than it has. */
jm_status jm__csv_peek(jm__csv *csv, const char **line, jm_error *err);
void jm__csv_pass(jm__csv *csv, size_t bytes);

/* How many fields a line would have, if quotes end where they began. */
size_t jm__csv_fields_of(const jm__csv *csv, const char *line);

/* The next record is the header line, from now on. */
jm_status jm__csv_header(jm__csv *csv, jm_error *err);

/* The line where the current record began, and how many fields it has. */
int64_t jm__csv_line(const jm__csv *csv);
size_t jm__csv_field_count(const jm__csv *csv);

/* The number of a column by its name, in capitals or not. BAD_DATA lists those there are. */
jm_status jm__csv_column(const jm__csv *csv, const char *name, size_t *column, jm_error *err);
bool jm__csv_has(const jm__csv *csv, const char *name);

/* All of them, in their order. */
size_t jm__csv_column_count(const jm__csv *csv);
const char *jm__csv_column_name(const jm__csv *csv, size_t column);

/* Nobody gave it a name: spreadsheets have such behind the others, and pandas keeps row numbers in one. */
bool jm__csv_unnamed(const jm__csv *csv, size_t column);

/* The next record; *more is false at the end. Empty lines are passed over; in a file that is a table alone
 * also rows of empty fields, and the header line where it comes again. */
jm_status jm__csv_next(jm__csv *csv, bool *more, jm_error *err);

/* A field of the current record, valid until the next; "" past its end. */
const char *jm__csv_text(const jm__csv *csv, size_t column);

/* A spreadsheet takes a text that begins with = + - @, a tab or a carriage return for a formula, and runs it
 * (https://owasp.org/www-community/attacks/CSV_Injection). Names in our own CSV that do, also behind
 * apostrophes, are written with one more apostrophe before them; jm__csv_name takes it away again. */
bool jm__csv_looks_like_a_formula(const char *text);
const char *jm__csv_name(const jm__csv *csv, size_t column);

/* Nothing is there, or a word for it: "N/A", "[Not Supported]", "-". */
bool jm__csv_missing(const jm__csv *csv, size_t column);

jm_status jm__csv_number(const jm__csv *csv, size_t column, double *value, jm_error *err);
jm_status jm__csv_integer(const jm__csv *csv, size_t column, int64_t *value, jm_error *err);

/* Decimal number with `digits` digits after the point made whole: seconds to ns have 9. Exact where a double
 * is not. */
jm_status jm__csv_scaled(const jm__csv *csv, size_t column, int digits, int64_t *value, jm_error *err);

/* An error at a field of the current record; before the first one, at a column's name. */
jm_status jm__csv_bad(const jm__csv *csv, size_t column, jm_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- numbers as spreadsheets and ncu print them, in any locale: 1,234.5 and 1.234,5 and 1 234,5 */

typedef enum jm__number_kind {
    JM_NUMBER_NONE,      /* the text is no number */
    JM_NUMBER_MISSING,   /* empty, "n/a", "nan": there is none */
    JM_NUMBER_PLAIN,     /* whatever the locale: the same */
    JM_NUMBER_POINT,     /* only a point can be its decimal sign */
    JM_NUMBER_COMMA,     /* only a comma can */
    JM_NUMBER_AMBIGUOUS, /* 1,234: what it is, other numbers of the file must tell */
} jm__number_kind;

/* `point` and `comma`: its value if that is the decimal sign; NAN where it cannot be. What follows a number
 * in brackets ("12 (5; 7)", the values of single units) is passed over. */
jm__number_kind jm__number_read(const char *text, double *point, double *comma);

#endif
