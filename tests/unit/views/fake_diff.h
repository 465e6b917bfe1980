/* Reports made by hand for a diff, and a look at its rows. */
#ifndef TESTS_FAKE_DIFF_H
#define TESTS_FAKE_DIFF_H

#include "fake_report.h"

#include <joulemap/diff.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ROW(name, path, kind, depth, energy_j, half_j, boards)                                               \
    FAKE_ROW(name, path, kind, depth, 1, 1, energy_j, (energy_j) - (half_j), (energy_j) + (half_j), 0, 0, 0, \
             JM_PROVENANCE_FITTED, boards, 0, 0)
#define LAYER(name, path, depth, energy_j, half_j) ROW(name, path, "layer", depth, energy_j, half_j, "0")

static const jm_board board_one = {.uuid = "GPU-1", .name = "One"};
static const jm_report_board board_first = {&board_one, 0, 100, 0.029};

static inline jm_report report_of(const jm_row *rows, size_t count, double total_j, double half_j)
{
    jm_report report = {.rows = rows, .row_count = count, .boards = &board_first, .board_count = 1};
    report.totals = (jm_report_totals){.steps = 1,
                                       .steady_steps = 1,
                                       .steady_samples = -1,
                                       .steady_tokens = -1,
                                       .step_name = "step",
                                       .steady_step_s = 0.125,
                                       .steady_step_j = total_j,
                                       .steady_step_low_j = total_j - half_j,
                                       .steady_step_high_j = total_j + half_j,
                                       .samples = -1,
                                       .total_energy_j = total_j,
                                       .total_low_j = total_j - half_j,
                                       .total_high_j = total_j + half_j};
    report.quality = (jm_report_quality){.verdict = "good",
                                         .verdict_reason = "no check found anything",
                                         .clock_mhz = NAN,
                                         .temperature_c = NAN,
                                         .throttled_share = NAN};
    report.options.by = JM_BY_LAYER;
    return report;
}
#define REPORT(rows, total_j, half_j) report_of(rows, sizeof(rows) / sizeof *(rows), total_j, half_j)

static inline const jm_diff_row *row_of(const jm_diff *diff, const char *path)
{
    for (size_t i = 0; i < jm_diff_row_count(diff); i++)
        if (strcmp(jm_diff_row_get(diff, i)->path, path) == 0) return jm_diff_row_get(diff, i);
    return NULL;
}

/* docs/diff.md shows it. */
static inline void assert_on_page(const char *text)
{
    static char page[32768];
    FILE *file = fopen(JM_SOURCE_DIR "/docs/diff.md", "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    if (strstr(page, text) == NULL) fail_msg("docs/diff.md does not show\n%s", text);
}

#endif
