/* A search as JSON: every figure in full, null where there is none. */
#include "base/json_value.h"
#include "base/status.h"
#include "cap/search.h"
#include "report/json.h"

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

/* What is thought of all objectives, each [value, low, high] as a share of the reference's. */
static json_t *relative_object(const jm_cap_prediction *p)
{
    json_t *object = json_object();
    bool whole = object != NULL;
    for (int o = 0; whole && o < JM_CAP_OBJECTIVE_COUNT; o++) {
        const jm_cap_figure *f = &p->relative[o];
        json_t *figure =
            json_pack("[o o o]", jm__json_real(f->value), jm__json_real(f->low), jm__json_real(f->high));
        whole = json_object_set_new(object, jm_cap_objective_text((jm_cap_objective)o), figure) == 0;
    }
    if (whole) return object;
    json_decref(object);
    return NULL;
}

static json_t *prediction_object(const jm_cap_prediction *p, jm_cap_objective objective)
{
    json_t *object = json_pack("{sf sI}", "cap_w", p->cap_w, "probes", (json_int_t)p->probes);
    if (object != NULL && set_figure(object, "time", "_s", &p->time_s) &&
        set_figure(object, "power", "_w", &p->power_w) && set_figure(object, "energy", "_j", &p->energy_j) &&
        set_figure(object, "objective", "", &p->objectives[objective]) &&
        json_object_set_new(object, "relative", relative_object(p)) == 0)
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

static json_t *probes_array(const jm_cap_plan *plan)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < jm_cap_plan_probe_count(plan); i++) {
        const jm_cap_probe *p = jm_cap_plan_probe(plan, i);
        array = append(array, json_pack("{sf sf sf sf sf}", "cap_w", p->cap_w, "time_s", p->time_s, "power_w",
                                        p->power_w, "time_u_s", p->time_u_s, "power_u_w", p->power_u_w));
    }
    return array;
}

static json_t *caps_array(const jm_cap_prediction *all, size_t count, jm_cap_objective objective)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < count; i++)
        array = append(array, prediction_object(&all[i], objective));
    return array;
}

/* At the choice, as the other probes have it; where there are none, as it was measured. */
static json_t *predicted_object(const jm__cap_result *r, jm_cap_objective objective)
{
    size_t chosen = 0;
    while (chosen + 1 < r->count && r->all[chosen].cap_w < r->found.choice.cap_w)
        chosen++;
    json_t *object = prediction_object(r->has_before ? &r->before : &r->all[chosen], objective);
    if (object != NULL && json_object_del(object, "probes") == 0 &&
        json_object_set_new(object, "caps", caps_array(r->all, r->count, objective)) == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *found_object(const jm__cap_result *r, jm_cap_objective o)
{
    const jm_cap_probe *at = &r->at, *from = &r->reference;
    double energy_j = at->time_s * at->power_w, objective = jm__cap_objective_of(o, at->time_s, at->power_w);
    return json_pack("{sf sf sf sf sf sf sf}", "time_s", at->time_s, "power_w", at->power_w, "energy_j",
                     energy_j, "objective", objective, "saving",
                     1 - energy_j / (from->time_s * from->power_w), "slowdown", at->time_s / from->time_s - 1,
                     "gain", 1 - objective / jm__cap_objective_of(o, from->time_s, from->power_w));
}

/* ---- what a search has that was not a replay */

static json_t *clock_or_null(double clock_mhz)
{
    return clock_mhz > 0 ? json_real(clock_mhz) : json_null();
}

static json_t *trials_array(const jm_cap_search *s)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < s->told_count; i++) {
        const jm_cap_trial *t = &s->told[i].trial;
        const jm_cap_probe *p = &s->told[i].probe;
        array = append(array,
                       json_pack("{sI ss sf so sb sf sf sf sf}", "number", (json_int_t)t->number, "stage",
                                 jm_cap_stage_text(t->stage), "cap_w", t->cap_w, "clock_mhz",
                                 clock_or_null(t->clock_mhz), "reference", t->reference, "time_s", p->time_s,
                                 "power_w", p->power_w, "time_u_s", p->time_u_s, "power_u_w", p->power_u_w));
    }
    return array;
}

static json_t *proof_object(const jm__cap_result *r)
{
    const jm_cap_proof *p = &r->found.proof;
    if (!r->found.proven) return json_null();
    json_t *object = json_pack("{sf so sI sb sb sb}", "cap_w", p->cap_w, "clock_mhz",
                               clock_or_null(p->clock_mhz), "blocks", (json_int_t)p->blocks, "whole",
                               p->whole, "bound_kept", p->bound_kept, "bound_proven", p->bound_proven);
    if (object != NULL && set_figure(object, "saving", "", &p->saving) &&
        set_figure(object, "slowdown", "", &p->slowdown) && set_figure(object, "gain", "", &p->gain))
        return object;
    json_decref(object);
    return NULL;
}

static json_t *part_object(const jm__cap_part *part, jm_error *err)
{
    jm_cap_choice c;
    if (jm_cap_plan_choice(part->plan, &c, err) != JM_OK) return NULL;
    json_t *object = json_pack("{ss sf ss so}", "name", part->name, "chosen_cap_w", c.cap_w, "verdict",
                               jm_cap_verdict_text(c.verdict), "probes", probes_array(part->plan));
    if (object != NULL && set_figure(object, "saving", "", &c.saving) &&
        set_figure(object, "slowdown", "", &c.slowdown) && set_figure(object, "gain", "", &c.gain))
        return object;
    json_decref(object);
    return NULL;
}

static json_t *parts_array(const jm_cap_search *s, jm_error *err)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < s->part_count; i++)
        array = append(array, part_object(&s->parts[i], err));
    return array;
}

static json_t *search_object(const jm_cap_search *s, const jm__cap_result *r, jm_error *err)
{
    const jm_cap_plan_options *o = &s->plan->options;
    const jm_cap_choice *c = &r->found.choice;
    return json_pack("{ss sb ss so sf ss sf so sb so so so so sf so so}", "version", jm_version(),
                     "simulated", s->options.simulated, "objective", jm_cap_objective_text(o->objective),
                     "max_slowdown", o->max_slowdown > 0 ? json_real(o->max_slowdown) : json_null(),
                     "reference_cap_w", c->reference_w, "verdict", jm_cap_verdict_text(c->verdict),
                     "chosen_cap_w", c->cap_w, "chosen_clock_mhz", clock_or_null(r->found.clock_mhz), "over",
                     r->found.over, "probes", probes_array(s->plan), "predicted",
                     predicted_object(r, o->objective), "found", found_object(r, o->objective), "proof",
                     proof_object(r), "expected_gain", c->expected_gain, "trials", trials_array(s), "parts",
                     parts_array(s, err));
}

jm_status jm_cap_search_json(jm_cap_search *search, char **out, jm_error *err)
{
    jm__cap_result result;
    *out = NULL;
    JM_TRY(jm__cap_search_result(search, &result, err));
    json_t *root = search_object(search, &result, err);
    jm__strbuf text = {0};
    bool whole = jm__json_add(&text, root, 0);
    json_decref(root);
    jm__strbuf_add(&text, "\n");
    if (whole) *out = jm__strbuf_take(&text);
    jm__strbuf_free(&text);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_cap_search_json");
}
