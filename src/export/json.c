/* The whole report as JSON. */
#include "base/status.h"
#include "export/format.h"

#include <stdlib.h>

static jm_status write_json(jm_recording *recording, const jm_report_options *options, FILE *out,
                            jm_error *err)
{
    jm_report *report = NULL;
    char *text = NULL;
    JM_TRY(jm_report_create(&report, recording, options, err));
    jm_status status = jm_report_json(report, &text, err);
    if (status == JM_OK) fputs(text, out);
    free(text);
    jm_report_free(report);
    return status;
}

const jm__export_format jm__export_json = {"json", false, write_json};
