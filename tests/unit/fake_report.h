/* A report made by hand behind the public accessors, so that views can be tested on any rows. */
#ifndef TESTS_FAKE_REPORT_H
#define TESTS_FAKE_REPORT_H

#include <joulemap/report.h>

struct jm_report {
    const jm_row *rows;
    size_t row_count;
    const char *const *notes;
    size_t note_count;
    jm_report_totals totals;
    jm_report_quality quality;
    jm_report_options options;
};

/* What jm_report_create of the fake gives. */
extern jm_report fake_report;

#endif
