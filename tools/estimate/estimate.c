/* The contents of an estimate, and its views as text, JSON and CSV. */
#include "estimate/estimate.h"

#include "base/csv.h"
#include "base/json_value.h"
#include "base/plain.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "import/ncu/ncu.h"
#include "report/json.h"
#include "report/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void jm__estimate_note(jm__estimate_notes *notes, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    jm__vprint(text, sizeof text, format, args);
    va_end(args);
    const char *copy = jm__text_store_add(&notes->texts, text, strlen(text));
    if (copy == NULL || !jm__vec_push(&notes->list, copy)) notes->failed = true;
}

void jm__estimate_notes_free(jm__estimate_notes *notes)
{
    jm__vec_free(&notes->list);
    jm__text_store_free(&notes->texts);
}

static json_t *note_json(const void *notes, size_t i)
{
    return jm__json_text(((const jm__estimate_notes *)notes)->list.items[i]);
}

json_t *jm__estimate_notes_json(const jm__estimate_notes *notes)
{
    return jm__json_array(notes->list.count, note_json, notes);
}

jm_status jm__estimate_json_take(char **out, json_t *root_take, const char *call, jm_error *err)
{
    jm__strbuf text = {0};
    *out = jm__json_add(&text, root_take, 0) ? jm__strbuf_take(&text) : NULL;
    jm__strbuf_free(&text);
    json_decref(root_take);
    return *out != NULL ? JM_OK : jm__no_memory(err, call);
}

const char *jm__estimate_text(jm_estimate *estimate, const char *text)
{
    return jm__text_store_add(&estimate->texts, text, strlen(text));
}

jm_estimated_kernel jm__estimated_empty(void)
{
    return (jm_estimated_kernel){.launches = 1,
                                 .kernel = "",
                                 .process = "",
                                 .device = "",
                                 .grid = "",
                                 .block = "",
                                 .duration_s = NAN,
                                 .power_w = NAN,
                                 .power_low_w = NAN,
                                 .power_high_w = NAN,
                                 .energy_j = NAN,
                                 .energy_low_j = NAN,
                                 .energy_high_j = NAN,
                                 .ncu_duration_s = NAN,
                                 .ncu_clock_mhz = NAN,
                                 .clock_mhz = NAN,
                                 .beyond_w = NAN,
                                 .missing_w = NAN,
                                 .reason = ""};
}

void jm_estimate_free(jm_estimate *estimate)
{
    if (estimate == NULL) return;
    jm__vec_free(&estimate->kernels);
    jm__estimate_notes_free(&estimate->notes);
    jm__vec_free(&estimate->features);
    jm__vec_free(&estimate->rates);
    jm__text_store_free(&estimate->texts);
    jm__text_store_free(&estimate->ncu_texts);
    free(estimate);
}

size_t jm_estimate_count(const jm_estimate *estimate)
{
    return estimate->kernels.count;
}

const jm_estimated_kernel *jm_estimate_kernel(const jm_estimate *estimate, size_t index)
{
    return index < estimate->kernels.count ? &estimate->kernels.items[index] : NULL;
}

const jm_estimated_total *jm_estimate_total(const jm_estimate *estimate)
{
    return &estimate->total;
}

size_t jm_estimate_part_count(const jm_estimate *estimate)
{
    return estimate->part_count;
}

const jm_estimate_part *jm_estimate_part_at(const jm_estimate *estimate, size_t index)
{
    return index < estimate->part_count ? &estimate->parts[index] : NULL;
}

size_t jm_estimate_note_count(const jm_estimate *estimate)
{
    return estimate->notes.list.count;
}

const char *jm_estimate_note(const jm_estimate *estimate, size_t index)
{
    return index < estimate->notes.list.count ? estimate->notes.list.items[index] : NULL;
}

const char *jm_estimate_board(const jm_estimate *estimate)
{
    return estimate->board;
}

const char *jm_estimate_explain(const char *line)
{
    return jm__ncu_explain(line);
}

/* ---- an estimate as text */

enum { COLUMNS = 6 };

