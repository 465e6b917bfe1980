/* OpenMetrics text, for Prometheus and other readers: a counter per row without its child rows, so that sum()
 * is the total. https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md */
#include "base/plain.h"
#include "base/status.h"
#include "base/utf8.h"
#include "export/format.h"
#include "export/stacks.h"

#include <joulemap/joulemap.h>
#include <math.h>
#include <stdlib.h>

/* Add key="value" in valid UTF-8, after a comma unless it is the first. */
static void add_label(jm__strbuf *out, const char *key, const char *value)
{
    jm__strbuf clean = {0};
    jm__utf8_add(&clean, value, false);
    jm__strbuf_format(out, "%s%s=\"", out->length > 0 ? "," : "", key);
    for (size_t i = 0; i < clean.length; i++) {
        char c = clean.text[i];
        if (c == '\n')
            jm__strbuf_add(out, "\\n");
        else if (c == '\\' || c == '"')
            jm__strbuf_format(out, "\\%c", c);
        else
            jm__strbuf_add_bytes(out, &c, 1);
    }
    jm__strbuf_add(out, "\"");
    out->failed |= clean.failed;
    jm__strbuf_free(&clean);
}

/* Begin a metric. Its name ends with the unit, as the format requires. */
static void begin(FILE *out, const char *name, const char *type, const char *unit, const char *help)
{
    fprintf(out, "# TYPE %s %s\n", name, type);
    if (unit != NULL) fprintf(out, "# UNIT %s %s\n", name, unit);
    fprintf(out, "# HELP %s %s\n", name, help);
}

/* Write a sample per frame with the sum of its rows, as a set of labels may occur only once. A sum of 0 may
 * be unknown and is left out. */
static bool write_rows(const jm__stacks *s, const char *name, const double *values, FILE *out)
{
    double *sums = calloc(s->count + 1, sizeof *sums);
    bool ok = sums != NULL;
    for (size_t i = 0; ok && i < s->count; i++)
        sums[s->frame[i]] += values[i];
    for (size_t i = 0; ok && i < s->count; i++) {
        const jm_row *row = jm_report_row(s->report, i);
        jm__strbuf labels = {0};
        if (sums[i] == 0) continue;
        add_label(&labels, "name", row->name);
        add_label(&labels, "path", row->path);
        add_label(&labels, "kind", row->kind);
        add_label(&labels, "boards", row->boards);
        ok = !labels.failed;
        if (ok) jm__print_to(out, "%s_total{%s} %.15g\n", name, labels.text, sums[i]);
        jm__strbuf_free(&labels);
    }
    free(sums);
    return ok;
}

static void write_total(const char *name, const char *unit, const char *help, double value, FILE *out)
{
    if (!isfinite(value)) return;
    begin(out, name, "gauge", unit, help);
    jm__print_to(out, "%s %.15g\n", name, value);
}

static jm_status write_metrics(const jm__stacks *s, FILE *out, jm_error *err)
{
    const jm_report_totals *totals = jm_report_totals_get(s->report);
    begin(out, "joulemap", "info", NULL, "The writer, and the key of the rows.");
    fprintf(out, "joulemap_info{version=\"%s\",by=\"%s\",simulated=\"%s\"} 1\n", jm_version(),
            jm_by_text(jm_report_options_get(s->report)->by), totals->simulated ? "true" : "false");
    write_total("joulemap_recording_energy_joules", "joules", "Joules of all boards.", totals->total_energy_j,
                out);
    write_total("joulemap_recording_duration_seconds", "seconds", "Seconds of the recording.",
                totals->duration_s, out);
    begin(out, "joulemap_energy_joules", "counter", "joules",
          "Joules of a row without its child rows; all rows sum up to the recording.");
    if (!write_rows(s, "joulemap_energy_joules", s->energy_j, out)) return jm__no_memory(err, "jm_export");
    begin(out, "joulemap_busy_seconds", "counter", "seconds",
          "Seconds of a row's work without its child rows.");
    if (!write_rows(s, "joulemap_busy_seconds", s->busy_s, out)) return jm__no_memory(err, "jm_export");
    fputs("# EOF\n", out);
    return JM_OK;
}

const jm__export_format jm__export_openmetrics = {"openmetrics", .write_stacks = write_metrics};
