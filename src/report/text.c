/* The report as a table that a stranger can read. */
#include "base/options.h"
#include "base/plain.h"
#include "base/status.h"
#include "base/utf8.h"
#include "report/head.h"
#include "report/rows_table.h"
#include "report/waits.h"
#include "report/wrap.h"

#include <joulemap/report.h>
#include <math.h>
#include <string.h>

/* A part of the total; what is nothing beside it is 0. */
static void format_part(char out[JM_CELL], double energy_j, const jm_report_totals *totals)
{
    bool tiny = fabs(energy_j) < 1e-4 * totals->total_energy_j;
    jm__format_energy(out, tiny ? 0 : energy_j, NAN, NAN);
}

static void add_fit(jm__strbuf *out, const jm_report_totals *totals, size_t width)
{
    char text[320], idle[JM_CELL], outside[JM_CELL], unresolved[JM_CELL];
    format_part(idle, totals->idle_energy_j, totals);
    format_part(outside, totals->outside_energy_j, totals);
    format_part(unresolved, totals->unresolved_energy_j, totals);
    snprintf(text, sizeof text, "idle %s, outside %s, unresolved %s", idle, outside, unresolved);
    jm__head_add_fact(out, "of it", text, width);

    if (isfinite(totals->residual_w)) {
        int used = jm__print(text, sizeof text, "root mean square residual %.1f W over %lld readings",
                             totals->residual_w, (long long)totals->readings);
        if (isfinite(totals->chi2_n))
            jm__print(text + used, sizeof text - (size_t)used, ", chi2/n %.2f", totals->chi2_n);
    } else {
        snprintf(text, sizeof text, "none; %lld readings", (long long)totals->readings);
    }
    jm__head_add_fact(out, "fit", text, width);

    if (isfinite(totals->closure)) {
        int used = jm__print(text, sizeof text, "the fit by itself comes to %.2f %% %s than the total",
                             fabs(totals->closure) * 100, totals->closure < 0 ? "less" : "more");
        if (isfinite(totals->closure_z))
            jm__print(text + used, sizeof text - (size_t)used, " (%.1f standard uncertainties)",
                      fabs(totals->closure_z));
    } else {
        snprintf(text, sizeof text, "-, there is no second total to compare with");
    }
    jm__head_add_fact(out, "closure", text, width);
}

/* Every note, or those that nobody may overlook and how many there are besides. */
static void add_notes(jm__strbuf *out, const jm_report *report, const jm_text_options *options, size_t width)
{
    size_t left_out = 0;
    for (size_t i = 0; i < jm_report_note_count(report); i++) {
        if (options->notes || jm_report_note_is_essential(report, i))
            jm__head_add_fact(out, "note", jm_report_note(report, i), width);
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

/* A row that was asked for by its number has room for all of its name. */
static void add_name(jm__strbuf *out, const jm_report *report, uint64_t number, size_t width)
{
    const jm_row *row = number > 0 ? jm_report_row(report, (size_t)number - 1) : NULL;
    if (row == NULL) return;
    jm__strbuf_add(out, "\n");
    jm__wrap(out, "", 0, row->name, width);
}

static jm_status add_head(jm__strbuf *out, const jm_report *report, const jm_text_options *options,
                          jm_error *err)
{
    char title[40];
    snprintf(title, sizeof title, "Energy by %s", jm_by_text(jm_report_options_get(report)->by));
    return jm__head_add(out, title, report, options->colour,
                        (size_t)(options->width > 0 ? options->width : 0), err);
}

/* What of the rows above was waiting, though it is no idle time. */
static jm_status add_waits(jm__strbuf *out, const jm_report *report, size_t width, jm_error *err)
{
    jm__facts waits = {0};
    jm_status status = jm__waits_add(&waits, report, err);
    for (size_t i = 0; status == JM_OK && i < waits.count; i++)
        jm__head_add_fact(out, waits.items[i].name, waits.items[i].text, width);
    jm__facts_free(&waits);
    return status;
}

static jm_status write_text(jm__strbuf *out, const jm_report *report, const jm_text_options *options,
                            const jm__table *table, jm_error *err)
{
    size_t width = options->width > 0 ? (size_t)options->width : 0;
    jm__table_print(out, table, width);
    add_name(out, report, options->row, width);
    jm__strbuf_add(out, "\n");
    JM_TRY(add_waits(out, report, width, err));
    if (options->notes) add_fit(out, jm_report_totals_get(report), width);
    add_notes(out, report, options, width);
    jm__wrap(out, "", 0, "\302\261 is half of the 95 % interval, relative to the GPU's own sensor.", width);
    return JM_OK;
}

jm_status jm_report_text(const jm_report *report, const jm_text_options *options, char **out, jm_error *err)
{
    jm_text_options asked;
    *out = NULL;
    JM_TRY(jm__options_copy(&asked, sizeof asked, options, "jm_report_text", err));
    jm__table table;
    jm__strbuf text = {0};
    jm_status status = jm__rows_table(&table, report, &asked, err);
    if (status == JM_OK) status = add_head(&text, report, &asked, err);
    if (status == JM_OK) status = write_text(&text, report, &asked, &table, err);
    if (status == JM_OK) {
        *out = jm__strbuf_take(&text);
        if (*out == NULL) status = jm__no_memory(err, "jm_report_text");
    }
    jm__strbuf_free(&text);
    jm__table_free(&table);
    return status;
}
