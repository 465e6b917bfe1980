/* The node of a span or a class in each view. */
#include "attribute/rollup/views.h"

#include "base/demangle.h"
#include "base/status.h"
#include "base/strbuf.h"

#include <stdlib.h>
#include <string.h>

typedef JM_VEC(size_t) span_chain;

static const jm__span *span_of(const jm__views *v, size_t span)
{
    return &v->a->dataset->spans[span];
}

static const char *name_of(const jm__views *v, size_t span)
{
    const char *name = jm__dataset_text(v->a->dataset, span_of(v, span)->name_id);
    if (name[0] == '\0') name = jm__dataset_text(v->a->dataset, span_of(v, span)->type_id);
    return name[0] != '\0' ? name : "(unnamed)";
}

static size_t first_segment(const char *path)
{
    return strcspn(path, ".");
}

/* A model's own module is watched by its name ("GPT"), its layers by their path in it ("blocks.0"): what
 * lies between them is only told by the calls. */
static void find_roots(jm__views *v)
{
    const jm__dataset *d = v->a->dataset;
    for (size_t i = 0; i < d->span_count; i++) {
        if (d->spans[i].kind != JM_SPAN_FORWARD || d->spans[i].name_id <= 0) continue;
        if ((size_t)d->spans[i].name_id >= d->name_count || v->root_of[d->spans[i].name_id] != 0) continue;
        size_t top = i; /* the outermost forward around it */
        for (size_t outer = jm__span_parent(&v->a->spans, i); outer != JM__NO_SPAN;
             outer = jm__span_parent(&v->a->spans, outer)) {
            if (d->spans[outer].kind == JM_SPAN_FORWARD) top = outer;
        }
        const char *mine = name_of(v, i), *root = name_of(v, top);
        size_t length = first_segment(root);
        bool apart = strncmp(mine, root, length) != 0 || (mine[length] != '.' && mine[length] != '\0');
        if (top != i && root[length] == '\0' && apart) v->root_of[d->spans[i].name_id] = top + 1;
    }
}

/* Make the chain of nodes of a module path: "blocks", "blocks.0", "blocks.0.attn". */
static size_t layer_chain(jm__views *v, const char *path, size_t root)
{
    size_t node = root;
    for (size_t end = first_segment(path);; end += 1 + first_segment(path + end + 1)) {
        const char *start = path + end;
        while (start > path && start[-1] != '.')
            start--;
        const char *prefix = jm__tree_text(v->tree, "%.*s", (int)end, path);
        const char *name = prefix == NULL ? NULL : prefix + (start - path);
        node = jm__tree_node(v->tree, node, name, prefix, "layer");
        if (path[end] == '\0' || node == JM__NO_NODE) return node;
    }
}

static size_t layer_row(jm__views *v, size_t span)
{
    const jm__span *row = span_of(v, span);
    size_t root = JM__NO_NODE;
    bool known = row->name_id > 0 && (size_t)row->name_id < v->a->dataset->name_count;
    if (!known) return layer_chain(v, name_of(v, span), root);
    if (v->of_name[row->name_id] != 0) return v->of_name[row->name_id] - 1;
    if (v->root_of[row->name_id] != 0)
        root = layer_chain(v, name_of(v, v->root_of[row->name_id] - 1), JM__NO_NODE);
    size_t node = layer_chain(v, name_of(v, span), root);
    if (node != JM__NO_NODE) v->of_name[row->name_id] = node + 1;
    return node;
}

/* Work in a phase, step or window, but in no layer: one row a phase. */
static size_t no_layer_row(jm__views *v, size_t span)
{
    size_t best = span;
    for (size_t s = span; s != JM__NO_SPAN; s = jm__span_parent(&v->a->spans, s)) {
        if (!jm__span_kind_is_container(span_of(v, s)->kind)) continue;
        best = s;
        if (span_of(v, s)->kind == JM_SPAN_PHASE) break;
    }
    const char *text = jm__tree_text(v->tree, "%s (no layer)", name_of(v, best));
    return jm__tree_node(v->tree, JM__NO_NODE, text, text, jm_span_kind_text(span_of(v, best)->kind));
}

/* A path under another: "phase/step". A name that holds a slash is written so that no two rows meet. */
static const char *path_under(jm__views *v, size_t parent, const char *name)
{
    jm__strbuf text = {0};
    if (parent != JM__NO_NODE) jm__strbuf_format(&text, "%s/", v->tree->nodes.items[parent].path);
    for (size_t part = strcspn(name, "/"); name[part] != '\0'; part = strcspn(name, "/")) {
        jm__strbuf_format(&text, "%.*s\\/", (int)part, name);
        name += part + 1;
    }
    jm__strbuf_add(&text, name);
    const char *path = text.failed ? NULL : jm__tree_text(v->tree, "%s", text.text);
    jm__strbuf_free(&text);
    return path;
}

