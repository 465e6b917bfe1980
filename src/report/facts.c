/* The sentences at the top of a report, and how a terminal shows them. */
#include "report/facts.h"

#include "attribute/work/work.h"
#include "base/plain.h"
#include "base/status.h"
#include "base/utf8.h"
#include "report/format.h"

#include <math.h>
#include <string.h>

/* `text` is taken; NULL: memory is out. */
static jm_status add_take(jm__facts *facts, const char *name, char *text, jm_error *err)
{
    const jm__fact fact = {name, text};
    if (text != NULL && jm__vec_push(facts, fact)) return JM_OK;
    free(text);
    return jm__no_memory(err, "jm__facts_make");
}

jm_status jm__facts_add(jm__facts *facts, const char *name, jm__strbuf *text, jm_error *err)
{
    char *taken = jm__strbuf_take(text);
    jm__strbuf_free(text);
    return add_take(facts, name, taken, err);
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

bool jm__has_steps(const jm_report_totals *t)
{
    return t->steady_steps > 1 && isfinite(t->steady_step_j);
}

bool jm__same_kind_of_step(const jm_report_totals *a, const jm_report_totals *b)
{
    return jm__equal_or_both_none(a->step_name, b->step_name) &&
           jm__equal_or_both_none(a->step_phase, b->step_phase);
}

/* ", 12.3 ±0.4 mJ a token", of so many tokens in all of n steps. */
static void add_amount(jm__strbuf *text, const jm_report_totals *t, const char *what, int64_t amount)
{
    char each[JM_CELL];
    if (amount <= 0) return;
    double share = (double)t->steady_steps / (double)amount; /* of a step */
    jm__format_energy(each, share * t->steady_step_j, share * t->steady_step_low_j,
                      share * t->steady_step_high_j);
    jm__strbuf_format(text, ", %s a %s", each, what);
}

/* What a steady step takes. For a run of one step that is the total. */
static jm_status add_each(jm__facts *facts, const jm_report_totals *t, jm_error *err)
{
    char energy[JM_CELL], time[JM_CELL];
    jm__strbuf text = {0};
    if (!jm__has_steps(t)) return JM_OK;
    jm__format_energy(energy, t->steady_step_j, t->steady_step_low_j, t->steady_step_high_j);
    jm__format_time(time, t->steady_step_s);
    jm__strbuf_format(&text, "%s and %s a step", energy, time);
    if (t->step_phase != NULL) jm__strbuf_format(&text, " of %s", t->step_phase);
    add_amount(&text, t, "sample", t->steady_samples);
    add_amount(&text, t, "token", t->steady_tokens);
    jm__strbuf_format(&text, " (%lld of %lld steps, steady%s%s)", (long long)t->steady_steps,
                      (long long)t->kind_steps, t->steps_found != NULL ? "; each a " : "",
                      t->steps_found != NULL ? t->step_name : "");
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

/* Which share of the steps was traced, and what tracing cost. */
static jm_status add_tracing(jm__facts *facts, const jm_report_totals *t, jm_error *err)
{
    char energy[JM_CELL];
    jm__strbuf text = {0};
    if (t->traced_steps < 0 || t->steps <= 0) return JM_OK;
    jm__strbuf_format(&text, "%.2g %% of the steps; the others are extrapolated from them",
                      100 * (double)t->traced_steps / (double)t->steps);
    if (isfinite(t->tracing_slow_down)) {
        jm__format_energy(energy, t->tracing_energy_j, NAN, NAN);
        jm__strbuf_format(&text, "; tracing made them %.2g %% longer (%s, in no figure of a step)",
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
    JM_TRY(add_tracing(facts, totals, err));
    return add_verdict(facts, jm_report_quality_get(report), err);
}

void jm__facts_free(jm__facts *facts)
{
    for (size_t i = 0; i < facts->count; i++)
        free(facts->items[i].text);
    jm__vec_free(facts);
}

/* ---- waiting time that is part of other rows */

static double gpu_time_s(const jm_report *report)
{
    double seconds = 0;
    for (size_t i = 0; i < jm_report_board_count(report); i++) {
        jm_report_board at;
        if (jm_report_board_get(report, i, &at, NULL) == JM_OK && jm__board_is_fitted(at.board))
            seconds += jm_report_totals_get(report)->duration_s;
    }
    return seconds;
}

static bool matters(const jm_report *report, double seconds)
{
    static const double least_share = 0.005;
    return seconds > 0 && seconds >= least_share * gpu_time_s(report);
}

/* "12.0 ms, 3.10 J" */
static void add_figure(jm__strbuf *out, double seconds, double energy_j)
{
    char time[JM_CELL], energy[JM_CELL];
    jm__format_time(time, seconds);
    jm__format_energy(energy, energy_j, NAN, NAN);
    jm__strbuf_format(out, "%s, %s", time, energy);
}

jm_status jm__waits_add(jm__facts *facts, const jm_report *report, jm_error *err)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    jm__strbuf text = {0};
    if (matters(report, totals->copy_s)) {
        jm__strbuf_add(&text, "copies with no kernel beside them: ");
        add_figure(&text, totals->copy_s, totals->copy_energy_j);
        jm__strbuf_add(&text, " (counted in the rows that launched them)");
        JM_TRY(jm__facts_add(facts, "waits", &text, err));
    }
    if (matters(report, totals->collective_s)) {
        jm__strbuf_add(&text, "collectives with no other kernel beside them: ");
        add_figure(&text, totals->collective_exposed_s, totals->collective_exposed_energy_j);
        jm__strbuf_add(&text, ", of ");
        add_figure(&text, totals->collective_s, totals->collective_energy_j);
        JM_TRY(jm__facts_add(facts, "waits", &text, err));
    }
    if (!matters(report, totals->collective_wait_s)) return JM_OK;
    jm__strbuf_add(&text, "collectives waited for the slowest rank");
    if (totals->collective_wait_gpu >= 0)
        jm__strbuf_format(&text, ", mostly GPU %lld", (long long)totals->collective_wait_gpu);
    jm__strbuf_add(&text, ": ");
    add_figure(&text, totals->collective_wait_s, totals->collective_wait_energy_j);
    jm__strbuf_add(&text, " (counted in their rows)");
    return jm__facts_add(facts, "waits", &text, err);
}

/* ---- the head of every view of a report in a terminal */

/* "GPU 0: NVIDIA H100 80GB HBM3", "GPU 0, 1: NVIDIA H200". CPUs and meters have rows of their own. */
void jm__boards_add(jm__strbuf *out, const char *before, const jm_report *report)
{
    const jm_board *first = NULL;
    for (size_t i = 0; i < jm_report_board_count(report); i++) {
        jm_report_board at;
        if (jm_report_board_get(report, i, &at, NULL) != JM_OK ||
            jm_board_kind_of(at.board) != JM_BOARD_GPU ||
            strcmp(at.board->backend, "import") == 0) /* an imported board is named after its profile */
            continue;
        bool another = first != NULL && strcmp(first->name, at.board->name) != 0;
        if (another) jm__strbuf_format(out, ": %s", first->name);
        if (first == NULL) jm__strbuf_add(out, before);
        jm__strbuf_format(out, "%s %d", first == NULL ? "GPU" : another ? ", GPU" : ",", at.index);
        first = at.board;
    }
    if (first != NULL) jm__strbuf_format(out, ": %s", first->name);
}

static void add_title(jm__strbuf *out, const char *what, const jm_report *report, bool colour, size_t width)
{
    const jm_report_options *options = jm_report_options_get(report);
    jm__strbuf title = {0};
    jm__strbuf_add(&title, what);
    if (options->phase != NULL) jm__strbuf_format(&title, ", phase %s", options->phase);
    if (options->process_id != 0) jm__strbuf_format(&title, ", process %lld", (long long)options->process_id);
    if (jm_report_totals_get(report)->simulated) jm__strbuf_add(&title, ", SIMULATED GPU");
    jm__boards_add(&title, ", ", report);
    if (colour) jm__strbuf_add(out, JM_COLOUR_BOLD);
    jm__wrap_take(out, "", 0, &title, width);
    jm__strbuf_add(out, colour ? JM_COLOUR_NONE "\n" : "\n");
}

static const char *colour_of(const char *verdict)
{
    if (strcmp(verdict, "good") == 0) return JM_COLOUR_GREEN;
    return strcmp(verdict, "poor") == 0 ? JM_COLOUR_RED : JM_COLOUR_YELLOW;
}

void jm__head_add_fact(jm__strbuf *out, const char *name, const char *text, size_t width)
{
    enum { INDENT = 10 };
    jm__wrap(out, name, INDENT, text, width);
}

jm_status jm__head_add(jm__strbuf *out, const char *what, const jm_report *report, bool colour, size_t width,
                       jm_error *err)
{
    jm__facts facts = {0};
    jm_status status = jm__facts_make(&facts, report, err);
    add_title(out, what, report, colour, width);
    for (size_t i = 0; status == JM_OK && i < facts.count; i++) {
        bool coloured = colour && strcmp(facts.items[i].name, "verdict") == 0;
        if (coloured) jm__strbuf_add(out, colour_of(jm_report_quality_get(report)->verdict));
        jm__head_add_fact(out, facts.items[i].name, facts.items[i].text, width);
        if (coloured) jm__strbuf_add(out, JM_COLOUR_NONE);
    }
    jm__strbuf_add(out, "\n");
    jm__facts_free(&facts);
    return status;
}