/* "612 W (530 to 680)" */
static void format_range(char *out, size_t size, const jm_estimated_range *range,
                         void (*format)(char[JM_CELL], double))
{
    char value[JM_CELL], low[JM_CELL], high[JM_CELL];
    format(value, range->value);
    format(low, range->low);
    format(high, range->high);
    snprintf(out, size, isfinite(range->low) ? "%s (%s to %s)" : "%s", value, low, high);
}

static void format_joules(char out[JM_CELL], double energy_j)
{
    jm__format_energy(out, energy_j, NAN, NAN);
}

typedef struct place {
    size_t index;
    double energy_j;
} place;

static int by_energy(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->energy_j != y->energy_j) return x->energy_j < y->energy_j ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_index(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* The `limit` kernels of most energy, in the file's order. */
static place *choose_kernels(const jm_estimate *e, size_t limit, size_t *count)
{
    place *places = calloc(e->kernels.count + 1, sizeof *places);
    if (places == NULL) return NULL;
    for (size_t i = 0; i < e->kernels.count; i++) {
        const jm_estimated_kernel *k = &e->kernels.items[i];
        places[i] = (place){i, isnan(k->energy_j) ? -1 : k->energy_j * (double)k->launches};
    }
    *count = e->kernels.count;
    if (limit == 0 || limit >= *count) return places;
    qsort(places, *count, sizeof *places, by_energy);
    *count = limit;
    qsort(places, *count, sizeof *places, by_index);
    return places;
}

static bool add_line(jm__table *table, const jm_estimated_kernel *k)
{
    jm__strbuf name = {0};
    jm__table_line line = {.is_cpp = true};
    jm__utf8_add(&name, k->kernel, true);
    line.name = jm__strbuf_take(&name);
    jm__strbuf_free(&name);
    if (line.name == NULL) return false;
    snprintf(line.cells[0], JM_CELL, "%" PRId64, k->id);
    jm__format_time(line.cells[1], k->duration_s);
    jm__format_power(line.cells[2], k->power_w);
    jm__format_power(line.cells[3], k->power_low_w);
    jm__format_power(line.cells[4], k->power_high_w);
    format_joules(line.cells[5], k->energy_j);
    if (!isfinite(k->power_w)) snprintf(line.hint, sizeof line.hint, "%.46s", k->reason);
    if (jm__vec_push(&table->lines, line)) return true;
    free(line.name);
    return false;
}

static bool add_table(jm__strbuf *out, const jm_estimate *e, size_t width, size_t limit)
{
    static const char *const titles[COLUMNS] = {"ID", "time", "power", "at least", "at most", "energy"};
    jm__table table = {.title = "kernel", .column_count = COLUMNS};
    size_t count = 0;
    for (size_t c = 0; c < COLUMNS; c++)
        snprintf(table.columns[c].title, JM_TABLE_TITLE, "%s", titles[c]);
    table.columns[3].sacrifice = table.columns[4].sacrifice = 5;
    table.columns[0].sacrifice = 4;
    place *places = choose_kernels(e, limit, &count);
    bool ok = places != NULL;
    for (size_t i = 0; ok && i < count; i++)
        ok = add_line(&table, &e->kernels.items[places[i].index]);
    if (ok) jm__table_print(out, &table, width);
    if (ok && count < e->kernels.count)
        jm__strbuf_format(out, "... and %zu kernels of less energy\n", e->kernels.count - count);
    jm__table_free(&table);
    free(places);
    return ok;
}

static void add_totals(jm__strbuf *out, const jm_estimate *e)
{
    const jm_estimated_total *t = &e->total;
    char a[160], b[160], c[160], time[JM_CELL];
    format_range(a, sizeof a, &t->average_w, jm__format_power);
    format_range(b, sizeof b, &t->min_w, jm__format_power);
    format_range(c, sizeof c, &t->peak_w, jm__format_power);
    jm__strbuf_format(out, "\naverage power  %s\nleast          %s\nmost           %s\n", a, b, c);
    format_range(a, sizeof a, &t->kernels_j, format_joules);
    jm__format_time(time, t->kernels_s);
    jm__strbuf_format(out, "kernels        %s in %s, %" PRId64 " launches\n", a, time, t->launches);
    if (!isfinite(t->program_s)) return;
    format_range(a, sizeof a, &t->program_j, format_joules);
    jm__format_time(time, t->idle_s);
    jm__format_power(b, t->idle_w.value);
    jm__strbuf_format(out, "program        %s, %s of it without work at %s\n", a, time, b);
}

static void add_parts(jm__strbuf *out, const jm_estimate *e)
{
    for (size_t i = 0; i < e->part_count; i++) {
        char share[JM_CELL];
        jm__format_share(share, e->parts[i].share);
        jm__strbuf_format(out, "%s%s %s", i == 0 ? "of the kernels' energy: " : ", ", e->parts[i].name,
                          share);
    }
    if (e->part_count > 0) jm__strbuf_add(out, "\n");
}

jm_status jm_estimate_text(const jm_estimate *estimate, size_t width, size_t limit, char **out, jm_error *err)
{
    jm__strbuf text = {0};
    *out = NULL;
    if (add_table(&text, estimate, width, limit)) {
        add_totals(&text, estimate);
        add_parts(&text, estimate);
        jm__strbuf_format(&text, "ranges hold %.0f %%; their lower end admits constant data (zeros)\n",
                          100 * JM_ESTIMATE_COVERS);
        for (size_t i = 0; i < estimate->notes.list.count; i++)
            jm__strbuf_format(&text, "%s\n", estimate->notes.list.items[i]);
        *out = jm__strbuf_take(&text);
    }
    jm__strbuf_free(&text);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_estimate_text");
}

/* ---- an estimate as JSON, and as CSV with a line per kernel */

static json_t *kernel_json(const void *estimate, size_t i)
{
    const jm_estimated_kernel *k = jm_estimate_kernel(estimate, i);
    return json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, "
        "s:o, s:b, s:o}",
        "id", (json_int_t)k->id, "kernel", jm__json_text(k->kernel), "duration_s",
        jm__json_real(k->duration_s), "power_w", jm__json_real(k->power_w), "power_low_w",
        jm__json_real(k->power_low_w), "power_high_w", jm__json_real(k->power_high_w), "energy_j",
        jm__json_real(k->energy_j), "energy_low_j", jm__json_real(k->energy_low_j), "energy_high_j",
        jm__json_real(k->energy_high_j), "launches", (json_int_t)k->launches, "line", (json_int_t)k->line,
        "process_id", (json_int_t)k->process_id, "process", jm__json_text(k->process), "device",
        jm__json_text(k->device), "grid", jm__json_text(k->grid), "block", jm__json_text(k->block),
        "ncu_duration_s", jm__json_real(k->ncu_duration_s), "ncu_clock_mhz", jm__json_real(k->ncu_clock_mhz),
        "clock_mhz", jm__json_real(k->clock_mhz), "beyond_w", jm__json_real(k->beyond_w), "missing_w",
        jm__json_real(k->missing_w), "extrapolated", k->extrapolated, "reason", jm__json_text(k->reason));
}

