/* For how many steps each traced one stands, on one board and in the time of one report. */
#ifndef JM_ATTRIBUTE_WORK_STOOD_H
#define JM_ATTRIBUTE_WORK_STOOD_H

#include "attribute/work/stands.h"

/* What the traced steps of one turn differ from the others by is drawn so often, with signs of chance, and
 * of each draw every row knows what it would be off by: so the error of any sum of rows is the root mean
 * square of its draws, 1 in 8 of it unsure. As many turns as that and fewer have a draw each, and nothing is
 * left to chance. */
enum { JM_DRAWS = 32 };

/* Whose rows take the work of the steps that a turn stands for. */
typedef enum jm__stood_rows {
    JM_STOOD_IN_ROWS, /* those of the traced work; of other kinds than the turn's own, what lies like them */
    JM_STOOD_ALL,     /* those of the traced work, whatever the kind */
    JM_STOOD_BY_STEP  /* those of each such step */
} jm__stood_rows;

/* Time of the report, less that in which a process is told by its steps: then its own records count for
 * nothing. */
typedef struct jm__stood_view {
    jm__windows report, steady;
} jm__stood_view;

typedef struct jm__stood {
    const jm__stands *stands; /* NULL: none; all that follows is empty then */
    /* [stands]: steps that each traced one of the turn stands for; parts of steps too. */
    double *steps, *steady_steps;
    double *seconds, *steady_s; /* [stands]: that all of those took */
    double *step_s;   /* [stands]: that those steps took in the report, without what comes behind them */
    double *recorded; /* [stands]: of those steps, such as were recorded to get ready, by their number */
    /* [turns]: the same of all stands of a turn, and of those whose rows are the work's own. */
    double *of_turn, *steady_of_turn, *in_row;
    float *of_lap;     /* [laps], where rows are those of each step: its part of `steps`; else NULL */
    bool *lends;       /* [turns]: some of it goes to other rows */
    double *draws;     /* [units * JM_DRAWS]: what a second of a step of this unit is in each draw */
    size_t *unit;      /* [turns]: the unit of its first step */
    uint32_t *partner; /* [turns]: a neighbour of its kind; itself: it has none */
    double *parts;  /* [turns * JM_DRAWS]: in each draw, of what a step of the partner is more than its own */
    bool *alone;    /* [turns]: each of its steps is a unit of its own: there is no other turn of its kind */
    double lone_u;  /* of all that is stood for: relative, since nobody knows how turns of a kind differ */
    double freedom; /* degrees of freedom behind the draws */
    jm__stood_rows rows;
    bool *uses;                   /* [processes]: does it work on the board */
    jm__windows time;             /* in which any process of the board is told by its steps */
    double time_s;                /* of that, in the report */
    uint32_t *view_of;            /* [processes]: 0: as the report is */
    JM_VEC(jm__stood_view) views; /* from 1 on */
    uint32_t idle_view;           /* outside of `time` */
    size_t idle_process;          /* whose steps idle time is told by */
} jm__stood;

typedef struct jm__stood_wanted {
    const jm__stands *stands;
    const jm__windows *report;
    const jm__windows *steady;
    const bool *uses; /* [processes]; NULL: all */
    jm__stood_rows rows;
} jm__stood_wanted;

/* False if memory is out. Free it in any case. */
bool jm__stood_find(jm__stood *out, const jm__stood_wanted *wanted);
void jm__stood_free(jm__stood *stood);

/* Its draws; of a traced lap. */
static inline const double *jm__stood_draws(const jm__stood *stood, const jm__lap *lap)
{
    size_t unit = stood->unit[lap->stand] + (stood->alone[lap->stand] ? lap->turn_place : 0);
    return stood->draws + unit * JM_DRAWS;
}

/* 1 or -1, by chance, the same for the same two numbers. */
static inline double jm__draw_sign(uint64_t what, uint64_t draw)
{
    uint64_t x = what * UINT64_C(0x9e3779b97f4a7c15) + draw * UINT64_C(0xd1b54a32d192ed03) + 1;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((x ^ (x >> 31)) & 1) != 0 ? 1 : -1;
}

#endif
