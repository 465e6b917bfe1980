/* The inside of an estimate: made from one of its sources, shown by its views. */
#ifndef JM_ESTIMATE_ESTIMATE_H
#define JM_ESTIMATE_ESTIMATE_H

#include "base/strbuf.h"
#include "base/vec.h"

#include <jansson.h>
#include <joulemap/estimate.h>

/* Half the width of an interval of JM_ESTIMATE_COVERS, in standard deviations. */
#define JM_ESTIMATE_Z 1.6448536269514722

enum { JM_ESTIMATE_PARTS = 8 };

/* Sentences for the user. */
typedef struct jm__estimate_notes {
    JM_VEC(const char *) list;
    jm__text_store texts;
    bool failed; /* memory was out: check once, at the end */
} jm__estimate_notes;

void jm__estimate_note(jm__estimate_notes *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void jm__estimate_notes_free(jm__estimate_notes *notes);
json_t *jm__estimate_notes_json(const jm__estimate_notes *notes); /* NULL: no memory */

struct jm_estimate {
    JM_VEC(jm_estimated_kernel) kernels;
    jm__estimate_notes notes;
    JM_VEC(const char *) features; /* feature names; none: the source is a table of features */
    JM_VEC(double) rates;          /* [kernels * features]: at the estimated clock; NAN: not estimated */
    jm_estimate_part parts[JM_ESTIMATE_PARTS];
    size_t part_count;
    jm_estimated_total total;
    jm__text_store texts, ncu_texts;
    char board[128];
    char model[512]; /* origin of the model */
};

/* A copy that lives as long as the estimate; NULL: no memory. */
const char *jm__estimate_text(jm_estimate *estimate, const char *text);

/* The text of a JSON document, which is freed. NO_MEMORY; also if `root_take` is NULL. */
jm_status jm__estimate_json_take(char **out, json_t *root_take, const char *call, jm_error *err);

/* One launch without figures: NAN and "". */
jm_estimated_kernel jm__estimated_empty(void);

/* The sources. */
jm_status jm__estimate_of_ncu(jm_estimate *estimate, const jm_estimate_options *options, jm_error *err);
jm_status jm__estimate_of_features(jm_estimate *estimate, const jm_estimate_options *options, jm_error *err);

#endif
