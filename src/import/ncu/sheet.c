/* A kernel's values by name. */
#include "import/ncu/sheet.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Told twice, values may differ by what is printed of them. */
static const double same_within = 0.02;

/* Names with two underscores are those of metrics and tell alone; others are labels of a section. */
static void make_key(char *key, size_t size, const char *section, const char *name)
{
    bool alone = strstr(name, "__") != NULL;
    snprintf(key, size, "%.180s\n%.240s", alone ? "" : section, name);
}

/* "SM Frequency (smsp__cycles_elapsed.avg.per_second)": --print-metric-name label-name */
static const char *plain_name(const char *name, char *room, size_t size)
{
    const char *open = strrchr(name, '('), *close = open != NULL ? strchr(open, ')') : NULL;
    if (close == NULL || close[1] != '\0' || strstr(open, "__") == NULL || open == name) return name;
    snprintf(room, size, "%.*s", (int)(close - open - 1), open + 1);
    return room;
}

static jm_status add_slots(jm__ncu_sheet *sheet, jm_error *err)
{
    for (size_t i = 0; i < sheet->ncu->metric_count; i++) {
        char key[448], room[256];
        const jm__ncu_metric *metric = &sheet->ncu->metrics[i];
        make_key(key, sizeof key, metric->section, plain_name(metric->name, room, sizeof room));
        size_t length = strlen(key);
        snprintf(key + length, sizeof key - length, "\n%.24s", metric->unit);
        const char *text = key;
        jm__map_value *known = jm__map_find(&sheet->slots, &text);
        sheet->slot_of[i] = known != NULL ? (size_t)known->id : sheet->count;
        if (known != NULL) continue;
        text = jm__text_store_add(&sheet->texts, key, strlen(key));
        bool added =
            text != NULL && jm__map_put(&sheet->slots, &text, (jm__map_value){.id = (int64_t)sheet->count});
        if (!added) return jm__no_memory(err, "jm__ncu_sheet_init");
        sheet->units[sheet->count++] = metric->unit;
    }
    return JM_OK;
}

jm_status jm__ncu_sheet_init(jm__ncu_sheet *sheet, const jm__ncu *ncu, jm_error *err)
{
    size_t n = ncu->metric_count + 1;
    *sheet = (jm__ncu_sheet){
        .ncu = ncu,
        .slots = JM_MAP_OF_TEXTS,
        .slot_of = calloc(n, sizeof *sheet->slot_of),
        .units = calloc(n, sizeof *sheet->units),
        .numbers = calloc(n, sizeof *sheet->numbers),
        .words = calloc(n, sizeof *sheet->words),
        .lines = calloc(n, sizeof *sheet->lines),
    };
    bool all = sheet->slot_of != NULL && sheet->units != NULL && sheet->numbers != NULL &&
               sheet->words != NULL && sheet->lines != NULL;
    jm_status status = all ? add_slots(sheet, err) : jm__no_memory(err, "jm__ncu_sheet_init");
    if (status != JM_OK) jm__ncu_sheet_free(sheet);
    return status;
}

void jm__ncu_sheet_free(jm__ncu_sheet *sheet)
{
    jm__map_free(&sheet->slots);
    jm__text_store_free(&sheet->texts);
    free(sheet->slot_of);
    free(sheet->units);
    free(sheet->numbers);
    free(sheet->words);
    free(sheet->lines);
    *sheet = (jm__ncu_sheet){0};
}

void jm__ncu_sheet_fill(jm__ncu_sheet *sheet, const jm__ncu_kernel *kernel)
{
    sheet->kernel = kernel;
    for (size_t i = 0; i < sheet->count; i++) {
        sheet->numbers[i] = NAN;
        sheet->words[i] = NULL;
        sheet->lines[i] = 0;
    }
    for (size_t i = 0; i < kernel->count; i++) {
        const jm__ncu_value *value = &sheet->ncu->values[kernel->first + i];
        size_t slot = sheet->slot_of[value->metric];
        if (isnan(value->number) && value->text == NULL) continue;
        if (sheet->lines[slot] == 0) {
            sheet->lines[slot] = value->line;
            sheet->numbers[slot] = value->number;
            sheet->words[slot] = value->text;
        } else if (!(fabs(sheet->numbers[slot] - value->number) <= same_within * fabs(value->number))) {
            sheet->numbers[slot] = NAN;
        }
    }
}

