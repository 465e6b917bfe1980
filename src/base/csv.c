/* From bytes of a file to records, fields and numbers. */
#include "base/csv.h"

#include "base/plain.h"
#include "base/status.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* ---- numbers: read once with each decimal sign ---- */

enum {
    DIGITS_MAX = 64,
    NUMBER_BYTES = DIGITS_MAX + 16 /* sign, point, exponent, NUL */
};

#define DIGITS "0123456789"

/* The length in bytes of a sign that only groups digits; 0: it is none. */
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
    size_t digits = strspn(text, DIGITS);
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

/* The sign at `text` between runs of digits: '.', ',', or ' ' for any sign that only groups them; '\0': none.
 */
static char sign_at(const char *text, size_t *length)
{
    *length = *text == '.' || *text == ',' ? 1 : group_sign(text);
    return *length == 0 ? '\0' : *text == '.' || *text == ',' ? *text : ' ';
}

/* Writes the number as C does, "1234.5", with all digits; false if it is none with this decimal sign. */
static bool write_plain(const char *text, char decimal, char plain[NUMBER_BYTES])
{
    size_t used = 0, digits = 0, length;
    char grouped = '\0'; /* the sign between groups */
    bool fraction = false;
    text = skip_spaces(text);
    plain[used++] = *text == '-' ? '-' : '+';
    if (*text == '-' || *text == '+') text++;
    for (;;) {
        size_t run = strspn(text, DIGITS);
        const char *first = text, *end;
        if ((digits += run) > DIGITS_MAX) return false;
        memcpy(plain + used, text, run);
        used += run;
        text += run;
        bool exponent = is_exponent(text, &end);
        if (exponent) {
            memcpy(plain + used, text, (size_t)(end - text));
            used += (size_t)(end - text);
            text = end;
        }
        bool ends = is_end(text);
        char sign = ends ? '\0' : sign_at(text, &length);
        bool more = sign != '\0' && sign != decimal; /* groups follow: of 3 digits, or 2 as in 12,34,567 */
        if (grouped != '\0' && !fraction && run != 3 && !(more && run == 2)) return false;
        if (ends) break;
        if (exponent || sign == '\0' || fraction) return false; /* the decimal sign is the last one */
        if (more && grouped == '\0' && (run == 0 || run > 3 || *first == '0')) return false;
        if (more && grouped != '\0' && sign != grouped) return false;
        if (more) grouped = sign;
        fraction = !more;
        if (fraction) plain[used++] = '.';
        text += length;
    }
    plain[used] = '\0';
    return digits > 0;
}

/* NAN if the number cannot have this decimal sign. */
static double read_as(const char *text, char decimal)
{
    char plain[NUMBER_BYTES], *end;
    if (!write_plain(text, decimal, plain)) return NAN;
    double value = jm__real_of(plain, &end);
    return *end == '\0' && isfinite(value) ? value : NAN;
}

