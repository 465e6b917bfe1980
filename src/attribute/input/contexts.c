/* Places by their names, found once a span. */
#include "attribute/input/contexts.h"

#include "format/rows/span_kind.h"

#include <stdlib.h>

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

/* The place of a span that lies in another place. */
static jm__context inside(jm__context outer, const jm__span *span)
{
    if (span->kind == JM_SPAN_PHASE) outer.phase = span->name_id;
    if (jm__span_kind_is_container(span->kind)) return outer;
    outer.layer = span->name_id;
    outer.type = span->type_id;
    outer.kind = span->kind;
    return outer;
}

static bool number_of(jm__contexts *contexts, const jm__context *place, uint32_t *number)
{
    const jm__map_value *known = jm__map_find(&contexts->numbers, place);
    *number = known != NULL ? (uint32_t)known->id : 0;
    if (known != NULL || contexts->items.count >= JM_CONTEXTS_MAX) return true;
    *number = (uint32_t)contexts->items.count;
    return jm__map_put(&contexts->numbers, place, (jm__map_value){.id = *number}) &&
           jm__vec_push(&contexts->items, *place);
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
        const jm__context place = inside(contexts->items.items[*number], span);
        if (!number_of(contexts, &place, number)) return false;
        contexts->of_section[section] = *number + 1;
    }
    return true;
}

bool jm__context_at_clock(jm__contexts *contexts, uint32_t place, int64_t clock, uint32_t *number)
{
    jm__context at = contexts->items.items[place];
    at.clock = clock;
    return number_of(contexts, &at, number);
}
