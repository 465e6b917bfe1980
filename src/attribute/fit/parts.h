/* Parts of classes by place: what may draw otherwise than the rest of its class. */
#ifndef JM_ATTRIBUTE_FIT_PARTS_H
#define JM_ATTRIBUTE_FIT_PARTS_H

#include "attribute/work/work.h"

enum {
    JM_PARTS_MAX = 200,    /* of all classes: a choice, a few readings for each fit into a moment */
    JM_PARTS_OF_CLASS = 40 /* where there are more, they go by type of layer instead of by layer */
};

#define JM_NO_PART UINT32_MAX

typedef struct jm__part {
    uint32_t column; /* of its class */
    jm__context place;
    double seconds; /* of what powers are learnt from */
} jm__part;

typedef struct jm__parts {
    jm__part items[JM_PARTS_MAX];
    size_t count;
    uint32_t *of_use; /* [uses]: JM_NO_PART: not looked at */
    double busy_s;    /* of all classes */
} jm__parts;

/* The parts of the classes that take most of the time and ran in more than one place. */
jm_status jm__parts_choose(jm__parts *parts, const jm__work_set *set, const jm__board_work *work,
                           jm_error *err);
void jm__parts_free(jm__parts *parts);

/* Some parts of a class, by their bits from `first` on. */
typedef struct jm__part_set {
    size_t first;
    uint64_t bits;
    uint64_t whole; /* of all parts that the class has; 0: it has more than its parts */
    bool is_type;   /* all that is of one type of layer in one phase */
} jm__part_set;

typedef JM_VEC(jm__part_set) jm__part_sets;

/* Sets that have something in common: one layer, one type of layer, one phase; none that is all of a class.
 * False if memory is out. */
bool jm__parts_list_sets(jm__part_sets *sets, const jm__parts *parts, const jm__board_work *work);

#endif
