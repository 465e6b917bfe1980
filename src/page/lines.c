/* Tables of the page: which lines, which columns; and a short HTML table for notebooks. */
#include "base/json_value.h"
#include "base/order.h"
#include "base/status.h"
#include "base/utf8.h"
#include "page/parts.h"
#include "report/facts.h"
#include "report/format.h"
#include "report/text.h"

#include <joulemap/page.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_areas(jm__page_line *line, const jm__page_lines *lines, const jm__part *part)
{
    for (size_t i = 0; i < part->members; i++) {
        size_t row = lines->fold.rows[part->first + i];
        line->area_j += lines->stacks.energy_j[row];
        line->area_s += lines->stacks.busy_s[row];
    }
}

/* Energy without children; NAN if unknown for a member. */
static double own_energy_j(const jm__page_lines *lines, const jm__part *part)
{
    double sum_j = 0;
    for (size_t i = 0; i < part->members; i++)
        sum_j += jm_report_row(lines->stacks.report, lines->fold.rows[part->first + i])->energy_self_j;
    return sum_j;
}

/* The paths of several members as one pattern. NULL: it has one member, or they have no pattern. */
static bool add_path(jm__page_line *line, const jm__page_lines *lines, const jm__part *part)
{
    jm__strbuf path = {0};
    if (part->members < 2 || part->by_type) return true;
    jm__part_path_add(&path, lines->stacks.report, &lines->fold, part);
    line->path = path.failed ? NULL : path.text;
    if (path.failed) jm__strbuf_free(&path);
    return line->path != NULL;
}

static bool add_line(jm__page_lines *lines, jm__part *part)
{
    jm__page_line line = {.name = part->name,
                          .row = &part->sum,
                          .members = part->members,
                          .own_j = own_energy_j(lines, part),
                          .show_kind = lines->stacks.show_kind[part->row]};
    add_areas(&line, lines, part);
    if (jm__row_has_layer(&part->sum))
        *(jm__row_is_pause(&part->sum) ? &lines->before_layers : &lines->in_layers) = true;
    if (add_path(&line, lines, part) && jm__vec_push(&lines->items, line)) return true;
    free(line.path);
    return false;
}

typedef struct ranked {
    double energy_j; /* magnitude; NAN: unknown */
    double busy_s;
    size_t part;
} ranked;

static int by_energy(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    int order = jm__largest_first(a->energy_j, b->energy_j);
    if (order == 0) order = jm__largest_first(a->busy_s, b->busy_s);
    if (order != 0) return order;
    return (a->part > b->part) - (a->part < b->part);
}

/* Mark the parts with the most energy; parts of unknown energy follow, sorted by time. */
static bool mark_largest(bool *chosen, const jm__fold *fold, size_t most)
{
    size_t count = fold->parts.count;
    ranked *order = calloc(count + 1, sizeof *order);
    if (order == NULL) return false;
    for (size_t i = 0; i < count; i++) {
        const jm_row *row = &fold->parts.items[i].sum;
        order[i] = (ranked){isfinite(row->energy_j) ? fabs(row->energy_j) : NAN, row->busy_s, i};
    }
    qsort(order, count, sizeof *order, by_energy);
    for (size_t i = 0; i < count && i < most; i++)
        chosen[order[i].part] = true;
    free(order);
    return true;
}

/* Mark ancestors of chosen parts: going backwards, the next part with a smaller depth. */
static void mark_parents(bool *chosen, const jm__fold *fold)
{
    int32_t child_depth = 0; /* depth of the last chosen part: the next part above it is its parent */
    for (size_t i = fold->parts.count; i-- > 0;) {
        int32_t depth = fold->parts.items[i].sum.depth;
        if (chosen[i] || depth < child_depth) {
            chosen[i] = true;
            child_depth = depth;
        }
    }
}

static void skip_part(jm__page_lines *lines, const jm__part *part)
{
    jm__page_line areas = {0};
    add_areas(&areas, lines, part);
    lines->left_out++;
    lines->left_out_area_j += areas.area_j;
    lines->left_out_area_s += areas.area_s;
    lines->left_out_j += own_energy_j(lines, part);
}

