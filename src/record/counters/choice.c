/* Counters that fit one pass, greedily. */
#include "record/counters/choice.h"

#include <stdio.h>
#include <string.h>

typedef struct choosing {
    jm__metrics_fit *fit;
    void *context;
    const char *names[JM_COUNTER_METRICS_MAX]; /* of `chosen` metrics that fit together, and room behind */
    size_t chosen;
} choosing;

/* These as well, if all of them still fit. */
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

static bool is_slots(const jm__metric *metric)
{
    return strcmp(metric->unit, JM_COUNTER_SLOT_CYCLES) == 0;
}

/* Those that are kept. Slots that are not all counted tell no clock: they are events. */
static void keep(jm__chip *chip, const bool *kept)
{
    size_t count = 0;
    bool all_slots = true;
    for (size_t i = 0; i < chip->metric_count; i++)
        if (is_slots(&chip->metrics[i])) all_slots = all_slots && kept[i];
    for (size_t i = 0; i < chip->metric_count; i++)
        if (kept[i]) chip->metrics[count++] = chip->metrics[i];
    chip->metric_count = count;
    for (size_t i = 0; i < count && !all_slots; i++)
        if (is_slots(&chip->metrics[i]))
            snprintf(chip->metrics[i].unit, sizeof chip->metrics[i].unit, JM_COUNTER_EVENTS);
}

size_t jm__chip_choose(jm__chip *chip, jm__metrics_fit *fit, void *context)
{
    choosing c = {.fit = fit, .context = context};
    bool kept[JM_COUNTER_METRICS_MAX] = {false};
    if (add(&c, chip->metrics, chip->metric_count)) return chip->metric_count;
    for (size_t first = 0, size; first < chip->metric_count; first += size) {
        size = group_size(chip, first);
        bool whole = size > 1 && add(&c, &chip->metrics[first], size);
        for (size_t i = first; i < first + size; i++)
            kept[i] = whole || add(&c, &chip->metrics[i], 1);
    }
    keep(chip, kept);
    return chip->metric_count;
}
