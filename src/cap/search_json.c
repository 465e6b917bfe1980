/* A search as JSON: every figure in full, null where there is none. */
#include "base/json_value.h"
#include "base/status.h"
#include "cap/search.h"
#include "report/json_add.h"

#include <stdio.h>

/* "time_s" with its interval: "time_low_s" and "time_high_s". */
static bool set_figure(json_t *object, const char *name, const char *unit, const jm_cap_figure *f)
{
    char low[40], high[40], value[40];
    snprintf(value, sizeof value, "%s%s", name, unit);
    snprintf(low, sizeof low, "%s_low%s", name, unit);
    snprintf(high, sizeof high, "%s_high%s", name, unit);
    return json_object_set_new(object, value, jm__json_real(f->value)) == 0 &&
           json_object_set_new(object, low, jm__json_real(f->low)) == 0 &&
           json_object_set_new(object, high, jm__json_real(f->high)) == 0;
}

static json_t *prediction_object(const jm_cap_prediction *p, jm_cap_objective objective)
{
    json_t *object = json_pack("{sf sI}", "cap_w", p->cap_w, "probes", (json_int_t)p->probes);
    if (object != NULL && set_figure(object, "time", "_s", &p->time_s) &&
        set_figure(object, "power", "_w", &p->power_w) && set_figure(object, "energy", "_j", &p->energy_j) &&
        set_figure(object, "objective", "", &p->objectives[objective]))
        return object;
    json_decref(object);
    return NULL;
}

/* An item that is NULL, or has no room, leaves no array. */
static json_t *append(json_t *array, json_t *item)
{
    if (array != NULL && json_array_append_new(array, item) == 0) return array;
    json_decref(array);
    return NULL;
}

static json_t *probes_array(const jm_cap_search *s)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < jm_cap_plan_probe_count(s->plan); i++) {
        const jm_cap_probe *p = jm_cap_plan_probe(s->plan, i);
        array = append(
            array, json_pack("{sf sf sf}", "cap_w", p->cap_w, "time_s", p->time_s, "power_w", p->power_w));
    }
    return array;
}

static json_t *caps_array(const jm_cap_search *s)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < s->count; i++)
        array = append(array, prediction_object(&s->all[i], s->plan->options.objective));
    return array;
}

/* At the choice, as the other probes have it; where there are none, as it was measured. */
static json_t *predicted_object(const jm_cap_search *s)
{
    size_t chosen = 0;
    while (chosen + 1 < s->count && s->all[chosen].cap_w < s->choice.cap_w)
        chosen++;
    json_t *object =
        prediction_object(s->has_before ? &s->before : &s->all[chosen], s->plan->options.objective);
    if (object != NULL && json_object_del(object, "probes") == 0 &&
        json_object_set_new(object, "caps", caps_array(s)) == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *found_object(const jm_cap_search *s)
{
    const jm_cap_probe *at = &s->found, *from = &s->reference;
    jm_cap_objective o = s->plan->options.objective;
    double energy_j = at->time_s * at->power_w, objective = jm__cap_objective_of(o, at->time_s, at->power_w);
    return json_pack("{sf sf sf sf sf sf sf}", "time_s", at->time_s, "power_w", at->power_w, "energy_j",
                     energy_j, "objective", objective, "saving",
                     1 - energy_j / (from->time_s * from->power_w), "slowdown", at->time_s / from->time_s - 1,
                     "gain", 1 - objective / jm__cap_objective_of(o, from->time_s, from->power_w));
}

static json_t *search_object(const jm_cap_search *s)
{
    const jm_cap_plan_options *o = &s->plan->options;
    return json_pack("{ss ss so sf ss sf so so so sf}", "version", jm_version(), "objective",
                     jm_cap_objective_text(o->objective), "max_slowdown",
                     o->max_slowdown > 0 ? json_real(o->max_slowdown) : json_null(), "reference_cap_w",
                     s->choice.reference_w, "verdict", jm_cap_verdict_text(s->choice.verdict), "chosen_cap_w",
                     s->choice.cap_w, "probes", probes_array(s), "predicted", predicted_object(s), "found",
                     found_object(s), "expected_gain", s->choice.expected_gain);
}

jm_status jm_cap_search_json(const jm_cap_search *search, char **out, jm_error *err)
{
    json_t *root = search_object(search);
    jm__strbuf text = {0};
    bool whole = jm__json_add(&text, root, 0);
    json_decref(root);
    jm__strbuf_add(&text, "\n");
    *out = whole ? jm__strbuf_take(&text) : NULL;
    jm__strbuf_free(&text);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_cap_search_json");
}
