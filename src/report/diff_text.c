/* A diff as a table, for a terminal or a pull request. */
#include "base/status.h"
#include "base/utf8.h"
#include "report/diff_fold.h"
#include "report/diff_notes.h"
#include "report/kernel_name.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

/* Rows of less than this share of the total on both sides are counted, not shown. */
static const double shown_share = 0.005;

enum { NAME_OF_SIDE = 14, MOST_OF_SIDE = 40, NARROWEST_NAME = 17 };

/* What decides which rows are shown first; 0 for those too small for any. */
static double weight_of(const jm_diff *diff, const jm_diff_row *row)
{
    const jm_diff_row *total = &diff->total;
    if (!isfinite(row->a_j) && !isfinite(row->b_j)) return shown_share; /* not known is not small */
    double a = fabs(row->a_j / total->a_j), b = fabs(row->b_j / total->b_j);
    double share = fmax(isfinite(a) ? a : 0, isfinite(b) ? b : 0);
    bool known = total->a_j > 0 || total->b_j > 0; /* else there are no shares: all are shown */
    return known && share < shown_share ? 0 : fmax(share, shown_share);
}

typedef struct weighed {
    double weight;
    size_t row;
} weighed;

static int by_weight(const void *left, const void *right)
{
    const weighed *a = left, *b = right;
    if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
    return a->row < b->row ? -1 : 1; /* a parent before a child that has all of it */
}

typedef struct choice {
    bool *shown; /* [parts] */
    size_t small, past_limit;
} choice;

static bool choose_rows(choice *chosen, const jm_diff *diff, const jm__diff_fold *fold, size_t limit)
{
    size_t count = fold->parts.count, large = 0;
    weighed *order = calloc(count + 1, sizeof *order);
    *chosen = (choice){.shown = calloc(count + 1, sizeof *chosen->shown)};
    bool fine = order != NULL && chosen->shown != NULL;
    for (size_t i = 0; fine && i < count; i++) {
        order[i] = (weighed){weight_of(diff, &fold->parts.items[i].row), i};
        large += order[i].weight > 0;
    }
    if (fine) {
        qsort(order, count, sizeof *order, by_weight);
        size_t end = limit == 0 || limit > large ? large : limit;
        for (size_t i = 0; i < end; i++)
            chosen->shown[order[i].row] = true;
        chosen->small = count - large;
        chosen->past_limit = large - end;
    }
    free(order);
    return fine;
}

static bool push_line(jm__table *table, jm__table_line line, jm__strbuf *name)
{
    line.name = jm__strbuf_take(name);
    if (line.name == NULL) return false;
    if (jm__vec_push(&table->lines, line)) return true;
    free(line.name);
    return false;
}

/* What is the same for all rows of a table. */
typedef struct layout {
    const jm_diff *diff;
    jm__energy_scale scale;
    bool whole_paths; /* of rows, in place of names in a tree */
    bool several;     /* some rows are several layers: how many is the first column */
    bool some_runs;   /* some rows are in some runs alone */
} layout;

/* "less", "less, A 2/3" of a row that two of A's three runs have. */
static bool write_verdict(char out[JM_CELL], const jm_diff *diff, const jm_diff_row *row)
{
    const size_t runs[2] = {row->a_runs, row->b_runs};
    int used = snprintf(out, JM_CELL, "%s", jm_change_text(row->verdict));
    bool some = false;
    for (int side = 0; side < 2; side++) {
        if (runs[side] == 0 || runs[side] == diff->counts[side] || used >= JM_CELL) continue;
        used += snprintf(out + used, (size_t)(JM_CELL - used), ", %c %zu/%zu", "AB"[side], runs[side],
                         diff -> counts[side]);
        some = true;
    }
    return some;
}

static void write_cells(jm__table_line *line, layout *of, const jm_diff_row *row, size_t members)
{
    size_t c = 0;
    if (of->several && members > 0) snprintf(line->cells[c], JM_CELL, "%zu", members);
    c += of->several;
    jm__format_energy_in(line->cells[c++], &of->scale, row->a_j, row->a_low_j, row->a_high_j);
    jm__format_energy_in(line->cells[c++], &of->scale, row->b_j, row->b_low_j, row->b_high_j);
    jm__format_change(line->cells[c++], row->change, row->change_low, row->change_high);
    of->some_runs = write_verdict(line->cells[c], of->diff, row) || of->some_runs;
}

