/* The report object: it is complete once created. */
#include "attribute/report.h"

#include "attribute/attribution.h"
#include "attribute/notes/notes.h"
#include "attribute/notes/quality.h"
#include "attribute/rollup/rollup.h"
#include "attribute/rollup/rows.h"
#include "attribute/rollup/stages.h"
#include "attribute/rollup/sums.h"
#include "base/options.h"
#include "base/status.h"
#include "format/recording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct jm_report {
    jm__dataset *owned; /* NULL if the caller keeps it */
    jm__attribution attribution;
    jm__tree tree;
    jm__rows rows;
    jm__notes notes;
    jm_report_totals totals;
    jm__stages stages;
    jm__quality quality;
    jm_report_options options; /* its texts are copied below */
    char *phase;
    char *prior;
    char *model;
};

static jm_status copy_options(jm_report_options *to, const jm_report_options *from, jm_error *err)
{
    JM_TRY(jm__options_copy(to, sizeof *to, from, "jm_report_create", err));
    if ((unsigned)to->by >= JM_BY_COUNT)
        return jm__fail(err, JM_USAGE, 0, "jm_report_create", "%d is not a row key", (int)to->by);
    if (to->phase != NULL && to->phase[0] == '\0') to->phase = NULL;
    return JM_OK;
}

static jm_status copy_text(char **own, const char **text, jm_error *err)
{
    if (*text == NULL) return JM_OK;
    *own = strdup(*text);
    *text = *own;
    return *own != NULL ? JM_OK : jm__no_memory(err, "jm_report_create");
}

static jm__sums sums_of(const jm_report *report)
{
    return (jm__sums){&report->attribution, &report->tree, &report->rows, &report->totals};
}

static jm_status make(jm_report *report, const jm__dataset *dataset, const jm_report_options *options,
                      jm_error *err)
{
    JM_TRY(copy_options(&report->options, options, err));
    JM_TRY(copy_text(&report->phase, &report->options.phase, err));
    JM_TRY(copy_text(&report->prior, &report->options.prior, err));
    JM_TRY(copy_text(&report->model, &report->options.model, err));
    jm__attribution *a = &report->attribution;
    jm__rollup rollup = {0};
    jm_status status = jm__attribution_begin(a, dataset, &report->options, err);
    if (status == JM_OK) status = jm__rollup_begin(&rollup, &report->tree, a, err);
    if (status == JM_OK) status = jm__attribution_fit(a, &rollup.rows, err);
    if (status == JM_OK) status = jm__rollup_fill(&rollup, err);
    jm__rollup_free(&rollup);
    jm__work_drop_cells(&a->work);
    if (status == JM_OK) status = jm__class_variance_find(a, &report->tree, err);
    if (status == JM_OK) status = jm__rows_make(&report->rows, &report->totals, &report->tree, a, err);
    if (status == JM_OK) status = jm__stages_find(&report->stages, a, &report->totals, err);
    const jm__sums sums = sums_of(report);
    if (status == JM_OK) status = jm__request_totals_find(&report->totals, &sums, err);
    if (status == JM_OK) status = jm__notes_write(&report->notes, a, err);
    if (status == JM_OK) status = jm__quality_make(&report->quality, a, &report->rows, &report->totals, err);
    if (status == JM_OK) jm__attribution_trim(a);
    return status;
}

jm_status jm__report_from_dataset(jm_report **out, const jm__dataset *dataset,
                                  const jm_report_options *options, jm_error *err)
{
    *out = NULL;
    jm_report *report = calloc(1, sizeof *report);
    if (report == NULL) return jm__no_memory(err, "jm_report_create");
    jm_status status = make(report, dataset, options, err);
    if (status == JM_OK)
        *out = report;
    else
        jm_report_free(report);
    return status;
}

static jm_status create(jm_report **out, jm_recording *recording, const jm_report_options *options,
                        jm_error *err)
{
    jm__dataset *dataset = NULL;
    JM_TRY(jm__dataset_load(&dataset, recording, err));
    jm_status status = jm__report_from_dataset(out, dataset, options, err);
    if (*out == NULL) {
        jm__dataset_free(dataset);
        return status;
    }
    (*out)->owned = dataset;
    return JM_OK;
}

jm_status jm_report_create(jm_report **out, jm_recording *recording, const jm_report_options *options,
                           jm_error *err)
{
    *out = NULL;
    jm_status status = create(out, recording, options, err);
    if (status == JM_OK) return JM_OK;
    /* Damage may only show when the kernels are read. */
    JM_TRY(jm__recording_recover(recording, status, err));
    return create(out, recording, options, err);
}

