/* A search for people: the verdict, then a table over the caps. */
#include "base/plain.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "cap/same.h"
#include "cap/search.h"
#include "cap/search_chart.h"
#include "report/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The order of the columns. */
static const jm_cap_objective columns[] = {JM_CAP_TIME, JM_CAP_ENERGY, JM_CAP_EDP, JM_CAP_ED2P};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* "12.3 % less energy", "time unchanged"; `half` of an interval, 0: nothing is said of it. */
static void add_change(jm__strbuf *out, const char *what, double ratio, double half)
{
    double percent = 100 * (ratio - 1);
    if (fabs(percent) < .05) {
        jm__strbuf_format(out, "%s unchanged", what);
        if (half > 0) jm__strbuf_format(out, " (±%.1f %%)", fmax(100 * half, .1));
        return;
    }
    jm__strbuf_format(out, "%.1f", fabs(percent));
    if (half > 0) jm__strbuf_format(out, " ±%.1f", fmax(100 * half, .1));
    jm__strbuf_format(out, " %% %s %s", percent < 0 ? "less" : "more", what);
}

static double half_of(const jm__cap_result *r, const jm_cap_figure *figure)
{
    return r->found.proven ? (figure->high - figure->low) / 2 : 0;
}

static void add_changes(const jm_cap_search *s, const jm__cap_result *r, jm__strbuf *out)
{
    const jm_cap_probe *at = &r->at, *from = &r->reference;
    const jm_cap_choice *c = &r->found.choice;
    jm_cap_objective o = s->plan->options.objective;
    if (o == JM_CAP_EDP || o == JM_CAP_ED2P) {
        add_change(out, jm__cap_objective_title(o),
                   jm__cap_objective_of(o, at->time_s, at->power_w) /
                       jm__cap_objective_of(o, from->time_s, from->power_w),
                   half_of(r, &c->gain));
        jm__strbuf_add(out, ", ");
    }
    add_change(out, "energy", at->time_s * at->power_w / (from->time_s * from->power_w),
               half_of(r, &c->saving));
    jm__strbuf_add(out, ", ");
    add_change(out, "time", at->time_s / from->time_s, half_of(r, &c->slowdown));
    jm__strbuf_format(out, " than at %g W", from->cap_w);
}

/* Chosen, and its interval reaches over the bound. */
static bool bound_is_open(const jm__cap_result *r)
{
    const jm_cap_choice *c = &r->found.choice;
    return r->found.proven && !r->found.proof.bound_proven &&
           (c->verdict == JM_CAP_BETTER || c->verdict == JM_CAP_MAYBE);
}

static void add_verdict(const jm_cap_search *s, const jm__cap_result *r, jm__strbuf *out)
{
    const jm_cap_choice *c = &r->found.choice;
    const char *title = jm__cap_objective_title(s->plan->options.objective);
    switch (c->verdict) {
    case JM_CAP_INERT:
        jm__strbuf_format(out, "cap makes no difference here: leave it at %g W", c->cap_w);
        return;
    case JM_CAP_REFERENCE:
        jm__strbuf_format(out, "%g W, as it is: no other cap that was tried has less %s", c->cap_w, title);
        if (c->bound_broken > 0)
            jm__strbuf_format(out, " and is at most %g %% slower", 100 * s->plan->options.max_slowdown);
        return;
    case JM_CAP_BETTER:
    case JM_CAP_MAYBE:
    default:
        jm__strbuf_format(out, "%g W", c->cap_w);
        if (r->found.clock_mhz > 0)
            jm__strbuf_format(out, " and SM clock at most %g MHz", r->found.clock_mhz);
        jm__strbuf_add(out, ": ");
        add_changes(s, r, out);
        if (c->verdict == JM_CAP_MAYBE) jm__strbuf_add(out, "; it may be chance");
        if (bound_is_open(r))
            jm__strbuf_format(out, "; at most %g %% slower is not proven",
                              100 * s->plan->options.max_slowdown);
        return;
    }
}

static void add_sentence(jm__strbuf *out, jm__strbuf *sentence, size_t width)
{
    if (sentence->text != NULL) jm__wrap(out, "", 0, sentence->text, width);
    out->failed |= sentence->failed;
    jm__strbuf_free(sentence);
}

