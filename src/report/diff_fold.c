/* Equal layers of a diff: they must be equal in all runs, and have changed alike. */
#include "report/diff_fold.h"

#include "base/status.h"
#include "base/strbuf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double equal_share = 0.05, equal_deviations = 3; /* as in a report */

typedef struct folder {
    const jm_diff *diff;
    jm_row *rows;  /* those of the diff */
    size_t *asked; /* [runs] */
} folder;

static const jm_row *row_at(void *context, size_t row)
{
    return &((const folder *)context)->rows[row];
}

static const jm_row *row_in(const jm_diff *diff, size_t row, size_t run)
{
    return jm_report_row(diff->runs[run].report, jm__diff_place(diff, row, run));
}

static bool is_number(const char *text, size_t length)
{
    return length > 0 && strspn(text, "0123456789") >= length;
}

/* Nothing but numbers differs, "blocks.0.mlp" and "blocks.11.mlp", or what comes last. */
static bool paths_alike(const char *a, const char *b)
{
    for (;; a++, b++) {
        size_t length_a = strcspn(a, "."), length_b = strcspn(b, ".");
        bool same = length_a == length_b && strncmp(a, b, length_a) == 0;
        bool last = a[length_a] == '\0' && b[length_b] == '\0';
        if (!same && !last && !(is_number(a, length_a) && is_number(b, length_b))) return false;
        a += length_a;
        b += length_b;
        if (*a != *b) return false;
        if (*a == '\0') return true;
    }
}

static bool alike_in_all_runs(const jm_diff *diff, size_t a, size_t b)
{
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        const jm_row *row_a = row_in(diff, a, r), *row_b = row_in(diff, b, r);
        if ((row_a == NULL) != (row_b == NULL)) return false;
        if (row_a == NULL) continue;
        if (row_a->calls != row_b->calls || strcmp(row_a->type, row_b->type) != 0 ||
            strcmp(row_a->boards, row_b->boards) != 0)
            return false;
    }
    return true;
}

/* Of the difference of two rows of one side, as one run has it. */
static double variance_apart(folder *f, int side, size_t a, size_t b)
{
    const jm_diff *diff = f->diff;
    double sum = 0;
    size_t have = 0;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        size_t place_a = jm__diff_place(diff, a, r), place_b = jm__diff_place(diff, b, r);
        if (diff->runs[r].side != side || place_a == JM__NOT_IN_IT) continue;
        sum += jm__fold_variance_apart(diff->runs[r].report, place_a, place_b, &f->asked[r]) /
               pow((double)diff->runs[r].units, 2);
        have++;
    }
    return have > 0 ? sum / (double)have : 0;
}

/* `side_a`, `side_b`: whose errors are in `apart_j`. */
static bool is_near(folder *f, double apart_j, double usual_j, bool side_a, bool side_b, size_t row,
                    size_t usual)
{
    if (fabs(apart_j) <= equal_share * fabs(usual_j)) return true;
    double variance = side_a ? variance_apart(f, 0, row, usual) : 0;
    if (side_b) variance += variance_apart(f, 1, row, usual);
    return fabs(apart_j) <= equal_deviations * sqrt(variance);
}

static bool is_equal(void *context, size_t row, size_t usual)
{
    folder *f = context;
    const jm_diff_row *mine = &f->diff->rows.items[row], *its = &f->diff->rows.items[usual];
    double a_j = mine->a_j - its->a_j, b_j = mine->b_j - its->b_j;
    if (!paths_alike(mine->path, its->path) || !alike_in_all_runs(f->diff, row, usual)) return false;
    if (isnan(mine->a_j) != isnan(its->a_j) || isnan(mine->b_j) != isnan(its->b_j)) return false;
    if (!isnan(a_j) && !is_near(f, a_j, its->a_j, true, false, row, usual)) return false;
    if (!isnan(b_j) && !is_near(f, b_j, its->b_j, false, true, row, usual)) return false;
    return isnan(a_j) || isnan(b_j) ||
           is_near(f, b_j - a_j, fmax(fabs(its->a_j), fabs(its->b_j)), true, true, row, usual);
}

/* As known as in the run that tells most of it. */
static jm_provenance best_known(const jm_diff *diff, size_t row)
{
    jm_provenance best = JM_PROVENANCE_UNRESOLVED;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        const jm_row *told = row_in(diff, row, r);
        if (told != NULL && told->provenance < best) best = told->provenance;
    }
    return best;
}

/* As the first run that has it told the row, of both sides' energy. */
static bool list_rows(folder *f)
{
    const jm_diff *diff = f->diff;
    f->rows = calloc(diff->rows.count + 1, sizeof *f->rows);
    f->asked = calloc(jm__diff_run_count(diff), sizeof *f->asked);
    if (f->rows == NULL || f->asked == NULL) return false;
    for (size_t i = 0; i < diff->rows.count; i++) {
        const jm_diff_row *row = &diff->rows.items[i];
        size_t r = 0;
        while (jm__diff_place(diff, i, r) == JM__NOT_IN_IT)
            r++;
        f->rows[i] = *row_in(diff, i, r);
        f->rows[i].depth = row->depth;
        f->rows[i].provenance = best_known(diff, i);
        f->rows[i].energy_j = isnan(row->a_j) ? row->b_j : isnan(row->b_j) ? row->a_j : row->a_j + row->b_j;
    }
    return true;
}

