/* Sentences on the waiting that is no idle time. */
#include "report/waits.h"

#include "attribute/work/work.h"
#include "report/format.h"

#include <math.h>

/* Seconds of all GPUs together. */
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