static void add_basis(const jm_cap_search *s, const jm__cap_result *r, jm__strbuf *out)
{
    const jm_cap_choice *c = &r->found.choice;
    double slowdown = 100 * s->plan->options.max_slowdown, gain = 100 * c->expected_gain;
    size_t probes = jm_cap_plan_probe_count(s->plan), broken = c->bound_broken;
    jm__strbuf_format(out, "%zu of %zu caps tried%s", s->plan->tried_count, r->count,
                      s->options.simulated ? " on a simulated GPU" : "");
    if (probes > s->plan->tried_count) jm__strbuf_format(out, " in %zu probes", probes);
    if (broken > 0) jm__strbuf_format(out, ", %zu of them more than %g %% slower", broken, slowdown);
    if (s->plan->tried_count == r->count || r->found.proven || !r->found.over) return;
    if (gain < .05)
        jm__strbuf_add(out, "; one more would gain nothing to speak of");
    else
        jm__strbuf_format(out, "; one more would gain some %.1f %%", gain);
}

/* "proven: 700 W and 475 W in turns, 4 times there and back" */
static void add_proof(const jm_cap_search *s, const jm__cap_result *r, jm__strbuf *out)
{
    const jm_cap_proof *p = &r->found.proof;
    if (!r->found.over) {
        jm__strbuf_format(out, "broken off after %zu trials: this is what was known by then", s->told_count);
        if (r->found.proven) jm__strbuf_add(out, "; ");
    }
    if (!r->found.proven) return;
    jm__strbuf_format(out, "%s: %g W and %g W", p->whole ? "proven" : "half proven",
                      r->found.choice.reference_w, p->cap_w);
    if (p->clock_mhz > 0) jm__strbuf_format(out, " with %g MHz", p->clock_mhz);
    jm__strbuf_format(out, " in turns, %zu windows each; ± are 95 %% intervals", 2 * p->blocks);
    if (!p->bound_kept)
        jm__strbuf_format(out, "; %g W was %.1f %% slower", p->cap_w, 100 * p->slowdown.value);
    else if (bound_is_open(r))
        jm__strbuf_format(out, "; slowdown %.1f %% (%.1f to %.1f %%): the bound of %g %% is not proven",
                          100 * p->slowdown.value, 100 * p->slowdown.low, 100 * p->slowdown.high,
                          100 * s->plan->options.max_slowdown);
}

/* "97.5 %", "98.1 ±4.0 %", "110 to 620 %", of the reference's. */
static void format_relative(char out[JM_CELL], const jm_cap_figure *f)
{
    double percent = 100 * f->value, half = 50 * (f->high - f->low);
    if (half < .05)
        jm__print(out, JM_CELL, "%.1f %%", percent);
    else if (half < 9.5)
        jm__print(out, JM_CELL, "%.1f ±%.1f %%", percent, half);
    else
        jm__print(out, JM_CELL, "%.0f to %.0f %%", 100 * f->low, 100 * f->high);
}

/* In columns of a terminal "±" is one. */
static void add_cell(jm__strbuf *out, const char *cell, int width)
{
    int more = strstr(cell, "±") != NULL;
    jm__strbuf_format(out, "%*s", width + more, cell);
}

/* "1", "2, 5": which probes were at this cap. */
static void format_probes(const jm_cap_search *s, double cap_w, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < jm_cap_plan_probe_count(s->plan) && used + 8 < size; i++)
        if (jm__cap_same(jm_cap_plan_probe(s->plan, i)->cap_w, cap_w))
            used += (size_t)snprintf(out + used, size - used, "%s%zu", used > 0 ? "," : "", i + 1);
}

static void add_row(const jm_cap_search *s, const jm_cap_prediction *p, double chosen_w, jm__strbuf *out)
{
    char cap[JM_CELL], probes[16], cell[JM_CELL];
    bool chosen = jm__cap_same(p->cap_w, chosen_w);
    jm__print(cap, sizeof cap, "%g W", p->cap_w);
    format_probes(s, p->cap_w, probes, sizeof probes);
    jm__strbuf_format(out, "%s%7s %7s", chosen ? "> " : "  ", cap, probes);
    for (size_t c = 0; c < COLUMNS; c++) {
        format_relative(cell, &p->relative[columns[c]]);
        add_cell(out, cell, 15);
    }
    jm__strbuf_add(out, "\n");
}