/* ---- what they are called, and their sums */

enum { NAMED = 3 };

/* A number of a path that is not the same in all: "*", or of lesser parts "1,3,5,..". `at`: in each path. */
static void add_numbers(jm__strbuf *out, const char *const *at, size_t count, bool lesser)
{
    const char *last = "";
    size_t written = 0;
    if (!lesser) {
        jm__strbuf_add(out, "*");
        return;
    }
    for (size_t i = 0; i < count && written <= NAMED; i++) {
        size_t length = strcspn(at[i], ".");
        if (length == strcspn(last, ".") && strncmp(at[i], last, length) == 0) continue;
        jm__strbuf_add(out, written > 0 ? "," : "");
        if (written < NAMED)
            jm__strbuf_add_bytes(out, at[i], length);
        else
            jm__strbuf_add(out, "..");
        last = at[i];
        written++;
    }
}

/* "model.layers.*.mlp". `at` points to all paths, and moves along. */
static char *common_path(const char **at, const jm__part *part)
{
    size_t count = part->members;
    jm__strbuf path = {0};
    for (;;) {
        size_t length = strcspn(at[0], ".");
        bool same = true;
        for (size_t i = 1; i < count && same; i++)
            same = strcspn(at[i], ".") == length && strncmp(at[i], at[0], length) == 0;
        if (same)
            jm__strbuf_add_bytes(&path, at[0], length);
        else
            add_numbers(&path, at, count, part->lesser);
        bool end = at[0][length] == '\0';
        for (size_t i = 0; i < count && !end; i++)
            at[i] += strcspn(at[i], ".") + 1;
        if (end) break;
        jm__strbuf_add(&path, ".");
    }
    jm__part_name_path(&path, part);
    return jm__strbuf_take(&path);
}

static char *path_of(const jm_diff *diff, const jm__fold *fold, const jm__part *part)
{
    const char **at = calloc(part->members, sizeof *at);
    if (at == NULL) return NULL;
    for (size_t i = 0; i < part->members; i++)
        at[i] = diff->rows.items[fold->rows[part->first + i]].path;
    char *path = part->members == 1 ? strdup(at[0]) : common_path(at, part);
    free(at);
    return path;
}

/* By adding up: intervals are found for the parts that are shown. */
static jm_diff_row sum_of(const jm_diff *diff, const jm__fold *fold, const jm__part *part)
{
    jm_diff_row sum = diff->rows.items[part->row];
    sum.depth = part->sum.depth;
    if (part->members == 1) return sum;
    sum.a_j = sum.b_j = 0;
    for (size_t i = 0; i < part->members; i++) {
        sum.a_j += diff->rows.items[fold->rows[part->first + i]].a_j;
        sum.b_j += diff->rows.items[fold->rows[part->first + i]].b_j;
    }
    return sum;
}

static jm_status list_parts(jm__diff_fold *fold, const jm_diff *diff, jm_error *err)
{
    for (size_t i = 0; i < fold->fold.parts.count; i++) {
        const jm__part *part = &fold->fold.parts.items[i];
        jm__diff_part mine = {.row = sum_of(diff, &fold->fold, part),
                              .part = part,
                              .path = path_of(diff, &fold->fold, part),
                              .in_first = jm__diff_place(diff, part->row, 0) != JM__NOT_IN_IT};
        if (mine.path != NULL && jm__vec_push(&fold->parts, mine)) continue;
        free(mine.path);
        return jm__no_memory(err, "jm_diff_text");
    }
    return JM_OK;
}

jm_status jm__diff_fold_make(jm__diff_fold *fold, const jm_diff *diff, jm_error *err)
{
    folder f = {.diff = diff};
    const jm__fold_source source = {&f, diff->rows.count, row_at, is_equal};
    bool expand = diff->expand || jm_report_options_get(diff->runs[0].report)->by != JM_BY_LAYER;
    jm_status status =
        list_rows(&f) ? jm__fold_rows(&fold->fold, &source, expand, err) : jm__no_memory(err, "jm_diff_text");
    free(f.rows);
    free(f.asked);
    return status == JM_OK ? list_parts(fold, diff, err) : status;
}

void jm__diff_fold_free(jm__diff_fold *fold)
{
    for (size_t i = 0; i < fold->parts.count; i++)
        free(fold->parts.items[i].path);
    jm__vec_free(&fold->parts);
    jm__fold_free(&fold->fold);
}

jm_status jm__diff_part_compare(jm__diff_part *part, const jm__diff_fold *fold, const jm_diff *diff,
                                jm_error *err)
{
    if (part->part->members == 1) return JM_OK;
    return jm__diff_compare_rows(&part->row, diff, fold->fold.rows + part->part->first, part->part->members,
                                 err);
}
