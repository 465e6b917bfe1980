/* Time by node and spot; of each node the innermost layer that holds half of it. */
#include "attribute/rollup/mostly.h"

#include "base/module_path.h"

#include <string.h>

static uint64_t spot_hash(const void *key)
{
    const jm__spot *spot = key;
    return jm__map_hash_bytes(jm__map_hash_bytes(0, spot->path, strlen(spot->path)), &spot->kind,
                              sizeof spot->kind);
}

static bool spot_equal(const void *key, const void *another)
{
    const jm__spot *a = key, *b = another;
    return a->kind == b->kind && strcmp(a->path, b->path) == 0;
}

bool jm__mostly_begin(jm__mostly *m, jm__tree *tree, const jm__attribution *a)
{
    *m = (jm__mostly){.a = a,
                      .tree = tree,
                      .spot_at = {.key_size = sizeof(jm__spot), .hash = spot_hash, .equal = spot_equal},
                      .stay_at = {.key_size = 2 * sizeof(size_t)}};
    m->spot_of = calloc(a->work.contexts.items.count + 1, sizeof *m->spot_of);
    return m->spot_of != NULL;
}

void jm__mostly_free(jm__mostly *m)
{
    free(m->spot_of);
    jm__vec_free(&m->spots);
    jm__vec_free(&m->stays);
    jm__map_free(&m->spot_at);
    jm__map_free(&m->stay_at);
    *m = (jm__mostly){0};
}

/* ---- time by node and spot ---- */

#define NO_SPOT SIZE_MAX

static size_t number_of(jm__mostly *m, const char *path, int64_t kind)
{
    jm__spot spot = {path, kind};
    const jm__map_value *known = jm__map_find(&m->spot_at, &spot);
    if (known != NULL) return (size_t)known->id;
    const jm__map_value number = {.id = (int64_t)m->spots.count};
    spot.path = jm__tree_text(m->tree, "%s", path);
    if (spot.path != NULL && jm__map_put(&m->spot_at, &spot, number) && jm__vec_push(&m->spots, spot))
        return (size_t)number.id;
    return NO_SPOT;
}

static size_t spot_of(jm__mostly *m, uint32_t context)
{
    if (m->spot_of[context] != 0) return m->spot_of[context] - 1;
    const jm__context *at = &m->a->work.contexts.items.items[context];
    const char *name = jm__dataset_text(m->a->dataset, at->layer);
    jm__strbuf path = {0};
    jm__module_path_add_unnumbered(&path, name[0] != '\0' ? name : jm__dataset_text(m->a->dataset, at->type));
    size_t spot = path.failed ? NO_SPOT : number_of(m, path.text != NULL ? path.text : "", at->kind);
    jm__strbuf_free(&path);
    if (spot == NO_SPOT)
        m->tree->failed = true;
    else
        m->spot_of[context] = spot + 1;
    return spot;
}

static void add(jm__mostly *m, size_t node, size_t spot, double seconds)
{
    const size_t key[2] = {node, spot};
    const jm__map_value *known = jm__map_find(&m->stay_at, key);
    if (known != NULL) {
        m->stays.items[known->id].seconds += seconds;
        return;
    }
    const jm__stay stay = {node, spot, seconds};
    if (!jm__map_put(&m->stay_at, key, (jm__map_value){.id = (int64_t)m->stays.count}) ||
        !jm__vec_push(&m->stays, stay))
        m->tree->failed = true;
}

void jm__mostly_add(jm__mostly *m, size_t node, size_t use, double seconds)
{
    if (seconds <= 0) return;
    size_t spot = spot_of(m, m->a->work.uses.items.items[use].context);
    for (size_t n = node; n != JM__NO_NODE && !m->tree->failed; n = m->tree->nodes.items[n].parent)
        add(m, n, spot, seconds);
}

/* ---- the layer that holds most ---- */