static jm_status add_lines(jm__page_lines *lines, const bool *chosen, jm_error *err)
{
    jm__fold *fold = &lines->fold;
    JM_TRY(jm__fold_intervals(fold, lines->stacks.report, chosen, err));
    for (size_t i = 0; i < fold->parts.count; i++) {
        jm__part *part = &fold->parts.items[i];
        if (!chosen[i]) {
            skip_part(lines, part);
            continue;
        }
        if (!add_line(lines, part)) return jm__no_memory(err, "jm__page_lines_make");
    }
    return JM_OK;
}

jm_status jm__page_lines_make(jm__page_lines *lines, const jm_report *report, bool expand, size_t most,
                              jm_error *err)
{
    *lines = (jm__page_lines){0};
    JM_TRY(jm__stacks_of(&lines->stacks, report, err));
    JM_TRY(jm__fold_make(&lines->fold, report, expand, NULL, err));
    bool *chosen = calloc(lines->fold.parts.count + 1, sizeof *chosen);
    jm_status status = JM_OK;
    if (chosen != NULL && mark_largest(chosen, &lines->fold, most)) {
        mark_parents(chosen, &lines->fold);
        status = add_lines(lines, chosen, err);
    } else {
        status = jm__no_memory(err, "jm__page_lines_make");
    }
    free(chosen);
    return status;
}

void jm__page_lines_free(jm__page_lines *lines)
{
    for (size_t i = 0; i < lines->items.count; i++)
        free(lines->items.items[i].path);
    jm__vec_free(&lines->items);
    jm__fold_free(&lines->fold);
    jm__stacks_free(&lines->stacks);
}

/* ---- the columns of a table */

enum { LONGEST_NAME = 240 }; /* bytes: a C++ name may have thousands */

static json_t *cut_text(const char *text)
{
    jm__strbuf cut = {0};
    size_t length = jm__utf8_cut(text, LONGEST_NAME);
    jm__strbuf_add_bytes(&cut, text, length);
    if (text[length] != '\0') jm__strbuf_add(&cut, "\xe2\x80\xa6");
    json_t *value = cut.failed ? NULL : jm__json_text(cut.text != NULL ? cut.text : "");
    jm__strbuf_free(&cut);
    return value;
}

static const jm__page_line *line_at(const void *context, size_t i)
{
    return &((const jm__page_lines *)context)->items.items[i];
}

static json_t *name_of(const void *context, size_t i)
{
    return cut_text(line_at(context, i)->name);
}

/* null: the same as its name. */
static json_t *path_of(const void *context, size_t i)
{
    const jm__page_line *line = line_at(context, i);
    const char *path = line->path != NULL ? line->path : line->row->path;
    return strcmp(path, line->name) == 0 ? json_null() : cut_text(path);
}

/* A shortened C++ name; null: the name needs no shortening. */
static json_t *short_of(const void *context, size_t i)
{
    const char *name = line_at(context, i)->name;
    if (!jm__is_cpp_name(name)) return json_null();
    jm__strbuf text = {0};
    jm__kernel_name_add(&text, name, JM_BREVITY_INNER);
    json_t *value = text.failed ? NULL : cut_text(text.text != NULL ? text.text : name);
    jm__strbuf_free(&text);
    return value;
}

static json_t *says_kind_of(const void *context, size_t i)
{
    return json_boolean(line_at(context, i)->show_kind);
}

static json_t *members_of(const void *context, size_t i)
{
    return json_integer((json_int_t)line_at(context, i)->members);
}

#define TEXT_OF(field)                                                                                       \
    static json_t *field##_of(const void *context, size_t i)                                                 \
    {                                                                                                        \
        return cut_text(line_at(context, i)->row->field);                                                    \
    }
#define INTEGER_OF(field)                                                                                    \
    static json_t *field##_of(const void *context, size_t i)                                                 \
    {                                                                                                        \
        return json_integer(line_at(context, i)->row->field);                                                \
    }
#define REAL_OF(field)                                                                                       \
    static json_t *field##_of(const void *context, size_t i)                                                 \
    {                                                                                                        \
        return jm__json_real(line_at(context, i)->row->field);                                               \
    }
#define REAL_OF_LINE(field)                                                                                  \
    static json_t *field##_of(const void *context, size_t i)                                                 \
    {                                                                                                        \
        return jm__json_real(line_at(context, i)->field);                                                    \
    }

