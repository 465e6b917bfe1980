/* The node of a span or a class in each view. */
#include "attribute/rollup/rollup.h"

#include "base/demangle.h"

#include <stdlib.h>
#include <string.h>

static const jm__span *span_of(const jm__rollup *r, size_t span)
{
    return &r->a->dataset->spans[span];
}

static const char *name_of(const jm__rollup *r, size_t span)
{
    const char *name = jm__dataset_text(r->a->dataset, span_of(r, span)->name_id);
    if (name[0] == '\0') name = jm__dataset_text(r->a->dataset, span_of(r, span)->type_id);
    return name[0] != '\0' ? name : "(unnamed)";
}

static size_t first_segment(const char *path)
{
    return strcspn(path, ".");
}

/* A model's own module is watched by its name ("GPT"), its layers by their path in it ("blocks.0"): what
 * lies between them is only told by the calls. */
void jm__rollup_find_roots(jm__rollup *r)
{
    const jm__dataset *d = r->a->dataset;
    for (size_t i = 0; i < d->span_count; i++) {
        if (d->spans[i].kind != JM_SPAN_FORWARD || d->spans[i].name_id <= 0) continue;
        if ((size_t)d->spans[i].name_id >= d->name_count || r->root_of[d->spans[i].name_id] != 0) continue;
        size_t top = i; /* the outermost forward around it */
        for (size_t outer = jm__rollup_parent(r, i); outer != JM__NO_SPAN;
             outer = jm__rollup_parent(r, outer)) {
            if (d->spans[outer].kind == JM_SPAN_FORWARD) top = outer;
        }
        const char *mine = name_of(r, i), *root = name_of(r, top);
        size_t length = first_segment(root);
        bool apart = strncmp(mine, root, length) != 0 || (mine[length] != '.' && mine[length] != '\0');
        if (top != i && root[length] == '\0' && apart) r->root_of[d->spans[i].name_id] = top + 1;
    }
}

/* Make the chain of nodes of a module path: "blocks", "blocks.0", "blocks.0.attn". */
static size_t layer_chain(jm__rollup *r, const char *path, size_t root)
{
    size_t node = root;
    for (size_t end = first_segment(path);; end += 1 + first_segment(path + end + 1)) {
        const char *start = path + end;
        while (start > path && start[-1] != '.')
            start--;
        const char *prefix = jm__tree_text(r->tree, "%.*s", (int)end, path);
        const char *name = prefix == NULL ? NULL : prefix + (start - path);
        node = jm__tree_node(r->tree, node, name, prefix, "layer");
        if (path[end] == '\0' || node == JM__NO_NODE) return node;
    }
}

static size_t layer_row(jm__rollup *r, size_t span)
{
    const jm__span *row = span_of(r, span);
    size_t root = JM__NO_NODE;
    bool known = row->name_id > 0 && (size_t)row->name_id < r->a->dataset->name_count;
    if (!known) return layer_chain(r, name_of(r, span), root);
    if (r->of_name[row->name_id] != 0) return r->of_name[row->name_id] - 1;
    if (r->root_of[row->name_id] != 0)
        root = layer_chain(r, name_of(r, r->root_of[row->name_id] - 1), JM__NO_NODE);
    size_t node = layer_chain(r, name_of(r, span), root);
    if (node != JM__NO_NODE) r->of_name[row->name_id] = node + 1;
    return node;
}

/* Work in a phase, step or window, but in no layer: one row a phase. */
static size_t no_layer_row(jm__rollup *r, size_t span)
{
    size_t best = span;
    for (size_t s = span; s != JM__NO_SPAN; s = jm__rollup_parent(r, s)) {
        if (!jm__kind_is_container(span_of(r, s)->kind)) continue;
        best = s;
        if (span_of(r, s)->kind == JM_SPAN_PHASE) break;
    }
    const char *text = jm__tree_text(r->tree, "%s (no layer)", name_of(r, best));
    return jm__tree_node(r->tree, JM__NO_NODE, text, text, jm_span_kind_text(span_of(r, best)->kind));
}