static json_t *part_json(const void *estimate, size_t i)
{
    const jm_estimate_part *part = jm_estimate_part_at(estimate, i);
    return json_pack("{s:o, s:o, s:o}", "name", jm__json_text(part->name), "energy_j",
                     jm__json_real(part->energy_j), "share", jm__json_real(part->share));
}

static void put_range(json_t **object, const char *name, const char *unit, const jm_estimated_range *range)
{
    static const char *const ends[] = {"", "_low", "_high"};
    const double values[] = {range->value, range->low, range->high};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s%s_%s", name, ends[i], unit);
        jm__json_set(object, key, jm__json_real(values[i]));
    }
}

jm_status jm_estimate_json(const jm_estimate *e, char **out, jm_error *err)
{
    const jm_estimated_total *t = &e->total;
    json_t *root =
        json_pack("{s:o, s:o, s:f, s:I, s:I, s:I, s:o, s:o, s:o}", "board", jm__json_text(e->board), "model",
                  jm__json_text(e->model), "interval", JM_ESTIMATE_COVERS, "kernels", (json_int_t)t->kernels,
                  "estimated", (json_int_t)t->estimated, "launches", (json_int_t)t->launches, "kernels_s",
                  jm__json_real(t->kernels_s), "program_s", jm__json_real(t->program_s), "idle_s",
                  jm__json_real(t->idle_s));
    put_range(&root, "power_min", "w", &t->min_w);
    put_range(&root, "power_avg", "w", &t->average_w);
    put_range(&root, "power_peak", "w", &t->peak_w);
    put_range(&root, "kernels_energy", "j", &t->kernels_j);
    put_range(&root, "program_energy", "j", &t->program_j);
    put_range(&root, "idle_power", "w", &t->idle_w);
    jm__json_set(&root, "power_limit_w", jm__json_real(t->limit_w));
    jm__json_set(&root, "limit_clock_mhz", jm__json_real(t->limit_mhz));
    jm__json_set(&root, "extrapolated", json_boolean(t->extrapolated));
    jm__json_set(&root, "rows", jm__json_array(e->kernels.count, kernel_json, e));
    jm__json_set(&root, "parts", jm__json_array(e->part_count, part_json, e));
    jm__json_set(&root, "notes", jm__estimate_notes_json(&e->notes));
    return jm__estimate_json_take(out, root, "jm_estimate_json", err);
}

