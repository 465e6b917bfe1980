/* The table of export formats: a format is one file here and one line in JM_EXPORT_FORMAT_MAP. */
#ifndef JM_EXPORT_FORMAT_H
#define JM_EXPORT_FORMAT_H

#include "export/stacks.h"

#include <joulemap/report.h>

/* `write` or `write_stacks` writes the whole export. The caller checks the stream for errors. */
typedef struct jm__export_format {
    const char *name;  /* "csv" */
    bool binary;       /* binary data, not for a terminal */
    bool by_span;      /* always by span, as an event is one occurrence */
    bool with_kernels; /* always with kernels */
    jm_status (*write)(const jm_report *report, FILE *out, jm_error *err);
    jm_status (*write_stacks)(const jm__stacks *stacks, FILE *out, jm_error *err);
} jm__export_format;

#define X(name) extern const jm__export_format jm__export_##name;
JM_EXPORT_FORMAT_MAP(X)
#undef X

#endif
