/* The accessors of report.h over a report made by hand. */
#include "fake_report.h"

#include "attribute/report.h"
#include "attribute/rollup/power_over_time.h"

#include <math.h>

jm_report fake_report;

jm_status jm_report_create(jm_report **out, jm_recording *recording, const jm_report_options *options,
                           jm_error *err)
{
    (void)recording;
    (void)options;
    (void)err;
    *out = &fake_report;
    return JM_OK;
}

void jm_report_free(jm_report *report)
{
    (void)report;
}

size_t jm_report_row_count(const jm_report *report)
{
    return report->row_count;
}

const jm_row *jm_report_row(const jm_report *report, size_t row)
{
    return row < report->row_count ? &report->rows[row] : NULL;
}

const jm__dataset *jm__report_dataset(const jm_report *report)
{
    return report->dataset;
}

const jm__intervals *jm__report_windows(const jm_report *report)
{
    return &report->windows;
}

size_t jm__report_row_span(const jm_report *report, size_t row)
{
    return report->spans[row];
}

const jm_report_totals *jm_report_totals_get(const jm_report *report)
{
    return &report->totals;
}

const jm_report_quality *jm_report_quality_get(const jm_report *report)
{
    return &report->quality;
}

const jm_report_options *jm_report_options_get(const jm_report *report)
{
    return &report->options;
}

size_t jm_report_stage_count(const jm_report *report)
{
    return report->stage_count;
}

const jm_stage *jm_report_stage(const jm_report *report, size_t stage)
{
    return &report->stages[stage];
}

size_t jm_report_board_count(const jm_report *report)
{
    return report->board_count;
}

jm_status jm_report_board_get(const jm_report *report, size_t board, jm_report_board *out, jm_error *err)
{
    (void)err;
    *out = report->boards[board];
    return JM_OK;
}

/* A bin a second, of 100 W. */
jm_status jm__power_over_time_begin(jm__power_over_time **out, const jm_report *report, jm_error *err)
{
    (void)report;
    (void)err;
    *out = NULL;
    return JM_OK;
}

void jm__power_over_time_free(jm__power_over_time *power)
{
    (void)power;
}

jm_status jm__power_over_time_bins(const jm__power_over_time *power, size_t board, jm_power_bin *bins,
                                   size_t count, jm_error *err)
{
    (void)power;
    (void)board;
    (void)err;
    for (size_t i = 0; i < count; i++)
        bins[i] = (jm_power_bin){.from_ns = (int64_t)i * 1000000000,
                                 .to_ns = (int64_t)(i + 1) * 1000000000,
                                 .seen_s = 1,
                                 .mean_w = 100,
                                 .least_w = 90,
                                 .most_w = 110,
                                 .clock_mhz = NAN};
    return JM_OK;
}

size_t jm_report_note_count(const jm_report *report)
{
    return report->note_count;
}

const char *jm_report_note(const jm_report *report, size_t note)
{
    return report->notes[note];
}

bool jm_report_note_is_essential(const jm_report *report, size_t note)
{
    return note < report->essential_notes;
}

/* Errors of rows are independent. */
jm_status jm_report_sum(const jm_report *report, const size_t *rows, size_t count, jm_sum *out, jm_error *err)
{
    (void)err;
    double energy_j = 0, variance = 0;
    if (report->sums != NULL) (*report->sums)++;
    for (size_t i = 0; i < count; i++) {
        const jm_row *row = &report->rows[rows[i]];
        energy_j += row->energy_j;
        variance += pow((row->energy_high_j - row->energy_low_j) / 2, 2);
    }
    *out = (jm_sum){energy_j, energy_j - sqrt(variance), energy_j + sqrt(variance)};
    return JM_OK;
}

jm_status jm__report_sum_step(const jm_report *report, const size_t *rows, size_t count, jm_sum *out,
                              jm_error *err)
{
    (void)err;
    double energy_j = 0, variance = 0;
    for (size_t i = 0; i < count; i++) {
        const jm_row *row = &report->rows[rows[i]];
        energy_j += row->step_j;
        variance += pow((row->step_high_j - row->step_low_j) / 2, 2);
    }
    *out = (jm_sum){energy_j, energy_j - sqrt(variance), energy_j + sqrt(variance)};
    return JM_OK;
}

jm_status jm_report_covariance(const jm_report *report, size_t row_a, size_t row_b, double *out_j2,
                               jm_error *err)
{
    (void)err;
    const jm_row *row = &report->rows[row_a];
    *out_j2 = row_a == row_b ? pow((row->energy_high_j - row->energy_low_j) / 2 / 1.96, 2) : 0;
    return JM_OK;
}

const char *jm_by_text(jm_by by)
{
    static const char *const texts[] = {
#define X(name, text) text,
        JM_BY_MAP(X)
#undef X
    };
    return texts[by];
}

const char *jm_provenance_text(jm_provenance provenance)
{
    static const char *const texts[] = {
#define X(name, text) text,
        JM_PROVENANCE_MAP(X)
#undef X
    };
    return texts[provenance];
}
