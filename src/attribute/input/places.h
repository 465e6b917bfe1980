/* Where work ran: in which kind of place, and in which context of layer, phase and clock. */
#ifndef JM_ATTRIBUTE_INPUT_PLACES_H
#define JM_ATTRIBUTE_INPUT_PLACES_H

#include "attribute/input/span_index.h"
#include "base/map.h"
#include "base/vec.h"

/* From BY_GRAPH on: outside the layers of a program that has layers. */
typedef enum jm__place {
    JM_PLACE_IN_LAYER,  /* or in an optimizer's step or a collective, which have rows of their own */
    JM_PLACE_UNLAYERED, /* the program has no layers, or the process was not requested */
    JM_PLACE_BY_GRAPH,  /* replayed by a CUDA graph: several kernels share one launch */
    JM_PLACE_NO_LAUNCH, /* the launch was not recorded */
    JM_PLACE_ELSEWHERE, /* launched outside all layers */
    JM_PLACES
} jm__place;

typedef struct jm__places {
    const jm__span_index *spans;
    size_t *layer_of; /* [sections]: the innermost layer or optimizer, or itself; JM__NO_SPAN: none */
    int64_t pid;      /* the requested process, 0: all */
    jm__map layered;  /* rows of processes that have layers: modules or NVTX ranges */
} jm__places;

/* False if memory is out. Free it in any case. */
bool jm__places_init(jm__places *places, const jm__span_index *spans, int64_t pid);
void jm__places_free(jm__places *places);

/* The place of work in a section (JM__NO_SPAN: none): IN_LAYER, UNLAYERED or ELSEWHERE. */
jm__place jm__place_of(const jm__places *places, size_t section, int64_t process_id);

/* One class of work may draw different power in different contexts.
 * Names and types are rows of `names`, 0: none. */
typedef struct jm__context {
    int64_t phase; /* the innermost one */
    int64_t layer; /* the innermost span that is work itself: a pass of a layer, a range */
    int64_t type;  /* its type */
    int64_t kind;  /* its jm_span_kind */
    int64_t clock; /* step of the board's clock (clock_track.h), 0: any */
} jm__context;

typedef struct jm__contexts {
    const jm__span_index *spans;
    JM_VEC(jm__context) items;
    jm__map numbers;
    uint32_t *of_section; /* [sections]: number + 1; 0: not yet computed */
    JM_VEC(size_t) chain;
} jm__contexts;

/* False if memory is out. */
bool jm__contexts_init(jm__contexts *contexts, const jm__span_index *spans);
void jm__contexts_free(jm__contexts *contexts);

/* The number of a section's context. False if memory is out. */
bool jm__context_of(jm__contexts *contexts, size_t section, uint32_t *number);

/* The number of a context at a step of the clock. False if memory is out. */
bool jm__context_at_clock(jm__contexts *contexts, uint32_t context, int64_t clock, uint32_t *number);

#endif
