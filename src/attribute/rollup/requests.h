/* Rows of requests: what a step took is shared among those that were in it. */
#ifndef JM_ATTRIBUTE_ROLLUP_REQUESTS_H
#define JM_ATTRIBUTE_ROLLUP_REQUESTS_H

#include "attribute/rollup/views.h"

/* What a batch did in all of its steps: its time by column, and plain sums. */
typedef struct jm__batch_cell {
    uint32_t batch;
    uint32_t column;
    double seconds;
} jm__batch_cell;

typedef struct jm__batch_sum {
    jm__spent spent;
    jm__board_set boards;
    int64_t steps;    /* that began in the report's time */
    int64_t first_ns; /* of them */
    int64_t last_ns;
    double launch_u_j; /* what its launches may differ from the means by */
} jm__batch_sum;

typedef struct jm__request_rows {
    const jm__batches *batches;
    jm__batch_sum *sums; /* [batches->items] */
    JM_VEC(jm__batch_cell) cells;
    jm__map cell_at;  /* (batch, column) */
    double *off_j;    /* [batches * JM_DRAWS]: see energy.h; NULL: no steps are stood for */
    double *launch_s; /* [boards]: relative variance of a second of work, times that second */
} jm__request_rows;

/* Free it in any case. */
jm_status jm__request_rows_begin(jm__request_rows *rows, const jm__attribution *a, jm_error *err);
void jm__request_rows_free(jm__request_rows *rows);

/* JM_REQUESTS_FIRST and the number of a batch, or JM_REQUESTS_NONE. */
uint32_t jm__request_row_of(const jm__request_rows *rows, size_t span);

/* The row of what belongs to no request (JM_REQUESTS_NONE), or to other processes. */
size_t jm__request_rest_node(jm__views *views, uint32_t row);

/* Time of a batch in a column; the caller adds the plain sums. False if memory is out. */
bool jm__request_rows_add(jm__request_rows *rows, uint32_t batch, uint32_t column, double seconds);

/* What that time is off by in each draw; NULL: by nothing. */
void jm__request_off_add(jm__request_rows *rows, jm__views *views, uint32_t batch, size_t board,
                         const double *off_s, double power_w);

/* Idle time of a board: in the steps it lies in, elsewhere a row of its own. */
jm_status jm__request_idle(jm__request_rows *rows, jm__views *views, size_t board, jm_error *err);

/* Share all of it: a row a request, in it its prefill and its decode. False if memory is out. */
bool jm__request_rows_share(jm__request_rows *rows, jm__views *views);

#endif
