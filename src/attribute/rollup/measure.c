/* Phases have a time of their own, so their energy needs no fit: counter and power sensor tell it. */
#include "attribute/rollup/measure.h"

#include <math.h>
#include <stdlib.h>

static jm_span_kind kind_of(const jm__span_index *spans, size_t section)
{
    return spans->dataset->spans[jm__section_span(spans, section)].kind;
}

static bool has_container_around(const jm__span_index *spans, size_t section)
{
    for (size_t s = jm__section_parent(spans, section); s != JM__NO_SPAN; s = jm__section_parent(spans, s))
        if (jm__span_kind_is_container(kind_of(spans, s))) return true;
    return false;
}

static bool measure(const jm__attribution *a, jm__node *node, const jm__windows *windows)
{
    double sum_j = 0, variance = 0, sum_s = 0;
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->wanted || !jm__board_is_fitted(part->board)) continue;
        jm__windows known = {0};
        bool fine = jm__windows_add_all(&known, windows) && jm__windows_subtract(&known, &part->lost);
        bool any = known.count > 0;
        jm__total total = jm__board_total(part, &known);
        sum_s += (double)jm__windows_duration_ns(&known) * 1e-9;
        jm__vec_free(&known);
        if (!fine) return false;
        if (total.source == NULL || !any) return true;
        sum_j += total.energy_j;
        variance += total.u_j * total.u_j;
    }
    node->whole_j = sum_j;
    node->whole_u_j = sqrt(variance);
    node->whole_s = sum_s;
    return true;
}

bool jm__measure_phases(jm__views *v)
{
    const jm__span_index *spans = &v->a->spans;
    if (v->a->options.process_id != 0 || v->tree->failed) return true; /* boards do not know processes */
    size_t count = v->tree->nodes.count;
    jm__windows *of_node = calloc(count + 1, sizeof *of_node), all = {0};
    int64_t sum_ns = 0;
    bool fine = of_node != NULL;
    for (size_t s = 0; fine && s < jm__section_count(spans); s++) {
        if (kind_of(spans, s) != JM_SPAN_PHASE || has_container_around(spans, s)) continue;
        size_t node = jm__view_container_node(v, s);
        if (node >= count) continue; /* not in the report's time */
        fine = jm__windows_add_within(&of_node[node], &v->a->windows, jm__section_start_ns(spans, s),
                                      jm__section_end_ns(spans, s));
    }
    for (size_t n = 0; fine && n < count; n++) {
        jm__windows_normalise(&of_node[n]);
        sum_ns += jm__windows_duration_ns(&of_node[n]);
        fine = jm__windows_add_all(&all, &of_node[n]);
    }
    jm__windows_normalise(&all);
    /* Phases of two processes at one time share the board: no sensor tells them apart. */
    bool apart = sum_ns == jm__windows_duration_ns(&all);
    for (size_t n = 0; fine && apart && n < count; n++)
        if (of_node[n].count > 0) fine = measure(v->a, &v->tree->nodes.items[n], &of_node[n]);
    for (size_t n = 0; of_node != NULL && n < count; n++)
        jm__vec_free(&of_node[n]);
    free(of_node);
    jm__vec_free(&all);
    return fine;
}