static size_t nvtx_row(jm__rollup *r, size_t span)
{
    size_t outer = jm__rollup_parent(r, span), parent = JM__NO_NODE;
    if (outer != JM__NO_SPAN && !jm__kind_is_container(span_of(r, outer)->kind))
        parent = jm__rollup_layer_node(r, outer);
    const char *path = name_of(r, span);
    if (parent != JM__NO_NODE)
        path = jm__tree_text(r->tree, "%s/%s", r->tree->nodes.items[parent].path, name_of(r, span));
    return jm__tree_node(r->tree, parent, name_of(r, span), path, "nvtx");
}

size_t jm__rollup_layer_node(jm__rollup *r, size_t span)
{
    if (r->of_span[span] != 0 && r->a->options.by == JM_BY_LAYER) return r->of_span[span] - 1;
    jm_span_kind kind = span_of(r, span)->kind;
    size_t node;
    if (jm__kind_is_layer(kind))
        node = layer_row(r, span);
    else if (kind == JM_SPAN_OPTIMIZER)
        node = jm__tree_node(r->tree, JM__NO_NODE, name_of(r, span), name_of(r, span), "optimizer");
    else if (kind == JM_SPAN_NVTX)
        node = nvtx_row(r, span);
    else
        node = no_layer_row(r, span);
    if (node != JM__NO_NODE) r->of_span[span] = node + 1;
    return node;
}

/* The innermost span around it that has a type. */
size_t jm__rollup_type_node(jm__rollup *r, size_t span)
{
    for (size_t s = span; s != JM__NO_SPAN; s = jm__rollup_parent(r, s)) {
        const jm__span *row = span_of(r, s);
        if (row->type_id <= 0 && !jm__kind_is_layer(row->kind)) continue;
        const char *type = jm__dataset_text(r->a->dataset, row->type_id);
        if (type[0] == '\0') type = "(no type)";
        return jm__tree_node(r->tree, JM__NO_NODE, type, type, jm_span_kind_text(row->kind));
    }
    for (size_t s = span; s != JM__NO_SPAN; s = jm__rollup_parent(r, s)) {
        jm_span_kind kind = span_of(r, s)->kind;
        if (kind == JM_SPAN_OPTIMIZER || kind == JM_SPAN_NVTX)
            return jm__tree_node(r->tree, JM__NO_NODE, name_of(r, s), name_of(r, s), jm_span_kind_text(kind));
    }
    return no_layer_row(r, span);
}

/* Phases and windows go by name, epochs and steps are all one. */
size_t jm__rollup_container_node(jm__rollup *r, size_t span)
{
    size_t chain[16], depth = 0;
    for (size_t s = span; s != JM__NO_SPAN && depth < sizeof chain / sizeof chain[0];
         s = jm__rollup_parent(r, s))
        if (jm__kind_is_container(span_of(r, s)->kind)) chain[depth++] = s;
    size_t node = JM__NO_NODE;
    while (depth-- > 0) {
        jm_span_kind kind = span_of(r, chain[depth])->kind;
        bool named = kind == JM_SPAN_PHASE || kind == JM_SPAN_WINDOW;
        const char *name = named ? name_of(r, chain[depth]) : jm_span_kind_text(kind);
        const char *path = name;
        if (node != JM__NO_NODE)
            path = jm__tree_text(r->tree, "%s/%s", r->tree->nodes.items[node].path, name);
        node = jm__tree_node(r->tree, node, name, path, jm_span_kind_text(kind));
    }
    return node;
}