static bool add_total(jm__table *table, layout *of)
{
    jm__table_line line = {0};
    jm__strbuf name = {0};
    jm__strbuf_add(&name, of->diff->total.name);
    write_cells(&line, of, &of->diff->total, 0);
    return push_line(table, line, &name);
}

static bool add_part(jm__table *table, layout *of, const jm__diff_part *part)
{
    const jm_diff_row *row = &part->row;
    const char *text = of->whole_paths || !part->in_first ? part->path : part->part->name;
    jm__table_line line = {
        .depth = row->depth + 1, .is_cpp = jm__is_cpp_name(text), .number = part->part->row + 1};
    jm__strbuf name = {0};
    jm__utf8_add(&name, text, true);
    if (row->path_again) snprintf(line.suffix, sizeof line.suffix, " (%s)", row->kind);
    write_cells(&line, of, row, part->part->members);
    return push_line(table, line, &name);
}

static bool add_count(jm__table *table, size_t count, const char *what)
{
    if (count == 0) return true;
    jm__strbuf name = {0};
    jm__strbuf_format(&name, "%zu %s", count, what);
    return push_line(table, (jm__table_line){.depth = 1}, &name);
}

static jm_status fill_chosen(jm__table *table, layout *of, jm__diff_fold *fold, const choice *chosen,
                             jm_error *err)
{
    bool filled = add_total(table, of);
    for (size_t i = 0; filled && i < fold->parts.count; i++) {
        jm__diff_part *part = &fold->parts.items[i];
        if (!chosen->shown[i]) continue;
        JM_TRY(jm__diff_part_compare(part, fold, of->diff, err));
        filled = add_part(table, of, part);
    }
    filled = filled &&
             add_count(table, chosen->past_limit, chosen->past_limit == 1 ? "more row" : "more rows") &&
             add_count(table, chosen->small, chosen->small == 1 ? "row < 0.5 %" : "rows < 0.5 %");
    return filled ? JM_OK : jm__no_memory(err, "jm_diff_text");
}

/* Titles that live as long as the table. */
typedef struct titles {
    char names[64];
    char sides[2][JM_TABLE_TITLE];
} titles;

static bool cut_sides(titles *to, const jm_diff *diff, size_t columns)
{
    bool fine = true;
    for (int side = 0; side < 2; side++) {
        jm__strbuf clean = {0}, cut = {0};
        jm__utf8_add(&clean, diff->names[side], true);
        jm__utf8_add_cut(&cut, clean.text != NULL ? clean.text : "", columns);
        fine = fine && !clean.failed && !cut.failed;
        snprintf(to->sides[side], sizeof to->sides[side], "%s", cut.text != NULL ? cut.text : "");
        jm__strbuf_free(&clean);
        jm__strbuf_free(&cut);
    }
    return fine;
}

/* Names of sides are cut, but not so far that they are alike. */
static bool write_titles(titles *to, const layout *of)
{
    const jm_diff *diff = of->diff;
    jm_by by = jm_report_options_get(diff->runs[0].report)->by;
    snprintf(to->names, sizeof to->names, "%s, %s%s%s", jm_by_text(by), of->scale.unit,
             diff->per == JM_PER_RUN ? "" : "/", diff->per == JM_PER_RUN ? "" : jm_per_text(diff->per));
    bool fine = true;
    for (size_t columns = NAME_OF_SIDE; fine && columns <= MOST_OF_SIDE; columns++) {
        fine = cut_sides(to, diff, columns);
        if (strcmp(to->sides[0], to->sides[1]) != 0) break;
    }
    return fine;
}

static void set_up_columns(jm__table *table, const titles *words, bool several)
{
    *table = (jm__table){.title = words->names, .narrowest_name = NARROWEST_NAME};
    if (several) table->columns[table->column_count++] = (jm__table_column){.title = "x"};
    for (int side = 0; side < 2; side++) {
        jm__table_column *column = &table->columns[table->column_count++];
        snprintf(column->title, sizeof column->title, "%s", words->sides[side]);
    }
    table->columns[table->column_count++] = (jm__table_column){.title = "change"};
    table->columns[table->column_count++] = (jm__table_column){.left = true};
}