static void add_table(const jm_cap_search *s, const jm__cap_result *r, jm__strbuf *out)
{
    jm__strbuf_format(out, "  %7s %7s", "cap", "probe");
    for (size_t c = 0; c < COLUMNS; c++)
        add_cell(out, jm__cap_objective_title(columns[c]), 15);
    jm__strbuf_add(out, "\n");
    for (size_t i = r->count; i-- > 0;)
        add_row(s, &r->all[i], r->found.choice.cap_w, out);
}

/* Whether what was measured is itself known with an uncertainty. */
static bool is_uncertain(const jm_cap_plan *plan)
{
    for (size_t i = 0; i < jm_cap_plan_probe_count(plan); i++)
        if (jm_cap_plan_probe(plan, i)->time_u_s > 0 || jm_cap_plan_probe(plan, i)->power_u_w > 0)
            return true;
    return false;
}

static void add_legend(const jm_cap_search *s, const jm__cap_result *r, jm__strbuf *out)
{
    char time[JM_CELL], power[JM_CELL], energy[JM_CELL];
    const jm_cap_probe *from = &r->reference;
    jm__format_time(time, from->time_s);
    jm__format_power(power, from->power_w);
    jm__format_energy(energy, from->time_s * from->power_w, NAN, NAN);
    jm__strbuf_format(out, "100 %%: %s, %s, %s, as measured at %g W. >: the choice.", time, power, energy,
                      from->cap_w);
    bool uncertain = is_uncertain(s->plan);
    if (uncertain || s->plan->tried_count < r->count)
        jm__strbuf_format(out, " ± and \"to\": 95 %% intervals%s.",
                          uncertain ? "" : " of what was not measured");
}

/* "prefill   625 W: 3.1 % less energy, time unchanged" */
static jm_status add_parts(const jm_cap_search *s, jm__strbuf *out, jm_error *err)
{
    if (s->part_count > 0) jm__strbuf_add(out, "\neach by itself (?: it may be chance)\n");
    for (size_t i = 0; i < s->part_count; i++) {
        jm_cap_choice c;
        JM_TRY(jm_cap_plan_choice(s->parts[i].plan, &c, err));
        jm__strbuf_format(out, "  %-16.16s %6g W  ", s->parts[i].name, c.cap_w);
        if (c.verdict == JM_CAP_INERT) {
            jm__strbuf_add(out, "cap makes no difference\n");
            continue;
        }
        add_change(out, "energy", 1 - c.saving.value, (c.saving.high - c.saving.low) / 2);
        jm__strbuf_add(out, ", ");
        add_change(out, "time", 1 + c.slowdown.value, (c.slowdown.high - c.slowdown.low) / 2);
        jm__strbuf_format(out, "%s\n", c.verdict == JM_CAP_MAYBE ? " ?" : "");
    }
    return JM_OK;
}

jm_status jm_cap_search_text(jm_cap_search *search, size_t width, char **text, jm_error *err)
{
    jm__cap_result result;
    *text = NULL;
    JM_TRY(jm__cap_search_result(search, &result, err));
    jm__strbuf out = {0}, sentence = {0};
    add_verdict(search, &result, &sentence);
    add_sentence(&out, &sentence, width);
    add_basis(search, &result, &sentence);
    add_sentence(&out, &sentence, width);
    add_proof(search, &result, &sentence);
    add_sentence(&out, &sentence, width);
    jm__cap_chart_add(&out, search, &result, width);
    jm__strbuf_add(&out, "\n");
    add_table(search, &result, &out);
    jm__strbuf_add(&out, "\n");
    add_legend(search, &result, &sentence);
    add_sentence(&out, &sentence, width);
    jm_status status = add_parts(search, &out, err);
    if (status != JM_OK) out.failed = true;
    *text = jm__strbuf_take(&out);
    jm__strbuf_free(&out);
    return *text != NULL ? JM_OK : jm__no_memory(err, "jm_cap_search_text");
}