/* Under its phase: forward, backward, recompute, optimizer or other. */
size_t jm__rollup_phase_node(jm__rollup *r, size_t span)
{
    const char *leaf = "other";
    for (size_t s = span; s != JM__NO_SPAN; s = jm__rollup_parent(r, s)) {
        jm_span_kind kind = span_of(r, s)->kind;
        if (jm__kind_is_container(kind)) break;
        if (!jm__kind_is_layer(kind) && kind != JM_SPAN_OPTIMIZER) continue;
        leaf = jm_span_kind_text(kind);
        break;
    }
    size_t container = jm__rollup_container_node(r, span);
    const char *path = leaf;
    if (container != JM__NO_NODE)
        path = jm__tree_text(r->tree, "%s/%s", r->tree->nodes.items[container].path, leaf);
    return jm__tree_node(r->tree, container, leaf, path, leaf);
}

/* One row an occurrence, inside the row of the span around it. */
size_t jm__rollup_span_node(jm__rollup *r, size_t span)
{
    JM_VEC(size_t) chain = {0};
    size_t node = JM__NO_NODE;
    for (size_t s = span; s != JM__NO_SPAN; s = jm__rollup_parent(r, s)) {
        if (r->of_span[s] != 0) {
            node = r->of_span[s] - 1;
            break;
        }
        if (!jm__vec_push(&chain, s)) r->tree->failed = true;
    }
    while (chain.count > 0 && !r->tree->failed) {
        size_t s = chain.items[--chain.count];
        const char *path = name_of(r, s), *dot = strrchr(path, '.');
        bool layer = jm__kind_is_layer(span_of(r, s)->kind) && dot != NULL && dot[1] != '\0';
        node =
            jm__tree_new(r->tree, node, layer ? dot + 1 : path, path, jm_span_kind_text(span_of(r, s)->kind));
        if (node != JM__NO_NODE) r->of_span[s] = node + 1;
    }
    jm__vec_free(&chain);
    return r->tree->failed ? JM__NO_NODE : node;
}

static bool same_class_name(const jm__class *a, const jm__class *b)
{
    return strcmp(a->kind, b->kind) == 0 && strcmp(a->name, b->name) == 0;
}

/* CUPTI gives C++ names as the linker sees them. The path keeps that one: it is the same on every machine. */
static const char *readable_name(jm__rollup *r, const char *name)
{
    char *plain = jm__demangle(name);
    if (plain == NULL) return name;
    const char *kept = jm__tree_text(r->tree, "%s", plain);
    free(plain);
    return kept != NULL ? kept : name;
}

static bool has_shape(const jm__class *row)
{
    return row->grid[0] != 0 || row->typical_us > 0;
}

static const char *shape_text(jm__tree *tree, const jm__class *row)
{
    const uint32_t *grid = row->grid, *block = row->block;
    if (grid[0] == 0) return jm__tree_text(tree, "calls of about %.3g us", row->typical_us);
    return jm__tree_text(tree, "grid %ux%ux%u block %ux%ux%u", grid[0], grid[1], grid[2], block[0], block[1],
                         block[2]);
}

/* A row a name; where a name ran in several launch shapes, a row a shape inside it. */
size_t jm__rollup_kernel_node(jm__rollup *r, uint32_t class_index)
{
    if (r->of_class[class_index] != 0) return r->of_class[class_index] - 1;
    const jm__classes *classes = &r->a->work.classes;
    const jm__class *mine = &classes->items[class_index];
    size_t shapes = 0;
    for (size_t i = 0; i < classes->count && shapes < 2; i++)
        shapes += has_shape(&classes->items[i]) && same_class_name(&classes->items[i], mine);
    size_t node = jm__tree_node(r->tree, JM__NO_NODE, readable_name(r, mine->name), mine->name, mine->kind);
    if (shapes > 1 && has_shape(mine)) {
        const char *shape = shape_text(r->tree, mine);
        const char *path = jm__tree_text(r->tree, "%s %s", mine->name, shape == NULL ? "" : shape);
        node = jm__tree_node(r->tree, node, shape, path, mine->kind);
    }
    if (node != JM__NO_NODE) r->of_class[class_index] = node + 1;
    return node;
}

