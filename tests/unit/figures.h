/* All figures of the reports that a test makes, against those that were kept (tests/golden/TEST.txt): tests
 * say how far a figure may be from the truth, this says that none has changed. Whoever changes figures on
 * purpose writes them anew: UPDATE=1 ctest --test-dir build -L 'attribute|report'; git diff says of which
 * tests. */
#ifndef TEST_FIGURES_H
#define TEST_FIGURES_H

#include "proof.h"

#include <inttypes.h>
#include <joulemap/report.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* Sums that know where what they sum stands. */
typedef struct figures {
    double energy_j, width_j, rows, totals;
    uint64_t words;
} figures;

/* Files have other names each time. */
static inline void figures_of_text(figures *f, const char *text)
{
    for (size_t i = 0; text != NULL && text[i] != '\0'; i++) {
        if (text[i] == '/' && (i == 0 || strchr(" \"(", text[i - 1]) != NULL))
            i += strcspn(text + i, " \",:;)");
        if (text[i] == '\0') break;
        f->words = (f->words ^ (unsigned char)text[i]) * 0x100000001b3u;
    }
    f->words = (f->words ^ 0xff) * 0x100000001b3u;
}

static inline void figures_of_texts(figures *f, const char *const *texts)
{
    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++)
        figures_of_text(f, texts[i]);
}

static inline void figures_of_number(figures *f, int64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, number);
    figures_of_text(f, text);
}

/* Small figures count as much as large ones: a thousandth of either is a thousandth of the sum. */
static inline double figures_of_real(double value)
{
    return isfinite(value) ? asinh(1000 * value) : 0.5;
}

#define FIGURES_TEXT(sum, value)          figures_of_text(f, value)
#define FIGURES_TEXT_OR_NONE(sum, value)  figures_of_text(f, value)
#define FIGURES_TEXTS(sum, value)         figures_of_texts(f, value)
#define FIGURES_INT32(sum, value)         figures_of_number(f, value)
#define FIGURES_INT64(sum, value)         figures_of_number(f, value)
#define FIGURES_COUNT_OR_NONE(sum, value) figures_of_number(f, value)
#define FIGURES_FLAG(sum, value)          figures_of_number(f, value)
#define FIGURES_PROVENANCE(sum, value)    figures_of_number(f, (int)(value))
#define FIGURES_REAL(sum, value)          (sum) += ++place * figures_of_real(value)
#define FIGURES_REAL_OR_NONE(sum, value)  FIGURES_REAL(sum, value)

static inline void figures_of_row(figures *f, const jm_row *row, double weight)
{
    double sum = 0, place = 0;
#define X(kind, name, key, where, doc) FIGURES_##kind(sum, row->name);
    JM_ROW_FIELDS(X)
#undef X
    f->rows += weight * sum;
    if (!isnan(row->energy_j)) f->energy_j += weight * row->energy_j;
    if (!isnan(row->energy_low_j)) f->width_j += weight * (row->energy_high_j - row->energy_low_j);
}

static inline figures figures_of(const jm_report *report)
{
    figures all = {.words = 0xcbf29ce484222325u}, *f = &all;
    const jm_report_totals *totals = jm_report_totals_get(report);
    const jm_report_quality *quality = jm_report_quality_get(report);
    double place = 0;
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        figures_of_row(f, jm_report_row(report, i), 1 + (double)(i % 7));
#define X(kind, name, key, where, doc) FIGURES_##kind(f->totals, totals->name);
    JM_TOTALS_FIELDS(X)
#undef X
#define X(kind, name, key, where, doc) FIGURES_##kind(f->totals, quality->name);
    JM_QUALITY_FIELDS(X)
#undef X
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        figures_of_text(f, jm_report_note(report, i));
    return all;
}

static inline void figures_compare(const char *test, int number, const char *what, double is, double was)
{
    if (!(fabs(is - was) <= 1e-6 * fabs(was) + 1e-6))
        fail_msg("report %d of %s, %s: %.9g now, %.9g before (a change on purpose: tests/unit/figures.h)",
                 number, test, what, is, was);
}

/* Those of the next report of a test, `source`: __BASE_FILE__. One seed is kept of a proof by statistics. */
static inline void figures_kept(const char *source, const jm_report *report)
{
    static int number;
    static FILE *file;
    char path[1024];
    const char *name = strrchr(source, '/') != NULL ? strrchr(source, '/') + 1 : source;
    bool update = getenv("UPDATE") != NULL;
    if (proof_runs()) return;
    snprintf(path, sizeof path, JM_SOURCE_DIR "/tests/golden/%.*s.txt", (int)strcspn(name, "."), name);
    if (file == NULL) file = fopen(path, update ? "w" : "r");
    if (file == NULL) fail_msg("%s does not open: UPDATE=1 writes it", path);
    number++;
    size_t rows = jm_report_row_count(report), rows_were;
    figures is = figures_of(report), was;
    if (update) {
        fprintf(file, "%zu %.9g %.9g %.9g %.9g %08" PRIx32 "\n", rows, is.energy_j, is.width_j, is.rows,
                is.totals, (uint32_t)is.words);
        fflush(file);
        return;
    }
    uint32_t words;
    if (fscanf(file, "%zu %lg %lg %lg %lg %" SCNx32, &rows_were, &was.energy_j, &was.width_j, &was.rows,
               &was.totals, &words) != 6)
        fail_msg("report %d of %s was not there before (%s)", number, name, path);
    figures_compare(name, number, "rows", (double)rows, (double)rows_were);
    figures_compare(name, number, "energies", is.energy_j, was.energy_j);
    figures_compare(name, number, "widths of intervals", is.width_j, was.width_j);
    figures_compare(name, number, "all of the rows", is.rows, was.rows);
    figures_compare(name, number, "totals and quality", is.totals, was.totals);
    if (words != (uint32_t)is.words) {
        for (size_t i = 0; i < jm_report_note_count(report); i++)
            print_message("note: %s\n", jm_report_note(report, i));
        fail_msg("report %d of %s: counts, names or notes are not as before", number, name);
    }
}

#endif
