/* Gaps, losses, throttling, sensors in use, and the sampler's own cost. */
#include "attribute/notes/quality.h"

#include "attribute/notes/conditions.h"
#include "attribute/notes/events.h"
#include "attribute/notes/facts.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void count_events(jm_report_quality *figures, const jm__attribution *a)
{
    for (size_t i = 0; i < a->dataset->event_count; i++) {
        const jm__event *event = &a->dataset->events[i];
        if (!jm__event_concerns(a, event)) continue;
        if (event->kind == JM_EVENT_GAP) {
            figures->gaps++;
            figures->gap_s += (double)jm__event_gap_ns(event) * 1e-9;
        }
        figures->throttle_events += event->kind == JM_EVENT_THROTTLE && event->value != 0;
        if (event->kind == JM_EVENT_COUNTERS && figures->counters_missing == NULL)
            figures->counters_missing = event->text;
    }
    for (size_t i = 0; i < a->dataset->loss_count; i++)
        figures->lost_records += a->dataset->losses[i].count;
}

/* A mean while it is added up. */
typedef struct mean {
    double weighted;
    double weight;
} mean;

static void mean_add(mean *m, double value, double weight)
{
    if (isnan(value)) return;
    m->weighted += weight * value;
    m->weight += weight;
}

static double mean_of(const mean *m)
{
    return m->weight > 0 ? m->weighted / m->weight : NAN;
}

/* Over all boards asked for: the clock by busy time, the limit one board as much as the other. */
static void take_conditions(jm_report_quality *figures, const jm__attribution *a)
{
    mean throttled = {0}, clock = {0}, limit = {0}, temperature = {0};
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->wanted) continue;
        jm__conditions conditions = jm__conditions_of(a->dataset, part);
        throttled.weighted += conditions.throttled_s;
        throttled.weight += conditions.told_s;
        mean_add(&limit, conditions.power_limit_w, 1);
        mean_add(&temperature, conditions.temperature_c, 1);
        for (size_t k = 0; part->clock_mhz != NULL && k < part->work->columns.class_columns; k++)
            mean_add(&clock, part->clock_mhz[k], part->work->seconds[k]);
    }
    figures->throttled_share = mean_of(&throttled);
    figures->clock_mhz = mean_of(&clock);
    figures->power_limit_w = mean_of(&limit);
    figures->temperature_c = mean_of(&temperature);
}

static jm_status name_sensors(jm__quality *quality, const jm__attribution *a, jm_error *err)
{
    size_t count = 0;
    quality->sensors = calloc(a->dataset->board_count + 1, sizeof *quality->sensors);
    if (quality->sensors == NULL) return jm__no_memory(err, "jm__quality_make");
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        const jm_sensor *sensor = part->sensor != NULL ? part->sensor : part->counter;
        if (!part->wanted || sensor == NULL) continue;
        if (asprintf(&quality->sensors[count], "%s: %s", part->board->name, sensor->name) < 0) {
            quality->sensors[count] = NULL;
            return jm__no_memory(err, "jm__quality_make");
        }
        count++;
    }
    quality->figures.sensors = (const char *const *)quality->sensors;
    return JM_OK;
}

/* The sampler's own cost, as the recorder noted it when it stopped. */
static void take_cost(jm_report_quality *figures, const jm__sampler_cost *cost)
{
    figures->overhead_cpu_s = cost->cpu_ns < 0 ? NAN : (double)cost->cpu_ns * 1e-9;
    figures->overhead_call_s = cost->call_ns < 0 ? NAN : (double)cost->call_ns * 1e-9;
    figures->overhead_calls = cost->calls;
}

static void count_windows(jm_report_quality *figures, const jm__attribution *a)
{
    figures->counter_windows = 0;
    for (size_t b = 0; b < a->dataset->board_count; b++)
        figures->counter_windows += (int64_t)a->boards[b].counter_windows;
    if (figures->counter_windows == 0) figures->counter_windows = -1;
}

static void name_ncu(jm_report_quality *figures, const jm__attribution *a)
{
    bool wanted = false;
    for (size_t b = 0; b < a->dataset->board_count; b++)
        wanted = wanted || (a->boards[b].wanted && a->boards[b].counted_by_hardware);
    figures->counters_of_ncu = wanted ? a->dataset->ncu : NULL;
}

static void add_samplers(jm_report_quality *figures, const jm__attribution *a)
{
    double sum_j = 0;
    for (size_t b = 0; b < a->dataset->board_count; b++)
        if (a->boards[b].wanted)
            sum_j += jm__sampler_draw_energy_j(&a->boards[b].sampler, &a->boards[b].windows);
    figures->sampler_energy_j = sum_j > 0 ? sum_j : NAN;
}

static jm_status judge(jm__quality *quality, const jm__facts *facts, jm_error *err)
{
    if (!jm__verdict_find(&quality->verdict, facts)) return jm__no_memory(err, "jm__quality_make");
    char *const *sentences = quality->verdict.sentences.items;
    quality->figures.verdict = jm__grade_text(quality->verdict.grade);
    quality->figures.verdict_reason = sentences[0];
    quality->figures.verdict_more = (const char *const *)&sentences[1];
    return JM_OK;
}

jm_status jm__quality_make(jm__quality *quality, const jm__attribution *a, const jm__rows *rows,
                           const jm_report_totals *totals, jm_error *err)
{
    *quality = (jm__quality){0};
    take_cost(&quality->figures, &a->dataset->cost);
    count_events(&quality->figures, a);
    take_conditions(&quality->figures, a);
    count_windows(&quality->figures, a);
    name_ncu(&quality->figures, a);
    add_samplers(&quality->figures, a);
    JM_TRY(name_sensors(quality, a, err));
    const jm__no_layer no_layer = jm__no_layer_of(a);
    quality->figures.no_layer_share = no_layer.share;
    const jm__facts facts = jm__facts_find(a, rows, totals, &quality->figures, &no_layer);
    return judge(quality, &facts, err);
}

void jm__quality_free(jm__quality *quality)
{
    for (char **sensor = quality->sensors; sensor != NULL && *sensor != NULL; sensor++)
        free(*sensor);
    free(quality->sensors);
    jm__verdict_free(&quality->verdict);
    *quality = (jm__quality){0};
}
