/* Places and contexts by the spans that enclose work, computed once per section. */
#include "attribute/input/places.h"

#include "format/rows/span_kind.h"

#include <stdlib.h>

/* Context 0 is "anywhere": work outside all spans, and all contexts beyond the maximum. */
enum { JM_CONTEXTS_MAX = 4096 };

static bool is_layer(jm_span_kind kind)
{
    return jm__span_kind_is_layer(kind) || jm__span_kind_is_range(kind);
}

static size_t nearest_layer(const jm__span_index *spans, size_t section, size_t outer)
{
    jm_span_kind kind = spans->dataset->spans[jm__section_span(spans, section)].kind;
    return is_layer(kind) || jm__span_kind_is_work(kind) ? section : outer;
}

bool jm__places_init(jm__places *places, const jm__span_index *spans, int64_t pid)
{
    const jm__dataset *d = spans->dataset;
    *places = (jm__places){.spans = spans, .pid = pid, .layered = {.key_size = sizeof(int64_t)}};
    int64_t last = 0;
    for (size_t i = 0; i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (!is_layer(span->kind) || (places->layered.count > 0 && span->process_id == last)) continue;
        last = span->process_id;
        if (!jm__map_add(&places->layered, &last)) return false;
    }
    places->layer_of = jm__section_owners(spans, nearest_layer);
    return places->layer_of != NULL;
}

void jm__places_free(jm__places *places)
{
    jm__map_free(&places->layered);
    free(places->layer_of);
    places->layer_of = NULL;
}

static jm__context enter_span(jm__context outer, const jm__span *span)
{
    if (span->kind == JM_SPAN_PHASE) outer.phase = span->name_id;
    if (jm__span_kind_is_container(span->kind)) return outer;
    outer.layer = span->name_id;
    outer.type = span->type_id;
    outer.kind = span->kind;
    return outer;
}

jm__place jm__place_of(const jm__places *places, size_t section, int64_t process_id)
{
    const jm__dataset *d = places->spans->dataset;
    if (!jm__dataset_process_has_pid(d, process_id, places->pid)) return JM_PLACE_UNLAYERED;
    if (jm__map_find(&places->layered, &process_id) == NULL) return JM_PLACE_UNLAYERED;
    bool inside = section != JM__NO_SPAN && places->layer_of[section] != JM__NO_SPAN;
    return inside ? JM_PLACE_IN_LAYER : JM_PLACE_ELSEWHERE;
}

bool jm__contexts_init(jm__contexts *contexts, const jm__span_index *spans)
{
    *contexts = (jm__contexts){.spans = spans, .numbers = {.key_size = sizeof(jm__context)}};
    contexts->of_section = calloc(jm__section_count(spans) + 1, sizeof *contexts->of_section);
    const jm__context anywhere = {0};
    return contexts->of_section != NULL && jm__vec_push(&contexts->items, anywhere) &&
           jm__map_put(&contexts->numbers, &anywhere, (jm__map_value){.id = 0});
}

void jm__contexts_free(jm__contexts *contexts)
{
    jm__vec_free(&contexts->items);
    jm__vec_free(&contexts->chain);
    jm__map_free(&contexts->numbers);
    free(contexts->of_section);
    *contexts = (jm__contexts){0};
}

static bool number_of(jm__contexts *contexts, const jm__context *context, uint32_t *number)
{
    const jm__map_value *found = jm__map_find(&contexts->numbers, context);
    *number = found != NULL ? (uint32_t)found->id : 0;
    if (found != NULL || contexts->items.count >= JM_CONTEXTS_MAX) return true;
    *number = (uint32_t)contexts->items.count;
    return jm__map_put(&contexts->numbers, context, (jm__map_value){.id = *number}) &&
           jm__vec_push(&contexts->items, *context);
}

bool jm__context_of(jm__contexts *contexts, size_t section, uint32_t *number)
{
    const jm__span_index *spans = contexts->spans;
    *number = 0;
    contexts->chain.count = 0;
    for (; section != JM__NO_SPAN; section = jm__section_parent(spans, section)) {
        *number = contexts->of_section[section];
        if (*number != 0) break;
        if (!jm__vec_push(&contexts->chain, section)) return false;
    }
    if (*number != 0) (*number)--;
    while (contexts->chain.count > 0) {
        section = contexts->chain.items[--contexts->chain.count];
        const jm__span *span = &spans->dataset->spans[jm__section_span(spans, section)];
        const jm__context context = enter_span(contexts->items.items[*number], span);
        if (!number_of(contexts, &context, number)) return false;
        contexts->of_section[section] = *number + 1;
    }
    return true;
}

bool jm__context_at_clock(jm__contexts *contexts, uint32_t context, int64_t clock, uint32_t *number)
{
    jm__context at_clock = contexts->items.items[context];
    at_clock.clock = clock;
    return number_of(contexts, &at_clock, number);
}
