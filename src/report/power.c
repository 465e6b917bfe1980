/* Power over time, as JSON and as a block chart for the terminal, with phases. */
#include "attribute/report.h"
#include "attribute/rollup/power_over_time.h"
#include "attribute/work/work.h"
#include "base/json_value.h"
#include "base/options.h"
#include "base/plain.h"
#include "base/search.h"
#include "base/status.h"
#include "base/utf8.h"
#include "report/facts.h"
#include "report/format.h"

#include <joulemap/report.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *bin_json(const void *bins, size_t i)
{
    const jm_power_bin *bin = &((const jm_power_bin *)bins)[i];
    return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "from_ns", (json_int_t)bin->from_ns, "to_ns",
                     (json_int_t)bin->to_ns, "seen_s", jm__json_real(bin->seen_s), "mean_w",
                     jm__json_real(bin->mean_w), "least_w", jm__json_real(bin->least_w), "most_w",
                     jm__json_real(bin->most_w), "clock_mhz", jm__json_real(bin->clock_mhz));
}

static json_t *board_json(const jm_report_board *at, const jm_power_bin *bins, size_t count)
{
    return json_pack("{s:i, s:o, s:o}", "index", at->index, "name", jm__json_text(at->board->name), "bins",
                     jm__json_array(count, bin_json, bins));
}

static jm_status list_boards(json_t *boards, const jm_report *report, const jm__power_over_time *power,
                             jm_power_bin *bins, size_t count, jm_error *err)
{
    for (size_t b = 0; b < jm_report_board_count(report); b++) {
        jm_report_board at;
        JM_TRY(jm_report_board_get(report, b, &at, err));
        JM_TRY(jm__power_over_time_bins(power, b, bins, count, err));
        if (json_array_append_new(boards, board_json(&at, bins, count)) != 0)
            return jm__no_memory(err, "jm_report_power_json");
    }
    return JM_OK;
}

jm_status jm_report_power_json(const jm_report *report, size_t bins, char **out, jm_error *err)
{
    jm_power_bin *power_bins = calloc(bins + 1, sizeof *power_bins);
    json_t *boards = json_array(), *root = NULL;
    *out = NULL;
    jm__power_over_time *power = NULL;
    jm_status status = jm__power_over_time_begin(&power, report, err);
    if (status == JM_OK)
        status = power_bins != NULL && boards != NULL
                     ? list_boards(boards, report, power, power_bins, bins, err)
                     : jm__no_memory(err, "jm_report_power_json");
    jm__power_over_time_free(power);
    if (status == JM_OK) {
        root =
            json_pack("{s:b, s:O}", "simulated", jm_report_totals_get(report)->simulated, "boards", boards);
        *out = root != NULL ? json_dumps(root, JSON_INDENT(2)) : NULL;
        if (*out == NULL) status = jm__no_memory(err, "jm_report_power_json");
    }
    json_decref(root);
    json_decref(boards);
    free(power_bins);
    return status;
}

/* ---- the chart in a terminal */

enum {
    USUAL_WIDTH = 100, /* without a width */
    TALL = 8,          /* lines of a chart */
    SEVERAL_BOARDS = 3,
    MANY_BOARDS = 4, /* from here on two lines each */
    LABEL = 8,
    LEVELS = 8, /* of a block */
};

typedef struct chart {
    jm__strbuf *out;
    const jm_report *report;
    jm__power_over_time *power;
    size_t width; /* columns of the terminal */
    size_t count; /* bins, a column each */
    jm_power_bin *bins;
    size_t height;
} chart;

static const char *const blocks[LEVELS + 1] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                               "\u2585", "\u2586", "\u2587", "\u2588"};

/* Top of the power axis: a round number of at least the largest mean. */
static double top_of(const jm_power_bin *bins, size_t count)
{
    static const double steps[] = {1, 2, 2.5, 3, 4, 5, 6, 8, 10};
    double most_w = 0;
    for (size_t i = 0; i < count; i++)
        most_w = fmax(most_w, bins[i].mean_w);
    double size = pow(10, floor(log10(most_w > 0 ? most_w : 1)));
    size_t s = 0;
    while (s + 1 < sizeof steps / sizeof *steps && steps[s] * size < most_w)
        s++;
    return steps[s] * size;
}

static void add_label(const chart *c, const char *text, const char *edge)
{
    jm__strbuf_format(c->out, "%*s%s", LABEL - 2, text, edge);
}

static void end_line(jm__strbuf *out)
{
    jm__strbuf_drop_spaces(out);
    jm__strbuf_add(out, "\n");
}

