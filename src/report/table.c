/* Lays out a text table to fit the terminal. */
#include "report/table.h"

#include "base/order.h"
#include "base/utf8.h"
#include "report/format.h"

#include <string.h>

enum { GAP = 2, INDENT = 2, NARROWEST_NAME = 28, LEAST_NAME = 16, MOST_INDENT = 64 };

typedef struct layout {
    size_t name_width;
    size_t indent;                   /* columns per level */
    size_t widths[JM_TABLE_COLUMNS]; /* 0: left out */
} layout;

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t rest_width(const layout *at)
{
    size_t width = 0;
    for (size_t c = 0; c < JM_TABLE_COLUMNS; c++)
        width += at->widths[c] > 0 ? at->widths[c] + GAP : 0;
    return width;
}

/* The column to leave out next, among those with a sacrifice above `above`; column_count if none is left. */
static size_t column_to_drop(const layout *at, const jm__table *table, int above)
{
    size_t victim = table->column_count;
    for (size_t c = 0; c < table->column_count; c++) {
        if (at->widths[c] == 0 || table->columns[c].sacrifice <= above) continue;
        if (victim == table->column_count || table->columns[c].sacrifice > table->columns[victim].sacrifice)
            victim = c;
    }
    return victim;
}

/* Leave out columns until the names have `needed` columns. */
static void drop_columns(layout *at, const jm__table *table, size_t width, size_t needed, int above)
{
    while (rest_width(at) + needed > width) {
        size_t victim = column_to_drop(at, table, above);
        if (victim == table->column_count) return;
        at->widths[victim] = 0;
    }
}

static void fit_width(layout *at, const jm__table *table, size_t width)
{
    size_t narrowest = table->narrowest_name > 0 ? table->narrowest_name : NARROWEST_NAME;
    size_t needed = at->name_width < narrowest ? at->name_width : narrowest;
    drop_columns(at, table, width, needed, JM_TABLE_LAST_RESORT);
    size_t least = needed < LEAST_NAME ? needed : LEAST_NAME;
    drop_columns(at, table, width, least, 0);
    size_t rest = rest_width(at);
    size_t available = width > rest + least ? width - rest : least;
    if (at->name_width > available) at->name_width = available;
}

static size_t indent_of(const layout *at, const jm__table_line *line)
{
    size_t indent = (size_t)line->depth * at->indent;
    return indent < MOST_INDENT ? indent : MOST_INDENT;
}

/* A name that does not fit gets at least half of the name column, however deep the tree. */
static bool is_too_deep(const layout *at, const jm__table_line *line)
{
    size_t indent = indent_of(at, line), needed = jm__utf8_columns(line->name) + strlen(line->suffix);
    return indent + needed > at->name_width && indent > at->name_width / 2;
}

/* If one name had less indentation, it would seem to be its parent's sibling, so all levels get narrow. */
static void choose_indent(layout *at, const jm__table *table)
{
    for (size_t i = 0; i < table->lines.count; i++)
        if (is_too_deep(at, &table->lines.items[i])) at->indent = 1;
}

static layout lay_out(const jm__table *table, size_t width)
{
    layout at = {.name_width = strlen(table->title), .indent = INDENT};
    for (size_t c = 0; c < table->column_count; c++)
        at.widths[c] = jm__utf8_columns(table->columns[c].title);
    for (size_t i = 0; i < table->lines.count; i++) {
        const jm__table_line *line = &table->lines.items[i];
        at.name_width = larger(at.name_width, jm__utf8_columns(line->name) + strlen(line->suffix) +
                                                  jm__utf8_columns(line->hint) + indent_of(&at, line));
        for (size_t c = 0; c < table->column_count; c++)
            at.widths[c] = larger(at.widths[c], jm__utf8_columns(line->cells[c]));
    }
    if (width > 0) fit_width(&at, table, width);
    choose_indent(&at, table);
    return at;
}

static void add_spaces(jm__strbuf *out, size_t count)
{
    jm__strbuf_format(out, "%*s", (int)count, "");
}

/* All C++ names in their shortest form, sorted. Two equal ones may not be used. */
typedef JM_VEC(char *) short_names;

