/* Where work ran: in which layer, in which phase, at which clock. One kind of work may draw otherwise in
 * another place. */
#ifndef JM_ATTRIBUTE_INPUT_CONTEXTS_H
#define JM_ATTRIBUTE_INPUT_CONTEXTS_H

#include "attribute/input/span_index.h"
#include "base/map.h"
#include "base/vec.h"

/* Number 0 is anywhere: of what ran in no span, and of all places beyond the maximum. */
enum { JM_CONTEXTS_MAX = 4096 };

/* Names and types are rows of `names`, 0: none. */
typedef struct jm__context {
    int64_t phase; /* the innermost one */
    int64_t layer; /* the innermost span that is work itself: a pass of a layer, a range */
    int64_t type;  /* of that span */
    int64_t kind;  /* jm_span_kind of it */
    int64_t clock; /* step of the board's clock (clock_track.h), 0: any */
} jm__context;

typedef struct jm__contexts {
    const jm__span_index *spans;
    JM_VEC(jm__context) items;
    jm__map numbers;
    uint32_t *of_section; /* [sections]: number + 1; 0: not yet asked for */
    JM_VEC(size_t) chain;
} jm__contexts;

/* False if memory is out. */
bool jm__contexts_init(jm__contexts *contexts, const jm__span_index *spans);
void jm__contexts_free(jm__contexts *contexts);

/* The number of the place that a section of a span is. False if memory is out. */
bool jm__context_of(jm__contexts *contexts, size_t section, uint32_t *number);

/* The number of a place at a step of the clock. False if memory is out. */
bool jm__context_at_clock(jm__contexts *contexts, uint32_t place, int64_t clock, uint32_t *number);

#endif
