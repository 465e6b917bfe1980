/* The accessors of report.h over a report made by hand. */
#include "fake_report.h"

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

size_t jm_report_note_count(const jm_report *report)
{
    return report->note_count;
}

const char *jm_report_note(const jm_report *report, size_t note)
{
    return report->notes[note];
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