static size_t nvtx_row(jm__views *v, size_t span)
{
    size_t outer = jm__span_parent(&v->a->spans, span), parent = JM__NO_NODE;
    if (outer != JM__NO_SPAN && !jm__span_kind_is_container(span_of(v, outer)->kind))
        parent = jm__view_layer_node(v, outer);
    const char *path = name_of(v, span);
    if (parent != JM__NO_NODE) path = path_under(v, parent, path);
    return jm__tree_node(v->tree, parent, name_of(v, span), path, "nvtx");
}

size_t jm__view_layer_node(jm__views *v, size_t span)
{
    if (v->of_span[span] != 0 && v->a->options.by == JM_BY_LAYER) return v->of_span[span] - 1;
    jm_span_kind kind = span_of(v, span)->kind;
    size_t node;
    if (jm__span_kind_is_layer(kind))
        node = layer_row(v, span);
    else if (kind == JM_SPAN_OPTIMIZER)
        node = jm__tree_node(v->tree, JM__NO_NODE, name_of(v, span), name_of(v, span), "optimizer");
    else if (kind == JM_SPAN_NVTX)
        node = nvtx_row(v, span);
    else
        node = no_layer_row(v, span);
    if (node != JM__NO_NODE) v->of_span[span] = node + 1;
    return node;
}

/* The innermost span around it that has a type. */
size_t jm__view_type_node(jm__views *v, size_t span)
{
    for (size_t s = span; s != JM__NO_SPAN; s = jm__span_parent(&v->a->spans, s)) {
        const jm__span *row = span_of(v, s);
        if (row->type_id <= 0 && !jm__span_kind_is_layer(row->kind)) continue;
        const char *type = jm__dataset_text(v->a->dataset, row->type_id);
        if (type[0] == '\0') type = "(no type)";
        return jm__tree_node(v->tree, JM__NO_NODE, type, type, jm_span_kind_text(row->kind));
    }
    for (size_t s = span; s != JM__NO_SPAN; s = jm__span_parent(&v->a->spans, s)) {
        jm_span_kind kind = span_of(v, s)->kind;
        if (kind == JM_SPAN_OPTIMIZER || kind == JM_SPAN_NVTX)
            return jm__tree_node(v->tree, JM__NO_NODE, name_of(v, s), name_of(v, s), jm_span_kind_text(kind));
    }
    return no_layer_row(v, span);
}

/* The container span at or around `span` that has a node already or is the outermost; those before it are
 * pushed, innermost first. */
static bool open_containers(const jm__views *v, size_t span, span_chain *chain, size_t *known)
{
    *known = JM__NO_SPAN;
    for (size_t s = span; s != JM__NO_SPAN; s = jm__span_parent(&v->a->spans, s)) {
        if (v->container_of[s] != 0) {
            *known = s;
            return true;
        }
        if (!jm__vec_push(chain, s)) return false;
    }
    return true;
}

/* Phases and windows go by name, epochs and steps are all one. */
size_t jm__view_container_node(jm__views *v, size_t span)
{
    span_chain chain = {0};
    size_t known;
    if (!open_containers(v, span, &chain, &known)) v->tree->failed = true;
    size_t node = known == JM__NO_SPAN ? JM__NO_NODE : v->container_of[known] - 1;
    while (chain.count > 0 && !v->tree->failed) {
        size_t s = chain.items[--chain.count];
        jm_span_kind kind = span_of(v, s)->kind;
        if (jm__span_kind_is_container(kind)) {
            bool named = kind == JM_SPAN_PHASE || kind == JM_SPAN_WINDOW;
            const char *name = named ? name_of(v, s) : jm_span_kind_text(kind);
            node = jm__tree_node(v->tree, node, name, path_under(v, node, name), jm_span_kind_text(kind));
        }
        if (node != JM__NO_NODE) v->container_of[s] = node + 1;
    }
    jm__vec_free(&chain);
    return v->tree->failed ? JM__NO_NODE : node;
}

/* Under its phase: forward, backward, recompute, optimizer or other. */
size_t jm__view_phase_node(jm__views *v, size_t span)
{
    const char *leaf = "other";
    for (size_t s = span; s != JM__NO_SPAN; s = jm__span_parent(&v->a->spans, s)) {
        jm_span_kind kind = span_of(v, s)->kind;
        if (jm__span_kind_is_container(kind)) break;
        if (!jm__span_kind_is_work(kind)) continue;
        leaf = jm_span_kind_text(kind);
        break;
    }
    size_t container = jm__view_container_node(v, span);
    return jm__tree_node(v->tree, container, leaf, path_under(v, container, leaf), leaf);
}

