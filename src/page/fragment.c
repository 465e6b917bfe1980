/* A report as a few lines of HTML, for notebooks. */
#include "base/status.h"
#include "base/utf8.h"
#include "page/lines.h"
#include "report/facts.h"
#include "report/format.h"

#include <joulemap/page.h>
#include <math.h>

/* The title of a column of figures, which stand to the right. */
#define NUMBERS "<th scope=\"col\" style=\"text-align:right\">"

enum { NAME_COLUMNS = 48, MOST_FACT_BYTES = 400 };

static void add_escaped(jm__strbuf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            jm__strbuf_add(out, "&lt;");
            break;
        case '>':
            jm__strbuf_add(out, "&gt;");
            break;
        case '&':
            jm__strbuf_add(out, "&amp;");
            break;
        case '"':
            jm__strbuf_add(out, "&quot;");
            break;
        case '\'':
            jm__strbuf_add(out, "&#39;");
            break;
        default:
            jm__strbuf_add_bytes(out, text, 1);
        }
    }
}

/* Isolated, so that a name written from right to left turns nothing beside it around. */
static void add_name(jm__strbuf *out, const jm__page_line *line)
{
    jm__strbuf name = {0}, cut = {0};
    if (jm__is_cpp_name(line->name))
        jm__kernel_name_add(&name, line->name, JM_BREVITY_INNER);
    else
        jm__utf8_add(&name, line->name, true);
    if (name.text != NULL) jm__utf8_add_cut(&cut, name.text, NAME_COLUMNS);
    jm__strbuf_add(out, "<bdi>");
    add_escaped(out, cut.text != NULL ? cut.text : "");
    jm__strbuf_add(out, "</bdi>");
    if (line->says_kind) {
        jm__strbuf_add(out, " (");
        add_escaped(out, line->row->kind);
        jm__strbuf_add(out, ")");
    }
    if (line->members > 1) jm__strbuf_format(out, " \303\227 %zu", line->members);
    if (name.failed || cut.failed) out->failed = true;
    jm__strbuf_free(&name);
    jm__strbuf_free(&cut);
}

static void add_cell(jm__strbuf *out, const char *text)
{
    jm__strbuf_format(out, "<td style=\"text-align:right\">%s</td>", text);
}

static void add_line(jm__strbuf *out, const jm__page_line *line, const jm__energy_scale *scale)
{
    enum { DEEPEST = 12 };
    int32_t depth = line->row->depth;
    char energy[JM_CELL], half[JM_CELL], share[JM_CELL];
    jm__format_scaled(energy, line->row->energy_j, scale);
    jm__format_half(half, line->row->energy_j, line->row->energy_low_j, line->row->energy_high_j);
    jm__format_share(share, line->row->share);
    jm__strbuf_format(out,
                      "<tr><th scope=\"row\" style=\"text-align:left;font-weight:normal;padding-left:%dem\">",
                      depth < DEEPEST ? depth : DEEPEST);
    add_name(out, line);
    jm__strbuf_add(out, "</th>");
    add_cell(out, energy);
    add_cell(out, half);
    add_cell(out, share);
    jm__strbuf_format(out, "<td style=\"text-align:left\">%s</td></tr>\n",
                      jm_provenance_text(line->row->provenance));
}

static void add_table(jm__strbuf *out, const jm__page_lines *lines, const jm_report *report)
{
    double largest_j = 0;
    for (size_t i = 0; i < lines->items.count; i++)
        largest_j = fmax(largest_j, fabs(lines->items.items[i].row->energy_j));
    jm__energy_scale scale = jm__energy_scale_for(largest_j);
    jm__strbuf_format(out,
                      "<table><thead><tr><th scope=\"col\" style=\"text-align:left\">%s</th>" NUMBERS
                      "%s</th>" NUMBERS "\302\261</th>" NUMBERS "share</th>"
                      "<th scope=\"col\" style=\"text-align:left\">known</th></tr></thead>\n<tbody>\n",
                      jm_by_text(jm_report_options_get(report)->by), scale.unit);
    for (size_t i = 0; i < lines->items.count; i++)
        add_line(out, &lines->items.items[i], &scale);
    jm__strbuf_add(out, "</tbody></table>\n");
    if (lines->left_out > 0) jm__strbuf_format(out, "<p>%zu more rows, beyond these</p>\n", lines->left_out);
}

static void add_facts(jm__strbuf *out, const jm__facts *facts)
{
    jm__strbuf_add(out, "<p>");
    for (size_t i = 0; i < facts->count; i++) {
        jm__strbuf text = {0};
        jm__utf8_add_head(&text, facts->items[i].text, MOST_FACT_BYTES);
        jm__strbuf_format(out, "%s<b>%s</b> ", i > 0 ? "<br>\n" : "", facts->items[i].name);
        add_escaped(out, text.text != NULL ? text.text : "");
        if (text.failed) out->failed = true;
        jm__strbuf_free(&text);
    }
    jm__strbuf_add(out, "</p>\n");
}

jm_status jm_report_fragment(const jm_report *report, size_t limit, char **out, jm_error *err)
{
    jm__page_lines lines;
    jm__facts facts = {0};
    jm__strbuf text = {0};
    *out = NULL;
    jm_status status = jm__facts_make(&facts, report, err);
    if (status == JM_OK) {
        status = jm__page_lines_make(&lines, report, false, limit, err);
        jm__strbuf_add(&text, "<div class=\"joulemap\">\n");
        if (jm_report_totals_get(report)->simulated) jm__strbuf_add(&text, "<p><b>SIMULATED GPU</b></p>\n");
        add_facts(&text, &facts);
        if (status == JM_OK) add_table(&text, &lines, report);
        jm__strbuf_add(&text, "</div>\n");
        jm__page_lines_free(&lines);
    }
    if (status == JM_OK && (*out = jm__strbuf_take(&text)) == NULL)
        status = jm__no_memory(err, "jm_report_fragment");
    jm__strbuf_free(&text);
    jm__facts_free(&facts);
    return status;
}
