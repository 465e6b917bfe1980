/* Users' tables of kernels with features and watts: CSV with a header line. */
#ifndef JM_ESTIMATE_FEATURES_H
#define JM_ESTIMATE_FEATURES_H

#include "base/strbuf.h"

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JM_FEATURE_ROWS_MAX 100000

typedef struct jm__feature_row {
    const char *kernel, *family;
    double duration_s; /* NAN: not given */
    double power_w;    /* NAN: not given */
    double u_w;        /* standard uncertainty of power_w; 0: not given */
    int64_t line;
    double *values; /* [columns]; NAN: missing */
} jm__feature_row;

typedef struct jm__features {
    const char **names; /* [columns] */
    size_t columns;
    jm__feature_row *rows;
    size_t count;
    double *values;
    bool has_duration;
    jm__text_store texts;
} jm__features;

/* Columns: [id,]kernel,[family,][duration_s,][power_w,][u_w,]FEATURE... BAD_DATA names line and column. An
 * empty field is a missing value. Without a column `family`, it is the kernel's name up to the first / or a
 * final _kN. */
jm_status jm__features_read(jm__features *features, const char *path, jm_error *err);
void jm__features_free(jm__features *features);

/* Read kernel,power_w[,u_w] into the rows of these names. BAD_DATA: a kernel twice, or an invalid power.
 * *unknown: kernels without features. */
jm_status jm__powers_read(jm__features *features, const char *path, size_t *unknown, jm_error *err);

#endif
