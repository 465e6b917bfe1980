/* A report made by hand behind the public accessors, so that views can be tested on any rows. */
#ifndef TESTS_FAKE_REPORT_H
#define TESTS_FAKE_REPORT_H

#include "attribute/input/window.h"
#include <joulemap/report.h>

struct jm_report {
    const jm_row *rows;
    size_t row_count;
    const char *const *notes;
    size_t note_count;
    jm_report_totals totals;
    jm_report_quality quality;
    jm_report_options options;
    const jm_report_board *boards;
    size_t board_count;
    size_t *sums;                      /* NULL, or counts what jm_report_sum was asked for */
    size_t essential_notes;            /* the first so many */
    const struct jm__dataset *dataset; /* of the inside, attribute/report.h */
    const size_t *spans;
    jm__intervals windows;
    const jm_stage *stages;
    size_t stage_count;
};

/* A row of these values; a steady step takes its joules in a tenth of the time. Fields that a row has besides
 * stay 0. */
#define FAKE_ROW(name_, path_, kind_, depth_, calls_, busy_s_, energy_j_, energy_low_j_, energy_high_j_,     \
                 energy_self_j_, power_w_, share_, provenance_, boards_, start_ns_, end_ns_)                 \
    {                                                                                                        \
        .name = name_, .path = path_, .kind = kind_, .type = "", .depth = depth_, .calls = calls_,           \
        .busy_s = busy_s_, .energy_j = energy_j_, .energy_low_j = energy_low_j_,                             \
        .energy_high_j = energy_high_j_, .energy_self_j = energy_self_j_, .power_w = power_w_,               \
        .share = share_, .provenance = provenance_, .boards = boards_, .start_ns = start_ns_,                \
        .end_ns = end_ns_, .samples = -1, .tokens = -1, .bytes = -1, .step_s = (busy_s_) / 10.0,             \
        .step_j = energy_j_, .step_low_j = energy_low_j_, .step_high_j = energy_high_j_                      \
    }

/* What jm_report_create of the fake gives. */
extern jm_report fake_report;

#endif
