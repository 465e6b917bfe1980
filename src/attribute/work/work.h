/* The work of the boards, in one pass over kernels or, without any, over host spans: pieces of time for the
 * design, sums for the report. Memory grows with classes, spans and rows, not with kernels. */
#ifndef JM_ATTRIBUTE_WORK_WORK_H
#define JM_ATTRIBUTE_WORK_WORK_H

#include "attribute/input/places.h"
#include "attribute/input/span_index.h"
#include "attribute/input/window.h"
#include "attribute/work/collectives.h"
#include "attribute/work/columns.h"
#include "attribute/work/pieces.h"

/* The report's row of some work; JM__NO_ROW: none. Called in order of time, also repeatedly for the same. */
typedef struct jm__row_of {
    uint32_t (*of)(void *context, size_t section, int64_t process_id); /* JM__NO_SPAN: in no span */
    /* The same for a kernel of a collective, by its number. waits_on: the board, for the time that it waits
     * for other ranks; JM__WAITS_NOT: for the rest of its time. */
    uint32_t (*of_collective)(void *context, size_t section, int64_t process_id, uint32_t collective,
                              size_t waits_on);
    void *context;
} jm__row_of;

#define JM__NO_ROW    UINT32_MAX
#define JM__WAITS_NOT SIZE_MAX

/* What a use ran beside; part: 0: nothing, or many kinds. */
typedef struct jm__use_beside {
    uint32_t column;
    double part;
} jm__use_beside;

/* Which time of a board is which. */
typedef struct jm__board_time {
    jm__intervals lost;            /* the board did not answer: nothing is known of it */
    jm__intervals learn;           /* the run, less that: what powers are learnt from */
    jm__intervals windows;         /* of the report, less that */
    jm__intervals steady;          /* those of them in which steps are steady */
    jm__intervals traced;          /* those of the report less what traced steps stand for (strata.h) */
    jm__intervals steady_traced;   /* what is in `steady` and in `traced` */
    jm__intervals unrecorded;      /* taken out of `traced`: work of which nothing is recorded */
    jm__intervals unknown;         /* nobody recorded what ran then: outside of `learn` */
    const jm__intervals *sampled;  /* hardware counters were sampled; NULL: never */
    jm__extrapolated extrapolated; /* what traced steps stand for */
} jm__board_time;
void jm__board_time_free(jm__board_time *time);

typedef struct jm__board_work {
    /* To be set before the pass. */
    bool requested;
    const jm__board_time *time;
    int64_t from_ns; /* pieces begin some seconds before this and before the first work, */
    int64_t to_ns;   /* and end at this or at the end of the last work */
    /* Set by the pass. */
    bool from_host; /* the work is host spans: no kernel was traced */
    jm__tally tally;
    jm__pieces pieces;
    jm__columns columns;
    uint32_t *column_of;                    /* [piece code] */
    double *scale_of;                       /* [piece code]: see jm__work_scale; NULL: all 1 */
    double *use_scale;                      /* [uses]; NULL: all 1 */
    jm__use_beside *beside;                 /* [uses] */
    jm__seconds sampler[JM_SAMPLER_STATES]; /* of sampled time: of the report, and behind it */
    double *seconds;       /* [columns.count]: inside the windows of the report, times the scale */
    double *learn_seconds; /* [columns.count]: behind them */
    double
        *extrapolated_seconds; /* [columns.count]: behind those; of `seconds`, what traced steps stand for */
} jm__board_work;

typedef struct jm__work_set {
    jm__classes classes;
    jm__contexts contexts;
    jm__uses uses;
    uint32_t *use_of; /* [pass_uses]: the final use of each provisional use of the pass */
    size_t pass_uses;
    jm__board_work *boards; /* [board_count] */
    size_t board_count;
    jm__ranks ranks; /* collectives, and how long ranks waited for each other */
    int64_t pid;     /* the process for sums by place, 0: all; to be set before the pass */
    size_t kernels;  /* of all boards */
} jm__work_set;

/* Allocates the boards of a dataset. */
jm_status jm__work_init(jm__work_set *work, const jm__dataset *dataset, jm_error *err);
void jm__work_free(jm__work_set *work);

/* `windows`: of the report; items that begin in them count as calls. */
jm_status jm__work_pass(jm__work_set *work, const jm__span_index *spans, const jm__intervals *windows,
                        const jm__row_of *rows, jm_error *err);

/* A second of a use counts for so much of a second of its column, and for the rest as such a gap: its
 * clock was another than usual, or it ran beside other work. */
jm_status jm__work_scale(jm__work_set *work, jm__board_work *board, const double *use_scale, jm_error *err);

static inline double jm__use_scale(const jm__board_work *board, size_t use)
{
    return board->use_scale != NULL ? board->use_scale[use] : 1;
}

/* Gaps whose power is what work does not change: those between kernels. */
static inline uint32_t jm__gap_column(const jm__board_work *board)
{
    return (uint32_t)board->columns.class_columns + JM_IDLE_50_US;
}

/* What a second of a use is made of: so much of seconds of these columns. Kernels that run together share
 * their joules by their multiprocessors, whatever each would draw alone. */
enum { JM_USE_PARTS = 3 };

typedef struct jm__use_part {
    uint32_t column;
    double share;
} jm__use_part;

/* Returns how many parts there are. */
static inline size_t jm__use_parts(const jm__board_work *board, size_t use, jm__use_part parts[JM_USE_PARTS])
{
    double scale = jm__use_scale(board, use), beside = board->beside[use].part;
    size_t count = 0;
    parts[count++] = (jm__use_part){board->columns.of_use[use], scale * (1 - beside)};
    if (beside > 0) parts[count++] = (jm__use_part){board->beside[use].column, scale * beside};
    if (scale != 1) parts[count++] = (jm__use_part){jm__gap_column(board), 1 - scale};
    return count;
}

/* Where a use ran. */
static inline const jm__context *jm__use_context(const jm__work_set *work, size_t use)
{
    return &work->contexts.items.items[work->uses.items.items[use].context];
}

/* Free the sums by row and use. */
void jm__work_drop_cells(jm__work_set *work);

/* Free the pieces; the sums stay. */
void jm__work_drop_pieces(jm__work_set *work);

/* Boards whose power is fitted: GPUs. CPU packages have only their counter. */
bool jm__board_is_fitted(const jm_board *board);

#endif
