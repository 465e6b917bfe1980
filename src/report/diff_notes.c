/* Below the table of a diff: the runs behind its sides, and what was not the same in them. */
#include "report/diff_notes.h"

#include "attribute/fit/student.h"
#include "base/utf8.h"
#include "report/wrap.h"

#include <math.h>
#include <string.h>

/* A gain of less than this does not show in a change. */
static const double shown_gain = 0.0003;

static void add_gpus(jm__strbuf *line, const jm_diff *diff)
{
    static const char *const words[JM_SAMENESS_COUNT] = {
        [JM_SAMENESS_SAME] = "same GPU: the sensor's gain cancels.",
        [JM_SAMENESS_DIFFERENT] = "different GPUs: changes hold the gains of their sensors,",
        [JM_SAMENESS_UNKNOWN] =
            "not known to be the same GPU (no UUID): changes hold the gains of their sensors,",
    };
    bool cancels = diff->gains.sameness == JM_SAMENESS_SAME;
    bool shifted = cancels && diff->gain_u >= shown_gain;
    jm__strbuf_add(
        line, shifted ? "same GPUs, with other shares of the energy: changes hold the gains of their sensors,"
                      : words[diff->gains.sameness]);
    if (!cancels || shifted)
        jm__strbuf_format(line, " \302\261%.1f %% of the total.", JM_NORMAL_95 * diff->gain_u * 100);
}

/* "clock 1965 / 1971 MHz, 61 / 64 C, throttled 12 / 0 % of the time"; "-": not recorded. */
static void add_conditions(jm__strbuf *line, const jm_diff *diff)
{
    jm__diff_conditions a = jm__diff_conditions_of(diff, 0), b = jm__diff_conditions_of(diff, 1);
    const struct {
        const char *before, *after;
        double values[2];
    } facts[] = {{" clock ", " MHz", {a.clock_mhz, b.clock_mhz}},
                 {" ", " \302\260C", {a.temperature_c, b.temperature_c}},
                 {" throttled ", " % of the time", {100 * a.throttled_share, 100 * b.throttled_share}}};
    bool any = false;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (!isfinite(facts[i].values[0]) && !isfinite(facts[i].values[1])) continue;
        jm__strbuf_add(line, any ? "," : "");
        jm__strbuf_add(line, facts[i].before);
        for (int r = 0; r < 2; r++) {
            jm__strbuf_add(line, r == 1 ? " / " : "");
            if (isfinite(facts[i].values[r]))
                jm__strbuf_format(line, "%.0f", facts[i].values[r]);
            else
                jm__strbuf_add(line, "-");
        }
        jm__strbuf_add(line, facts[i].after);
        any = true;
    }
    jm__strbuf_add(line, any ? "." : "");
}

/* Where a run is poor: of two runs both, of several those that are. */
static void add_verdicts(jm__strbuf *out, const jm_diff *diff, size_t width)
{
    bool any = false;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++)
        any = any || strcmp(jm_report_quality_get(diff->runs[r].report)->verdict, "poor") == 0;
    for (size_t r = 0; any && r < jm__diff_run_count(diff); r++) {
        const jm_report_quality *quality = jm_report_quality_get(diff->runs[r].report);
        if (jm__diff_run_count(diff) > 2 && strcmp(quality->verdict, "poor") != 0) continue;
        jm__strbuf line = {0};
        jm__strbuf_format(&line, "%s is %s: %s", diff->runs[r].name, quality->verdict,
                          quality->verdict_reason);
        jm__wrap(out, "", 0, line.text != NULL ? line.text : "", width);
        out->failed = out->failed || line.failed;
        jm__strbuf_free(&line);
    }
}

/* "A, the mean of 3 runs: a1, a2, a3; standard deviation of their totals 0.8 %." */
static void add_runs(jm__strbuf *out, const jm_diff *diff, int side, size_t width)
{
    double mean_j = side == 0 ? diff->total.a_j : diff->total.b_j,
           deviation_j = side == 0 ? diff->total.a_deviation_j : diff->total.b_deviation_j;
    jm__strbuf line = {0};
    const char *before = ": ";
    if (diff->counts[side] == 1) return;
    jm__utf8_add(&line, diff->names[side], true);
    jm__strbuf_format(&line, ", the mean of %zu runs", diff->counts[side]);
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        if (diff->runs[r].side != side) continue;
        jm__strbuf_add(&line, before);
        jm__utf8_add(&line, diff->runs[r].name, true);
        before = ", ";
    }
    if (isfinite(deviation_j / mean_j))
        jm__strbuf_format(&line, "; standard deviation of their totals %.2g %%", 100 * deviation_j / mean_j);
    jm__strbuf_add(&line, ".");
    jm__wrap(out, "", 0, line.text != NULL ? line.text : "", width);
    out->failed = out->failed || line.failed;
    jm__strbuf_free(&line);
}

void jm__diff_notes(jm__strbuf *out, const jm_diff *diff, bool some_runs, size_t width)
{
    jm__strbuf line = {0};
    for (int side = 0; side < 2; side++)
        add_runs(out, diff, side, width);
    if (some_runs)
        jm__wrap(out, "", 0, "A n/m: only n of A's m runs have the row, and its mean is over those.", width);
    if (jm__diff_is_simulated(diff)) jm__strbuf_add(&line, "SIMULATED GPU. ");
    add_gpus(&line, diff);
    add_conditions(&line, diff);
    jm__wrap(out, "", 0, line.text != NULL ? line.text : "", width);
    out->failed = out->failed || line.failed;
    jm__strbuf_free(&line);
    add_verdicts(out, diff, width);
    jm__wrap(out, "", 0,
             "\302\261 is half of the 95 % interval, of energies relative to the GPU's own sensor.", width);
}
