/* Kinds of work, the unit whose power is fitted: what they do, told by their names, and where they can run.
 */
#ifndef JM_ATTRIBUTE_WORK_CLASSES_H
#define JM_ATTRIBUTE_WORK_CLASSES_H

#include "base/vec.h"
#include "format/dataset.h"
#include <stdbool.h>

/* What a name tells. */
#define JM_KERNEL_FAMILY_MAP(X)                                                                              \
    X(OTHER)                                                                                                 \
    X(COLLECTIVE)                                                                                            \
    X(MATRIX)                                                                                                \
    X(WARP_MATRIX)  /* matrix product by instructions of a warp (mma.sync), of before Hopper */              \
    X(PLAIN_MATRIX) /* matrix product in single or double precision */                                       \
    X(ATTENTION)                                                                                             \
    X(CONVOLUTION)                                                                                           \
    X(DEPTHWISE)                                                                                             \
    X(BATCH_NORM)                                                                                            \
    X(REDUCTION) /* any other norm, or reduction */                                                          \
    X(ELEMENTWISE)                                                                                           \
    X(TRANSCENDENTAL) /* elementwise with exponentials */                                                    \
    X(COPY)                                                                                                  \
    X(FILL)                                                                                                  \
    X(TRANSFER) /* transfer between host and board */                                                        \
    X(INDEX)    /* gather, scatter or sort */

typedef enum jm__kernel_family {
#define X(name) JM_KERNEL_FAMILY_##name,
    JM_KERNEL_FAMILY_MAP(X)
#undef X
        JM_KERNEL_FAMILY_COUNT
} jm__kernel_family;

/* `name`: of a kernel as CUPTI gives it or in plain C++, or of a copy ("[memcpy DtoD]"). OTHER if its name
 * tells nothing. Only the first thousand bytes of a name are looked at. */
jm__kernel_family jm__kernel_family_of(const char *name);

/* How many multiprocessors a kernel can be on: by that, kernels that run together share their time. */

/* Of a board; of one that the recording does not say it of, as many as a Hopper has. */
uint32_t jm__multiprocessors_on(const jm_board *board);

/* What a copy of memory is; what was copied to the host, the program may have waited for. */
typedef enum jm__copy { JM_NO_COPY, JM_COPY, JM_COPY_TO_HOST } jm__copy;

/* Kernels: (name, launch shape, kind of work). Host spans: (type, kind). */
typedef struct jm__class {
    const char *name;
    const char *kind; /* "kernel", "memcpy", "memset", or the kind of the spans */
    uint32_t grid[3]; /* all 0: no launch shape */
    uint32_t block[3];
    double typical_us;        /* of a class split by duration; else 0 */
    jm__kernel_family family; /* OTHER of host spans */
    jm__copy copy;
    bool waits;           /* of a collective: the time until its last rank came */
    bool joint;           /* beside work of another class (joint.h): */
    uint32_t alone;       /* the class that it is when alone, */
    uint32_t column_with; /* the first of the two classes that share a column: itself, or the other one */
    bool crowded;         /* joint, without a column for the two: its own is that of `alone` */
    uint32_t beside;      /* crowded: the other class, and the part of both that is on its multiprocessors; */
    double beside_part;   /* 0: many others */
} jm__class;

/* A grid's blocks go to empty multiprocessors first, so a kernel is on as many as it has blocks, at most on
 * all: however many threads, registers and bytes of shared memory a block takes. A copy that copy engines
 * make is on none, and counts as one. What has no launch shape counts as half of the board. */
float jm__multiprocessors_of(const jm__class *class, uint32_t on_board);

typedef JM_VEC(jm__class) jm__classes;

/* What is known of the API call that launched it. SHARED: it launched others too. */
typedef enum jm__launch { JM_LAUNCH_SEEN, JM_LAUNCH_SHARED, JM_LAUNCH_UNSEEN } jm__launch;

/* One piece of work on its way through the pass. */
typedef struct jm__item {
    int64_t start_ns;
    int64_t end_ns;
    int64_t launch_ns;  /* -1: not seen */
    int64_t span_id;    /* innermost span it belongs to, 0: none */
    int64_t process_id; /* 0: unknown */
    uint32_t class_index;
    uint32_t kind; /* the class without groups of durations, by which pairs are told; UINT32_MAX: none */
    uint32_t calls;
    jm__launch launch;
    jm__copy copy;
    uint32_t collective; /* its number (collectives.h) + 1; 0: it is none */
    bool waits;          /* of a collective: the time until its last rank came */
    bool again;          /* of a collective: another kernel of a call that was counted */
    double bytes;        /* of a collective; NAN: not told */
    float weight;        /* of the time that it shares with others, its part against theirs */
} jm__item;

typedef JM_VEC(jm__item) jm__items;

/* Of one whose launch was not seen, when it began. */
static inline int64_t jm__item_launched_ns(const jm__item *item)
{
    return item->launch_ns >= 0 ? item->launch_ns : item->start_ns;
}

/* The kernel classes of a recording, in its order. False if memory is out. */
bool jm__classes_of_kernels(jm__classes *classes, const jm__dataset *dataset);

#endif
