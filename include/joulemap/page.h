/* The page: a report as one HTML file that a browser opens without a network. */
#ifndef JOULEMAP_PAGE_H
#define JOULEMAP_PAGE_H

#include <joulemap/diff.h>
#include <joulemap/report.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A run that a page shows. */
typedef struct jm_page_run {
    uint32_t size;                 /* sizeof(jm_page_run) */
    const char *name;              /* name of the run for display; NULL: none */
    const jm_recording *recording; /* for the machine and time of the run; NULL: not shown */
    const jm_report *report;       /* by any key except span: table and flame graph */
    const jm_report *kernels;      /* the same by kernel; NULL: not shown */
    const jm_report *spans;        /* the same by span, for the energy of each step; NULL: not shown */
} jm_page_run;

/* Whether a page of this report needs one by span: the run has steps, and not too many spans. */
JM_API bool jm_page_wants_spans(const jm_report *report);

/* Write the page, at most 5 MB for a run of any length: kernels by class, power in bins, the rows with the
 * most energy. The first byte is written when the page is complete. NOT_SUPPORTED: this joulemap was built
 * without the page. Errors of the stream are returned. */
JM_API jm_status jm_page_write(const jm_page_run *run, FILE *out, jm_error *err);

/* The page of two runs side by side; `a` and `b` are the runs of the diff. */
JM_API jm_status jm_page_write_diff(const jm_diff *diff, const jm_page_run *a, const jm_page_run *b,
                                    FILE *out, jm_error *err);

/* ---- a page that is served: it asks a program for its data, over and over (tools/view) */

/* Write the page without data. It asks for `data?part=...` beside its own address, with the scope. */
JM_API jm_status jm_page_write_served(FILE *out, jm_error *err);

/* Its data as JSON, of what each run has: `report`, `kernels`, `spans` may each be NULL. `diff`: of the two
 * runs, or NULL. The caller frees *out with free(). */
JM_API jm_status jm_page_data(const jm_page_run *const *runs, size_t count, const jm_diff *diff, char **out,
                              jm_error *err);

/* Layers in detail as JSON: their kernels by name, and their energy in each step. `pattern`: a path of a line
 * of the page, "blocks.*.mlp". `layers`: a report by layer with kernels; `spans`: one by span, or NULL.
 * NOT_FOUND: no layer matches. The caller frees *out with free(). */
JM_API jm_status jm_page_layer(const jm_report *layers, const jm_report *spans, const char *pattern,
                               char **out, jm_error *err);

/* A report as an HTML fragment without scripts, for notebooks: the sentences above the table, and the `limit`
 * rows with the most energy. The caller frees *out with free(). */
JM_API jm_status jm_report_fragment(const jm_report *report, size_t limit, char **out, jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
