/* Classes of work, the unit whose power is fitted: their family, and the multiprocessors they use. */
#ifndef JM_ATTRIBUTE_WORK_CLASSES_H
#define JM_ATTRIBUTE_WORK_CLASSES_H

#include "attribute/work/kernel_name.h"
#include "base/vec.h"
#include "format/dataset.h"
#include <stdbool.h>

/* Multiprocessors of a board; those of a Hopper if the recording does not have the number. */
uint32_t jm__multiprocessors_on(const jm_board *board);

/* The program may have waited for a copy to the host. */
typedef enum jm__copy { JM_NO_COPY, JM_COPY, JM_COPY_TO_HOST } jm__copy;

/* Kernels: (name, launch shape, kind of work). Host spans: (type, kind). */
typedef struct jm__class {
    const char *name;
    const char *kind; /* "kernel", "memcpy", "memset", or the kind of the spans */
    uint32_t grid[3]; /* all 0: no launch shape */
    uint32_t block[3];
    jm__kernel_family family; /* OTHER for host spans */
    jm__copy copy;
    bool waits;         /* the wait of a collective for its last rank */
    bool joint;         /* beside work of another class (joint.h) */
    uint32_t alone;     /* joint: the same class when alone, which has the column of both */
    uint32_t beside;    /* joint: the other class, and the part of both that is on its multiprocessors; */
    double beside_part; /* 0: many others */
} jm__class;

/* The multiprocessors that a kernel occupies, its weight when kernels share time. Blocks go to empty ones
 * first, so a kernel has as many as it has blocks, at most all. A copy by a copy engine counts as one; a
 * kernel without launch shape as half of the board. */
float jm__multiprocessors_of(const jm__class *class, uint32_t on_board);

typedef JM_VEC(jm__class) jm__classes;

/* Whether the API call of the launch was recorded. SHARED: it launched other kernels too. */
typedef enum jm__launch { JM_LAUNCH_SEEN, JM_LAUNCH_SHARED, JM_LAUNCH_UNSEEN } jm__launch;

/* One piece of work on its way through the pass. */
typedef struct jm__item {
    int64_t start_ns;
    int64_t end_ns;
    int64_t launch_ns;  /* -1: not seen */
    int64_t span_id;    /* the innermost span, 0: none */
    int64_t process_id; /* 0: unknown */
    uint32_t class_index;
    uint32_t calls;
    jm__launch launch;
    jm__copy copy;
    uint32_t collective; /* its number (collectives.h) + 1; 0: it is none */
    bool waits;          /* of a collective: the wait for its last rank */
    bool again;          /* of a collective: another kernel of a call that was counted */
    double bytes;        /* of a collective; NAN: unknown */
    float weight;        /* shares of overlapping work are proportional to it */
} jm__item;

typedef JM_VEC(jm__item) jm__items;

/* The start, if the launch was not recorded. */
static inline int64_t jm__item_launched_ns(const jm__item *item)
{
    return item->launch_ns >= 0 ? item->launch_ns : item->start_ns;
}

/* The kernel classes of a recording, in the recording's order. False if memory is out. */
bool jm__classes_of_kernels(jm__classes *classes, const jm__dataset *dataset);

#endif
