/* Reports on recordings of known truth. */
#ifndef TEST_SYNTHETIC_REPORT_H
#define TEST_SYNTHETIC_REPORT_H

#include "attribute/report.h"
#include "figures.h"
#include "synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The report that these options ask for; their size is set here. */
static inline jm_report *syn_report(const synthetic *s, jm_report_options options)
{
    jm_error err = {0};
    jm_report *report = NULL;
    options.size = sizeof options;
    if (jm__report_from_dataset(&report, &s->dataset, &options, &err) != JM_OK) fail_msg("%s", err.text);
    figures_kept(__BASE_FILE__, report);
    return report;
}

#endif