static void add_line(const chart *c, size_t line, double top_w)
{
    size_t below = (c->height - 1 - line) * LEVELS;
    char label[JM_CELL] = "";
    if (line == 0) jm__format_power(label, top_w);
    if (c->height > 1 && line == c->height / 2) jm__format_power(label, top_w / 2);
    add_label(c, label, line == 0 || label[0] != '\0' ? " \u2524" : " \u2502");
    for (size_t i = 0; i < c->count; i++) {
        double level = round(c->bins[i].mean_w / top_w * (double)(c->height * LEVELS)) - (double)below;
        jm__strbuf_add(c->out, isnan(level) ? " " : blocks[(int)fmin(fmax(level, 0), LEVELS)]);
    }
    end_line(c->out);
}

/* "12.5 s", "3:25", "1:02:05" */
static void format_moment(char out[JM_CELL], double time_s)
{
    long long whole = llround(time_s);
    if (time_s < 100)
        jm__print(out, JM_CELL, "%.3g s", time_s);
    else if (whole < 3600)
        snprintf(out, JM_CELL, "%lld:%02lld", whole / 60, whole % 60);
    else
        snprintf(out, JM_CELL, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
}

static double moment_s(const chart *c, int64_t t_ns)
{
    return (double)(t_ns - jm__report_dataset(c->report)->start_ns) * 1e-9;
}

static void add_axis(const chart *c)
{
    char first[JM_CELL], middle[JM_CELL], last[JM_CELL];
    const jm_power_bin *end = &c->bins[c->count - 1];
    format_moment(first, moment_s(c, c->bins[0].from_ns));
    format_moment(middle, moment_s(c, c->bins[c->count / 2].from_ns));
    format_moment(last, moment_s(c, end->to_ns));
    add_label(c, "0 W", " \u2514");
    for (size_t i = 0; i < c->count; i++)
        jm__strbuf_add(c->out, i == c->count / 2 ? "\u2534" : "\u2500");
    jm__strbuf_add(c->out, "\n");
    int half = (int)(c->count / 2), rest = (int)c->count - half;
    jm__strbuf_format(c->out, "%*s%-*s%-*s%s\n", LABEL, "", half, first, rest - (int)strlen(last), middle,
                      last);
}

/* ---- phases */

static int64_t middle_ns(const jm_power_bin *bin)
{
    return bin->from_ns + (bin->to_ns - bin->from_ns) / 2;
}

/* The outermost phase at the middle of each column, as span index + 1; inner ones may be thousands. NULL if
 * memory is out. */
static size_t *find_phases(const chart *c, bool *any)
{
    const jm__dataset *d = jm__report_dataset(c->report);
    const jm_report_options *o = jm_report_options_get(c->report);
    size_t *phase_of = calloc(c->count + 1, sizeof *phase_of); /* 0: none */
    *any = false;
    for (size_t i = 0; phase_of != NULL && i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (span->kind != JM_SPAN_PHASE || !jm__dataset_process_has_pid(d, span->process_id, o->process_id))
            continue;
        int64_t end_ns = jm__span_end_ns(d, span);
        size_t k;
        jm__search(k, c->count, middle_ns(&c->bins[k]) < span->start_ns);
        for (; k < c->count && middle_ns(&c->bins[k]) < end_ns; k++) {
            if (phase_of[k] == 0) phase_of[k] = i + 1;
            *any = true;
        }
    }
    return phase_of;
}

static void add_phase(const chart *c, size_t span, size_t columns)
{
    const jm__dataset *d = jm__report_dataset(c->report);
    jm__strbuf name = {0}, shown = {0};
    if (span > 0) jm__utf8_add(&name, jm__dataset_text(d, d->spans[span - 1].name_id), true);
    if (name.text != NULL && columns > 3) jm__utf8_add_head(&shown, name.text, columns - 1);
    const char *text = shown.text != NULL ? shown.text : "";
    jm__strbuf_add(c->out, text);
    for (size_t used = jm__utf8_columns(text); used < columns; used++)
        jm__strbuf_add(c->out, span == 0 ? " " : used + 1 < columns ? "\u2500" : "\u2524");
    c->out->failed = c->out->failed || name.failed || shown.failed;
    jm__strbuf_free(&name);
    jm__strbuf_free(&shown);
}

static bool add_phases(const chart *c)
{
    bool any;
    size_t *phase_of = find_phases(c, &any);
    if (phase_of == NULL) return false;
    if (any) add_label(c, "phase", "  ");
    for (size_t i = 0, end; any && i < c->count; i = end) {
        for (end = i + 1; end < c->count && phase_of[end] == phase_of[i]; end++) {
        }
        add_phase(c, phase_of[i], end - i);
    }
    if (any) end_line(c->out);
    free(phase_of);
    return true;
}

/* ---- a board */

static void add_summary(const chart *c, const jm_report_board *at)
{
    double most_w = NAN, least_w = NAN, sum_j = 0, seen_s = 0, slowest = NAN, fastest = NAN;
    size_t most = 0;
    for (size_t i = 0; i < c->count; i++) {
        const jm_power_bin *bin = &c->bins[i];
        slowest = fmin(slowest, bin->clock_mhz);
        fastest = fmax(fastest, bin->clock_mhz);
        if (isnan(bin->mean_w)) continue;
        sum_j += bin->mean_w * bin->seen_s;
        seen_s += bin->seen_s;
        if (!(bin->most_w <= most_w)) most = i;
        most_w = fmax(most_w, bin->most_w);
        least_w = fmin(least_w, bin->least_w);
    }
    char mean[JM_CELL], high[JM_CELL], low[JM_CELL], when[JM_CELL];
    jm__strbuf text = {0};
    jm__format_power(mean, seen_s > 0 ? sum_j / seen_s : NAN);
    jm__format_power(high, most_w);
    jm__format_power(low, least_w);
    format_moment(when, moment_s(c, c->bins[most].from_ns));
    jm__strbuf_format(&text, "%s: mean %s, least %s, most %s at %s", at->board->name, mean, low, high, when);
    if (isfinite(at->board->power_limit_w))
        jm__strbuf_format(&text, ", limit %.0f W", at->board->power_limit_w);
    if (isfinite(slowest)) jm__strbuf_format(&text, "; clock %.0f", slowest);
    if (fastest >= slowest + 1) jm__strbuf_format(&text, " to %.0f", fastest);
    if (isfinite(slowest)) jm__strbuf_add(&text, " MHz");
    char name[16];
    snprintf(name, sizeof name, jm_board_kind_of(at->board) == JM_BOARD_CPU ? "CPU %d" : "GPU %d", at->index);
    jm__head_add_fact(c->out, name, text.text != NULL ? text.text : "", c->width);
    c->out->failed = c->out->failed || text.failed;
    jm__strbuf_free(&text);
}

static jm_status add_board(chart *c, size_t board, jm_error *err)
{
    jm_report_board at;
    JM_TRY(jm_report_board_get(c->report, board, &at, err));
    JM_TRY(jm__power_over_time_bins(c->power, board, c->bins, c->count, err));
    double top_w = top_of(c->bins, c->count);
    for (size_t line = 0; line < c->height; line++)
        add_line(c, line, top_w);
    add_axis(c);
    if (!add_phases(c)) return jm__no_memory(err, "jm_report_power_text");
    add_summary(c, &at);
    jm__strbuf_add(c->out, "\n");
    return JM_OK;
}

static jm_status add_boards(chart *c, bool colour, jm_error *err)
{
    size_t boards = jm_report_board_count(c->report);
    c->height = boards < SEVERAL_BOARDS ? TALL : boards < MANY_BOARDS ? TALL / 2 : 2;
    c->count = c->width > LABEL + 10 ? c->width - LABEL : 10;
    c->bins = calloc(c->count, sizeof *c->bins);
    if (c->bins == NULL) return jm__no_memory(err, "jm_report_power_text");
    JM_TRY(jm__power_over_time_begin(&c->power, c->report, err));
    JM_TRY(jm__head_add(c->out, "Power over time", c->report, colour, c->width, err));
    for (size_t b = 0; b < boards; b++)
        JM_TRY(add_board(c, b, err));
    jm__wrap(
        c->out, "", 0,
        "A column is the mean of its time; least and most are single readings, and the sensor does not show "
        "faster changes than its response time.",
        c->width);
    return JM_OK;
}

jm_status jm_report_power_text(const jm_report *report, const jm_text_options *options, char **out,
                               jm_error *err)
{
    jm_text_options own_options;
    *out = NULL;
    JM_TRY(jm__options_copy(&own_options, sizeof own_options, options, "jm_report_power_text", err));
    jm__strbuf text = {0};
    chart c = {.out = &text,
               .report = report,
               .width = own_options.width > 0 ? (size_t)own_options.width : USUAL_WIDTH};
    jm_status status = add_boards(&c, own_options.colour, err);
    jm__power_over_time_free(c.power);
    free(c.bins);
    return jm__hand_over(out, &text, status, "jm_report_power_text", err);
}
