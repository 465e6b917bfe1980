/* An estimate for other programs: JSON whole, CSV a line a kernel. */
#include "estimate/estimate.h"

#include "base/csv.h"
#include "base/json_value.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "report/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *kernel_json(const jm_estimated_kernel *k)
{
    json_t *row = json_object();
    bool fine =
        row != NULL && put(row, "id", json_integer(k->id)) && put(row, "kernel", jm__json_text(k->kernel)) &&
        put(row, "duration_s", jm__json_real(k->duration_s)) &&
        put(row, "power_w", jm__json_real(k->power_w)) &&
        put(row, "power_low_w", jm__json_real(k->power_low_w)) &&
        put(row, "power_high_w", jm__json_real(k->power_high_w)) &&
        put(row, "energy_j", jm__json_real(k->energy_j)) &&
        put(row, "energy_low_j", jm__json_real(k->energy_low_j)) &&
        put(row, "energy_high_j", jm__json_real(k->energy_high_j)) &&
        put(row, "launches", json_integer(k->launches)) && put(row, "line", json_integer(k->line)) &&
        put(row, "process_id", json_integer(k->process_id)) &&
        put(row, "process", jm__json_text(k->process)) && put(row, "device", jm__json_text(k->device)) &&
        put(row, "grid", jm__json_text(k->grid)) && put(row, "block", jm__json_text(k->block)) &&
        put(row, "ncu_duration_s", jm__json_real(k->ncu_duration_s)) &&
        put(row, "ncu_clock_mhz", jm__json_real(k->ncu_clock_mhz)) &&
        put(row, "clock_mhz", jm__json_real(k->clock_mhz)) &&
        put(row, "beyond_w", jm__json_real(k->beyond_w)) &&
        put(row, "missing_w", jm__json_real(k->missing_w)) &&
        put(row, "extrapolated", json_boolean(k->extrapolated)) &&
        put(row, "reason", jm__json_text(k->reason));
    if (fine) return row;
    json_decref(row);
    return NULL;
}

static bool put_range(json_t *object, const char *name, const char *unit, const jm_estimated_range *range)
{
    char key[64];
    snprintf(key, sizeof key, "%s_%s", name, unit);
    bool fine = put(object, key, jm__json_real(range->value));
    snprintf(key, sizeof key, "%s_low_%s", name, unit);
    fine = fine && put(object, key, jm__json_real(range->low));
    snprintf(key, sizeof key, "%s_high_%s", name, unit);
    return fine && put(object, key, jm__json_real(range->high));
}

static bool put_total(json_t *root, const jm_estimated_total *t)
{
    return put(root, "kernels", json_integer((json_int_t)t->kernels)) &&
           put(root, "estimated", json_integer((json_int_t)t->estimated)) &&
           put(root, "launches", json_integer(t->launches)) &&
           put(root, "kernels_s", jm__json_real(t->kernels_s)) &&
           put(root, "program_s", jm__json_real(t->program_s)) &&
           put(root, "idle_s", jm__json_real(t->idle_s)) && put_range(root, "power_min", "w", &t->min_w) &&
           put_range(root, "power_avg", "w", &t->average_w) &&
           put_range(root, "power_peak", "w", &t->peak_w) &&
           put_range(root, "kernels_energy", "j", &t->kernels_j) &&
           put_range(root, "program_energy", "j", &t->program_j) &&
           put_range(root, "idle_power", "w", &t->idle_w) &&
           put(root, "power_limit_w", jm__json_real(t->limit_w)) &&
           put(root, "limit_clock_mhz", jm__json_real(t->limit_mhz)) &&
           put(root, "extrapolated", json_boolean(t->extrapolated));
}

static bool put_lists(json_t *root, const jm_estimate *e)
{
    json_t *rows = json_array(), *parts = json_array(), *notes = json_array();
    bool fine = put(root, "rows", rows) && put(root, "parts", parts) && put(root, "notes", notes);
    for (size_t i = 0; fine && i < e->kernels.count; i++)
        fine = json_array_append_new(rows, kernel_json(&e->kernels.items[i])) == 0;
    for (size_t i = 0; fine && i < e->part_count; i++) {
        json_t *part = json_object();
        fine = json_array_append_new(parts, part) == 0 &&
               put(part, "name", jm__json_text(e->parts[i].name)) &&
               put(part, "energy_j", jm__json_real(e->parts[i].energy_j)) &&
               put(part, "share", jm__json_real(e->parts[i].share));
    }
    for (size_t i = 0; fine && i < e->notes.count; i++)
        fine = json_array_append_new(notes, jm__json_text(e->notes.items[i])) == 0;
    return fine;
}

jm_status jm_estimate_json(const jm_estimate *estimate, char **out, jm_error *err)
{
    json_t *root = json_object();
    bool fine = put(root, "board", jm__json_text(estimate->board)) &&
                put(root, "model", jm__json_text(estimate->model)) &&
                put(root, "interval", jm__json_real(JM_ESTIMATE_COVERS)) &&
                put_total(root, &estimate->total) && put_lists(root, estimate);
    jm__strbuf text = {0};
    *out = fine && jm__json_add(&text, root, 0) ? jm__strbuf_take(&text) : NULL;
    jm__strbuf_free(&text);
    json_decref(root);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_estimate_json");
}

static void add_text(jm__strbuf *out, const char *text)
{
    jm__strbuf_add(out, jm__csv_looks_like_a_formula(text) ? "\"'" : "\"");
    for (const char *at = text; *at != '\0'; at++)
        jm__strbuf_format(out, *at == '"' ? "\"\"" : "%c", *at);
    jm__strbuf_add(out, "\"");
}

/* An empty field where there is no figure. */
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
                        "the estimate is of a table of features itself");
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