static int by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static bool collect_short_names(short_names *names, const jm__table *table)
{
    for (size_t i = 0; i < table->lines.count; i++) {
        if (!table->lines.items[i].is_cpp) continue;
        jm__strbuf text = {0};
        jm__kernel_name_add(&text, table->lines.items[i].name, JM_BREVITY_TEMPLATES);
        char *name = jm__strbuf_take(&text);
        if (name == NULL || !jm__vec_push(names, name)) {
            free(name);
            return false;
        }
    }
    jm__sort(names->items, names->count, sizeof *names->items, by_text);
    return true;
}

static void free_short_names(short_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    jm__vec_free(names);
}

static bool is_unique(const short_names *names, char *name)
{
    if (names->count == 0) return false;
    char **found = bsearch(&name, names->items, names->count, sizeof *names->items, by_text);
    if (found == NULL) return false;
    bool like_previous = found > names->items && strcmp(found[-1], name) == 0;
    bool like_next = found + 1 < names->items + names->count && strcmp(found[1], name) == 0;
    return !like_previous && !like_next;
}

/* Shorten a name that is too long: first the least informative parts, template arguments only if no other
 * line would look the same, last its middle. */
static void add_name(jm__strbuf *out, const jm__table_line *line, const short_names *names, size_t available)
{
    jm__strbuf best = {0};
    jm__strbuf_add(&best, line->name);
    for (jm__brevity b = 0; line->is_cpp && b < JM_BREVITY_COUNT && best.text != NULL; b++) {
        if (jm__utf8_columns(best.text) <= available) break;
        jm__strbuf shorter = {0};
        jm__kernel_name_add(&shorter, line->name, b);
        out->failed = out->failed || shorter.failed;
        if (shorter.text != NULL && !shorter.failed &&
            (b != JM_BREVITY_TEMPLATES || is_unique(names, shorter.text))) {
            jm__strbuf_free(&best);
            best = shorter;
        } else {
            jm__strbuf_free(&shorter);
        }
    }
    if (best.text != NULL) {
        if (line->is_cpp)
            jm__kernel_name_add_cut(out, best.text, available);
        else
            jm__utf8_add_cut(out, best.text, available);
    }
    if (best.failed) out->failed = true;
    jm__strbuf_free(&best);
}

/* A name as shown, and whether another line shows the same. */
typedef struct shown_name {
    char *text;
    size_t line;
    bool ambiguous;
} shown_name;

static int by_shown_text(const void *left, const void *right)
{
    const shown_name *a = left, *b = right;
    int texts = strcmp(a->text, b->text);
    return texts != 0 ? texts : (a->line > b->line) - (a->line < b->line);
}

static int by_line(const void *left, const void *right)
{
    size_t a = ((const shown_name *)left)->line, b = ((const shown_name *)right)->line;
    return (a > b) - (a < b);
}

static size_t name_room(const layout *at, const jm__table_line *line, size_t *indent)
{
    *indent = is_too_deep(at, line) ? at->name_width / 2 : indent_of(at, line);
    return at->name_width - *indent;
}

static char *text_of(const jm__table_line *line, const short_names *names, size_t available)
{
    jm__strbuf text = {0};
    add_name(&text, line, names, available);
    return jm__strbuf_take(&text);
}

/* The name of each line as it fits. C++ and short names that would look the same get their number. NULL:
 * memory is out.
 */