static bool is_missing(const char *text)
{
    static const char *const words[] = {"",     "n/a",  "na",   "nan",     "-nan", "-nan(ind)", "inf",
                                        "-inf", "none", "null", "no data", "-",    "(!) n/a",   "<n/a>"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (jm__equal_ignoring_case(text, words[i])) return true;
    return false;
}

jm__number_kind jm__number_read(const char *text, double *point, double *comma)
{
    *point = *comma = NAN;
    text = skip_spaces(text);
    if (is_missing(text)) return JM_NUMBER_MISSING;
    *point = read_as(text, '.');
    *comma = read_as(text, ',');
    if (isnan(*point) && isnan(*comma)) return JM_NUMBER_NONE;
    if (isnan(*comma)) return JM_NUMBER_POINT;
    if (isnan(*point)) return JM_NUMBER_COMMA;
    return *point == *comma ? JM_NUMBER_PLAIN : JM_NUMBER_AMBIGUOUS;
}

/* ---- a CSV reader over zlib, which reads plain files too ---- */

enum { RECORD_MAX = 1 << 20, FIELDS_MAX = 8192, BUFFER = 1 << 16 };

typedef struct record {
    char *text; /* [RECORD_MAX + 1], NUL-terminated fields one after the other */
    size_t starts[FIELDS_MAX];
    size_t fields;
} record;

struct jm__csv {
    gzFile file;
    char *path;
    char separator;
    record header;
    record now;
    char *back; /* [RECORD_MAX + 1], a line that was peeked at and is read again; NULL: none */
    size_t back_size, back_used;
    bool back_line_end; /* a line end follows */
    int64_t line;       /* at the reading position, from 1 */
    int64_t record_at;  /* line of the current record */
    int64_t header_at;  /* line of the header */
    bool is_table;      /* the file has only a header line and records */
    unsigned char
        *signs; /* [FIELDS_MAX] per column: which decimal signs its numbers show; NULL: all are points */
    unsigned char all_signs;
};

static jm_status read_failed(jm__csv *csv, jm_error *err)
{
    int code = 0;
    const char *text = gzerror(csv->file, &code);
    if (code == Z_ERRNO) return jm__fail(err, JM_IO, errno, "read", "%s: %s", csv->path, strerror(errno));
    if (code == Z_MEM_ERROR) return jm__no_memory(err, "gzread");
    return jm__fail(err, JM_BAD_DATA, code, "gzread",
                    "%s, near line %lld: the compressed file is damaged (%s)", csv->path,
                    (long long)csv->line, text);
}

/* The next byte of the file, -1 at the end, -2 on an error. */
static int file_byte(jm__csv *csv)
{
    int byte = gzgetc(csv->file), code = Z_OK;
    if (byte < 0) gzerror(csv->file, &code);
    return code == Z_OK || code == Z_STREAM_END ? byte : -2;
}

/* The next byte: of the peeked line first, then of the file. */
static int next_byte(jm__csv *csv)
{
    if (csv->back_used < csv->back_size) return (unsigned char)csv->back[csv->back_used++];
    if (!csv->back_line_end) return file_byte(csv);
    csv->back_line_end = false;
    return '\n';
}

/* Negative if there is none. */
static int peek_byte(jm__csv *csv)
{
    if (csv->back_used < csv->back_size) return (unsigned char)csv->back[csv->back_used];
    if (csv->back_line_end) return '\n';
    return gzungetc(file_byte(csv), csv->file);
}

static jm_status bad_line(const jm__csv *csv, jm_error *err, const char *what)
{
    return jm__fail(err, JM_BAD_DATA, 0, NULL, "%s, line %lld: %s", csv->path, (long long)csv->record_at,
                    what);
}

/* Bits of `signs`. */
enum { POINT = 1, COMMA = 2 };

typedef struct reader {
    record *to;
    size_t length;
    bool quoted;      /* inside quotes */
    bool was_quoted;  /* this field has quotes */
    bool field_empty; /* only blanks so far */
} reader;

static bool is_blank(int byte)
{
    return byte == ' ' || byte == '\t';
}

static bool put(reader *r, char byte)
{
    if (r->length >= RECORD_MAX) return false;
    r->to->text[r->length++] = byte;
    return true;
}

/* Trailing blanks are dropped unless the field is quoted. */
static bool end_field(reader *r)
{
    size_t start = r->to->starts[r->to->fields];
    while (!r->was_quoted && r->length > start && is_blank(r->to->text[r->length - 1]))
        r->length--;
    if (!put(r, '\0') || r->to->fields >= FIELDS_MAX) return false;
    r->to->fields++;
    if (r->to->fields < FIELDS_MAX) r->to->starts[r->to->fields] = r->length;
    r->was_quoted = false;
    r->field_empty = true;
    return true;
}

static jm_status read_record(jm__csv *csv, record *to, bool *more, jm_error *err)
{
    reader r = {.to = to, .field_empty = true};
    to->fields = 0;
    to->starts[0] = 0;
    *more = true;
    csv->record_at = csv->line;
    for (;;) {
        int byte = next_byte(csv);
        if (byte == -2) return read_failed(csv, err);
        if (byte == 0)
            return bad_line(csv, err, "a NUL byte: this is not text, or it is UTF-16: save it as UTF-8");
        if (r.quoted) {
            if (byte == -1) return bad_line(csv, err, "a quoted field never ends");
            csv->line += byte == '\n';
            if (byte != '"') {
                if (!put(&r, (char)byte)) break;
                continue;
            }
            byte = next_byte(csv);
            if (byte == '"') {
                if (!put(&r, '"')) break;
                continue;
            }
            r.quoted = false; /* the byte after the quote is handled below */
            if (byte == -2) return read_failed(csv, err);
        }
        if (byte == '\r') { /* CR or CRLF ends a line */
            if (peek_byte(csv) == '\n') next_byte(csv);
            byte = '\n';
        }
        if (byte == '"' && r.field_empty) {
            r.quoted = r.was_quoted = true;
            r.field_empty = false;
        } else if (byte == csv->separator) {
            if (!end_field(&r)) break;
        } else if (byte == '\n' || byte == -1) {
            bool nothing = to->fields == 0 && r.field_empty;
            csv->line += byte == '\n';
            if (nothing && byte == -1) {
                *more = false;
                return JM_OK;
            }
            if (nothing) { /* an empty line */
                csv->record_at = csv->line;
                continue;
            }
            if (!end_field(&r)) break;
            return JM_OK;
        } else if (!is_blank(byte) || (!r.field_empty && !r.was_quoted)) {
            if (r.was_quoted) return bad_line(csv, err, "text follows a closing quote");
            r.field_empty = false;
            if (!put(&r, (char)byte)) break;
        }
    }
    return bad_line(csv, err, "the record is longer than 1 MiB or has more than 8192 fields");
}

/* Skip a byte order mark. */
static jm_status pass_mark(jm__csv *csv, jm_error *err)
{
    const char *line;
    JM_TRY(jm__csv_peek(csv, &line, err));
    csv->back_used = jm__bom_length(csv->back, csv->back_size);
    return jm__is_utf16(csv->back, csv->back_size) ? jm__in_utf16(csv->path, err) : JM_OK;
}

jm_status jm__csv_open_text(jm__csv **out, const char *path, jm_error *err)
{
    *out = NULL;
    jm__csv *csv = calloc(1, sizeof *csv);
    if (csv == NULL) return jm__no_memory(err, "jm__csv_open");
    csv->line = 1;
    csv->separator = ',';
    csv->path = strdup(path);
    csv->header.text = malloc(RECORD_MAX + 1);
    csv->now.text = malloc(RECORD_MAX + 1);
    bool all = csv->path != NULL && csv->header.text != NULL && csv->now.text != NULL;
    jm_status status = all ? JM_OK : jm__no_memory(err, "jm__csv_open");
    if (status == JM_OK) {
        errno = 0;
        csv->file = gzopen(path, "rbe");
        if (csv->file == NULL)
            status = jm__fail(err, jm_status_of_errno(errno), errno, "open", "%s: %s", path,
                              errno != 0 ? strerror(errno) : "cannot be opened");
    }
    if (status == JM_OK) {
        gzbuffer(csv->file, BUFFER);
        status = pass_mark(csv, err);
    }
    if (status != JM_OK) {
        jm__csv_close(csv);
        return status;
    }
    *out = csv;
    return JM_OK;
}

static size_t count_outside_quotes(const char *line, char sign)
{
    size_t count = 0;
    bool quoted = false;
    for (; *line != '\0' && *line != '\r'; line++) {
        if (*line == '"') quoted = !quoted;
        count += !quoted && *line == sign;
    }
    return count;
}

size_t jm__csv_fields_of(const jm__csv *csv, const char *line)
{
    return count_outside_quotes(line, csv->separator) + 1;
}

/* The separator that spreadsheets declare in a first line "sep=;"; '\0': the line is another. */
static char declared_separator(const char *line)
{
    size_t length = strcspn(line, "\r"), quote = line[0] == '"';
    bool declared = length == 5 + 2 * quote && strncmp(line + quote, "sep=", 4) == 0 &&
                    (!quote || line[length - 1] == '"');
    return declared ? line[quote + 4] : '\0';
}

/* Skip a peeked line. If lines end in CR alone, the peeked text holds several. */
static void pass_line(jm__csv *csv, const char *line)
{
    size_t length = strcspn(line, "\r");
    bool more = line[length] == '\r' && line[length + 1] != '\0';
    if (more) csv->line++;
    jm__csv_skip(csv, more ? length + 1 : SIZE_MAX);
}

/* Spreadsheets separate fields by semicolons where the decimal sign is a comma. Empty lines before the header
 * are skipped. */
static jm_status find_separator(jm__csv *csv, jm_error *err)
{
    static const char separators[] = ",;\t";
    const char *line;
    size_t most = 0;
    for (;;) {
        JM_TRY(jm__csv_peek(csv, &line, err));
        if (line == NULL) return JM_OK;
        if (declared_separator(line) != '\0') {
            csv->separator = declared_separator(line);
            pass_line(csv, line);
            return JM_OK;
        }
        size_t empty = strspn(line, " \t,;");
        if (line[empty] != '\0' && line[empty] != '\r') break;
        pass_line(csv, line);
    }
    for (const char *candidate = separators; *candidate != '\0'; candidate++) {
        size_t count = count_outside_quotes(line, *candidate);
        if (count > most) csv->separator = *candidate;
        if (count > most) most = count;
    }
    return JM_OK;
}

jm_status jm__csv_header(jm__csv *csv, jm_error *err)
{
    bool more;
    JM_TRY(find_separator(csv, err));
    JM_TRY(read_record(csv, &csv->header, &more, err));
    csv->header_at = csv->record_at;
    if (more) return JM_OK;
    return jm__fail(err, JM_BAD_DATA, 0, NULL, "%s, line %lld: the file is empty, a header line was expected",
                    csv->path, (long long)csv->line);
}

static void note_signs(jm__csv *csv)
{
    for (size_t i = 0; csv->signs != NULL && i < csv->now.fields; i++) {
        double point, comma;
        jm__number_kind kind = jm__number_read(jm__csv_text(csv, i), &point, &comma);
        csv->signs[i] |= kind == JM_NUMBER_POINT ? POINT : kind == JM_NUMBER_COMMA ? COMMA : 0;
        csv->all_signs |= csv->signs[i];
    }
}

/* Numbers further below may decide what 1.120 is, so a regular file is read twice. In a pipe only the numbers
 * so far decide. Errors are left to the second reading. */
static jm_status learn_signs(jm__csv *csv, jm_error *err)
{
    struct stat info;
    bool more = true;
    if (csv->separator == ',') return JM_OK;
    csv->signs = calloc(FIELDS_MAX, sizeof *csv->signs);
    if (csv->signs == NULL) return jm__no_memory(err, "jm__csv_open");
    if (stat(csv->path, &info) != 0 || !S_ISREG(info.st_mode)) return JM_OK;
    size_t unread = csv->back_size - csv->back_used + csv->back_line_end;
    z_off_t start = gztell(csv->file) - (z_off_t)unread;
    int64_t line = csv->line;
    while (read_record(csv, &csv->now, &more, NULL) == JM_OK && more)
        note_signs(csv);
    gzclearerr(csv->file);
    if (gzseek(csv->file, start, SEEK_SET) < 0) return read_failed(csv, err);
    csv->back_size = csv->back_used = 0;
    csv->back_line_end = false;
    csv->now.fields = 0;
    csv->line = line;
    csv->record_at = csv->header_at;
    return JM_OK;
}

jm_status jm__csv_open(jm__csv **out, const char *path, jm_error *err)
{
    JM_TRY(jm__csv_open_text(out, path, err));
    (*out)->is_table = true;
    jm_status status = jm__csv_header(*out, err);
    if (status == JM_OK) status = learn_signs(*out, err);
    if (status == JM_OK) return JM_OK;
    jm__csv_close(*out);
    *out = NULL;
    return status;
}

jm_status jm__csv_peek(jm__csv *csv, const char **line, jm_error *err)
{
    *line = NULL;
    if (csv->back == NULL) csv->back = malloc(RECORD_MAX + 1);
    if (csv->back == NULL) return jm__no_memory(err, "jm__csv_peek");
    if (csv->back_used < csv->back_size || csv->back_line_end) {
        *line = csv->back + csv->back_used;
        return JM_OK;
    }
    csv->back_size = csv->back_used = 0;
    int byte = -1;
    while (csv->back_size < RECORD_MAX && (byte = file_byte(csv)) >= 0 && byte != '\n')
        csv->back[csv->back_size++] = (char)byte;
    if (byte == -2) return read_failed(csv, err);
    csv->back[csv->back_size] = '\0';
    csv->back_line_end = byte == '\n';
    if (csv->back_size > 0 || csv->back_line_end) *line = csv->back;
    return JM_OK;
}

void jm__csv_skip(jm__csv *csv, size_t bytes)
{
    size_t left = csv->back_size - csv->back_used;
    if (bytes < left) {
        csv->back_used += bytes;
        return;
    }
    csv->back_used = csv->back_size;
    csv->line += csv->back_line_end;
    csv->back_line_end = false;
}

int64_t jm__csv_line(const jm__csv *csv)
{
    return csv->record_at;
}

size_t jm__csv_field_count(const jm__csv *csv)
{
    return csv->now.fields;
}

void jm__csv_close(jm__csv *csv)
{
    if (csv == NULL) return;
    if (csv->file != NULL) gzclose_r(csv->file);
    free(csv->path);
    free(csv->back);
    free(csv->signs);
    free(csv->header.text);
    free(csv->now.text);
    free(csv);
}

static const char *header_text(const jm__csv *csv, size_t column)
{
    return csv->header.text + csv->header.starts[column];
}

size_t jm__csv_find(const jm__csv *csv, const char *name)
{
    for (size_t i = 0; i < csv->header.fields; i++)
        if (strcmp(header_text(csv, i), name) == 0) return i;
    for (size_t i = 0; i < csv->header.fields; i++)
        if (jm__equal_ignoring_case(header_text(csv, i), name)) return i;
    return JM_CSV_NONE;
}

size_t jm__csv_column_count(const jm__csv *csv)
{
    return csv->header.fields;
}

const char *jm__csv_column_name(const jm__csv *csv, size_t column)
{
    return header_text(csv, column);
}

/* "2024/10/26 22:13:05", "26.10.24 22:13" */
static bool looks_like_a_date(const char *text)
{
    size_t digits = strspn(text, DIGITS);
    bool dashed = digits > 0 && digits <= 4 && (text[digits] == '-' || text[digits] == '/');
    return dashed || (digits > 0 && strchr(text, ':') != NULL);
}

/* Is the header line a line of values? */
static bool header_has_a_value(const jm__csv *csv)
{
    for (size_t i = 0; i < csv->header.fields; i++) {
        double point, comma;
        jm__number_kind kind = jm__number_read(header_text(csv, i), &point, &comma);
        if (looks_like_a_date(header_text(csv, i)) || (kind != JM_NUMBER_NONE && kind != JM_NUMBER_MISSING))
            return true;
    }
    return false;
}

bool jm__csv_unnamed(const jm__csv *csv, size_t column)
{
    const char *name = header_text(csv, column);
    return name[0] == '\0' || strncmp(name, "Unnamed: ", 9) == 0;
}

jm_status jm__csv_column(const jm__csv *csv, const char *name, size_t *column, jm_error *err)
{
    *column = jm__csv_find(csv, name);
    if (*column != JM_CSV_NONE) return JM_OK;
    char names[256] = "";
    for (size_t i = 0, used = 0; i < csv->header.fields && used < sizeof names; i++) {
        int added =
            snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", header_text(csv, i));
        used += added > 0 ? (size_t)added : 0;
    }
    return jm__fail(err, JM_BAD_DATA, 0, NULL, "%s, line %lld: no column \"%s\"; this file has: %s%s",
                    csv->path, (long long)csv->header_at, name, names,
                    header_has_a_value(csv) ? ": values, and no header line above them" : "");
}

/* Empty rows, which spreadsheets leave, and repeated header lines of concatenated files. */
static bool is_skipped(const jm__csv *csv)
{
    const record *now = &csv->now, *header = &csv->header;
    size_t fields = now->fields;
    if (!csv->is_table || fields == 0 || fields >= FIELDS_MAX) return false;
    size_t length = now->starts[fields];
    return length == fields || (fields == header->fields && length == header->starts[fields] &&
                                memcmp(now->text, header->text, length) == 0);
}

jm_status jm__csv_next(jm__csv *csv, bool *more, jm_error *err)
{
    do
        JM_TRY(read_record(csv, &csv->now, more, err));
    while (*more && is_skipped(csv));
    if (*more) note_signs(csv);
    return JM_OK;
}

const char *jm__csv_text(const jm__csv *csv, size_t column)
{
    return column < csv->now.fields ? csv->now.text + csv->now.starts[column] : "";
}

jm_status jm__csv_bad(const jm__csv *csv, size_t column, jm_error *err, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    jm__vprint(text, sizeof text, format, args);
    va_end(args);
    const char *name = column < csv->header.fields ? header_text(csv, column) : "?";
    return jm__fail(err, JM_BAD_DATA, 0, NULL, "%s, line %lld, column \"%s\": %s", csv->path,
                    (long long)csv->record_at, name, text);
}

bool jm__csv_looks_like_a_formula(const char *text)
{
    char first = text[strspn(text, "'")];
    return first != '\0' && strchr("=+-@\t\r", first) != NULL;
}

const char *jm__csv_name(const jm__csv *csv, size_t column)
{
    const char *text = jm__csv_text(csv, column);
    return text[0] == '\'' && jm__csv_looks_like_a_formula(text) ? text + 1 : text;
}

bool jm__csv_missing(const jm__csv *csv, size_t column)
{
    static const char *const words[] = {
        "",    "n/a", "na", "nan", "-nan", "<na>",    "#n/a",          "none",         "null",
        "nil", "-",   "--", "?",   "err!", "unknown", "unknown error", "not supported"};
    const char *text = jm__csv_text(csv, column);
    size_t length = strlen(text);
    char word[32] = "";
    if (length >= sizeof word) return false;
    bool bracketed = text[0] == '[' && text[length - 1] == ']'; /* nvidia-smi: "[N/A]" */
    if (bracketed) memcpy(word, text + 1, length - 2);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (jm__equal_ignoring_case(bracketed ? word : text, words[i])) return true;
    return false;
}

/* The decimal sign of the column's numbers, else of all numbers of the file; '\0': undecided. */
static char decimal_of(const jm__csv *csv, size_t column)
{
    unsigned char signs = csv->signs[column] != 0 ? csv->signs[column] : csv->all_signs;
    return signs == POINT ? '.' : signs == COMMA ? ',' : '\0';
}

/* The number in C notation. NULL: its decimal sign is undecided. */
static const char *plain_number(const jm__csv *csv, size_t column, char out[NUMBER_BYTES])
{
    const char *text = jm__csv_text(csv, column);
    double point, comma;
    if (csv->signs == NULL || column >= FIELDS_MAX || strchr(text, '(') != NULL) return text;
    jm__number_kind kind = jm__number_read(text, &point, &comma);
    if (kind == JM_NUMBER_NONE || kind == JM_NUMBER_MISSING) return text;
    char decimal = kind == JM_NUMBER_COMMA       ? ','
                   : kind == JM_NUMBER_AMBIGUOUS ? decimal_of(csv, column)
                                                 : '.';
    return decimal != '\0' && write_plain(text, decimal, out) ? out : NULL;
}

/* An error that explains why the field is no number, with a hint if there is one. */
static jm_status no_number(const jm__csv *csv, size_t column, const char *what, jm_error *err)
{
    const char *text = jm__csv_text(csv, column);
    const char *hint = NULL;
    char *end;
    double point, comma;
    jm__number_kind kind = jm__number_read(text, &point, &comma);
    bool is_number = kind != JM_NUMBER_NONE && kind != JM_NUMBER_MISSING && strchr(text, '(') == NULL;
    double value = jm__real_of(text, &end);
    if (kind == JM_NUMBER_AMBIGUOUS && csv->signs != NULL) {
        jm__csv_bad(csv, column, err,
                    "\"%.60s\" is %.9g or %.9g, and no other number of the column decides which", text, point,
                    comma);
        return jm__hint(err, JM_BAD_DATA, "write it without a sign between thousands, or with two decimals");
    }
    if (jm__csv_missing(csv, column) || kind == JM_NUMBER_MISSING || (*end == '\0' && !isfinite(value)))
        hint = "leave lines without a value out";
    else if (strncmp(text, "\xe2\x88\x92", 3) == 0 || strncmp(text, "\xe2\x80\x93", 3) == 0)
        hint = "a minus is the sign on the keyboard, -";
    else if (is_number && (strpbrk(text, ", '") != NULL || kind == JM_NUMBER_AMBIGUOUS || *end != '\0'))
        hint = "write decimals with a point and no sign between thousands";
    else if (looks_like_a_date(text))
        hint = "times are seconds since any moment; `date -d STAMP +%s.%N` makes them of a date";
    else if (end != text && *end != '\0')
        hint = "write numbers without a unit: the column's name states it";
    jm__csv_bad(csv, column, err, "\"%.60s\" is not a %s", text, what);
    return hint == NULL ? JM_BAD_DATA : jm__hint(err, JM_BAD_DATA, "%s", hint);
}

jm_status jm__csv_number(const jm__csv *csv, size_t column, double *value, jm_error *err)
{
    char plain[NUMBER_BYTES], *end = NULL;
    const char *text = plain_number(csv, column, plain);
    *value = text == NULL ? NAN : jm__real_of(text, &end);
    if (text != NULL && end != text && *end == '\0' && isfinite(*value)) return JM_OK;
    return no_number(csv, column, "number", err);
}

jm_status jm__csv_integer(const jm__csv *csv, size_t column, int64_t *value, jm_error *err)
{
    char plain[NUMBER_BYTES], *end = NULL;
    const char *text = plain_number(csv, column, plain);
    errno = 0;
    *value = text == NULL ? 0 : strtoll(text, &end, 10);
    if (text != NULL && end != text && *end == '.')
        end += 1 + strspn(end + 1, "0"); /* "3.0": pandas writes integers of a column with gaps so */
    if (text != NULL && end != text && *end == '\0' && errno == 0) return JM_OK;
    return no_number(csv, column, "whole number", err);
}

/* Digits and a point only; false for exponents and everything else that strtod accepts. */
static bool parse_decimal(const char *text, int digits, int64_t *value)
{
    bool negative = *text == '-';
    if (*text == '-' || *text == '+') text++;
    int64_t sum = 0;
    int after = -1, seen = 0; /* digits after the point; -1: no point yet */
    for (; *text != '\0'; text++) {
        if (*text == '.' && after < 0) {
            after = 0;
            continue;
        }
        if (*text < '0' || *text > '9') return false;
        seen++;
        if (after >= digits) continue; /* finer than `digits` */
        if (sum > (INT64_MAX - 9) / 10) return false;
        sum = 10 * sum + (*text - '0');
        after += after >= 0;
    }
    for (int i = after < 0 ? 0 : after; i < digits; i++) {
        if (sum > INT64_MAX / 10) return false;
        sum *= 10;
    }
    *value = negative ? -sum : sum;
    return seen > 0;
}

/* Hints at the unit: a present time in another unit than seconds is out of range. */
static jm_status out_of_range(const jm__csv *csv, size_t column, double number, int digits, jm_error *err)
{
    jm__csv_bad(csv, column, err, "%g is out of range", number);
    if (digits != 9 || !(fabs(number) < 1e20)) return JM_BAD_DATA;
    static const char *const units[][2] = {
        {"milliseconds", "1000"}, {"microseconds", "1000000"}, {"nanoseconds", "1000000000"}};
    size_t unit = fabs(number) < 1e14 ? 0 : fabs(number) < 1e17 ? 1 : 2;
    return jm__hint(err, JM_BAD_DATA, "%s is in seconds, and these look like %s: divide by %s",
                    header_text(csv, column), units[unit][0], units[unit][1]);
}

jm_status jm__csv_scaled(const jm__csv *csv, size_t column, int digits, int64_t *value, jm_error *err)
{
    char plain[NUMBER_BYTES];
    const char *text = plain_number(csv, column, plain);
    if (text != NULL && parse_decimal(text, digits, value)) return JM_OK;
    double number;
    JM_TRY(jm__csv_number(csv, column, &number, err));
    double scaled = number * pow(10, digits);
    if (!(fabs(scaled) < 9e18)) return out_of_range(csv, column, number, digits, err);
    *value = (int64_t)llround(scaled);
    return JM_OK;
}
