/* Spans that are layers, around work. */
#include "attribute/work/places.h"

#include "rows/span_kind.h"

static bool is_layer(jm_span_kind kind)
{
    return jm__span_kind_is_layer(kind) || kind == JM_SPAN_NVTX;
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
        if (!jm__map_put(&places->layered, &last, (jm__map_value){.id = 1})) return false;
    }
    return true;
}

void jm__places_free(jm__places *places)
{
    jm__map_free(&places->layered);
}

jm__place jm__place_of(const jm__places *places, size_t span, int64_t process_id)
{
    const jm__dataset *d = places->spans->dataset;
    if (!jm__dataset_process_has_pid(d, process_id, places->pid)) return JM_PLACE_UNLAYERED;
    if (jm__map_find(&places->layered, &process_id) == NULL) return JM_PLACE_UNLAYERED;
    for (size_t s = span; s != JM__NO_SPAN; s = jm__span_parent(places->spans, s))
        if (is_layer(d->spans[s].kind) || jm__span_kind_is_work(d->spans[s].kind)) return JM_PLACE_IN_LAYER;
    return JM_PLACE_ELSEWHERE;
}
