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
    const char *name;              /* of the run, for people; NULL: it has none */
    const jm_recording *recording; /* where, when and on what it ran; NULL: the page does not say */
    const jm_report *report;       /* by any key but single spans: table and flame graph */
    const jm_report *kernels;      /* the same by kernel; NULL: the page has none */
    const jm_report *spans;        /* the same by span: what each step took; NULL: the page does not say */
} jm_page_run;

/* Whether a page of this report says more with one by span: the run has steps, and not so many spans that
 * reporting on each of them takes long. */
JM_API bool jm_page_wants_spans(const jm_report *report);

/* Write the page, at most 5 MB however long the run was: kernels by class, power in bins, the rows that took
 * most. It is made before the first byte of it is written. NOT_SUPPORTED: this joulemap was built without the
 * page. An error of the stream is an error here. */
JM_API jm_status jm_page_write(const jm_page_run *run, FILE *out, jm_error *err);

/* The page of two runs beside each other; `a` and `b` are those that the diff is of. */
JM_API jm_status jm_page_write_diff(const jm_diff *diff, const jm_page_run *a, const jm_page_run *b,
                                    FILE *out, jm_error *err);

/* A report as a fragment of HTML without scripts, for notebooks: the sentences above the table, and its
 * `limit` rows that took most. The caller frees *out with free(). */
JM_API jm_status jm_report_fragment(const jm_report *report, size_t limit, char **out, jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
