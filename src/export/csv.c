/* The rows as CSV (RFC 4180, but lines end in LF): a header with units in names, an empty field for an
 * unknown figure. A name that a spreadsheet would read as a formula gets an apostrophe. Each row marks a
 * simulated board, as rows get separated from their header. */
#include "base/plain.h"
#include "base/status.h"
#include "export/format.h"
#include "export/put.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static void write_real(FILE *out, double value)
{
    if (isfinite(value)) jm__print_to(out, "%.15g", value);
}

static void write_field(FILE *out, jm_field_kind kind, const void *value)
{
    const char *text = "";
    switch (kind) {
    case JM_FIELD_TEXT:
    case JM_FIELD_TEXT_OR_NONE:
        text = *(const jm_field_TEXT *)value;
        break;
    case JM_FIELD_PROVENANCE:
        text = jm_provenance_text(*(const jm_field_PROVENANCE *)value);
        break;
    case JM_FIELD_FLAG:
        text = *(const jm_field_FLAG *)value ? "true" : "false";
        break;
    case JM_FIELD_INT32:
        fprintf(out, "%" PRId32, *(const jm_field_INT32 *)value);
        break;
    case JM_FIELD_INT64:
        fprintf(out, "%" PRId64, *(const jm_field_INT64 *)value);
        break;
    case JM_FIELD_COUNT_OR_NONE: {
        jm_field_COUNT_OR_NONE count = *(const jm_field_COUNT_OR_NONE *)value;
        if (count >= 0) fprintf(out, "%" PRId64, count);
        break;
    }
    case JM_FIELD_REAL:
    case JM_FIELD_REAL_OR_NONE:
        write_real(out, *(const jm_field_REAL *)value);
        break;
    case JM_FIELD_TEXTS: /* not in rows */
    case JM_FIELD_KIND_COUNT:
        break;
    }
    if (text != NULL) jm__csv_put(out, text);
}

static void write_row(FILE *out, const jm_row *row, const jm_report_totals *totals)
{
#define X(kind, name, key, place, doc)                                                                       \
    write_field(out, JM_FIELD_##kind, &row->name);                                                           \
    fputc(',', out);
    JM_ROW_FIELDS(X)
#undef X
    write_field(out, JM_FIELD_FLAG, &totals->simulated);
    fputc('\n', out);
}

static void write_rows(FILE *out, const jm_report *report)
{
#define X(kind, name, key, place, doc) key ","
    fputs(JM_ROW_FIELDS(X) "simulated\n", out);
#undef X
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        write_row(out, jm_report_row(report, i), jm_report_totals_get(report));
}

jm_status jm_report_csv(const jm_report *report, char **out, jm_error *err)
{
    size_t size = 0;
    *out = NULL;
    FILE *text = open_memstream(out, &size);
    if (text == NULL) return jm__no_memory(err, "jm_report_csv");
    write_rows(text, report);
    bool whole = ferror(text) == 0;
    if (fclose(text) == 0 && whole && *out != NULL)
        return JM_OK; /* glibc may close successfully without memory */
    free(*out);
    *out = NULL;
    return jm__no_memory(err, "jm_report_csv");
}

static jm_status write_csv(const jm_report *report, FILE *out, jm_error *err)
{
    (void)err;
    write_rows(out, report);
    return JM_OK;
}

const jm__export_format jm__export_csv = {"csv", .write = write_csv};
