/* Rows of requests: the energy of a step is shared among the requests in it. */
#ifndef JM_ATTRIBUTE_ROLLUP_REQUESTS_H
#define JM_ATTRIBUTE_ROLLUP_REQUESTS_H

#include "attribute/rollup/views.h"

/* Time of all steps of a batch in a column. */
typedef struct jm__batch_cell {
    uint32_t batch;
    uint32_t column;
    double seconds;
} jm__batch_cell;

/* All steps of a batch. */
typedef struct jm__batch_sum {
    jm__spent spent;
    jm__board_set boards;
    int64_t steps;     /* that began in the report's time */
    int64_t first_ns;  /* start of the first of them */
    int64_t last_ns;   /* end of the last */
    double launch_u_j; /* standard uncertainty by the variation from launch to launch */
} jm__batch_sum;

typedef struct jm__request_rows {
    const jm__batches *batches;
    jm__batch_sum *sums; /* [batches->items] */
    JM_VEC(jm__batch_cell) cells;
    jm__map cell_at; /* (batch, column) */
    double *off_j;   /* [batches * JM_DRAWS]: see energy.h; NULL: no extrapolation */
    double
        *launch_s; /* [boards]: relative variance between launches, of the mean over one second, times 1 s */
} jm__request_rows;

/* Free it in any case. */
jm_status jm__request_rows_begin(jm__request_rows *rows, const jm__attribution *a, jm_error *err);
void jm__request_rows_free(jm__request_rows *rows);

/* JM_REQUESTS_FIRST and the number of a batch, or JM_REQUESTS_NONE. */
uint32_t jm__request_row_of(const jm__request_rows *rows, size_t span);

/* The row of work of no request (JM_REQUESTS_NONE), or of other processes. */
size_t jm__request_rest_node(jm__views *views, uint32_t row);

/* Add time of a batch in a column; the caller adds the sums. False if memory is out. */
bool jm__request_rows_add(jm__request_rows *rows, uint32_t batch, uint32_t column, double seconds);

/* Add the error of that time in each draw; NULL: none. */
void jm__request_off_add(jm__request_rows *rows, jm__views *views, uint32_t batch, size_t board,
                         const double *off_s, double power_w);

/* Add idle time of a board: to the steps that contain it, else to a row of its own. */
jm_status jm__request_idle(jm__request_rows *rows, jm__views *views, size_t board, jm_error *err);

/* Share all batches: a row per request, with rows for its prefill and decode. False if memory is out. */
bool jm__request_rows_share(jm__request_rows *rows, jm__views *views);

#endif
