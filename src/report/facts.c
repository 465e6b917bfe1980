/* The sentences at the top of a report. */
#include "report/facts.h"

#include "base/status.h"
#include "report/format.h"

#include <math.h>
#include <string.h>

/* `text`: taken; NULL: memory was out. */
static jm_status add_take(jm__facts *facts, const char *name, char *text, jm_error *err)
{
    const jm__fact fact = {name, text};
    if (text != NULL && jm__vec_push(facts, fact)) return JM_OK;
    free(text);
    return jm__no_memory(err, "jm__facts_make");
}

jm_status jm__facts_add(jm__facts *facts, const char *name, jm__strbuf *text, jm_error *err)
{
    char *whole = jm__strbuf_take(text);
    jm__strbuf_free(text);
    return add_take(facts, name, whole, err);
}

static jm_status add_total(jm__facts *facts, const jm_report_totals *totals, jm_error *err)
{
    char energy[JM_CELL], power[JM_CELL], duration[JM_CELL];
    jm__strbuf text = {0};
    jm__format_energy(energy, totals->total_energy_j, totals->total_low_j, totals->total_high_j);
    jm__format_power(power, totals->duration_s > 0 ? totals->total_energy_j / totals->duration_s : NAN);
    jm__format_time(duration, totals->duration_s);
    jm__strbuf_format(&text, "%s in %s, %s, from %s", energy, duration, power,
                      totals->total_source != NULL ? totals->total_source : "no sensor");
    return jm__facts_add(facts, "total", &text, err);
}

/* What tracing took is no step's. */
static double tracing_j(const jm_report_totals *totals)
{
    return isfinite(totals->tracing_energy_j) ? totals->tracing_energy_j : 0;
}

/* `found`: what each of them is, if nobody told them; else NULL. */
static void add_per(jm__strbuf *text, const jm_report_totals *totals, const char *what, int64_t count,
                    const char *found)
{
    char each[JM_CELL];
    double n = (double)count, less_j = tracing_j(totals);
    if (count <= 1) return; /* of a single one it is the total */
    jm__format_energy(each, (totals->total_energy_j - less_j) / n, (totals->total_low_j - less_j) / n,
                      (totals->total_high_j - less_j) / n);
    jm__strbuf_format(text, "%s%s a %s (%lld%s%s)", text->length > 0 ? ", " : "", each, what,
                      (long long)count, found != NULL ? ", each a " : "", found != NULL ? found : "");
}

static jm_status add_each(jm__facts *facts, const jm_report_totals *totals, jm_error *err)
{
    jm__strbuf text = {0};
    add_per(&text, totals, "step", totals->steps, totals->steps_found);
    add_per(&text, totals, "sample", totals->samples, NULL);
    add_per(&text, totals, "token", totals->tokens, NULL);
    if (text.length == 0 && !text.failed) return JM_OK;
    return jm__facts_add(facts, "each", &text, err);
}

/* "prefill 1.2 ±0.1 mJ a token (5120)" */
static void add_part(jm__strbuf *text, const char *part, double energy_j, double low_j, double high_j,
                     int64_t tokens)
{
    char energy[JM_CELL];
    double n = tokens > 0 ? (double)tokens : 1;
    if (isnan(energy_j)) return;
    jm__format_energy(energy, energy_j / n, low_j / n, high_j / n);
    jm__strbuf_format(text, ", %s %s", part, energy);
    if (tokens > 0) jm__strbuf_format(text, " a token (%lld)", (long long)tokens);
}

static jm_status add_requests(jm__facts *facts, const jm_report_totals *t, jm_error *err)
{
    char median[JM_CELL], high[JM_CELL];
    jm__strbuf text = {0};
    if (t->requests <= 0 || isnan(t->request_median_j)) return JM_OK;
    jm__format_energy(median, t->request_median_j, NAN, NAN);
    jm__format_energy(high, t->request_p95_j, NAN, NAN);
    jm__strbuf_format(&text, "%lld, half of them below %s, 95 %% below %s", (long long)t->requests, median,
                      high);
    add_part(&text, "prefill", t->prefill_j, t->prefill_low_j, t->prefill_high_j, t->prefill_tokens);
    add_part(&text, "decode", t->decode_j, t->decode_low_j, t->decode_high_j, t->decode_tokens);
    return jm__facts_add(facts, "requests", &text, err);
}

/* A program that warms up says little of a step by its mean. */
static jm_status add_steady(jm__facts *facts, const jm_report_totals *totals, jm_error *err)
{
    char each[JM_CELL];
    jm__strbuf text = {0};
    if (totals->warm_up_steps <= 0 || !isfinite(totals->steady_step_j)) return JM_OK;
    jm__format_energy(each, totals->steady_step_j, totals->steady_step_low_j, totals->steady_step_high_j);
    jm__strbuf_format(&text, "%s a step after the first", each);
    if (totals->warm_up_steps > 1) jm__strbuf_format(&text, " %lld", (long long)totals->warm_up_steps);
    jm__strbuf_add(&text, ", which took another time: a warm-up");
    return jm__facts_add(facts, "steady", &text, err);
}

/* What steps stand for others, and what their tracing cost. */
static jm_status add_tracing(jm__facts *facts, const jm_report_totals *t, jm_error *err)
{
    char energy[JM_CELL];
    jm__strbuf text = {0};
    if (t->traced_steps < 0 || t->steps <= 0) return JM_OK;
    jm__strbuf_format(&text, "%.2g %% of the steps, which stand for the others",
                      100 * (double)t->traced_steps / (double)t->steps);
    if (isfinite(t->tracing_slow_down)) {
        jm__format_energy(energy, t->tracing_energy_j, NAN, NAN);
        jm__strbuf_format(&text, ", and took %.2g %% longer: %s, in no figure of a step",
                          100 * fmax(0, t->tracing_slow_down), energy);
    }
    return jm__facts_add(facts, "traced", &text, err);
}

static jm_status add_verdict(jm__facts *facts, const jm_report_quality *quality, jm_error *err)
{
    jm__strbuf text = {0};
    jm__strbuf_format(&text, "%s: %s", quality->verdict, quality->verdict_reason);
    JM_TRY(jm__facts_add(facts, "verdict", &text, err));
    for (const char *const *more = quality->verdict_more; more != NULL && *more != NULL; more++)
        JM_TRY(add_take(facts, "also", strdup(*more), err));
    return JM_OK;
}

jm_status jm__facts_make(jm__facts *facts, const jm_report *report, jm_error *err)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    JM_TRY(add_total(facts, totals, err));
    JM_TRY(add_each(facts, totals, err));
    JM_TRY(add_requests(facts, totals, err));
    JM_TRY(add_steady(facts, totals, err));
    JM_TRY(add_tracing(facts, totals, err));
    return add_verdict(facts, jm_report_quality_get(report), err);
}

void jm__facts_free(jm__facts *facts)
{
    for (size_t i = 0; i < facts->count; i++)
        free(facts->items[i].text);
    jm__vec_free(facts);
}
