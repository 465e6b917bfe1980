/* The table of export formats: a format is one file here and one line in JM_EXPORT_FORMAT_MAP. */
#ifndef JM_EXPORT_FORMAT_H
#define JM_EXPORT_FORMAT_H

#include "export/stacks.h"

#include <joulemap/report.h>

/* `write`, or `write_stacks`, writes all of it; an error of the stream is the caller's to find. */
typedef struct jm__export_format {
    const char *name;  /* "csv" */
    bool binary;       /* bytes, not text: nothing for a terminal */
    bool by_span;      /* a row a span, whatever is asked for: an event is an occurrence */
    bool with_kernels; /* also where they are not asked for */
    jm_status (*write)(const jm_report *report, FILE *out, jm_error *err);
    jm_status (*write_stacks)(const jm__stacks *stacks, FILE *out, jm_error *err);
} jm__export_format;

#define X(name) extern const jm__export_format jm__export_##name;
JM_EXPORT_FORMAT_MAP(X)
#undef X

#endif
