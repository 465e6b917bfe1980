/* The rows as CSV (RFC 4180, lines end in "\n"): a header with units in names, an empty field
 * where there is no figure. Each row says if its board is simulated: rows travel without their header. */
#include "base/status.h"
#include "export/format.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void write_text(FILE *out, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void write_real(FILE *out, double value)
{
    if (isfinite(value)) fprintf(out, "%.15g", value);
}

static void write_row(FILE *out, const jm_row *row, bool simulated)
{
    const char *texts[] = {row->name, row->path, row->kind};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_text(out, texts[i]);
        fputc(',', out);
    }
    fprintf(out, "%" PRId32 ",%" PRId64, row->depth, row->calls);
    const double figures[] = {row->busy_s,        row->energy_j, row->energy_low_j, row->energy_high_j,
                              row->energy_self_j, row->power_w,  row->share};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        fputc(',', out);
        write_real(out, figures[i]);
    }
    fprintf(out, ",%s,", jm_provenance_text(row->provenance));
    write_text(out, row->boards);
    fprintf(out, ",%" PRId64 ",%" PRId64 ",%s\n", row->start_ns, row->end_ns, simulated ? "true" : "false");
}

static jm_status write_csv(jm_recording *recording, const jm_report_options *options, FILE *out,
                           jm_error *err)
{
    jm_report *report = NULL;
    JM_TRY(jm_report_create(&report, recording, options, err));
    fputs("name,path,kind,depth,calls,busy_s,energy_j,energy_low_j,energy_high_j,energy_self_j,power_w,share,"
          "provenance,boards,start_ns,end_ns,simulated\n",
          out);
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        write_row(out, jm_report_row(report, i), jm_report_totals_get(report)->simulated);
    jm_report_free(report);
    return JM_OK;
}

const jm__export_format jm__export_csv = {"csv", write_csv};
