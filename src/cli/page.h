/* The option --html: a run as a page. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "cli/verb.h"

#define CLI_PAGE_OPTION                                                                                      \
    {                                                                                                        \
        "--html", 0, "FILE",                                                                                 \
            "write the page instead: one file for any browser, with charts, flame graphs and tables", NULL,  \
            false                                                                                            \
    }

/* What a page shows of a run beside its report. */
typedef struct cli_page_run {
    jm_page_run run;
    jm_report *kernels;
    jm_report *spans;
} cli_page_run;

/* `name`: of the run; all that is given outlives the run. Free also after an error. */
jm_status cli_page_run_make(cli_page_run *page, const char *name, jm_recording *recording,
                            const jm_report *report, jm_error *err);
void cli_page_run_free(cli_page_run *page);

/* Write the page into the file that --html names ("-": standard output), which appears only when it is whole.
 * `other` and `diff`: NULL for a single run. Returns the exit code. */
int cli_page_write(const cli_args *args, const cli_page_run *page, const cli_page_run *other,
                   const jm_diff *diff);

#endif
