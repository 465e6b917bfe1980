/* The inside of an estimate: made from one of its sources, shown by its views. */
#ifndef JM_ESTIMATE_ESTIMATE_H
#define JM_ESTIMATE_ESTIMATE_H

#include "base/strbuf.h"
#include "base/vec.h"

#include <joulemap/estimate.h>

/* Half the width of an interval of JM_ESTIMATE_COVERS, in standard deviations. */
#define JM_ESTIMATE_Z 1.6448536269514722

enum { JM_ESTIMATE_PARTS = 8 };

struct jm_estimate {
    JM_VEC(jm_estimated_kernel) kernels;
    JM_VEC(const char *) notes;
    JM_VEC(const char *) features; /* feature names; none: the source is a table of features */
    JM_VEC(double) rates;          /* [kernels * features]: at the estimated clock; NAN: not estimated */
    jm_estimate_part parts[JM_ESTIMATE_PARTS];
    size_t part_count;
    jm_estimated_total total;
    jm__text_store texts, ncu_texts;
    char board[128];
    char model[512]; /* origin of the model */
};

jm_status jm__estimate_note(jm_estimate *estimate, jm_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A copy that lives as long as the estimate; NULL: no memory. */
const char *jm__estimate_text(jm_estimate *estimate, const char *text);

/* One launch without figures: NAN and "". */
jm_estimated_kernel jm__estimated_empty(void);

/* The sources. */
jm_status jm__estimate_of_ncu(jm_estimate *estimate, const jm_estimate_options *options, jm_error *err);
jm_status jm__estimate_of_features(jm_estimate *estimate, const jm_estimate_options *options, jm_error *err);

#endif