/* One row an occurrence, inside the row of the span around it. */
size_t jm__view_span_node(jm__views *v, size_t span)
{
    span_chain chain = {0};
    size_t node = JM__NO_NODE;
    for (size_t s = span; s != JM__NO_SPAN; s = jm__span_parent(&v->a->spans, s)) {
        if (v->of_span[s] != 0) {
            node = v->of_span[s] - 1;
            break;
        }
        if (!jm__vec_push(&chain, s)) v->tree->failed = true;
    }
    while (chain.count > 0 && !v->tree->failed) {
        size_t s = chain.items[--chain.count];
        const char *path = name_of(v, s), *dot = strrchr(path, '.');
        bool layer = jm__span_kind_is_layer(span_of(v, s)->kind) && dot != NULL && dot[1] != '\0';
        node =
            jm__tree_new(v->tree, node, layer ? dot + 1 : path, path, jm_span_kind_text(span_of(v, s)->kind));
        if (node != JM__NO_NODE) v->of_span[s] = node + 1;
    }
    jm__vec_free(&chain);
    return v->tree->failed ? JM__NO_NODE : node;
}

/* CUPTI gives C++ names as the linker sees them. The path keeps that one: it is the same on every machine. */
static const char *readable_name(jm__views *v, const char *name)
{
    char *plain;
    if (!jm__demangle(&plain, name)) v->tree->failed = true;
    if (plain == NULL) return name;
    const char *kept = jm__tree_text(v->tree, "%s", plain);
    free(plain);
    return kept;
}

static bool has_shape(const jm__class *row)
{
    return row->grid[0] != 0 || row->typical_us > 0;
}

static int by_name(const void *a, const void *b, void *context)
{
    const jm__class *classes = context;
    const jm__class *left = &classes[*(const uint32_t *)a], *right = &classes[*(const uint32_t *)b];
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : strcmp(left->kind, right->kind);
}

/* Mark the classes with a shape whose name ran in more than one. */
static void find_split(jm__views *v, uint32_t *order)
{
    jm__class *classes = v->a->work.classes.items;
    size_t count = 0;
    for (size_t c = 0; c < v->a->work.classes.count; c++)
        if (has_shape(&classes[c])) order[count++] = (uint32_t)c;
    qsort_r(order, count, sizeof *order, by_name, classes);
    for (size_t i = 0; i + 1 < count; i++)
        if (by_name(&order[i], &order[i + 1], classes) == 0)
            v->split[order[i]] = v->split[order[i + 1]] = true;
}

jm_status jm__views_take_classes(jm__views *v, jm_error *err)
{
    size_t count = v->a->work.classes.count;
    uint32_t *order = calloc(count + 1, sizeof *order);
    v->of_class = calloc(count + 1, sizeof *v->of_class);
    v->split = calloc(count + 1, sizeof *v->split);
    bool fine = order != NULL && v->of_class != NULL && v->split != NULL;
    if (fine && count > 0) find_split(v, order);
    free(order);
    return fine ? JM_OK : jm__no_memory(err, "jm__views_take_classes");
}

static const char *shape_text(jm__tree *tree, const jm__class *row)
{
    const uint32_t *grid = row->grid, *block = row->block;
    if (grid[0] == 0) return jm__tree_text(tree, "calls of about %.3g us", row->typical_us);
    return jm__tree_text(tree, "grid %ux%ux%u block %ux%ux%u", grid[0], grid[1], grid[2], block[0], block[1],
                         block[2]);
}

/* A row a name; where a name ran in several launch shapes, a row a shape inside it. */
size_t jm__view_kernel_node(jm__views *v, uint32_t class_index)
{
    if (v->of_class[class_index] != 0) return v->of_class[class_index] - 1;
    const jm__class *mine = &v->a->work.classes.items[class_index];
    size_t node = jm__tree_node(v->tree, JM__NO_NODE, readable_name(v, mine->name), mine->name, mine->kind);
    if (v->split[class_index]) {
        const char *shape = shape_text(v->tree, mine);
        const char *path = jm__tree_text(v->tree, "%s %s", mine->name, shape == NULL ? "" : shape);
        node = jm__tree_node(v->tree, node, shape, path, mine->kind);
    }
    if (node != JM__NO_NODE) v->of_class[class_index] = node + 1;
    return node;
}

jm_status jm__views_init(jm__views *v, jm__tree *tree, const jm__attribution *a, jm_error *err)
{
    const jm__dataset *d = a->dataset;
    *v = (jm__views){.a = a, .tree = tree};
    v->of_span = calloc(d->span_count + 1, sizeof *v->of_span);
    v->container_of = calloc(d->span_count + 1, sizeof *v->container_of);
    v->of_name = calloc(d->name_count + 1, sizeof *v->of_name);
    v->root_of = calloc(d->name_count + 1, sizeof *v->root_of);
    if (v->of_span == NULL || v->container_of == NULL || v->of_name == NULL || v->root_of == NULL)
        return jm__no_memory(err, "jm__views_init");
    if (a->options.by == JM_BY_LAYER) find_roots(v);
    return JM_OK;
}

void jm__views_free(jm__views *v)
{
    free(v->of_span);
    free(v->container_of);
    free(v->of_name);
    free(v->root_of);
    free(v->split);
    free(v->of_class);
    *v = (jm__views){0};
}
