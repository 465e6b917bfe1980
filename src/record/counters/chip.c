/* Reads the lists of counters from their embedded JSON. */
#include "record/counters/chip.h"

#include "base/json_value.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static bool is_unit(const char *unit)
{
    return strcmp(unit, JM_COUNTER_EVENTS) == 0 || strcmp(unit, JM_COUNTER_PERCENT) == 0 ||
           strcmp(unit, JM_COUNTER_SLOT_CYCLES) == 0;
}

static bool metric_read(jm__chip *chip, const json_t *entry, size_t group)
{
    if (chip->metric_count == JM_COUNTER_METRICS_MAX) return false;
    jm__metric *metric = &chip->metrics[chip->metric_count++];
    metric->group = group;
    return jm__json_copy_text(metric->name, sizeof metric->name, json_object_get(entry, "name")) &&
           jm__json_copy_text(metric->unit, sizeof metric->unit, json_object_get(entry, "unit")) &&
           is_unit(metric->unit);
}

static bool groups_read(jm__chip *chip, const json_t *groups)
{
    size_t count = json_array_size(groups);
    if (count == 0 || count > JM_CHIP_GROUPS_MAX) return false;
    for (size_t g = 0; g < count; g++) {
        const json_t *metrics = json_object_get(json_array_get(groups, g), "metrics");
        if (json_array_size(metrics) == 0) return false;
        for (size_t i = 0; i < json_array_size(metrics); i++)
            if (!metric_read(chip, json_array_get(metrics, i), g)) return false;
    }
    return true;
}

static jm_status chip_read(jm__chip *chip, const jm__embedded *data, jm_error *err)
{
    json_error_t json_err;
    json_t *root = json_loadb(data->text, data->length, JSON_REJECT_DUPLICATES, &json_err);
    if (root == NULL)
        return jm__fail(err, JM_BAD_DATA, 0, "json_loadb", "counters of chip %s: line %d: %s", data->name,
                        json_err.line, json_err.text);
    *chip = (jm__chip){.interval_ns = json_integer_value(json_object_get(root, "interval_ns")),
                       .interval_cycles = json_integer_value(json_object_get(root, "interval_cycles"))};
    bool is_valid = jm__json_copy_text(chip->name, sizeof chip->name, json_object_get(root, "chip")) &&
                    groups_read(chip, json_object_get(root, "groups")) &&
                    (chip->interval_ns > 0) != (chip->interval_cycles > 0);
    json_decref(root);
    if (is_valid) return JM_OK;
    return jm__fail(err, JM_BAD_DATA, 0, "", "counters of chip %s: a key is missing or wrong", data->name);
}

jm_status jm__chip_load(jm__chip *chip, const char *name, jm_error *err)
{
    const jm__embedded *generic = NULL;
    for (const jm__embedded *data = jm__chip_table; data->name != NULL; data++) {
        JM_TRY(chip_read(chip, data, err));
        if (chip->name[0] == '\0')
            generic = data;
        else if (strcmp(chip->name, name) == 0)
            return JM_OK;
    }
    if (generic == NULL)
        return jm__fail(err, JM_BAD_DATA, 0, "", "there is no list of counters for %s", name);
    return chip_read(chip, generic, err);
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static bool is_slot(const jm__metric *metric)
{
    return strcmp(metric->unit, JM_COUNTER_SLOT_CYCLES) == 0;
}

/* Are all slot metrics of the chip's list present? Only their sum gives the clock. */
static bool has_all_slots(const jm__chip *chip, const char *const *names, size_t count)
{
    for (size_t m = 0; m < chip->metric_count; m++)
        if (is_slot(&chip->metrics[m]) && !is_among(chip->metrics[m].name, names, count)) return false;
    return true;
}

const char *jm__metric_unit(const char *name, const char *const *names, size_t count)
{
    for (const jm__embedded *data = jm__chip_table; data->name != NULL; data++) {
        jm__chip chip;
        if (chip_read(&chip, data, NULL) != JM_OK) continue;
        for (size_t m = 0; m < chip.metric_count; m++) {
            const jm__metric *metric = &chip.metrics[m];
            if (strcmp(metric->name, name) != 0) continue;
            if (strcmp(metric->unit, JM_COUNTER_PERCENT) == 0) return JM_COUNTER_PERCENT;
            bool is_clock = is_slot(metric) && has_all_slots(&chip, names, count);
            return is_clock ? JM_COUNTER_SLOT_CYCLES : JM_COUNTER_EVENTS;
        }
    }
    return NULL;
}

/* ---- choosing counters that fit into one pass, greedily */

typedef struct choosing {
    jm__metrics_fit *fit;
    void *context;
    const char *names[JM_COUNTER_METRICS_MAX]; /* `chosen` metrics that fit, then candidates */
    size_t chosen;
} choosing;

/* Adds metrics if all of them still fit. */
static bool add(choosing *c, const jm__metric *metrics, size_t count)
{
    for (size_t i = 0; i < count; i++)
        c->names[c->chosen + i] = metrics[i].name;
    if (!c->fit(c->context, c->names, c->chosen + count)) return false;
    c->chosen += count;
    return true;
}

static size_t group_size(const jm__chip *chip, size_t first)
{
    size_t end = first;
    while (end < chip->metric_count && chip->metrics[end].group == chip->metrics[first].group)
        end++;
    return end - first;
}

/* Removes the other metrics. An incomplete set of slots gives no clock, so its slots become events. */
static void keep_metrics(jm__chip *chip, const bool *kept)
{
    size_t count = 0;
    bool all_slots = true;
    for (size_t i = 0; i < chip->metric_count; i++)
        if (is_slot(&chip->metrics[i])) all_slots = all_slots && kept[i];
    for (size_t i = 0; i < chip->metric_count; i++)
        if (kept[i]) chip->metrics[count++] = chip->metrics[i];
    chip->metric_count = count;
    for (size_t i = 0; i < count && !all_slots; i++)
        if (is_slot(&chip->metrics[i]))
            snprintf(chip->metrics[i].unit, sizeof chip->metrics[i].unit, JM_COUNTER_EVENTS);
}

size_t jm__chip_choose(jm__chip *chip, jm__metrics_fit *fit, void *context)
{
    choosing c = {.fit = fit, .context = context};
    bool kept[JM_COUNTER_METRICS_MAX] = {false};
    if (add(&c, chip->metrics, chip->metric_count)) return chip->metric_count;
    for (size_t first = 0, size; first < chip->metric_count; first += size) {
        size = group_size(chip, first);
        bool group_fits = size > 1 && add(&c, &chip->metrics[first], size);
        for (size_t i = first; i < first + size; i++)
            kept[i] = group_fits || add(&c, &chip->metrics[i], 1);
    }
    keep_metrics(chip, kept);
    return chip->metric_count;
}
