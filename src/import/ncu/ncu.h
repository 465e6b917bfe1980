/* Reads the output of Nsight Compute (ncu --csv), as printed by versions since 2020. Its details page has
 * a row per metric, its raw page a column per metric with units in the line below the header. Summaries
 * are read as well.
 *
 * Other text may surround a table: ncu's own lines ("==PROF== ...") and output of the program. Values are
 * converted to base units (second, byte, cycle/second, %). Numbers must be in the C or en_US locale,
 * 1,234.5; a decimal comma is BAD_DATA. Missing values are NAN, never 0.
 *
 * Bounded by JM_NCU_*_MAX and by base/csv.h. Errors name file, line and cause. */
#ifndef JM_IMPORT_NCU_NCU_H
#define JM_IMPORT_NCU_NCU_H

#include "base/text_ids.h"

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JM_NCU_KERNELS_MAX ((size_t)1 << 20)
#define JM_NCU_METRICS_MAX ((size_t)1 << 14)
#define JM_NCU_VALUES_MAX  ((size_t)1 << 23)

/* One metric of a file. Metrics with one name may differ in their section. */
typedef struct jm__ncu_metric {
    const char *section; /* "" on the raw page */
    const char *name;    /* "Duration", or "gpu__time_duration.sum" */
    const char *unit;    /* base */
} jm__ncu_metric;

typedef struct jm__ncu_value {
    double number;    /* NAN: missing, or a text */
    const char *text; /* a text value ("NVIDIA H200"); NULL: a number, or missing */
    uint32_t metric;
    uint32_t line;
} jm__ncu_value;

typedef struct jm__ncu_kernel {
    int64_t id;         /* as ncu numbers them; in a summary the row, from 0 */
    int64_t process_id; /* 0: not stated */
    int64_t launches;   /* that it represents: 1, in a summary the stated number */
    int64_t line;       /* its first line */
    const char *name, *process, *host, *context, *stream, *device, *block, *grid; /* "": not stated */
    int cc_major, cc_minor; /* compute capability; 0: not stated */
    size_t first, count;    /* its values */
} jm__ncu_kernel;

typedef struct jm__ncu {
    jm__ncu_kernel *kernels;
    size_t count;
    jm__ncu_metric *metrics;
    size_t metric_count;
    jm__ncu_value *values;
    size_t value_count;
    int64_t tables;                /* several if several programs wrote into one file */
    bool clocks_free, caches_kept; /* ncu states that it left clocks or caches alone (--clock-control,
                                      --cache-control none); false: not stated */
    jm__text_ids texts;
} jm__ncu;

/* Which metrics to keep; name and section as in the file, the base unit. */
typedef bool (*jm__ncu_filter)(const void *context, const char *section, const char *name, const char *unit);

/* `filter` NULL: keep all. BAD_DATA: damage, or no table, with ncu's reason if it gives one; LIMIT. */
jm_status jm__ncu_read(jm__ncu *ncu, const char *path, jm__ncu_filter filter, const void *context,
                       jm_error *err);
void jm__ncu_free(jm__ncu *ncu);

/* Conversion of ncu's units to base units: "Gbyte/s" is 1e9 byte/second. */
#define JM_NCU_UNIT_TEXT 48

/* `base`: the unit without prefixes ("byte/second", "second", "cycle/second" for Hz, "%", "" for none).
 * Returns the factor that converts values to it. An unknown unit is copied, with factor 1. */
double jm__ncu_unit(const char *unit, char base[JM_NCU_UNIT_TEXT]);

/* The meaning of a line of ncu, with a cure; NULL: no meaning worth reporting. */
const char *jm__ncu_explain(const char *line);

#endif
