/* The report as JSON: every figure in full, null where there is none. */
#include "base/status.h"
#include "base/strbuf.h"
#include "base/utf8.h"

#include <jansson.h>
#include <joulemap/report.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* NULL gives null; jansson refuses what is not UTF-8, so that is replaced first. */
static json_t *text(const char *value)
{
    if (value == NULL) return json_null();
    jm__strbuf clean = {0};
    jm__utf8_add(&clean, value, false);
    char *whole = jm__strbuf_take(&clean);
    json_t *string = whole != NULL ? json_string(whole) : NULL;
    free(whole);
    return string;
}

static json_t *row_object(const jm_row *row, bool with_times)
{
    json_t *object = json_pack("{so so so si sI so so so so so so so ss so}", "name", text(row->name), "path",
                               text(row->path), "kind", text(row->kind), "depth", (int)row->depth, "calls",
                               (json_int_t)row->calls, "busy_s", real(row->busy_s), "energy_j",
                               real(row->energy_j), "energy_low_j", real(row->energy_low_j), "energy_high_j",
                               real(row->energy_high_j), "energy_self_j", real(row->energy_self_j), "power_w",
                               real(row->power_w), "share", real(row->share), "provenance",
                               jm_provenance_text(row->provenance), "boards", text(row->boards));
    if (object != NULL && with_times) {
        json_object_set_new(object, "start_ns", json_integer(row->start_ns));
        json_object_set_new(object, "end_ns", json_integer(row->end_ns));
    }
    return object;
}

static json_t *rows_array(const jm_report *report)
{
    bool with_times = jm_report_options_get(report)->by == JM_BY_SPAN;
    json_t *rows = json_array();
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        if (json_array_append_new(rows, row_object(jm_report_row(report, i), with_times)) == 0) continue;
        json_decref(rows);
        return NULL;
    }
    return rows;
}

static json_t *notes_array(const jm_report *report)
{
    json_t *notes = json_array();
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        json_array_append_new(notes, text(jm_report_note(report, i)));
    return notes;
}

static json_t *sensors_array(const jm_report_quality *quality)
{
    json_t *sensors = json_array();
    for (const char *const *sensor = quality->sensors; sensor != NULL && *sensor != NULL; sensor++)
        json_array_append_new(sensors, text(*sensor));
    return sensors;
}

static json_t *quality_object(const jm_report *report)
{
    const jm_report_quality *quality = jm_report_quality_get(report);
    const jm_report_totals *totals = jm_report_totals_get(report);
    return json_pack("{so sI sI so sI sI so so so so}", "sensors", sensors_array(quality), "readings",
                     (json_int_t)totals->readings, "gaps", (json_int_t)quality->gaps, "gap_s",
                     real(quality->gap_s), "lost_records", (json_int_t)quality->lost_records,
                     "throttle_events", (json_int_t)quality->throttle_events, "residual_w",
                     real(totals->residual_w), "chi2_n", real(totals->chi2_n), "closure_z",
                     real(totals->closure_z), "notes", notes_array(report));
}

static json_t *overhead_object(const jm_report *report)
{
    const jm_report_quality *quality = jm_report_quality_get(report);
    bool noted = quality->overhead_calls >= 0;
    return json_pack("{so so so}", "cpu_s", real(quality->overhead_cpu_s), "calls",
                     noted ? json_integer(quality->overhead_calls) : json_null(), "call_s",
                     real(quality->overhead_call_s));
}

static json_t *report_object(const jm_report *report)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    const jm_report_options *options = jm_report_options_get(report);
    return json_pack("{ss ss so sb so so so so so so so so so so so so so}", "version", jm_version(), "by",
                     jm_by_text(options->by), "phase", text(options->phase), "simulated",
                     (int)totals->simulated, "duration_s", real(totals->duration_s), "total_energy_j",
                     real(totals->total_energy_j), "total_energy_low_j", real(totals->total_low_j),
                     "total_energy_high_j", real(totals->total_high_j), "total_source",
                     text(totals->total_source), "idle_energy_j", real(totals->idle_energy_j),
                     "outside_energy_j", real(totals->outside_energy_j), "unresolved_energy_j",
                     real(totals->unresolved_energy_j), "closure", real(totals->closure), "residual_w",
                     real(totals->residual_w), "quality", quality_object(report), "overhead",
                     overhead_object(report), "rows", rows_array(report));
}

jm_status jm_report_json(const jm_report *report, char **out, jm_error *err)
{
    enum { DIGITS = 15 };
    json_t *root = report_object(report);
    char *whole = root != NULL ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS)) : NULL;
    json_decref(root);
    *out = NULL;
    if (whole == NULL) return jm__no_memory(err, "jm_report_json");
    jm__strbuf line = {0};
    jm__strbuf_add(&line, whole);
    jm__strbuf_add(&line, "\n");
    free(whole);
    *out = jm__strbuf_take(&line);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_report_json");
}
