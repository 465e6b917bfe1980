/* The result of a search: verdict, chart and table as text, and JSON. */
#include "base/json_value.h"
#include "base/plain.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "cap/model.h"
#include "cap/search.h"
#include "report/format.h"
#include "report/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- chart of the objective over the cap in Braille dots; tried caps as o, the choice as X */

enum { ROWS = 8, MOST_COLUMNS = 56, LEAST_COLUMNS = 20, MARGIN = 10, DOTS_DOWN = 4, DOTS_ACROSS = 2 };

/* The chart cuts off values above the larger of 1 and the minimum, times this. */
static const double chart_max_ratio = 1.35;

typedef struct chart {
    const jm_cap_prediction *all;
    size_t count;
    jm_cap_objective objective;
    size_t columns;
    double least, most;                     /* ratios to the reference, at bottom and top */
    unsigned char dots[ROWS][MOST_COLUMNS]; /* Braille bits */
    char marks[ROWS][MOST_COLUMNS];         /* 0: none */
} chart;

static double ratio_of_cap(const chart *c, size_t cap)
{
    return c->all[cap].relative[c->objective].value;
}

/* Linear interpolation between the caps. */
static double ratio_at(const chart *c, double cap_w)
{
    size_t i = 1;
    while (i + 1 < c->count && c->all[i].cap_w < cap_w)
        i++;
    double from_w = c->all[i - 1].cap_w, weight = (cap_w - from_w) / (c->all[i].cap_w - from_w);
    return ratio_of_cap(c, i - 1) + weight * (ratio_of_cap(c, i) - ratio_of_cap(c, i - 1));
}

/* Dots from the top; negative: above the chart. */
static int line_of(const chart *c, double ratio)
{
    double place = (c->most - ratio) / (c->most - c->least) * (ROWS * DOTS_DOWN - 1);
    return ratio > c->most ? -1 : (int)lround(fmin(place, ROWS * DOTS_DOWN - 1));
}

static void set_dot(chart *c, int line, size_t across)
{
    static const unsigned char bits[DOTS_DOWN][DOTS_ACROSS] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (line < 0) return;
    c->dots[line / DOTS_DOWN][across / DOTS_ACROSS] |= bits[line % DOTS_DOWN][across % DOTS_ACROSS];
}

/* Steep pieces are filled, so that the curve has no gaps. */
static void draw(chart *c)
{
    double low_w = c->all[0].cap_w, width_w = c->all[c->count - 1].cap_w - low_w;
    size_t dots = c->columns * DOTS_ACROSS;
    int previous = -1;
    for (size_t x = 0; x < dots; x++) {
        int line = line_of(c, ratio_at(c, low_w + width_w * (double)x / (double)(dots - 1)));
        set_dot(c, line, x);
        for (int between = previous + 1; previous >= 0 && between < line; between++)
            set_dot(c, between, x);
        for (int between = line + 1; line >= 0 && between < previous; between++)
            set_dot(c, between, x);
        previous = line;
    }
}

static void mark(chart *c, double chosen_w)
{
    double low_w = c->all[0].cap_w, width_w = c->all[c->count - 1].cap_w - low_w;
    for (size_t i = 0; i < c->count; i++) {
        bool chosen = jm__cap_same(c->all[i].cap_w, chosen_w);
        int line = line_of(c, ratio_of_cap(c, i));
        if (line < 0 || (c->all[i].probes == 0 && !chosen)) continue;
        size_t column = (size_t)lround((c->all[i].cap_w - low_w) / width_w * (double)(c->columns - 1));
        char *at = &c->marks[line / DOTS_DOWN][column];
        if (*at != 'X') *at = chosen ? 'X' : 'o';
    }
}

static void find_range(chart *c)
{
    c->least = INFINITY;
    c->most = 0;
    for (size_t i = 0; i < c->count; i++) {
        c->least = fmin(c->least, ratio_of_cap(c, i));
        c->most = fmax(c->most, ratio_of_cap(c, i));
    }
    c->most = fmin(c->most, fmax(1, c->least) * chart_max_ratio);
    double margin = fmax(.02, .05 * (c->most - c->least));
    c->least -= margin;
    c->most += margin;
}

