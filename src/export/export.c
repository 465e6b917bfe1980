/* Chooses the export format and checks the stream for write errors; also the JSON format. */
#include "base/options.h"
#include "base/status.h"
#include "export/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const jm__export_format *const formats[] = {
#define X(name) &jm__export_##name,
    JM_EXPORT_FORMAT_MAP(X)
#undef X
        NULL};

/* 0: all was written; else an errno. After an earlier failure a further write repeats its errno. */
static int find_error(FILE *out)
{
    errno = 0;
    if (ferror(out)) fputc('\n', out);
    if (fflush(out) == 0 && !ferror(out)) return 0;
    return errno != 0 ? errno : EIO;
}

static const jm__export_format *find_format(const char *name)
{
    for (const jm__export_format *const *each = formats; *each != NULL; each++)
        if (strcmp((*each)->name, name) == 0) return *each;
    return NULL;
}

bool jm_export_is_binary(const char *name)
{
    const jm__export_format *format = find_format(name);
    return format != NULL && format->binary;
}

static jm_status write_json(const jm_report *report, FILE *out, jm_error *err)
{
    char *text;
    JM_TRY(jm_report_json(report, &text, err));
    fputs(text, out);
    free(text);
    return JM_OK;
}

const jm__export_format jm__export_json = {"json", .write = write_json};

static jm_status write_stacks(const jm__export_format *format, const jm_report *report, FILE *out,
                              jm_error *err)
{
    jm__stacks stacks;
    JM_TRY(jm__stacks_of(&stacks, report, err));
    jm_status status = format->write_stacks(&stacks, out, err);
    jm__stacks_free(&stacks);
    return status;
}

jm_status jm_export(jm_recording *recording, const char *name, const jm_report_options *options, FILE *out,
                    jm_error *err)
{
    jm_report *report;
    jm_report_options own_options;
    const jm__export_format *format = find_format(name);
    if (format == NULL) return jm__fail(err, JM_USAGE, 0, NULL, "there is no export format \"%s\"", name);
    if (format->by_span || format->with_kernels) {
        JM_TRY(jm__options_copy(&own_options, sizeof own_options, options, "jm_export", err));
        if (format->by_span) own_options.by = JM_BY_SPAN;
        if (format->with_kernels) own_options.kernels = true;
        options = &own_options;
    }
    JM_TRY(jm_report_create(&report, recording, options, err));
    jm_status status =
        format->write != NULL ? format->write(report, out, err) : write_stacks(format, report, out, err);
    jm_report_free(report);
    if (status != JM_OK) return status;
    int code = find_error(out);
    if (code == 0) return JM_OK;
    return jm__fail(err, jm_status_of_errno(code), code, "fwrite", "cannot write the export: %s",
                    strerror(code));
}
