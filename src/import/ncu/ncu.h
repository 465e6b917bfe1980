/* What Nsight Compute (ncu --csv) says of kernels: its details page (a row a metric), its raw page (a column
 * a metric, units in the line below the header) and its summaries, as versions from 2020 on print them.
 *
 * Around a table there may be anything: ncu's own lines ("==PROF== ..."), what the program printed. Values
 * are in base units (second, byte, cycle/second, %) whatever prefix they had. Numbers are those of the C
 * locale or of en_US, 1,234.5; one with a decimal comma is BAD_DATA. What is not there is NAN, never 0.
 *
 * Bounded: JM_NCU_*_MAX, and what base/csv.h says. An error names file, line and what is wrong. */
#ifndef JM_IMPORT_NCU_NCU_H
#define JM_IMPORT_NCU_NCU_H

#include "base/strbuf.h"

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JM_NCU_KERNELS_MAX ((size_t)1 << 20)
#define JM_NCU_METRICS_MAX ((size_t)1 << 14)
#define JM_NCU_VALUES_MAX  ((size_t)1 << 23)

/* One metric of a file: its section tells apart those of one name. */
typedef struct jm__ncu_metric {
    const char *section; /* "" on the raw page */
    const char *name;    /* "Duration", or "gpu__time_duration.sum" */
    const char *unit;    /* base */
} jm__ncu_metric;

typedef struct jm__ncu_value {
    double number;    /* NAN: missing, or a text */
    const char *text; /* of what is no number ("NVIDIA H200"); NULL: a number, or missing */
    uint32_t metric;
    uint32_t line;
} jm__ncu_value;

typedef struct jm__ncu_kernel {
    int64_t id;         /* as ncu counts; in a summary the row, from 0 */
    int64_t process_id; /* 0: not said, likewise below */
    int64_t launches;   /* that it stands for: 1, in a summary as many as it says */
    int64_t line;       /* where it begins */
    const char *name, *process, *host, *context, *stream, *device, *block, *grid; /* "" : not said */
    int cc_major, cc_minor; /* compute capability; 0: not said */
    size_t first, count;    /* its values */
} jm__ncu_kernel;

typedef struct jm__ncu {
    jm__ncu_kernel *kernels;
    size_t count;
    jm__ncu_metric *metrics;
    size_t metric_count;
    jm__ncu_value *values;
    size_t value_count;
    int64_t other_lines;           /* that belong to no table */
    int64_t tables;                /* several stand in one file where several programs wrote it */
    bool clocks_free, caches_kept; /* ncu says that it left clocks, caches as they were (--clock-control,
                                      --cache-control none); false: it does not say */
    jm__text_store texts;
} jm__ncu;

/* Which metrics to keep; name and section as they stand there, the unit as its base. */
typedef bool (*jm__ncu_requested)(const void *context, const char *section, const char *name,
                                  const char *unit);

/* `requested` NULL: all of them. BAD_DATA: no table (with the cause, where ncu says one), or damage; LIMIT.
 */
jm_status jm__ncu_read(jm__ncu *ncu, const char *path, jm__ncu_requested requested, const void *context,
                       jm_error *err);
void jm__ncu_free(jm__ncu *ncu);

/* Units as ncu prints them, in their base: "Gbyte/s" is 1e9 byte/second. */
#define JM_NCU_UNIT_TEXT 48

/* `base`: the unit without prefixes ("byte/second", "second", "cycle/second" for Hz, "%", "" for none), what
 * a value has to be multiplied by to be in it as the result. A unit that is not known stays as it is. */
double jm__ncu_unit(const char *unit, char base[JM_NCU_UNIT_TEXT]);

/* What a line that ncu wrote means, in our words with a cure: NULL if there is nothing to say about it. */
const char *jm__ncu_explain(const char *line);

#endif
