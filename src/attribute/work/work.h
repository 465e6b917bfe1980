/* What a board was doing: work items with their class, from kernels or, without any, from host spans. */
#ifndef JM_ATTRIBUTE_WORK_WORK_H
#define JM_ATTRIBUTE_WORK_WORK_H

#include "base/vec.h"
#include "recording/dataset.h"

/* The unit whose power is fitted. Kernels: (name, launch shape, kind of work). Host spans: (type, kind). */
typedef struct jm__class {
    const char *name;
    const char *kind; /* "kernel", "memcpy", "memset", or the kind of the spans */
    uint32_t grid[3]; /* all 0: no launch shape */
    uint32_t block[3];
    double typical_us; /* of a class split by duration, for want of a launch shape; else 0 */
} jm__class;

typedef struct jm__item {
    int64_t start_ns;
    int64_t end_ns;
    int64_t span_id;    /* innermost span it belongs to, 0: none */
    int64_t process_id; /* 0: unknown */
    uint32_t class_index;
    uint32_t calls;
    double seconds; /* its share of the time inside the report's windows; set by the sweep */
} jm__item;

typedef JM_VEC(jm__item) jm__items;
typedef JM_VEC(jm__class) jm__classes;

/* Classes of all boards, and the items of each board sorted by start. */
typedef struct jm__work_set {
    jm__classes classes;
    jm__items *boards; /* [dataset->board_count] */
    size_t board_count;
    bool *from_host; /* this board's items are host spans: no kernel of it was traced */
} jm__work_set;

jm_status jm__work_build(jm__work_set *work, const jm__dataset *dataset, jm_error *err);
void jm__work_free(jm__work_set *work);

/* Boards whose power is fitted: GPUs. CPU packages have only their counter. */
bool jm__board_is_fitted(const jm_board *board);

#endif