static const jm__map_value *find(const jm__ncu_sheet *sheet, const char *section, const char *name,
                                 const char *unit)
{
    char key[448];
    make_key(key, sizeof key, section, name);
    size_t length = strlen(key);
    snprintf(key + length, sizeof key - length, "\n%.24s", unit);
    const char *text = key;
    return jm__map_find(&sheet->slots, &text);
}

/* Units that a metric may have: of counts the event's own, of which there are many. */
static const char *const count_units[] = {"inst",        "cycle", "",        "byte",     "sector",
                                          "thread_inst", "warp",  "request", "wavefront"};
static const char *const rate_units[] = {"inst/second",     "cycle/second",       "",         "byte/second",
                                         "sector/second",   "thread_inst/second", "1/second", "hz",
                                         "wavefront/second"};
static const char *const cycle_units[] = {
    "inst/cycle",        "",        "cycle/cycle", "byte/cycle",     "sector/cycle",
    "thread_inst/cycle", "1/cycle", "cycle",       "wavefront/cycle"};
static const char *const percent_units[] = {"%"};

static double number_in(const jm__ncu_sheet *sheet, const char *name, const char *const *units, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const jm__map_value *slot = find(sheet, "", name, units[i]);
        if (slot != NULL && !isnan(sheet->numbers[slot->id])) return sheet->numbers[slot->id];
    }
    return NAN;
}

#define IN(units) units, sizeof units / sizeof units[0]

double jm__ncu_sheet_metric(const jm__ncu_sheet *sheet, const char *name)
{
    bool percent = strstr(name, "pct_of_peak") != NULL;
    return percent ? number_in(sheet, name, IN(percent_units)) : number_in(sheet, name, IN(count_units));
}

double jm__ncu_sheet_place(const jm__ncu_sheet *sheet, const jm__ncu_places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        const jm__ncu_place *place = &places->items[i];
        const jm__map_value *slot = find(sheet, place->section, place->name, place->unit);
        if (slot != NULL && !isnan(sheet->numbers[slot->id])) return sheet->numbers[slot->id];
    }
    return NAN;
}

const char *jm__ncu_sheet_text(const jm__ncu_sheet *sheet, const jm__ncu_places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        const jm__ncu_place *place = &places->items[i];
        const jm__map_value *slot = find(sheet, place->section, place->name, place->unit);
        if (slot != NULL && sheet->words[slot->id] != NULL) return sheet->words[slot->id];
    }
    return NULL;
}

double jm__ncu_sheet_total(const jm__ncu_sheet *sheet, const char *counter, double peak,
                           const jm__ncu_scale *scale)
{
    bool of_quarter = strncmp(counter, "smsp__", 6) == 0;
    double units = scale->multiprocessors * (of_quarter ? 4 : 1);
    double all_active = scale->active_cycles * scale->multiprocessors * peak / 100;
    double all_cycles = scale->cycles * scale->multiprocessors * peak / 100;
    const struct {
        const char *suffix;
        const char *const *in;
        size_t count;
        double factor;
    } forms[] = {
        {".sum", IN(count_units), 1},
        {".sum.per_second", IN(rate_units), scale->duration_s},
        {".avg", IN(count_units), units},
        {".sum.per_cycle_elapsed", IN(cycle_units), scale->cycles},
        {".avg.per_cycle_elapsed", IN(cycle_units), scale->cycles * units},
        {".sum.per_cycle_active", IN(cycle_units), scale->active_cycles},
        {".avg.per_cycle_active", IN(cycle_units), scale->active_cycles * units},
        {".avg.per_second", IN(rate_units), scale->duration_s * units},
        {".sum.pct_of_peak_sustained_active", IN(percent_units), peak > 0 ? all_active : NAN},
        {".avg.pct_of_peak_sustained_active", IN(percent_units), peak > 0 ? all_active : NAN},
        {".sum.pct_of_peak_sustained_elapsed", IN(percent_units), peak > 0 ? all_cycles : NAN},
        {".avg.pct_of_peak_sustained_elapsed", IN(percent_units), peak > 0 ? all_cycles : NAN},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char name[160];
        snprintf(name, sizeof name, "%s%s", counter, forms[i].suffix);
        double value = number_in(sheet, name, forms[i].in, forms[i].count) * forms[i].factor;
        if (!isnan(value) && value >= 0) return value;
    }
    return NAN;
}