static void add_chart_cell(jm__strbuf *out, const chart *c, int row, size_t column)
{
    unsigned char dots = c->dots[row][column];
    if (c->marks[row][column] != 0)
        jm__strbuf_format(out, "%c", c->marks[row][column]);
    else if (dots == 0)
        jm__strbuf_add(out, " ");
    else
        jm__strbuf_format(out, "\xe2%c%c", 0xa0 + (dots >> 6), 0x80 + (dots & 0x3f));
}

static void add_chart_row(jm__strbuf *out, const chart *c, int row)
{
    double ratio = c->most - (c->most - c->least) * (row * DOTS_DOWN + 1.5) / (ROWS * DOTS_DOWN - 1);
    size_t last = c->columns;
    while (last > 0 && c->dots[row][last - 1] == 0 && c->marks[row][last - 1] == 0)
        last--;
    if (row % 2 == 0)
        jm__strbuf_format(out, "  %4.0f %% ┤", 100 * ratio);
    else
        jm__strbuf_add(out, "         │");
    for (size_t column = 0; column < last; column++)
        add_chart_cell(out, c, row, column);
    jm__strbuf_add(out, "\n");
}

/* An empty line and the chart; nothing for fewer than three caps. */
static void cap_chart_add(jm__strbuf *out, const jm__cap_result *result, size_t width)
{
    chart c = {.all = result->all, .count = result->count, .objective = result->plan->options.objective};
    if (c.count < 3 || (width > 0 && width < MARGIN + LEAST_COLUMNS)) return;
    c.columns = width == 0 || width > MARGIN + MOST_COLUMNS ? MOST_COLUMNS : width - MARGIN;
    find_range(&c);
    draw(&c);
    mark(&c, result->found.choice.cap_w);
    jm__strbuf_format(out, "\n%s in percent of that at %g W; o was tried, X is the choice\n",
                      jm__cap_objectives[c.objective].title, result->found.choice.reference_w);
    for (int row = 0; row < ROWS; row++)
        add_chart_row(out, &c, row);
    char low[24], high[24];
    jm__print(low, sizeof low, "%.4g W", c.all[0].cap_w);
    jm__print(high, sizeof high, "%.4g W", c.all[c.count - 1].cap_w);
    jm__strbuf_format(out, "          %s%*s\n", low, (int)(c.columns - strlen(low)), high);
}

/* ---- a search as text: the verdict, then a table of the caps */

static const jm_cap_objective columns[] = {JM_CAP_TIME, JM_CAP_ENERGY, JM_CAP_EDP, JM_CAP_ED2P};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* "12.3 % less energy", "time unchanged"; `half`: half of the interval, 0: none. */
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