/* The end of a path comes before the end of a part of it, and that before all other characters. */
static int rank_of(char character)
{
    return character == '\0' ? 0 : character == '.' ? 1 : 2 + (unsigned char)character;
}

/* All paths inside a layer stand together, behind the layer itself. */
static int compare_paths(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return rank_of(*a) - rank_of(*b);
}

static int by_node_and_path(const void *left, const void *right, void *context)
{
    const jm__mostly *m = context;
    const jm__stay *a = left, *b = right;
    const jm__spot *spot_a = &m->spots.items[a->spot], *spot_b = &m->spots.items[b->spot];
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    if (spot_a->kind != spot_b->kind) return spot_a->kind < spot_b->kind ? -1 : 1;
    return compare_paths(spot_a->path, spot_b->path);
}

static size_t depth_of(const char *path)
{
    size_t depth = 1;
    for (; *path != '\0'; path++)
        depth += *path == '.';
    return depth;
}

/* Bytes of the first `depth` parts of a path; all of a shorter one. */
static size_t outer_length(const char *path, size_t depth)
{
    const char *at = path;
    for (;; at++) {
        at += strcspn(at, ".");
        if (*at == '\0' || --depth == 0) return (size_t)(at - path);
    }
}

static bool is_same_layer(const jm__spot *a, const jm__spot *b, size_t depth)
{
    size_t length = outer_length(a->path, depth);
    return a->kind == b->kind && length == outer_length(b->path, depth) &&
           strncmp(a->path, b->path, length) == 0;
}

/* Of the layers so deep, the one with the most time of these stays of a node: its first stay. */
static const jm__stay *find_most(const jm__mostly *m, const jm__stay *stays, size_t count, size_t depth,
                                 double *most_s)
{
    const jm__stay *most = stays;
    *most_s = 0;
    for (size_t i = 0, end; i < count; i = end) {
        double seconds = 0;
        for (end = i; end < count &&
                      is_same_layer(&m->spots.items[stays[i].spot], &m->spots.items[stays[end].spot], depth);
             end++)
            seconds += stays[end].seconds;
        if (seconds <= *most_s) continue;
        *most_s = seconds;
        most = &stays[i];
    }
    return most;
}

static void name_place(jm__mostly *m, jm__node *node, const jm__spot *spot, size_t depth)
{
    bool again = spot->kind == JM_SPAN_BACKWARD || spot->kind == JM_SPAN_RECOMPUTE;
    node->mostly_at =
        spot->path[0] == '\0'
            ? "(no layer)"
            : jm__tree_text(m->tree, "%.*s%s%s%s", (int)outer_length(spot->path, depth), spot->path,
                            again ? " (" : "", again ? jm_span_kind_text((jm_span_kind)spot->kind) : "",
                            again ? ")" : "");
}

static void give(jm__mostly *m, const jm__stay *stays, size_t count)
{
    static const double half = 0.5;
    double all_s = 0, most_s = 0;
    size_t depth = 1;
    for (size_t i = 0; i < count; i++) {
        size_t mine = depth_of(m->spots.items[stays[i].spot].path);
        all_s += stays[i].seconds;
        depth = mine > depth ? mine : depth;
    }
    const jm__stay *most = find_most(m, stays, count, depth, &most_s);
    while (most_s < half * all_s && depth > 1)
        most = find_most(m, stays, count, --depth, &most_s);
    jm__node *node = &m->tree->nodes.items[stays->node];
    node->mostly_share = most_s / all_s;
    name_place(m, node, &m->spots.items[most->spot], depth);
}

void jm__mostly_give(jm__mostly *m)
{
    jm__stay *stays = m->stays.items;
    size_t count = m->stays.count;
    if (count > 0) qsort_r(stays, count, sizeof *stays, by_node_and_path, m);
    for (size_t i = 0, end; i < count && !m->tree->failed; i = end) {
        for (end = i; end < count && stays[end].node == stays[i].node; end++) {
        }
        give(m, stays + i, end - i);
    }
}
