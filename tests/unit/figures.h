/* All figures of what a test makes, against those that were kept (tests/golden/TEST.txt): tests say how far a
 * figure may be from the truth, this says that none has changed. After a change on purpose scripts/figures
 * --update writes them anew. */
#ifndef TEST_FIGURES_H
#define TEST_FIGURES_H

#include "proof.h"

#include <ctype.h>
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

/* "2026-11-28": of a model that is learnt in the test, it is today's. */
static inline bool figures_is_date(const char *text)
{
    const char form[] = "0000-00-00";
    size_t i = 0;
    while (form[i] != '\0' && (form[i] == '-' ? text[i] == '-' : text[i] >= '0' && text[i] <= '9'))
        i++;
    return form[i] == '\0';
}

/* Files have other names each time, and models other dates. */
static inline void figures_of_text(figures *f, const char *text)
{
    for (size_t i = 0; text != NULL && text[i] != '\0'; i++) {
        if (figures_is_date(text + i)) i += strlen("0000-00-00");
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
        fail_msg(
            "line %d of tests/golden/%s, %s: %.9g now, %.9g before (on purpose: scripts/figures --update)",
            number, test, what, is, was);
}

/* The next figures of a test, `source`: __BASE_FILE__, with a number for all words that stand by them. Of
 * proofs by statistics one seed is kept. */
static inline void figures_keep(const char *source, const char *const *names, const double *values,
                                size_t count, uint32_t words)
{
    static FILE *file;
    static int number;
    char path[1024], name[128];
    const char *base = strrchr(source, '/') != NULL ? strrchr(source, '/') + 1 : source;
    const char *update = getenv("UPDATE");
    bool writes = update != NULL && strcmp(update, "1") == 0;
    if (proof_runs()) return;
    snprintf(name, sizeof name, "%.*s.txt", (int)strcspn(base, "."), base);
    snprintf(path, sizeof path, JM_SOURCE_DIR "/tests/golden/%s", name);
    if (file == NULL) file = fopen(path, writes ? "w" : "r");
    if (file == NULL) fail_msg("%s does not open: UPDATE=1 writes it", path);
    number++;
    char line[1024] = "", *at = line;
    if (!writes && fgets(line, sizeof line, file) == NULL)
        fail_msg("tests/golden/%s has no line %d", name, number);
    for (size_t i = 0; i < count; i++) {
        double value = isfinite(values[i]) ? values[i] : -1e99;
        if (writes)
            fprintf(file, "%.9g ", value);
        else
            figures_compare(name, number, names != NULL ? names[i] : "a number", value, strtod(at, &at));
    }
    if (writes)
        fprintf(file, "%08" PRIx32 "\n", words);
    else if (strtoul(at, NULL, 16) != words)
        fail_msg("line %d of tests/golden/%s: counts, names or notes are not as before", number, name);
    if (writes) fflush(file);
}

/* All numbers of a text, and the words between them. */
static inline void text_kept(const char *source, const char *text)
{
    enum { MOST = 40 };
    double numbers[MOST];
    size_t count = 0;
    uint32_t words = 2166136261u;
    for (const char *at = text, *before = " "; *at != '\0'; before = at - 1) {
        bool number = isdigit((unsigned char)*at) && !isalnum((unsigned char)*before);
        words = (words ^ (number ? '#' : (unsigned char)*at)) * 16777619u;
        char *end = (char *)(uintptr_t)(at + 1);
        if (number) numbers[count++] = strtod(at, &end);
        at = end;
        if (count < MOST && *at != '\0') continue;
        figures_keep(source, NULL, numbers, count, words);
        count = 0;
    }
}

/* Of a report. */
static inline void figures_kept(const char *source, const jm_report *report)
{
#ifdef FIGURES_NOT_KEPT /* the test says why */
    (void)source, (void)report, (void)figures_of, (void)figures_keep;
#else
    static const char *const names[] = {"rows", "energies", "widths of intervals", "all of the rows",
                                        "totals and quality"};
    figures f = figures_of(report);
    const double values[] = {(double)jm_report_row_count(report), f.energy_j, f.width_j, f.rows, f.totals};
    figures_keep(source, names, values, sizeof values / sizeof *values, (uint32_t)f.words);
#endif
}

#endif
