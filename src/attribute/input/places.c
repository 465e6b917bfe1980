/* Spans that are layers, around work. */
#include "attribute/input/places.h"

#include "format/rows/span_kind.h"

#include <stdlib.h>

static bool is_layer(jm_span_kind kind)
{
    return jm__span_kind_is_layer(kind) || jm__span_kind_is_range(kind);
}

static size_t layer_around(const jm__span_index *spans, size_t section, size_t outer)
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
    places->layer_of = jm__span_speakers(spans, layer_around);
    return places->layer_of != NULL;
}

void jm__places_free(jm__places *places)
{
    jm__map_free(&places->layered);
    free(places->layer_of);
    places->layer_of = NULL;
}

jm__place jm__place_of(const jm__places *places, size_t section, int64_t process_id)
{
    const jm__dataset *d = places->spans->dataset;
    if (!jm__dataset_process_has_pid(d, process_id, places->pid)) return JM_PLACE_UNLAYERED;
    if (jm__map_find(&places->layered, &process_id) == NULL) return JM_PLACE_UNLAYERED;
    bool inside = section != JM__NO_SPAN && places->layer_of[section] != JM__NO_SPAN;
    return inside ? JM_PLACE_IN_LAYER : JM_PLACE_ELSEWHERE;
}
