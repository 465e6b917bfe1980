/* From runs to the page in a file. */
#include "cli/page.h"

#include "cli/verb.h"
#include "cli/whole_file.h"

#include <string.h>

static jm_status make_report(jm_report **out, jm_recording *recording, const jm_report *like, jm_by by,
                             jm_error *err)
{
    jm_report_options options = *jm_report_options_get(like);
    options.by = by;
    return jm_report_create(out, recording, &options, err);
}

jm_status cli_page_run_make(cli_page_run *page, const char *name, jm_recording *recording,
                            const jm_report *report, jm_error *err)
{
    jm_status status = JM_OK;
    *page = (cli_page_run){
        .run = {.size = sizeof page->run, .name = name, .recording = recording, .report = report}};
    if (jm_report_options_get(report)->by != JM_BY_KERNEL)
        status = make_report(&page->kernels, recording, report, JM_BY_KERNEL, err);
    if (status == JM_OK && jm_page_wants_spans(report))
        status = make_report(&page->spans, recording, report, JM_BY_SPAN, err);
    page->run.kernels = page->kernels;
    page->run.spans = page->spans;
    return status;
}

void cli_page_run_free(cli_page_run *page)
{
    jm_report_free(page->kernels);
    jm_report_free(page->spans);
}

static jm_status write_page(const cli_page_run *page, const cli_page_run *other, const jm_diff *diff,
                            FILE *out, jm_error *err)
{
    if (diff != NULL) return jm_page_write_diff(diff, &page->run, &other->run, out, err);
    return jm_page_write(&page->run, out, err);
}

int cli_page_write(const cli_args *args, const cli_page_run *page, const cli_page_run *other,
                   const jm_diff *diff)
{
    const char *path = cli_get(args, "--html");
    jm_error err = {0};
    cli_progress(NULL);
    if (strcmp(path, "-") == 0) {
        if (write_page(page, other, diff, stdout, &err) == JM_OK) return 0;
        if (!ferror(stdout)) return cli_fail(args, &err);
        cli_write_failed((int)err.code);
        return 0;
    }
    cli_whole_file file;
    jm_status status = cli_whole_file_open(&file, path, &err);
    if (status == JM_OK) {
        status = write_page(page, other, diff, file.stream, &err);
        status = cli_whole_file_close(&file, status, &err);
    }
    return status == JM_OK ? 0 : cli_fail(args, &err);
}
