/* An estimate for people. */
#include "estimate/estimate.h"

#include "base/status.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "report/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int dearer(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->energy_j != y->energy_j) return x->energy_j < y->energy_j ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

static int earlier(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* The `limit` dearest, in the file's order. */
static place *choose(const jm_estimate *e, size_t limit, size_t *count)
{
    place *places = calloc(e->kernels.count + 1, sizeof *places);
    if (places == NULL) return NULL;
    for (size_t i = 0; i < e->kernels.count; i++) {
        const jm_estimated_kernel *k = &e->kernels.items[i];
        places[i] = (place){i, isnan(k->energy_j) ? -1 : k->energy_j * (double)k->launches};
    }
    *count = e->kernels.count;
    if (limit == 0 || limit >= *count) return places;
    qsort(places, *count, sizeof *places, dearer);
    *count = limit;
    qsort(places, *count, sizeof *places, earlier);
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
    place *places = choose(e, limit, &count);
    bool fine = places != NULL;
    for (size_t i = 0; fine && i < count; i++)
        fine = add_line(&table, &e->kernels.items[places[i].index]);
    if (fine) jm__table_print(out, &table, width);
    if (fine && count < e->kernels.count)
        jm__strbuf_format(out, "... and %zu kernels of less energy\n", e->kernels.count - count);
    jm__table_free(&table);
    free(places);
    return fine;
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
        for (size_t i = 0; i < estimate->notes.count; i++)
            jm__strbuf_format(&text, "%s\n", estimate->notes.items[i]);
        *out = jm__strbuf_take(&text);
    }
    jm__strbuf_free(&text);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_estimate_text");
}