static void add_text(jm__strbuf *out, const char *text)
{
    jm__strbuf_add(out, jm__csv_looks_like_a_formula(text) ? "\"'" : "\"");
    for (const char *at = text; *at != '\0'; at++)
        jm__strbuf_format(out, *at == '"' ? "\"\"" : "%c", *at);
    jm__strbuf_add(out, "\"");
}

/* An empty field for NAN. */
static void add_number(jm__strbuf *out, double value)
{
    if (isfinite(value))
        jm__strbuf_format(out, ",%.9g", value);
    else
        jm__strbuf_add(out, ",");
}

jm_status jm_estimate_csv(const jm_estimate *estimate, char **out, jm_error *err)
{
    jm__strbuf text = {0};
    jm__strbuf_add(
        &text,
        "id,kernel,duration_s,power_w,power_low_w,power_high_w,energy_j,energy_low_j,energy_high_j,launches,"
        "extrapolated,reason\n");
    for (size_t i = 0; i < estimate->kernels.count; i++) {
        const jm_estimated_kernel *k = &estimate->kernels.items[i];
        jm__strbuf_format(&text, "%" PRId64 ",", k->id);
        add_text(&text, k->kernel);
        const double numbers[] = {k->duration_s, k->power_w,      k->power_low_w,  k->power_high_w,
                                  k->energy_j,   k->energy_low_j, k->energy_high_j};
        for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++)
            add_number(&text, numbers[n]);
        jm__strbuf_format(&text, ",%" PRId64 ",%s,", k->launches, k->extrapolated ? "true" : "false");
        add_text(&text, k->reason);
        jm__strbuf_add(&text, "\n");
    }
    *out = jm__strbuf_take(&text);
    jm__strbuf_free(&text);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_estimate_csv");
}

jm_status jm_estimate_features_csv(const jm_estimate *estimate, char **out, jm_error *err)
{
    jm__strbuf text = {0};
    size_t n = estimate->features.count;
    *out = NULL;
    if (n == 0)
        return jm__fail(err, JM_NOT_SUPPORTED, 0, "jm_estimate_features_csv",
                        "the estimate is from a table of features itself");
    jm__strbuf_add(&text, "id,kernel,duration_s");
    for (size_t f = 0; f < n; f++)
        jm__strbuf_format(&text, ",%s", estimate->features.items[f]);
    jm__strbuf_add(&text, "\n");
    for (size_t i = 0; i < estimate->kernels.count; i++) {
        const jm_estimated_kernel *k = &estimate->kernels.items[i];
        jm__strbuf_format(&text, "%" PRId64 ",", k->id);
        add_text(&text, k->kernel);
        add_number(&text, k->duration_s);
        for (size_t f = 0; f < n; f++)
            add_number(&text, estimate->rates.items[i * n + f]);
        jm__strbuf_add(&text, "\n");
    }
    *out = jm__strbuf_take(&text);
    jm__strbuf_free(&text);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_estimate_features_csv");
}