TEXT_OF(kind)
TEXT_OF(type)
TEXT_OF(boards)
INTEGER_OF(depth)
INTEGER_OF(calls)
REAL_OF(busy_s)
REAL_OF(energy_j)
REAL_OF(energy_low_j)
REAL_OF(energy_high_j)
REAL_OF(step_s)
REAL_OF(step_j)
REAL_OF(step_low_j)
REAL_OF(step_high_j)
REAL_OF(power_w)
REAL_OF(share)
REAL_OF(forward_share)
REAL_OF(backward_share)
REAL_OF(mostly_share)
REAL_OF_LINE(own_j)
REAL_OF_LINE(area_j)
REAL_OF_LINE(area_s)

/* The layer of a row, or the layer after a pause; null if no line of the table has one, as in text tables. */
static json_t *place_of(const void *context, size_t i, bool of_pauses)
{
    const jm__page_lines *lines = context;
    const jm_row *row = line_at(context, i)->row;
    const char *place = jm__row_place(row);
    bool shown = place != NULL && jm__row_is_pause(row) == of_pauses &&
                 (of_pauses ? lines->before_layers : lines->in_layers);
    return shown ? cut_text(place) : json_null();
}

static json_t *dominant_in_of(const void *context, size_t i)
{
    return place_of(context, i, false);
}

static json_t *dominant_before_of(const void *context, size_t i)
{
    return place_of(context, i, true);
}

static json_t *provenance_of(const void *context, size_t i)
{
    return jm__json_text(jm_provenance_text(line_at(context, i)->row->provenance));
}

static const jm__json_column columns[] = {
    {"name", name_of},
    {"path", path_of},
    {"short", short_of},
    {"says_kind", says_kind_of},
    {"kind", kind_of},
    {"type", type_of},
    {"boards", boards_of},
    {"depth", depth_of},
    {"x", members_of},
    {"calls", calls_of},
    {"busy_s", busy_s_of},
    {"energy_j", energy_j_of},
    {"low_j", energy_low_j_of},
    {"high_j", energy_high_j_of},
    {"step_s", step_s_of},
    {"step_j", step_j_of},
    {"step_low_j", step_low_j_of},
    {"step_high_j", step_high_j_of},
    {"own_j", own_j_of},
    {"power_w", power_w_of},
    {"share", share_of},
    {"forward_share", forward_share_of},
    {"backward_share", backward_share_of},
    {"mostly_in", dominant_in_of},
    {"mostly_before", dominant_before_of},
    {"mostly_share", mostly_share_of},
    {"known", provenance_of},
    {"area_j", area_j_of},
    {"area_s", area_s_of},
};

json_t *jm__page_lines_json(const jm__page_lines *lines)
{
    json_t *table = jm__json_columns(columns, sizeof columns / sizeof *columns, lines->items.count, lines);
    json_t *rest = json_pack(
        "{sI so so so}", "rows", (json_int_t)lines->left_out, "energy_j", jm__json_real(lines->left_out_j),
        "area_j", jm__json_real(lines->left_out_area_j), "area_s", jm__json_real(lines->left_out_area_s));
    if (json_object_set_new(table, "left_out", rest) == 0)
        return table; /* frees `rest` also if `table` is NULL */
    json_decref(table);
    return NULL;
}

/* ---- a report as a short HTML table, for notebooks */

/* The title of a column of figures, right-aligned. */
#define NUMBERS "<th scope=\"col\" style=\"text-align:right\">"

enum { NAME_COLUMNS = 48, MOST_FACT_BYTES = 400 };

static void add_escaped(jm__strbuf *out, const char *text)
{
    static const char special[] = "<>&\"'";
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
    while (*text != '\0') {
        size_t plain = strcspn(text, special);
        jm__strbuf_add_bytes(out, text, plain);
        text += plain;
        if (*text != '\0') jm__strbuf_add(out, entities[strchr(special, *text++) - special]);
    }
}

/* In <bdi>, so that a right-to-left name does not reorder the text beside it. */
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
    if (line->show_kind) {
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

static void add_html_line(jm__strbuf *out, const jm__page_line *line, const jm__energy_scale *scale)
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
        add_html_line(out, &lines->items.items[i], &scale);
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
    jm__facts_free(&facts);
    return jm__hand_over(out, &text, status, "jm_report_fragment", err);
}
