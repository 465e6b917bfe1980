/* A diff as a table, for a terminal or a pull request. */
#include "attribute/fit/student.h"
#include "base/status.h"
#include "base/utf8.h"
#include "report/diff_parts.h"
#include "report/kernel_name.h"
#include "report/table.h"
#include "report/wrap.h"

#include <math.h>
#include <string.h>

/* Rows of less than this share of the total in both runs are counted, not shown. */
static const double shown_share = 0.005;

enum { COLUMNS = 4, NAME_OF_RUN = 14, NARROWEST_NAME = 17 };

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
    bool *shown; /* [rows] */
    size_t small, past_limit;
} choice;

static bool choose_rows(choice *chosen, const jm_diff *diff, size_t limit)
{
    size_t count = diff->rows.count, large = 0;
    weighed *order = calloc(count + 1, sizeof *order);
    *chosen = (choice){.shown = calloc(count + 1, sizeof *chosen->shown)};
    bool fine = order != NULL && chosen->shown != NULL;
    for (size_t i = 0; fine && i < count; i++) {
        order[i] = (weighed){weight_of(diff, &diff->rows.items[i]), i};
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

static void write_cells(jm__table_line *line, const jm_diff_row *row, const jm__energy_scale *scale)
{
    jm__format_energy_in(line->cells[0], scale, row->a_j, row->a_low_j, row->a_high_j);
    jm__format_energy_in(line->cells[1], scale, row->b_j, row->b_low_j, row->b_high_j);
    jm__format_change(line->cells[2], row->change, row->change_low, row->change_high);
    snprintf(line->cells[3], JM_CELL, "%s", jm_change_text(row->verdict));
}

/* `number`: of a kernel, as A's report counts. */
static bool add_row(jm__table *table, const jm_diff_row *row, const jm__energy_scale *scale, size_t number,
                    int depth, bool whole_path)
{
    const char *text = whole_path || row->verdict == JM_CHANGE_ONLY_IN_B ? row->path : row->name;
    jm__table_line line = {.depth = depth, .is_cpp = jm__is_cpp_name(text), .number = number};
    jm__strbuf name = {0};
    jm__utf8_add(&name, text, true);
    if (row->path_again) snprintf(line.suffix, sizeof line.suffix, " (%s)", row->kind);
    write_cells(&line, row, scale);
    return push_line(table, line, &name);
}

static bool add_count(jm__table *table, size_t count, const char *what)
{
    if (count == 0) return true;
    jm__strbuf name = {0};
    jm__strbuf_format(&name, "%zu %s", count, what);
    return push_line(table, (jm__table_line){.depth = 1}, &name);
}

static bool fill_table(jm__table *table, const jm_diff *diff, const jm__energy_scale *scale, size_t limit,
                       bool whole_paths)
{
    choice chosen;
    bool filled = choose_rows(&chosen, diff, limit) && add_row(table, &diff->total, scale, 0, 0, false);
    for (size_t i = 0; filled && i < diff->rows.count; i++) {
        const jm_diff_row *row = &diff->rows.items[i];
        if (chosen.shown[i]) filled = add_row(table, row, scale, i + 1, row->depth + 1, whole_paths);
    }
    filled = filled &&
             add_count(table, chosen.past_limit, chosen.past_limit == 1 ? "more row" : "more rows") &&
             add_count(table, chosen.small, chosen.small == 1 ? "row < 0.5 %" : "rows < 0.5 %");
    free(chosen.shown);
    return filled;
}

static void add_gpus(jm__strbuf *line, const jm_diff *diff)
{
    static const char *const words[JM_SAMENESS_COUNT] = {
        [JM_SAMENESS_SAME] = "same GPU: the sensor's gain cancels.",
        [JM_SAMENESS_DIFFERENT] = "different GPUs: changes hold the gains of their sensors,",
        [JM_SAMENESS_UNKNOWN] =
            "not known to be the same GPU (no UUID): changes hold the gains of their sensors,",
    };
    jm__strbuf_add(line, words[diff->gains.sameness]);
    if (diff->gains.sameness != JM_SAMENESS_SAME)
        jm__strbuf_format(line, " \302\261%.1f %% of the total.", JM_NORMAL_95 * diff->gain_u * 100);
}

/* "clock 1965 / 1971 MHz, 61 / 64 C, throttled 12 / 0 % of the time"; "-": not recorded. */
static void add_conditions(jm__strbuf *line, const jm_report_quality *a, const jm_report_quality *b)
{
    const struct {
        const char *before, *after;
        double values[2];
    } facts[] = {{" clock ", " MHz", {a->clock_mhz, b->clock_mhz}},
                 {" ", " \302\260C", {a->temperature_c, b->temperature_c}},
                 {" throttled ", " % of the time", {100 * a->throttled_share, 100 * b->throttled_share}}};
    bool any = false;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (!isfinite(facts[i].values[0]) && !isfinite(facts[i].values[1])) continue;
        jm__strbuf_add(line, any ? "," : "");
        jm__strbuf_add(line, facts[i].before);
        for (int r = 0; r < 2; r++) {
            jm__strbuf_add(line, r == 1 ? " / " : "");
            if (isfinite(facts[i].values[r]))
                jm__strbuf_format(line, "%.0f", facts[i].values[r]);
            else
                jm__strbuf_add(line, "-");
        }
        jm__strbuf_add(line, facts[i].after);
        any = true;
    }
    jm__strbuf_add(line, any ? "." : "");
}

static void add_verdicts(jm__strbuf *out, const jm_diff *diff, size_t width)
{
    const jm_report_quality *quality[2];
    for (int r = 0; r < 2; r++)
        quality[r] = jm_report_quality_get(diff->sides[r].report);
    if (strcmp(quality[0]->verdict, "poor") != 0 && strcmp(quality[1]->verdict, "poor") != 0) return;
    for (int r = 0; r < 2; r++) {
        jm__strbuf line = {0};
        jm__strbuf_format(&line, "%s is %s: %s", diff->sides[r].name, quality[r]->verdict,
                          quality[r]->verdict_reason);
        jm__wrap(out, "", 0, line.text != NULL ? line.text : "", width);
        out->failed = out->failed || line.failed;
        jm__strbuf_free(&line);
    }
}

static void add_notes(jm__strbuf *out, const jm_diff *diff, size_t width)
{
    jm__strbuf line = {0};
    if (jm_report_totals_get(diff->sides[0].report)->simulated ||
        jm_report_totals_get(diff->sides[1].report)->simulated)
        jm__strbuf_add(&line, "SIMULATED GPU. ");
    add_gpus(&line, diff);
    add_conditions(&line, jm_report_quality_get(diff->sides[0].report),
                   jm_report_quality_get(diff->sides[1].report));
    jm__wrap(out, "", 0, line.text != NULL ? line.text : "", width);
    out->failed = out->failed || line.failed;
    jm__strbuf_free(&line);
    add_verdicts(out, diff, width);
    jm__wrap(out, "", 0,
             "\302\261 is half of the 95 % interval, of energies relative to the GPU's own sensor.", width);
}

/* Titles that live as long as the table. */
typedef struct titles {
    char names[64];
    char runs[2][64];
} titles;

static bool write_titles(titles *to, const jm_diff *diff, const jm__energy_scale *scale)
{
    jm_by by = jm_report_options_get(diff->sides[0].report)->by;
    bool fine = true;
    snprintf(to->names, sizeof to->names, "%s, %s%s%s", jm_by_text(by), scale->unit,
             diff->per == JM_PER_RUN ? "" : "/", diff->per == JM_PER_RUN ? "" : jm_per_text(diff->per));
    for (int r = 0; r < 2; r++) {
        jm__strbuf clean = {0}, cut = {0};
        jm__utf8_add(&clean, diff->sides[r].name, true);
        jm__utf8_add_cut(&cut, clean.text != NULL ? clean.text : "", NAME_OF_RUN);
        fine = fine && !clean.failed && !cut.failed;
        snprintf(to->runs[r], sizeof to->runs[r], "%s", cut.text != NULL ? cut.text : "");
        jm__strbuf_free(&clean);
        jm__strbuf_free(&cut);
    }
    return fine;
}

static bool make_table(jm__table *table, titles *words, const jm_diff *diff, size_t limit, bool whole_paths)
{
    jm__energy_scale scale = jm__energy_scale_for(fmax(diff->total.a_j, diff->total.b_j));
    bool fine = write_titles(words, diff, &scale);
    *table = (jm__table){.title = words->names,
                         .columns = {{.title = ""}, {.title = ""}, {.title = "change"}, {.left = true}},
                         .column_count = COLUMNS,
                         .narrowest_name = NARROWEST_NAME};
    for (int r = 0; r < 2; r++)
        snprintf(table->columns[r].title, sizeof table->columns[r].title, "%s", words->runs[r]);
    return fine && fill_table(table, diff, &scale, limit, whole_paths);
}

jm_status jm_diff_text(const jm_diff *diff, int width, size_t limit, char **out, jm_error *err)
{
    size_t columns = width > 0 ? (size_t)width : 0;
    jm__table table;
    titles words;
    jm__strbuf text = {0};
    bool filled = make_table(&table, &words, diff, limit, false);
    if (filled) {
        jm__table_print(&text, &table, columns);
        jm__strbuf_add(&text, "\n");
        add_notes(&text, diff, columns);
    }
    jm__table_free(&table);
    *out = filled ? jm__strbuf_take(&text) : NULL;
    jm__strbuf_free(&text);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_diff_text");
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

static void add_markdown_line(jm__strbuf *out, const jm__table_line *line, bool is_row)
{
    jm__strbuf_add(out, "| ");
    if (is_row)
        add_name(out, line->name);
    else
        jm__strbuf_add(out, line->name);
    jm__strbuf_format(out, "%s |", line->suffix);
    for (size_t c = 0; c < COLUMNS; c++)
        jm__strbuf_format(out, " %s |", line->cells[c]);
    jm__strbuf_add(out, "\n");
}

jm_status jm_diff_markdown(const jm_diff *diff, size_t limit, char **out, jm_error *err)
{
    jm__table table;
    titles words;
    jm__strbuf text = {0};
    bool filled = make_table(&table, &words, diff, limit, true);
    if (filled) {
        jm__strbuf_format(&text, "| %s | ", words.names);
        add_name(&text, words.runs[0]);
        jm__strbuf_add(&text, " | ");
        add_name(&text, words.runs[1]);
        jm__strbuf_add(&text, " | change | |\n|---|---:|---:|---:|---|\n");
        for (size_t i = 0; i < table.lines.count; i++) /* the total and the counts are no names */
            add_markdown_line(&text, &table.lines.items[i],
                              i > 0 && table.lines.items[i].cells[0][0] != '\0');
        jm__strbuf_add(&text, "\n");
        add_notes(&text, diff, 0);
    }
    jm__table_free(&table);
    *out = filled ? jm__strbuf_take(&text) : NULL;
    jm__strbuf_free(&text);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_diff_markdown");
}
