/* Reports on recordings of known truth. */
#ifndef TEST_SYNTHETIC_REPORT_H
#define TEST_SYNTHETIC_REPORT_H

#include "attribute/report.h"
#include "figures.h"
#include "synthetic.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Rows of a step add up to the step, and the parts of the run to its total, whatever the report is of. */
static inline void syn_adds_up(const jm_report *report)
{
    const jm_report_totals *t = jm_report_totals_get(report);
    double step_j = 0, run_j = 0;
    bool any = false;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        any = any || !isnan(row->step_j);
        if (row->depth == 0 && !isnan(row->share)) step_j += row->step_j; /* else it is in no total */
    }
    if (any && !isnan(step_j) && !(fabs(step_j - t->steady_step_j) <= 1e-6 * fabs(t->steady_step_j)))
        fail_msg("rows of a step are %.9g J, the step %.9g J", step_j, t->steady_step_j);
    for (size_t i = 0; i < jm_report_stage_count(report); i++)
        run_j += jm_report_stage(report, i)->energy_j;
    if (jm_report_stage_count(report) > 0 && !(fabs(run_j - t->total_energy_j) <= 1e-9 * t->total_energy_j))
        fail_msg("the parts of the run are %.9g J, the run %.9g J", run_j, t->total_energy_j);
}

/* The report that these options ask for; their size is set here. */
static inline jm_report *syn_report(const synthetic *s, jm_report_options options)
{
    jm_error err = {0};
    jm_report *report = NULL;
    options.size = sizeof options;
    if (jm__report_from_dataset(&report, &s->dataset, &options, &err) != JM_OK) fail_msg("%s", err.text);
    syn_adds_up(report);
    figures_kept(__BASE_FILE__, report);
    return report;
}

#endif
