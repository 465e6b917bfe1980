/* The table of export formats: a format is one file here and one line in JM_EXPORT_FORMAT_MAP. */
#ifndef JM_EXPORT_FORMAT_H
#define JM_EXPORT_FORMAT_H

#include <joulemap/report.h>

typedef struct jm__export_format {
    const char *name; /* "csv" */
    bool binary;      /* bytes, not text: nothing for a terminal */
    /* Write all of it; an error of the stream is the caller's to find. */
    jm_status (*write)(jm_recording *recording, const jm_report_options *options, FILE *out, jm_error *err);
} jm__export_format;

#define X(name) extern const jm__export_format jm__export_##name;
JM_EXPORT_FORMAT_MAP(X)
#undef X

#endif
