/* The report as a table that a stranger can read. */
#include "base/options.h"
#include "base/status.h"
#include "base/utf8.h"
#include "report/rows_table.h"
#include "report/wrap.h"

#include <joulemap/report.h>
#include <math.h>
#include <string.h>

static void add_title(jm__strbuf *out, const jm_report *report)
{
    const jm_report_options *options = jm_report_options_get(report);
    jm__strbuf_format(out, "Energy by %s", jm_by_text(options->by));
    if (options->phase != NULL) {
        jm__strbuf_add(out, ", phase ");
        jm__utf8_add(out, options->phase, true);
    }
    if (options->process_id != 0) jm__strbuf_format(out, ", process %lld", (long long)options->process_id);
    if (jm_report_totals_get(report)->simulated) jm__strbuf_add(out, ", SIMULATED GPU");
    jm__strbuf_add(out, "\n\n");
}

static void add_fact(jm__strbuf *out, const char *name, const char *text, size_t width)
{
    enum { INDENT = 10 };
    jm__wrap(out, name, INDENT, text, width);
}

/* What a reader has to know first: how far the figures can be trusted, and why no further. */
static void add_verdict(jm__strbuf *out, const jm_report_quality *quality, size_t width)
{
    jm__strbuf text = {0};
    jm__strbuf_format(&text, "%s: %s", quality->verdict, quality->verdict_reason);
    add_fact(out, "verdict", text.text != NULL ? text.text : "", width);
    for (const char *const *more = quality->verdict_more; more != NULL && *more != NULL; more++)
        add_fact(out, "also", *more, width);
    if (text.failed) out->failed = true;
    jm__strbuf_free(&text);
}

/* A part of the total; what is nothing beside it is 0. */
static void format_part(char out[JM_CELL], double energy_j, const jm_report_totals *totals)
{
    bool tiny = fabs(energy_j) < 1e-4 * totals->total_energy_j;
    jm__format_energy(out, tiny ? 0 : energy_j, NAN, NAN);
}

static void add_total(jm__strbuf *out, const jm_report_totals *totals, size_t width)
{
    char energy[JM_CELL], power[JM_CELL], text[320];
    jm__format_energy(energy, totals->total_energy_j, totals->total_low_j, totals->total_high_j);
    jm__format_power(power, totals->duration_s > 0 ? totals->total_energy_j / totals->duration_s : NAN);
    char duration[JM_CELL];
    jm__format_time(duration, totals->duration_s);
    snprintf(text, sizeof text, "%s in %s, %s, from %s", energy, duration, power,
             totals->total_source != NULL ? totals->total_source : "no sensor");
    add_fact(out, "total", text, width);
}

static void add_per(jm__strbuf *text, const jm_report_totals *totals, const char *what, int64_t count)
{
    char each[JM_CELL];
    double n = (double)count;
    jm__format_energy(each, totals->total_energy_j / n, totals->total_low_j / n, totals->total_high_j / n);
    jm__strbuf_format(text, "%s%s a %s (%lld)", text->length > 0 ? ", " : "", each, what, (long long)count);
}

/* What one step and one sample took, all of the run being theirs. */
static void add_steps(jm__strbuf *out, const jm_report_totals *totals, size_t width)
{
    jm__strbuf text = {0};
    if (totals->steps > 0) add_per(&text, totals, "step", totals->steps);
    if (totals->samples > 0) add_per(&text, totals, "sample", totals->samples);
    if (text.length > 0) add_fact(out, "each", text.text, width);
    if (text.failed) out->failed = true;
    jm__strbuf_free(&text);
}

static void add_fit(jm__strbuf *out, const jm_report_totals *totals, size_t width)
{
    char text[320], idle[JM_CELL], outside[JM_CELL], unresolved[JM_CELL];
    format_part(idle, totals->idle_energy_j, totals);
    format_part(outside, totals->outside_energy_j, totals);
    format_part(unresolved, totals->unresolved_energy_j, totals);
    snprintf(text, sizeof text, "idle %s, outside %s, unresolved %s", idle, outside, unresolved);
    add_fact(out, "of it", text, width);

    if (isfinite(totals->residual_w)) {
        int used = snprintf(text, sizeof text, "root mean square residual %.1f W over %lld readings",
                            totals->residual_w, (long long)totals->readings);
        if (isfinite(totals->chi2_n))
            snprintf(text + used, sizeof text - (size_t)used, ", chi2/n %.2f", totals->chi2_n);
    } else {
        snprintf(text, sizeof text, "none; %lld readings", (long long)totals->readings);
    }
    add_fact(out, "fit", text, width);

    if (isfinite(totals->closure)) {
        int used = snprintf(text, sizeof text, "the fit by itself comes to %.2f %% %s than the total",
                            fabs(totals->closure) * 100, totals->closure < 0 ? "less" : "more");
        if (isfinite(totals->closure_z))
            snprintf(text + used, sizeof text - (size_t)used, " (%.1f standard uncertainties)",
                     fabs(totals->closure_z));
    } else {
        snprintf(text, sizeof text, "-, there is no second total to compare with");
    }
    add_fact(out, "closure", text, width);
}

/* Every note, or those that nobody may overlook and how many there are besides. */
static void add_notes(jm__strbuf *out, const jm_report *report, const jm_text_options *options, size_t width)
{
    size_t left_out = 0;
    for (size_t i = 0; i < jm_report_note_count(report); i++) {
        if (options->notes || jm_report_note_is_essential(report, i))
            add_fact(out, "note", jm_report_note(report, i), width);
        else
            left_out++;
    }
    if (left_out == 0) return;
    jm__strbuf more = {0};
    jm__strbuf_format(&more, "%zu more note%s, and how the fit went%s%s", left_out, left_out == 1 ? "" : "s",
                      options->ask_for_notes != NULL ? ": " : " are left out",
                      options->ask_for_notes != NULL ? options->ask_for_notes : "");
    if (more.text != NULL) jm__wrap(out, "", 0, more.text, width);
    out->failed = out->failed || more.failed;
    jm__strbuf_free(&more);
}

static void write_text(jm__strbuf *out, const jm_report *report, const jm_text_options *options,
                       const jm__table *table)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    size_t width = options->width > 0 ? (size_t)options->width : 0;
    add_title(out, report);
    add_total(out, totals, width);
    add_steps(out, totals, width);
    add_verdict(out, jm_report_quality_get(report), width);
    jm__strbuf_add(out, "\n");
    jm__table_print(out, table, width);
    jm__strbuf_add(out, "\n");
    if (options->notes) add_fit(out, totals, width);
    add_notes(out, report, options, width);
    jm__wrap(out, "", 0, "\302\261 is half of the 95 % interval, relative to the GPU's own sensor.", width);
}

jm_status jm_report_text(const jm_report *report, const jm_text_options *options, char **out, jm_error *err)
{
    jm_text_options asked;
    *out = NULL;
    JM_TRY(jm__options_copy(&asked, sizeof asked, options, "jm_report_text", err));
    jm__table table;
    jm__strbuf text = {0};
    jm_status status = jm__rows_table(&table, report, &asked, err);
    if (status == JM_OK) {
        write_text(&text, report, &asked, &table);
        *out = jm__strbuf_take(&text);
        if (*out == NULL) status = jm__no_memory(err, "jm_report_text");
    }
    jm__strbuf_free(&text);
    jm__table_free(&table);
    return status;
}