void jm_report_free(jm_report *report)
{
    if (report == NULL) return;
    if (report->attribution.scope.dataset != NULL) jm__attribution_free(&report->attribution);
    jm__tree_free(&report->tree);
    jm__rows_free(&report->rows);
    jm__notes_free(&report->notes);
    jm__quality_free(&report->quality);
    free(report->phase);
    free(report->prior);
    free(report->model);
    if (report->owned != NULL) jm__dataset_free(report->owned);
    free(report);
}

jm_status jm_report_sum(const jm_report *report, const size_t *rows, size_t count, jm_sum *out, jm_error *err)
{
    const jm__sums sums = sums_of(report);
    return jm__sums_add(&sums, rows, count, out, err);
}

jm_status jm_report_covariance(const jm_report *report, size_t row_a, size_t row_b, double *out_j2,
                               jm_error *err)
{
    const jm__sums sums = sums_of(report);
    return jm__sums_covariance(&sums, row_a, row_b, out_j2, err);
}

jm_status jm__report_sum_step(const jm_report *report, const size_t *rows, size_t count, jm_sum *out,
                              jm_error *err)
{
    const jm__sums sums = sums_of(report);
    return jm__sums_step(&sums, rows, count, out, err);
}

size_t jm_report_row_count(const jm_report *report)
{
    return report->rows.count;
}

const jm_row *jm_report_row(const jm_report *report, size_t row)
{
    return row < report->rows.count ? &report->rows.items[row] : NULL;
}

const jm__dataset *jm__report_dataset(const jm_report *report)
{
    return report->attribution.scope.dataset;
}

const jm__intervals *jm__report_windows(const jm_report *report)
{
    return &report->attribution.scope.windows;
}

const jm__scope *jm__report_scope(const jm_report *report)
{
    return &report->attribution.scope;
}

size_t jm__report_row_span(const jm_report *report, size_t row)
{
    size_t node = report->rows.nodes.items[row];
    return node != JM__NO_NODE ? report->tree.nodes.items[node].span : JM__NO_SPAN;
}

const jm_report_totals *jm_report_totals_get(const jm_report *report)
{
    return &report->totals;
}

const jm_report_quality *jm_report_quality_get(const jm_report *report)
{
    return &report->quality.figures;
}

size_t jm_report_stage_count(const jm_report *report)
{
    return report->stages.count;
}

const jm_stage *jm_report_stage(const jm_report *report, size_t stage)
{
    return stage < report->stages.count ? &report->stages.items[stage] : NULL;
}

size_t jm_report_board_count(const jm_report *report)
{
    const jm__attribution *a = &report->attribution;
    size_t count = 0;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++)
        count += a->boards[b].counted;
    return count;
}

jm_status jm_report_board_get(const jm_report *report, size_t board, jm_report_board *out, jm_error *err)
{
    const jm__attribution *a = &report->attribution;
    size_t b = 0;
    for (size_t before = 0; b < a->scope.dataset->board_count; b++)
        if (a->boards[b].counted && before++ == board) break;
    if (b == a->scope.dataset->board_count)
        return jm__fail(err, JM_NOT_FOUND, 0, "jm_report_board_get", "no board %zu is in the total", board);
    const jm__board_part *part = &a->boards[b];
    const jm_sensor *sensor = part->readings.sensor != NULL ? part->readings.sensor : part->readings.counter;
    *out = (jm_report_board){.board = part->board,
                             .index = jm__attribution_index(a, b),
                             .energy_j = part->total.source != NULL ? part->total.energy_j : NAN,
                             .gain_u = sensor != NULL && sensor->gain_u > 0 ? sensor->gain_u : 0};
    return JM_OK;
}

const jm_report_options *jm_report_options_get(const jm_report *report)
{
    return &report->options;
}

size_t jm_report_note_count(const jm_report *report)
{
    return report->notes.count;
}

const char *jm_report_note(const jm_report *report, size_t note)
{
    return note < report->notes.count ? report->notes.items[note].text : NULL;
}

bool jm_report_note_is_essential(const jm_report *report, size_t note)
{
    return note < report->notes.count && report->notes.items[note].essential;
}

static const char *const by_texts[JM_BY_COUNT] = {
#define X(name, text) text,
    JM_BY_MAP(X)
#undef X
};

static const char *const provenance_texts[JM_PROVENANCE_COUNT] = {
#define X(name, text) text,
    JM_PROVENANCE_MAP(X)
#undef X
};

const char *jm_by_text(jm_by by)
{
    return (unsigned)by < JM_BY_COUNT ? by_texts[by] : "";
}

const char *jm_sort_text(jm_sort sort)
{
    static const char *const texts[JM_SORT_COUNT] = {
#define X(name, text) text,
        JM_SORT_MAP(X)
#undef X
    };
    return (unsigned)sort < JM_SORT_COUNT ? texts[sort] : "";
}

const char *jm_provenance_text(jm_provenance provenance)
{
    return (unsigned)provenance < JM_PROVENANCE_COUNT ? provenance_texts[provenance] : "";
}
