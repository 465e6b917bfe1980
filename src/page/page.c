/* The page: the template that npm made of web/, with the data in it. */
#include <joulemap/page.h>

#include "base/embedded.h"
#include "base/options.h"
#include "base/status.h"
#include "page/document.h"

#include <errno.h>
#include <string.h>

extern const jm__embedded jm__page_template[];

/* Where the data go; web/page.html has it once. */
static const char placeholder[] = "@JOULEMAP_DATA@";

static jm_status find_template(const jm__embedded **page, size_t *before, jm_error *err)
{
    *page = &jm__page_template[0];
    if ((*page)->name == NULL) {
        jm__fail(err, JM_NOT_SUPPORTED, 0, "jm_page_write", "this joulemap was built without the page");
        return jm__hint(err, JM_NOT_SUPPORTED, "build it again where node 18 or newer and npm are on PATH");
    }
    const char *at = memmem((*page)->text, (*page)->length, placeholder, strlen(placeholder));
    if (at == NULL)
        return jm__fail(err, JM_INTERNAL, 0, "jm_page_write", "the page has no place for its data");
    *before = (size_t)(at - (*page)->text);
    return JM_OK;
}

static jm_status put(const jm__embedded *page, size_t before, const jm__strbuf *data, FILE *out,
                     jm_error *err)
{
    size_t after = before + strlen(placeholder);
    errno = 0;
    fwrite(page->text, 1, before, out);
    fwrite(data->text, 1, data->length, out);
    fwrite(page->text + after, 1, page->length - after, out);
    if (fflush(out) == 0 && !ferror(out)) return JM_OK;
    int code = errno;
    jm_status status = jm_status_of_errno(code);
    jm__fail(err, status, code, "fwrite", "cannot write the page%s%s", code != 0 ? ": " : "",
             code != 0 ? strerror(code) : "");
    return status == JM_DISK_FULL ? jm__hint(err, status, "free space there, or write it elsewhere") : status;
}

static jm_status write(const jm_page_run *a, const jm_page_run *b, const jm_diff *diff, FILE *out,
                       jm_error *err)
{
    const jm__embedded *page;
    size_t before = 0;
    jm__strbuf data = {0};
    JM_TRY(find_template(&page, &before, err));
    jm_status status = jm__page_document(&data, a, b, diff, err);
    if (status == JM_OK) status = put(page, before, &data, out, err);
    jm__strbuf_free(&data);
    return status;
}

static jm_status copy_run(jm_page_run *to, const jm_page_run *from, jm_error *err)
{
    JM_TRY(jm__options_copy(to, sizeof *to, from, "jm_page_write", err));
    if (to->report == NULL) return jm__fail(err, JM_USAGE, 0, "jm_page_write", "a page is of a report");
    if (jm_report_options_get(to->report)->by == JM_BY_SPAN) {
        jm__fail(err, JM_USAGE, 0, "jm_page_write", "a page has no rows by span");
        return jm__hint(err, JM_USAGE, "take another key of rows, such as layer; steps are on each page");
    }
    return JM_OK;
}

jm_status jm_page_write(const jm_page_run *run, FILE *out, jm_error *err)
{
    jm_page_run shown;
    JM_TRY(copy_run(&shown, run, err));
    return write(&shown, NULL, NULL, out, err);
}

jm_status jm_page_write_diff(const jm_diff *diff, const jm_page_run *a, const jm_page_run *b, FILE *out,
                             jm_error *err)
{
    jm_page_run shown[2];
    JM_TRY(copy_run(&shown[0], a, err));
    JM_TRY(copy_run(&shown[1], b, err));
    return write(&shown[0], &shown[1], diff, out, err);
}
