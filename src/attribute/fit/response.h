/* Rows of the design matrix: the share of a reading's weight that each column had, in one pass over time. */
#ifndef JM_ATTRIBUTE_FIT_RESPONSE_H
#define JM_ATTRIBUTE_FIT_RESPONSE_H

#include "attribute/work/pieces.h"
#include <joulemap/board.h>

typedef struct jm__response {
    jm_response kind;
    double lag_ns;
    double width_ns; /* FIRST_ORDER: time constant; BOX: window */
} jm__response;

typedef struct jm__design {
    size_t columns;
    jm__response response;
    double *state; /* [columns] */
    int64_t now_ns;
    int64_t tail_ns;         /* BOX: start of the window */
    jm__piece_cursor cursor; /* first piece that ends after now_ns */
    jm__piece_cursor tail;   /* BOX: first piece that ends after tail_ns */
    bool started;
} jm__design;

jm_status jm__design_init(jm__design *design, jm__pieces *pieces, size_t columns, jm_error *err);
void jm__design_free(jm__design *design);

/* Begin a pass with this response. */
void jm__design_start(jm__design *design, jm__response response);

/* The weights of a reading stamped t_ns, valid until the next call; times must not go back. */
const double *jm__design_row(jm__design *design, int64_t t_ns);

#endif