static void add_changes(const jm__cap_result *r, jm__strbuf *out)
{
    const jm_cap_probe *at = &r->at, *from = &r->reference;
    const jm_cap_choice *c = &r->found.choice;
    jm_cap_objective o = r->plan->options.objective;
    if (o == JM_CAP_EDP || o == JM_CAP_ED2P) {
        add_change(out, jm__cap_objectives[o].title,
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

/* The choice's interval includes the bound. */
static bool bound_is_open(const jm__cap_result *r)
{
    const jm_cap_choice *c = &r->found.choice;
    return r->found.proven && !r->found.proof.bound_proven &&
           (c->verdict == JM_CAP_BETTER || c->verdict == JM_CAP_MAYBE);
}

static void add_verdict(const jm__cap_result *r, jm__strbuf *out)
{
    const jm_cap_choice *c = &r->found.choice;
    const char *title = jm__cap_objectives[r->plan->options.objective].title;
    switch (c->verdict) {
    case JM_CAP_INERT:
        jm__strbuf_format(out, "cap makes no difference here: leave it at %g W", c->cap_w);
        return;
    case JM_CAP_REFERENCE:
        jm__strbuf_format(out, "%g W, as it is: no other cap that was tried has less %s", c->cap_w, title);
        if (c->bound_broken > 0)
            jm__strbuf_format(out, " and is at most %g %% slower", 100 * r->plan->options.max_slowdown);
        return;
    case JM_CAP_BETTER:
    case JM_CAP_MAYBE:
    default:
        jm__strbuf_format(out, "%g W", c->cap_w);
        if (r->found.clock_mhz > 0)
            jm__strbuf_format(out, " and SM clock at most %g MHz", r->found.clock_mhz);
        jm__strbuf_add(out, ": ");
        add_changes(r, out);
        if (c->verdict == JM_CAP_MAYBE) jm__strbuf_add(out, "; it may be chance");
        if (bound_is_open(r))
            jm__strbuf_format(out, "; at most %g %% slower is not proven",
                              100 * r->plan->options.max_slowdown);
        return;
    }
}

static void add_sentence(jm__strbuf *out, jm__strbuf *sentence, size_t width)
{
    if (sentence->text != NULL) jm__wrap(out, "", 0, sentence->text, width);
    out->failed |= sentence->failed;
    jm__strbuf_free(sentence);
}

static void add_basis(const jm__cap_result *r, jm__strbuf *out)
{
    const jm_cap_choice *c = &r->found.choice;
    double slowdown = 100 * r->plan->options.max_slowdown, gain = 100 * c->expected_gain;
    size_t probes = r->plan->probe_count, broken = c->bound_broken;
    jm__strbuf_format(out, "%zu of %zu caps tried%s", r->plan->tried_count, r->count,
                      r->search->options.simulated ? " on a simulated GPU" : "");
    if (probes > r->plan->tried_count) jm__strbuf_format(out, " in %zu probes", probes);
    if (broken > 0) jm__strbuf_format(out, ", %zu of them more than %g %% slower", broken, slowdown);
    if (r->plan->tried_count == r->count || r->found.proven || !r->found.over) return;
    if (gain < .05)
        jm__strbuf_add(out, "; one more would gain nothing to speak of");
    else
        jm__strbuf_format(out, "; one more would gain some %.1f %%", gain);
}

/* "proven: 700 W and 475 W in turns, 4 times there and back" */
static void add_proof(const jm__cap_result *r, jm__strbuf *out)
{
    const jm_cap_proof *p = &r->found.proof;
    if (!r->found.over) {
        jm__strbuf_format(out, "broken off after %zu trials: this is what was known by then",
                          r->search->results.count);
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
                          100 * r->plan->options.max_slowdown);
}

/* "97.5 %", "98.1 ±4.0 %", "110 to 620 %": relative to the reference. */
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

/* "±" has two bytes and one column. */
static void add_cell(jm__strbuf *out, const char *cell, int width)
{
    int extra = strstr(cell, "±") != NULL;
    jm__strbuf_format(out, "%*s", width + extra, cell);
}

/* "1", "2,5": the probes at this cap. */
static void format_probes(const jm_cap_plan *plan, double cap_w, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < plan->probe_count && used + 8 < size; i++)
        if (jm__cap_same(plan->probes[i].cap_w, cap_w))
            used += (size_t)snprintf(out + used, size - used, "%s%zu", used > 0 ? "," : "", i + 1);
}

static void add_row(const jm_cap_plan *plan, const jm_cap_prediction *p, double chosen_w, jm__strbuf *out)
{
    char cap[JM_CELL], probes[16], cell[JM_CELL];
    bool chosen = jm__cap_same(p->cap_w, chosen_w);
    jm__print(cap, sizeof cap, "%g W", p->cap_w);
    format_probes(plan, p->cap_w, probes, sizeof probes);
    jm__strbuf_format(out, "%s%7s %7s", chosen ? "> " : "  ", cap, probes);
    for (size_t c = 0; c < COLUMNS; c++) {
        format_relative(cell, &p->relative[columns[c]]);
        add_cell(out, cell, 15);
    }
    jm__strbuf_add(out, "\n");
}

static void add_table(const jm__cap_result *r, jm__strbuf *out)
{
    jm__strbuf_format(out, "  %7s %7s", "cap", "probe");
    for (size_t c = 0; c < COLUMNS; c++)
        add_cell(out, jm__cap_objectives[columns[c]].title, 15);
    jm__strbuf_add(out, "\n");
    for (size_t i = r->count; i-- > 0;)
        add_row(r->plan, &r->all[i], r->found.choice.cap_w, out);
}

/* Whether any probe has an uncertainty. */
static bool is_uncertain(const jm_cap_plan *plan)
{
    for (size_t i = 0; i < plan->probe_count; i++)
        if (plan->probes[i].time_u_s > 0 || plan->probes[i].power_u_w > 0) return true;
    return false;
}

static void add_legend(const jm__cap_result *r, jm__strbuf *out)
{
    char time[JM_CELL], power[JM_CELL], energy[JM_CELL];
    const jm_cap_probe *from = &r->reference;
    jm__format_time(time, from->time_s);
    jm__format_power(power, from->power_w);
    jm__format_energy(energy, from->time_s * from->power_w, NAN, NAN);
    jm__strbuf_format(out, "100 %%: %s, %s, %s, as measured at %g W. >: the choice.", time, power, energy,
                      from->cap_w);
    bool uncertain = is_uncertain(r->plan);
    if (uncertain || r->plan->tried_count < r->count)
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
    add_verdict(&result, &sentence);
    add_sentence(&out, &sentence, width);
    add_basis(&result, &sentence);
    add_sentence(&out, &sentence, width);
    add_proof(&result, &sentence);
    add_sentence(&out, &sentence, width);
    cap_chart_add(&out, &result, width);
    jm__strbuf_add(&out, "\n");
    add_table(&result, &out);
    jm__strbuf_add(&out, "\n");
    add_legend(&result, &sentence);
    add_sentence(&out, &sentence, width);
    jm_status status = add_parts(search, &out, err);
    if (status != JM_OK) out.failed = true;
    *text = jm__strbuf_take(&out);
    jm__strbuf_free(&out);
    return *text != NULL ? JM_OK : jm__no_memory(err, "jm_cap_search_text");
}

/* ---- a search as JSON: figures in full precision, null if absent */

/* "time_s" with its interval: "time_low_s" and "time_high_s". */
static void put_figure(json_t **object, const char *name, const char *unit, const jm_cap_figure *f)
{
    static const char *const ends[] = {"", "_low", "_high"};
    const double values[] = {f->value, f->low, f->high};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char key[40];
        snprintf(key, sizeof key, "%s%s%s", name, ends[i], unit);
        jm__json_set(object, key, jm__json_real(values[i]));
    }
}

/* All objectives, each [value, low, high] relative to the reference. */
static json_t *relative_object(const jm_cap_prediction *p)
{
    json_t *object = json_object();
    for (int o = 0; o < JM_CAP_OBJECTIVE_COUNT; o++) {
        const jm_cap_figure *f = &p->relative[o];
        jm__json_set(
            &object, jm__cap_objectives[o].text,
            json_pack("[o o o]", jm__json_real(f->value), jm__json_real(f->low), jm__json_real(f->high)));
    }
    return object;
}

static json_t *prediction_object(const jm_cap_prediction *p, jm_cap_objective objective)
{
    json_t *object = json_pack("{sf sI}", "cap_w", p->cap_w, "probes", (json_int_t)p->probes);
    put_figure(&object, "time", "_s", &p->time_s);
    put_figure(&object, "power", "_w", &p->power_w);
    put_figure(&object, "energy", "_j", &p->energy_j);
    put_figure(&object, "objective", "", &p->objectives[objective]);
    jm__json_set(&object, "relative", relative_object(p));
    return object;
}

static json_t *cap_object(const void *result, size_t i)
{
    const jm__cap_result *r = result;
    return prediction_object(&r->all[i], r->plan->options.objective);
}

static json_t *probe_object(const void *plan, size_t i)
{
    const jm_cap_probe *p = jm_cap_plan_probe(plan, i);
    return json_pack("{sf sf sf sf sf}", "cap_w", p->cap_w, "time_s", p->time_s, "power_w", p->power_w,
                     "time_u_s", p->time_u_s, "power_u_w", p->power_u_w);
}

static json_t *probes_array(const jm_cap_plan *plan)
{
    return jm__json_array(plan->probe_count, probe_object, plan);
}

/* The prediction at the choice from the other probes, or from all if there are no others. */
static json_t *predicted_object(const jm__cap_result *r, jm_cap_objective objective)
{
    size_t chosen = 0;
    while (chosen + 1 < r->count && r->all[chosen].cap_w < r->found.choice.cap_w)
        chosen++;
    json_t *object =
        prediction_object(r->has_without_choice ? &r->without_choice : &r->all[chosen], objective);
    json_object_del(object, "probes");
    jm__json_set(&object, "caps", jm__json_array(r->count, cap_object, r));
    return object;
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

/* ---- parts of the JSON that only a search under a command fills */

static json_t *clock_or_null(double clock_mhz)
{
    return clock_mhz > 0 ? json_real(clock_mhz) : json_null();
}

static json_t *trial_object(const void *search, size_t i)
{
    const jm_cap_told *told = jm_cap_search_told(search, i);
    const jm_cap_trial *t = &told->trial;
    const jm_cap_probe *p = &told->probe;
    return json_pack("{sI ss sf so sb sf sf sf sf}", "number", (json_int_t)t->number, "stage",
                     jm_cap_stage_text(t->stage), "cap_w", t->cap_w, "clock_mhz", clock_or_null(t->clock_mhz),
                     "reference", t->reference, "time_s", p->time_s, "power_w", p->power_w, "time_u_s",
                     p->time_u_s, "power_u_w", p->power_u_w);
}

static json_t *proof_object(const jm__cap_result *r)
{
    const jm_cap_proof *p = &r->found.proof;
    if (!r->found.proven) return json_null();
    json_t *object = json_pack("{sf so sI sb sb sb}", "cap_w", p->cap_w, "clock_mhz",
                               clock_or_null(p->clock_mhz), "blocks", (json_int_t)p->blocks, "whole",
                               p->whole, "bound_kept", p->bound_kept, "bound_proven", p->bound_proven);
    put_figure(&object, "saving", "", &p->saving);
    put_figure(&object, "slowdown", "", &p->slowdown);
    put_figure(&object, "gain", "", &p->gain);
    return object;
}

static json_t *part_object(const void *search, size_t i)
{
    const jm__cap_part *part = &((const jm_cap_search *)search)->parts[i];
    jm_cap_choice c;
    if (jm_cap_plan_choice(part->plan, &c, NULL) != JM_OK) return NULL;
    json_t *object = json_pack("{ss sf ss so}", "name", part->name, "chosen_cap_w", c.cap_w, "verdict",
                               jm_cap_verdict_text(c.verdict), "probes", probes_array(part->plan));
    put_figure(&object, "saving", "", &c.saving);
    put_figure(&object, "slowdown", "", &c.slowdown);
    put_figure(&object, "gain", "", &c.gain);
    return object;
}

static json_t *search_object(const jm__cap_result *r)
{
    const jm_cap_search *s = r->search;
    const jm_cap_plan_options *o = &s->plan->options;
    const jm_cap_choice *c = &r->found.choice;
    return json_pack("{ss sb ss so sf ss sf so sb so so so so sf so so}", "version", jm_version(),
                     "simulated", s->options.simulated, "objective", jm_cap_objective_text(o->objective),
                     "max_slowdown", o->max_slowdown > 0 ? json_real(o->max_slowdown) : json_null(),
                     "reference_cap_w", c->reference_w, "verdict", jm_cap_verdict_text(c->verdict),
                     "chosen_cap_w", c->cap_w, "chosen_clock_mhz", clock_or_null(r->found.clock_mhz), "over",
                     r->found.over, "probes", probes_array(s->plan), "predicted",
                     predicted_object(r, o->objective), "found", found_object(r, o->objective), "proof",
                     proof_object(r), "expected_gain", c->expected_gain, "trials",
                     jm__json_array(s->results.count, trial_object, s), "parts",
                     jm__json_array(s->part_count, part_object, s));
}

jm_status jm_cap_search_json(jm_cap_search *search, char **out, jm_error *err)
{
    jm__cap_result result;
    *out = NULL;
    JM_TRY(jm__cap_search_result(search, &result, err));
    json_t *root = search_object(&result);
    jm__strbuf text = {0};
    bool ok = jm__json_add(&text, root, 0);
    json_decref(root);
    jm__strbuf_add(&text, "\n");
    if (ok) *out = jm__strbuf_take(&text);
    jm__strbuf_free(&text);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_cap_search_json");
}
