/* Steps of which only the edges were recorded, and the traced steps that stand for them. */
#ifndef JM_ATTRIBUTE_WORK_STANDS_H
#define JM_ATTRIBUTE_WORK_STANDS_H

#include "attribute/input/window.h"
#include "base/vec.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A step of a process, or a phase without steps, with what follows it up to the next one. Traced, or told by
 * its edges. */
typedef struct jm__lap {
    int64_t start_ns, end_ns, step_end_ns;
    uint32_t span;    /* the step */
    uint32_t process; /* by index */
    uint32_t kind;
    uint32_t
        stand; /* of a traced one, its turn's own; of another, what stands for it: JM__NO_STAND: nothing */
    uint32_t turn_place; /* of a traced one: which it is in its turn */
    bool traced;
    bool warm_up;  /* traced, and stands for itself alone */
    bool recorded; /* of another one: more than its edges was */
} jm__lap;

/* Does it stand for others of its kind? */
static inline bool jm__lap_stands(const jm__lap *lap)
{
    return lap->traced && !lap->warm_up;
}

#define JM__NO_STAND UINT32_MAX
#define JM__NO_LAP   SIZE_MAX

/* Traced steps of one kind in one traced stretch of their process: each of them stands for as many others. */
typedef struct jm__turn {
    uint32_t process, kind, loose_kind; /* loose: wherever it ran */
    uint32_t laps, stretch;
    uint32_t span;          /* of the first of its steps */
    int64_t from_ns, to_ns; /* of the first, of the last: their steps */
    double step_s;          /* that these took, all together */
    double slowed_u_s;      /* standard uncertainty of slowed_s; errors of all turns of a kind are as one */
    double slowed_s;        /* how much longer all of its steps took for being traced; NAN: not known */
} jm__turn;

/* A turn, and steps of one kind that it stands for. The first stands are those of turns for their own kind,
 * by the same numbers. */
typedef struct jm__stand {
    uint32_t turn;
    size_t span; /* one of those steps, in whose place the work is then; of the turn's own: of a traced one */
} jm__stand;

/* Of a kind with a single turn nobody knows how much one turn differs from the next. */
typedef struct jm__lone_kind {
    uint32_t turn;
    double relative_u; /* standard uncertainty of what a layer takes in the steps that it stands for */
} jm__lone_kind;

typedef struct jm__stands {
    JM_VEC(jm__lap) laps;      /* by process and time, of processes that record steps alone at times */
    size_t *laps_of;           /* [processes + 1]: where those of each begin */
    uint32_t *lap_of_span;     /* [spans]: number + 1 of the lap whose step it is or lies in; 0: none */
    JM_VEC(uint32_t) loose_of; /* [kinds]: by number - 1: the same wherever it ran */
    JM_VEC(uint32_t) whole_of; /* [kinds]: what it was before it was parted by counts */
    JM_VEC(jm__turn) turns;    /* by kind and time */
    JM_VEC(jm__stand) items;
    JM_VEC(jm__lone_kind) lone;
    jm__windows *stood; /* [processes]: told by their steps, and by traced ones of their kind */
    size_t processes;
    size_t told;      /* steps that were told by their edges */
    size_t missing;   /* of those, such as no traced step stands for */
    double slow_down; /* by how much a traced step took longer, relative; NAN: not known */
} jm__stands;

/* Does any traced step stand for others? */
static inline bool jm__stands_any(const jm__stands *stands)
{
    return stands != NULL && stands->items.count > 0;
}

/* The lap that a moment of a process lies in; JM__NO_LAP: in none. */
size_t jm__stands_lap_at(const jm__stands *stands, size_t process, int64_t t_ns);

/* Is a span of this process recorded only by the way, while steps alone counted: it began in time that traced
 * steps stand for. */
static inline bool jm__stands_hide(const jm__stands *stands, size_t process, int64_t start_ns)
{
    return stands->stood != NULL && jm__windows_hold(&stands->stood[process], start_ns);
}

void jm__stands_free(jm__stands *stands);

#endif
