/* The report as a table that a stranger can read. */
#include "base/status.h"
#include "base/utf8.h"
#include "report/kernel_name.h"
#include "report/table.h"

#include <joulemap/report.h>
#include <math.h>
#include <string.h>

static void write_calls(char out[JM_CELL], const jm_row *row)
{
    if (row->calls == 0)
        snprintf(out, JM_CELL, "-"); /* idle time is not called */
    else
        jm__format_count(out, row->calls);
}

static void write_time(char out[JM_CELL], const jm_row *row)
{
    jm__format_time(out, row->busy_s > 0 ? row->busy_s : NAN);
}

static void write_energy(char out[JM_CELL], const jm_row *row)
{
    jm__format_energy(out, row->energy_j, row->energy_low_j, row->energy_high_j);
}

static void write_power(char out[JM_CELL], const jm_row *row)
{
    jm__format_power(out, row->power_w);
}

static void write_share(char out[JM_CELL], const jm_row *row)
{
    jm__format_share(out, row->share);
}

static void write_known(char out[JM_CELL], const jm_row *row)
{
    snprintf(out, JM_CELL, "%s", jm_provenance_text(row->provenance));
}

/* The columns after the name, in order: a new one is a line here and its function. */
static const struct {
    jm__table_column shape;
    void (*write)(char out[JM_CELL], const jm_row *row);
    bool adds_up; /* can be said of several rows together */
} columns[] = {
    {{"calls", false, 3}, write_calls, false},  {{"time", false, 2}, write_time, false},
    {{"energy", false, 0}, write_energy, true}, {{"power", false, 1}, write_power, false},
    {{"share", false, 0}, write_share, true},   {{"known", true, 0}, write_known, false},
};
enum { COLUMNS = sizeof columns / sizeof *columns };
_Static_assert((int)COLUMNS <= (int)JM_TABLE_COLUMNS, "a table has room for its columns");

/* A row at the top with less than this of the total stands back behind the inner rows that take more. */
static const double top_share = 1e-3;
static const double equal_within = 1.02;

typedef struct ranked {
    bool top;
    double energy_j;
    size_t row;
} ranked;

static int by_weight(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->top != b->top) return a->top ? -1 : 1;
    if (a->energy_j != b->energy_j) return a->energy_j > b->energy_j ? -1 : 1;
    return a->row < b->row ? -1 : 1; /* a parent before the only child that has all of its energy */
}

/* Twelve equal layers of which the limit takes eight look like a difference: rows equal to the first one left
 * out are left out too, unless they are many. */
static size_t keep_equals_together(const ranked *order, size_t count, size_t limit)
{
    size_t end = limit;
    while (end > 0 && end < count && !order[end - 1].top &&
           order[end - 1].energy_j < equal_within * order[limit].energy_j)
        end--;
    return limit - end <= limit / 4 ? end : limit;
}

/* Which rows are shown: what stands at the top and matters, then those that took most, `limit` in all. A
 * parent has at least the energy of each of its children, so it is there if they are. */