static shown_name *choose_names(const jm__table *table, const layout *at, const short_names *names)
{
    size_t count = table->lines.count, indent;
    shown_name *shown = calloc(count + 1, sizeof *shown);
    bool ok = shown != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        const jm__table_line *line = &table->lines.items[i];
        size_t available = name_room(at, line, &indent), suffix = strlen(line->suffix);
        shown[i].line = i;
        shown[i].text = text_of(line, names, available > suffix ? available - suffix : 0);
        ok = shown[i].text != NULL;
    }
    if (ok && count > 0) {
        qsort(shown, count, sizeof *shown, by_shown_text);
        for (size_t i = 1; i < count; i++)
            if (strcmp(shown[i - 1].text, shown[i].text) == 0)
                shown[i - 1].ambiguous = shown[i].ambiguous = true;
        qsort(shown, count, sizeof *shown, by_line);
    }
    for (size_t i = 0; ok && i < count; i++) {
        const jm__table_line *line = &table->lines.items[i];
        if (!shown[i].ambiguous || (!line->is_cpp && !line->is_short) || line->number == 0) continue;
        jm__strbuf numbered = {0}, tag = {0};
        jm__strbuf_format(&tag, " [#%zu]", line->number);
        size_t available = name_room(at, line, &indent), taken = tag.length + strlen(line->suffix);
        add_name(&numbered, line, names, available > taken ? available - taken : 0);
        jm__strbuf_add(&numbered, tag.text != NULL ? tag.text : "");
        free(shown[i].text);
        shown[i].text = jm__strbuf_take(&numbered);
        ok = shown[i].text != NULL && !tag.failed;
        jm__strbuf_free(&tag);
    }
    if (ok) return shown;
    for (size_t i = 0; shown != NULL && i < count; i++)
        free(shown[i].text);
    free(shown);
    return NULL;
}

static void add_cell(jm__strbuf *out, const jm__table_column *column, size_t width, const char *text)
{
    size_t pad = width - jm__utf8_columns(text);
    add_spaces(out, GAP + (column->left ? 0 : pad));
    jm__strbuf_add(out, text);
    if (column->left) add_spaces(out, pad);
}

static void add_cells(jm__strbuf *out, const jm__table *table, const layout *at, const jm__table_line *line)
{
    for (size_t c = 0; c < table->column_count; c++) {
        const char *text = line != NULL ? line->cells[c] : table->columns[c].title;
        if (at->widths[c] > 0) add_cell(out, &table->columns[c], at->widths[c], text);
    }
    jm__strbuf_drop_spaces(out);
}

static void add_line(jm__strbuf *out, const jm__table *table, const layout *at, const jm__table_line *line,
                     const char *name)
{
    size_t indent, available = name_room(at, line, &indent), columns = jm__utf8_columns(name);
    const char *suffix = available > strlen(line->suffix) ? line->suffix : "";
    size_t used = columns + strlen(suffix), hint = jm__utf8_columns(line->hint);
    bool hinted = hint > 0 && used + hint <= available, faint = table->colour && line->faint;
    if (faint) jm__strbuf_add(out, JM_COLOUR_FAINT);
    add_spaces(out, indent);
    jm__strbuf_format(out, "%s%s%s", name, suffix, hinted ? line->hint : "");
    used += indent + (hinted ? hint : 0);
    add_spaces(out, at->name_width > used ? at->name_width - used : 0);
    add_cells(out, table, at, line);
    if (faint) jm__strbuf_add(out, JM_COLOUR_NONE);
    jm__strbuf_add(out, "\n");
}

static void add_head(jm__strbuf *out, const jm__table *table, const layout *at)
{
    size_t used = strlen(table->title);
    if (table->colour) jm__strbuf_add(out, JM_COLOUR_BOLD);
    jm__strbuf_add(out, table->title);
    add_spaces(out, at->name_width > used ? at->name_width - used : 0);
    add_cells(out, table, at, NULL);
    jm__strbuf_add(out, table->colour ? JM_COLOUR_NONE "\n" : "\n");
}

void jm__table_print(jm__strbuf *out, const jm__table *table, size_t width)
{
    layout at = lay_out(table, width);
    short_names names = {0};
    if (!collect_short_names(&names, table)) out->failed = true;
    add_head(out, table, &at);
    shown_name *shown = choose_names(table, &at, &names);
    if (shown == NULL) out->failed = true;
    for (size_t i = 0; i < table->lines.count && shown != NULL; i++) {
        add_line(out, table, &at, &table->lines.items[i], shown[i].text);
        free(shown[i].text);
    }
    free(shown);
    free_short_names(&names);
}

bool jm__table_push(jm__table *table, jm__table_line line, jm__strbuf *name)
{
    line.name = jm__strbuf_take(name);
    if (line.name != NULL && jm__vec_push(&table->lines, line)) return true;
    free(line.name);
    return false;
}

void jm__table_free(jm__table *table)
{
    for (size_t i = 0; i < table->lines.count; i++)
        free(table->lines.items[i].name);
    jm__vec_free(&table->lines);
}
