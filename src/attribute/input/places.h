/* Where work ran: whether it lies in a layer, and in which place. */
#ifndef JM_ATTRIBUTE_INPUT_PLACES_H
#define JM_ATTRIBUTE_INPUT_PLACES_H

#include "attribute/input/span_index.h"
#include "base/map.h"
#include "base/vec.h"

/* BY_GRAPH and what follows are in no layer of a program that has layers. */
typedef enum jm__place {
    JM_PLACE_IN_LAYER,  /* or an optimizer's step or a collective, which are rows of their own */
    JM_PLACE_UNLAYERED, /* of a program without layers, or not of the process asked for */
    JM_PLACE_BY_GRAPH,  /* shares its launch with other kernels: replayed by a CUDA graph */
    JM_PLACE_NO_LAUNCH, /* its launch was not seen, so nobody knows where it was made */
    JM_PLACE_ELSEWHERE, /* launched outside of all layers */
    JM_PLACES
} jm__place;

typedef struct jm__places {
    const jm__span_index *spans;
    size_t *layer_of; /* [sections]: the layer or optimizer that it is or lies in; JM__NO_SPAN: none */
    int64_t pid;      /* the process asked for, 0: all */
    jm__map layered;  /* rows of processes that have layers: modules or NVTX ranges */
} jm__places;

/* False if memory is out. To be freed in any case. */
bool jm__places_init(jm__places *places, const jm__span_index *spans, int64_t pid);
void jm__places_free(jm__places *places);

/* Of work in this section of a span, JM__NO_SPAN for none: IN_LAYER, UNLAYERED or ELSEWHERE. */
jm__place jm__place_of(const jm__places *places, size_t section, int64_t process_id);

/* Where work ran: in which layer, in which phase, at which clock. One kind of work may draw otherwise in
 * another place. */

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