static bool *choose_rows(const jm_report *report, size_t limit)
{
    size_t count = jm_report_row_count(report);
    bool *chosen = calloc(count + 1, sizeof *chosen);
    ranked *order = calloc(count + 1, sizeof *order);
    if (chosen != NULL && order != NULL) {
        for (size_t i = 0; i < count; i++) {
            const jm_row *row = jm_report_row(report, i);
            double energy_j = isfinite(row->energy_j) ? row->energy_j : -1;
            order[i] = (ranked){row->depth == 0 && row->share >= top_share, energy_j, i};
        }
        qsort(order, count, sizeof *order, by_weight);
        size_t end = limit == 0 || limit > count ? count : keep_equals_together(order, count, limit);
        for (size_t i = 0; i < end; i++)
            chosen[order[i].row] = true;
    } else {
        free(chosen);
        chosen = NULL;
    }
    free(order);
    return chosen;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The paths of all rows, sorted; NULL if memory is out. */
static const char **sort_paths(const jm_report *report)
{
    size_t count = jm_report_row_count(report);
    const char **paths = calloc(count + 1, sizeof *paths);
    if (paths == NULL) return NULL;
    for (size_t i = 0; i < count; i++)
        paths[i] = jm_report_row(report, i)->path;
    qsort(paths, count, sizeof *paths, by_text);
    return paths;
}

/* Is there another row of this path? It is of another kind (two rows never share both), so
 * the kind must be said, but for names that say what they are: "(idle)". */
static bool kind_matters(const char **paths, size_t count, const jm_row *row, bool one_by_one)
{
    if (row->name[0] == '(') return false;
    if (one_by_one) return true;
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(paths[middle], row->path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low + 1 < count && strcmp(paths[low + 1], row->path) == 0;
}

static bool add_line(jm__table *table, const jm_row *row, bool say_kind)
{
    jm__table_line line = {.depth = row->depth, .is_cpp = jm__is_cpp_name(row->name)};
    jm__strbuf name = {0};
    jm__utf8_add(&name, row->name, true);
    if (say_kind) snprintf(line.suffix, sizeof line.suffix, " (%s)", row->kind);
    line.name = jm__strbuf_take(&name);
    if (line.name == NULL) return false;
    for (size_t c = 0; c < COLUMNS; c++)
        columns[c].write(line.cells[c], row);
    if (jm__vec_push(&table->lines, line)) return true;
    free(line.name);
    return false;
}

/* What the rows left out add up to, beyond the rows above: those inside a row that is shown are part of it,
 * and those inside a row left out are part of that. */
static bool add_rest(jm__table *table, const jm_report *report, const bool *chosen)
{
    size_t hidden = 0;
    double energy_j = 0;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (chosen[i]) continue;
        hidden++;
        if (row->depth == 0 && isfinite(row->energy_j)) energy_j += row->energy_j;
    }
    if (hidden == 0) return true;
    jm__table_line line = {0};
    jm__strbuf name = {0};
    bool inside = energy_j == 0;
    jm__strbuf_format(&name, "%zu more row%s%s", hidden, hidden == 1 ? "" : "s",
                      inside ? ", in these" : ", beyond these");
    line.name = jm__strbuf_take(&name);
    if (line.name == NULL) return false;
    if (!inside) {
        const jm_row rest = {.energy_j = energy_j,
                             .energy_low_j = NAN,
                             .energy_high_j = NAN,
                             .share = energy_j / jm_report_totals_get(report)->total_energy_j};
        for (size_t c = 0; c < COLUMNS; c++)
            if (columns[c].adds_up) columns[c].write(line.cells[c], &rest);
    }
    if (jm__vec_push(&table->lines, line)) return true;
    free(line.name);
    return false;
}

static bool fill_table(jm__table *table, const jm_report *report, size_t limit)
{
    size_t count = jm_report_row_count(report);
    bool *chosen = choose_rows(report, limit);
    const char **sorted = sort_paths(report);
    bool one_by_one = jm_report_options_get(report)->by == JM_BY_SPAN;
    bool filled = chosen != NULL && sorted != NULL;
    for (size_t i = 0; i < count && filled; i++) {
        const jm_row *row = jm_report_row(report, i);
        if (chosen[i]) filled = add_line(table, row, kind_matters(sorted, count, row, one_by_one));
    }
    if (filled) filled = add_rest(table, report, chosen);
    free(chosen);
    free(sorted);
    return filled;
}

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

/* "name      text", words after column `width` on lines of their own below the text. */
static void add_fact(jm__strbuf *out, const char *name, const char *text, size_t width)
{
    enum { INDENT = 10 };
    jm__strbuf clean = {0};
    jm__utf8_add(&clean, text, true);
    jm__strbuf_format(out, "%-*s", INDENT, name);
    size_t column = INDENT;
    for (const char *word = clean.text; word != NULL && *word != '\0';) {
        size_t bytes = strcspn(word, " ");
        size_t wide = 0;
        for (size_t i = 0; i < bytes; i++)
            wide += ((unsigned char)word[i] & 0xC0) != 0x80;
        if (width > 0 && column > INDENT && column + 1 + wide > width) {
            jm__strbuf_format(out, "\n%*s", INDENT, "");
            column = INDENT;
        } else if (column > INDENT) {
            jm__strbuf_add(out, " ");
            column++;
        }
        jm__strbuf_add_bytes(out, word, bytes);
        column += wide;
        word += bytes + (word[bytes] == ' ');
    }
    jm__strbuf_add(out, "\n");
    if (clean.failed) out->failed = true;
    jm__strbuf_free(&clean);
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
    char energy[JM_CELL], power[JM_CELL], idle[JM_CELL], outside[JM_CELL], unresolved[JM_CELL], text[320];
    jm__format_energy(energy, totals->total_energy_j, totals->total_low_j, totals->total_high_j);
    jm__format_power(power, totals->duration_s > 0 ? totals->total_energy_j / totals->duration_s : NAN);
    char duration[JM_CELL];
    jm__format_time(duration, totals->duration_s);
    snprintf(text, sizeof text, "%s in %s, %s, from %s", energy, duration, power,
             totals->total_source != NULL ? totals->total_source : "no sensor");
    add_fact(out, "total", text, width);

    format_part(idle, totals->idle_energy_j, totals);
    format_part(outside, totals->outside_energy_j, totals);
    format_part(unresolved, totals->unresolved_energy_j, totals);
    snprintf(text, sizeof text, "idle %s, outside %s, unresolved %s", idle, outside, unresolved);
    add_fact(out, "of it", text, width);
}

static void add_fit(jm__strbuf *out, const jm_report_totals *totals, size_t width)
{
    char text[320];
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

jm_status jm_report_text(const jm_report *report, int width, size_t limit, char **out, jm_error *err)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    size_t columns_wide = width > 0 ? (size_t)width : 0;
    jm__table table = {.title = jm_by_text(jm_report_options_get(report)->by), .column_count = COLUMNS};
    for (size_t c = 0; c < COLUMNS; c++)
        table.columns[c] = columns[c].shape;
    jm__strbuf text = {0};
    bool filled = fill_table(&table, report, limit);
    if (filled) {
        add_title(&text, report);
        jm__table_print(&text, &table, columns_wide);
        jm__strbuf_add(&text, "\n");
        add_verdict(&text, jm_report_quality_get(report), columns_wide);
        add_total(&text, totals, columns_wide);
        add_fit(&text, totals, columns_wide);
        for (size_t i = 0; i < jm_report_note_count(report); i++)
            add_fact(&text, "note", jm_report_note(report, i), columns_wide);
        jm__strbuf_add(&text, "\n\302\261 is half of the 95 % interval, relative to the GPU's own sensor.\n");
    }
    jm__table_free(&table);
    *out = filled ? jm__strbuf_take(&text) : NULL;
    jm__strbuf_free(&text);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_report_text");
}