/* --- idle time by phase --- */

typedef struct phase_edge {
    int64_t t_ns;
    size_t span;
    bool begins;
} phase_edge;

static int by_time(const void *a, const void *b)
{
    const phase_edge *left = a, *right = b;
    if (left->t_ns != right->t_ns) return left->t_ns < right->t_ns ? -1 : 1;
    return (int)left->begins - (int)right->begins;
}

static size_t idle_node(jm__rollup *r, const size_t *open, size_t count)
{
    size_t phase = count > 0 ? jm__rollup_container_node(r, open[count - 1]) : JM__NO_NODE;
    const char *path = "(idle)";
    if (phase != JM__NO_NODE) path = jm__tree_text(r->tree, "%s/(idle)", r->tree->nodes.items[phase].path);
    return jm__tree_node(r->tree, phase, "(idle)", path, "idle");
}

/* Idle pieces of [from, to], from piece *cursor on, to one node. */
static void add_idle_between(jm__rollup *r, size_t b, size_t node, size_t *cursor, int64_t from_ns,
                             int64_t to_ns)
{
    const jm__board_part *part = &r->a->boards[b];
    while (*cursor < part->pieces.count && part->pieces.items[*cursor].end_ns <= from_ns)
        (*cursor)++;
    for (size_t i = *cursor; i < part->pieces.count && part->pieces.items[i].start_ns < to_ns; i++) {
        const jm__piece *piece = &part->pieces.items[i];
        if (piece->column < part->columns.class_columns) continue;
        int64_t from = piece->start_ns > from_ns ? piece->start_ns : from_ns;
        int64_t to = piece->end_ns < to_ns ? piece->end_ns : to_ns;
        double seconds = (double)jm__windows_overlap_ns(&part->windows, from, to) * 1e-9;
        if (seconds <= 0 || node == JM__NO_NODE) continue;
        r->tree->nodes.items[node].busy_s += seconds;
        r->tree->nodes.items[node].boards |= UINT64_C(1) << (b < 63 ? b : 63);
        jm__tree_add(r->tree, node, (uint32_t)(part->first_column + piece->column), seconds);
    }
}

void jm__rollup_phase_idle(jm__rollup *r, size_t b)
{
    const jm__dataset *d = r->a->dataset;
    JM_VEC(phase_edge) edges = {0};
    JM_VEC(size_t) open = {0};
    bool fine = true;
    for (size_t i = 0; fine && i < d->span_count; i++) {
        if (d->spans[i].kind != JM_SPAN_PHASE) continue;
        phase_edge begin = {d->spans[i].start_ns, i, true},
                   end = {jm__span_end_ns(d, &d->spans[i]), i, false};
        fine = end.t_ns <= begin.t_ns || (jm__vec_push(&edges, begin) && jm__vec_push(&edges, end));
    }
    if (edges.count > 1) qsort(edges.items, edges.count, sizeof *edges.items, by_time);
    int64_t from_ns = INT64_MIN;
    size_t cursor = 0;
    for (size_t i = 0; fine && i <= edges.count; i++) {
        int64_t to_ns = i < edges.count ? edges.items[i].t_ns : INT64_MAX;
        if (to_ns > from_ns)
            add_idle_between(r, b, idle_node(r, open.items, open.count), &cursor, from_ns, to_ns);
        from_ns = to_ns;
        if (i == edges.count) break;
        if (edges.items[i].begins) {
            fine = jm__vec_push(&open, edges.items[i].span);
            continue;
        }
        for (size_t k = open.count; k-- > 0;) {
            if (open.items[k] != edges.items[i].span) continue;
            memmove(open.items + k, open.items + k + 1, (open.count - k - 1) * sizeof *open.items);
            open.count--;
            break;
        }
    }
    if (!fine) r->tree->failed = true;
    jm__vec_free(&edges);
    jm__vec_free(&open);
}