static jm_status fill_table(jm__table *table, titles *words, layout *of, jm__diff_fold *fold, size_t limit,
                            jm_error *err)
{
    choice chosen = {0};
    bool fine = choose_rows(&chosen, of->diff, fold, limit) && write_titles(words, of);
    for (size_t i = 0; fine && i < fold->parts.count; i++)
        of->several = of->several || (chosen.shown[i] && fold->parts.items[i].part->members > 1);
    set_up_columns(table, words, of->several);
    jm_status status = fine ? fill_chosen(table, of, fold, &chosen, err) : jm__no_memory(err, "jm_diff_text");
    free(chosen.shown);
    return status;
}

static jm_status make_table(jm__table *table, titles *words, layout *of, size_t limit, jm_error *err)
{
    jm__diff_fold fold = {0};
    *table = (jm__table){0};
    of->scale = jm__energy_scale_for(fmax(of->diff->total.a_j, of->diff->total.b_j));
    jm_status status = jm__diff_fold_make(&fold, of->diff, err);
    if (status == JM_OK) status = fill_table(table, words, of, &fold, limit, err);
    jm__diff_fold_free(&fold);
    return status;
}

/* What a view wrote, as its result. */
static jm_status hand_over(char **out, jm__strbuf *text, jm_status status, jm_error *err)
{
    *out = status == JM_OK ? jm__strbuf_take(text) : NULL;
    jm__strbuf_free(text);
    return status == JM_OK && *out == NULL ? jm__no_memory(err, "jm_diff_text") : status;
}

jm_status jm_diff_text(const jm_diff *diff, int width, size_t limit, char **out, jm_error *err)
{
    size_t columns = width > 0 ? (size_t)width : 0;
    layout of = {.diff = diff};
    jm__table table;
    titles words;
    jm__strbuf text = {0};
    jm_status status = make_table(&table, &words, &of, limit, err);
    if (status == JM_OK) {
        jm__table_print(&text, &table, columns);
        jm__strbuf_add(&text, "\n");
        jm__diff_notes(&text, diff, of.some_runs, columns);
    }
    jm__table_free(&table);
    return hand_over(out, &text, status, err);
}

/* A name that Markdown shows as it is. */
static void add_name(jm__strbuf *out, const char *name)
{
    jm__strbuf_add(out, "`");
    for (; *name != '\0'; name++) {
        if (*name == '|') jm__strbuf_add(out, "\\");
        jm__strbuf_add_bytes(out, *name == '`' ? "'" : name, 1);
    }
    jm__strbuf_add(out, "`");
}

static void add_markdown_line(jm__strbuf *out, const jm__table_line *line, size_t columns, bool is_row)
{
    jm__strbuf_add(out, "| ");
    if (is_row)
        add_name(out, line->name);
    else
        jm__strbuf_add(out, line->name);
    jm__strbuf_format(out, "%s |", line->suffix);
    for (size_t c = 0; c < columns; c++)
        jm__strbuf_format(out, " %s |", line->cells[c]);
    jm__strbuf_add(out, "\n");
}

static void add_markdown_table(jm__strbuf *out, const jm__table *table, const titles *words, const layout *of)
{
    jm__strbuf_format(out, "| %s |%s ", words->names, of->several ? " x |" : "");
    add_name(out, words->sides[0]);
    jm__strbuf_add(out, " | ");
    add_name(out, words->sides[1]);
    jm__strbuf_format(out, " | change | |\n|---|%s---:|---:|---:|---|\n", of->several ? "---:|" : "");
    for (size_t i = 0; i < table->lines.count; i++) /* the total and the counts are no names */
        add_markdown_line(out, &table->lines.items[i], table->column_count,
                          i > 0 && table->lines.items[i].cells[of->several][0] != '\0');
    jm__strbuf_add(out, "\n");
}

jm_status jm_diff_markdown(const jm_diff *diff, size_t limit, char **out, jm_error *err)
{
    layout of = {.diff = diff, .whole_paths = true};
    jm__table table;
    titles words;
    jm__strbuf text = {0};
    jm_status status = make_table(&table, &words, &of, limit, err);
    if (status == JM_OK) {
        add_markdown_table(&text, &table, &words, &of);
        jm__diff_notes(&text, diff, of.some_runs, 0);
    }
    jm__table_free(&table);
    return hand_over(out, &text, status, err);
}
