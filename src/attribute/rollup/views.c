/* The node of a span or a class in each view. */
#include "attribute/rollup/views.h"

#include "base/demangle.h"
#include "base/map.h"
#include "base/status.h"
#include "base/strbuf.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const jm__span *span_of(const jm__views *v, size_t section)
{
    return &v->a->scope.dataset->spans[jm__section_span(&v->a->scope.spans, section)];
}

static const char *name_of(const jm__views *v, size_t span)
{
    const char *name = jm__dataset_text(v->a->scope.dataset, span_of(v, span)->name_id);
    if (name[0] == '\0') name = jm__dataset_text(v->a->scope.dataset, span_of(v, span)->type_id);
    return name[0] != '\0' ? name : "(unnamed)";
}

static size_t first_segment(const char *path)
{
    return strcspn(path, ".");
}

static jm_span_kind kind_of(const jm__span_index *spans, size_t section)
{
    return spans->dataset->spans[jm__section_span(spans, section)].kind;
}

static size_t outermost_layer(const jm__span_index *spans, size_t section, size_t outer)
{
    return outer == JM__NO_SPAN && jm__span_kind_is_layer(kind_of(spans, section)) ? section : outer;
}

/* Whether spans of each name have the kind forward. */
static bool *forward_names(const jm__dataset *d)
{
    bool *forward = calloc(d->name_count + 1, sizeof *forward);
    for (size_t i = 0; forward != NULL && i < d->span_count; i++) {
        int64_t name = d->spans[i].name_id;
        if (d->spans[i].kind == JM_SPAN_FORWARD && name > 0 && (size_t)name < d->name_count)
            forward[name] = true;
    }
    return forward;
}

/* A model's own module is recorded by its name ("GPT"), its layers by their path in it ("blocks.0"). That a
 * layer belongs to a model shows only in the calls: of forward or, if its forward was compiled into another
 * kernel, of backward. */
static bool find_roots(jm__views *v)
{
    const jm__dataset *d = v->a->scope.dataset;
    size_t *top_of = jm__section_owners(&v->a->scope.spans, outermost_layer);
    bool *forward = forward_names(d);
    bool fine = top_of != NULL && forward != NULL;
    for (size_t i = 0; fine && i < d->span_count; i++) {
        if (!jm__span_kind_is_layer(d->spans[i].kind) || d->spans[i].name_id <= 0) continue;
        if ((size_t)d->spans[i].name_id >= d->name_count || v->root_of[d->spans[i].name_id] != 0) continue;
        if (d->spans[i].kind != JM_SPAN_FORWARD && forward[d->spans[i].name_id]) continue;
        size_t top = top_of[i];
        const char *path = name_of(v, i), *root = name_of(v, top);
        size_t length = first_segment(root);
        bool outside = strncmp(path, root, length) != 0 || (path[length] != '.' && path[length] != '\0');
        if (top != i && root[length] == '\0' && outside) v->root_of[d->spans[i].name_id] = top + 1;
    }
    free(forward);
    free(top_of);
    return fine;
}

/* The node of the first `end` bytes of a module's path; its name begins at `start`. */
static size_t layer_node(jm__views *v, size_t parent, const char *path, size_t start, size_t end)
{
    if (path[end] == '\0') return jm__tree_node(v->tree, parent, path + start, path, "layer");
    char *prefix = strndup(path, end);
    size_t node = prefix != NULL ? jm__tree_find(v->tree, prefix, "layer") : JM__NO_NODE;
    free(prefix);
    if (node != JM__NO_NODE) return node;
    const char *kept = jm__tree_text(v->tree, "%.*s", (int)end, path);
    return jm__tree_node(v->tree, parent, kept == NULL ? NULL : kept + start, kept, "layer");
}

/* The nodes of a module path: "blocks", "blocks.0", "blocks.0.attn"; returns the last. */
static size_t layer_chain(jm__views *v, const char *path, size_t root)
{
    size_t node = root;
    for (size_t start = 0, end = first_segment(path);; end = start + first_segment(path + start)) {
        node = layer_node(v, node, path, start, end);
        if (path[end] == '\0' || node == JM__NO_NODE) return node;
        start = end + 1;
    }
}

static size_t layer_row(jm__views *v, size_t span)
{
    const jm__span *row = span_of(v, span);
    size_t root = JM__NO_NODE;
    bool known = row->name_id > 0 && (size_t)row->name_id < v->a->scope.dataset->name_count;
    if (!known) return layer_chain(v, name_of(v, span), root);
    if (v->of_name[row->name_id] != 0) return v->of_name[row->name_id] - 1;
    if (v->root_of[row->name_id] != 0)
        root = layer_chain(v, name_of(v, v->root_of[row->name_id] - 1), JM__NO_NODE);
    size_t node = layer_chain(v, name_of(v, span), root);
    if (node != JM__NO_NODE) {
        v->of_name[row->name_id] = node + 1;
        if (row->type_id > 0)
            v->tree->nodes.items[node].type = jm__dataset_text(v->a->scope.dataset, row->type_id);
    }
    return node;
}

/* Work in containers but in no layer has the row of its phase, else of the outermost container. */
static size_t outer_container(const jm__span_index *spans, size_t section, size_t outer)
{
    bool outer_span = outer != JM__NO_SPAN && jm__span_kind_is_container(kind_of(spans, outer));
    return outer_span && kind_of(spans, section) != JM_SPAN_PHASE ? outer : section;
}

/* Identifies a node without its path, which is then not written for each span. Texts are interned. */
typedef struct row_key {
    uint64_t above; /* a node, JM__NO_NODE or in_no_layer */
    const char *name, *kind;
} row_key;

static const uint64_t in_no_layer = JM__NO_NODE - 1;

/* JM__NO_NODE: none. */
static size_t find_in(const jm__map *map, const void *key)
{
    const jm__map_value *known = jm__map_find(map, key);
    return known != NULL ? (size_t)known->id : JM__NO_NODE;
}

static size_t put_in(jm__map *map, const void *key, jm__views *v, size_t node)
{
    if (node != JM__NO_NODE && !jm__map_put(map, key, (jm__map_value){.id = (int64_t)node}))
        v->tree->failed = true;
    return v->tree->failed ? JM__NO_NODE : node;
}

static size_t no_layer_row(jm__views *v, size_t owner)
{
    const row_key key = {in_no_layer, name_of(v, owner), jm_span_kind_text(span_of(v, owner)->kind)};
    size_t known = find_in(&v->rows, &key);
    if (known != JM__NO_NODE) return known;
    const char *text = jm__tree_text(v->tree, "%s (no layer)", key.name);
    return put_in(&v->rows, &key, v, jm__tree_top(v->tree, text, key.kind));
}

/* Longer paths are abbreviated in the paths below them: with 30,000 nested ranges, each path would contain
 * all before it. */
enum { LONG_PATH = 200 };

/* A path under another, NULL for none: "phase/step". Slashes in the name are escaped, so that paths are
 * unique. A long path is replaced by a hash: ".../8c6f3ab2d10f9e47/step". */
static void write_path(jm__strbuf *text, const char *above, const char *name)
{
    size_t length = above == NULL ? 0 : strlen(above);
    if (length > LONG_PATH)
        jm__strbuf_format(text, ".../%016" PRIx64 "/", jm__map_hash_bytes(0, above, length));
    else if (above != NULL)
        jm__strbuf_format(text, "%s/", above);
    for (size_t part = strcspn(name, "/"); name[part] != '\0'; part = strcspn(name, "/")) {
        jm__strbuf_format(text, "%.*s\\/", (int)part, name);
        name += part + 1;
    }
    jm__strbuf_add(text, name);
}

static size_t node_under(jm__views *v, size_t parent, const char *name, const char *kind)
{
    jm__strbuf path = {0};
    write_path(&path, parent == JM__NO_NODE ? NULL : v->tree->nodes.items[parent].path, name);
    size_t node = path.failed ? JM__NO_NODE : jm__tree_find(v->tree, path.text, kind);
    if (node == JM__NO_NODE) {
        const char *kept = path.failed ? NULL : jm__tree_text(v->tree, "%s", path.text);
        node = jm__tree_node(v->tree, parent, name, kept, kind);
    }
    jm__strbuf_free(&path);
    return node;
}

size_t jm__view_node_under(jm__views *v, size_t parent, const char *name, const char *kind)
{
    const row_key key = {parent, name, kind};
    size_t known = find_in(&v->rows, &key);
    return known != JM__NO_NODE ? known : put_in(&v->rows, &key, v, node_under(v, parent, name, kind));
}

/* The range or pass that encloses an NVTX range; JM__NO_SPAN: none. */
static size_t enclosing_range(const jm__views *v, size_t section)
{
    size_t outer = jm__section_parent(&v->a->scope.spans, section);
    bool inside = outer != JM__NO_SPAN && !jm__span_kind_is_container(span_of(v, outer)->kind);
    return inside ? outer : JM__NO_SPAN;
}

/* The row of a section; the enclosing one has its row already. */
static size_t layer_view_row(jm__views *v, size_t section)
{
    jm_span_kind kind = span_of(v, section)->kind;
    const char *name = name_of(v, section);
    if (jm__span_kind_is_layer(kind)) return layer_row(v, section);
    if (kind == JM_SPAN_OPTIMIZER) return jm__tree_top(v->tree, name, "optimizer");
    if (!jm__span_kind_is_range(kind)) return no_layer_row(v, v->owner_of[section]);
    size_t outer = enclosing_range(v, section);
    if (outer == JM__NO_SPAN) return jm__tree_top(v->tree, name, "nvtx");
    return jm__view_node_under(v, v->of_span[outer] - 1, name, "nvtx");
}

/* A range has a row inside that of the enclosing range or pass, which is made first. */
size_t jm__view_layer_node(jm__views *v, size_t section)
{
    v->chain.count = 0;
    for (size_t s = section; s != JM__NO_SPAN && v->of_span[s] == 0;
         s = jm__span_kind_is_range(span_of(v, s)->kind) ? enclosing_range(v, s) : JM__NO_SPAN)
        if (!jm__vec_push(&v->chain, s)) v->tree->failed = true;
    while (v->chain.count > 0 && !v->tree->failed) {
        size_t s = v->chain.items[--v->chain.count], node = layer_view_row(v, s);
        if (node != JM__NO_NODE) v->of_span[s] = node + 1;
    }
    return v->tree->failed ? JM__NO_NODE : v->of_span[section] - 1;
}

static bool has_type(const jm__span *span)
{
    return span->type_id > 0 || jm__span_kind_is_layer(span->kind);
}

static bool has_own_row(const jm__span *span)
{
    return span->kind == JM_SPAN_OPTIMIZER || jm__span_kind_is_range(span->kind);
}

/* The innermost span with a type; without one, the innermost optimizer or range; else a container. */
static size_t innermost_type(const jm__span_index *spans, size_t section, size_t outer)
{
    const jm__span *all = spans->dataset->spans, *mine = &all[jm__section_span(spans, section)];
    const jm__span *outer_span = outer == JM__NO_SPAN ? NULL : &all[jm__section_span(spans, outer)];
    if (has_type(mine)) return section;
    if (outer_span != NULL && has_type(outer_span)) return outer;
    if (has_own_row(mine)) return section;
    if (outer_span != NULL && has_own_row(outer_span)) return outer;
    return outer_container(spans, section, outer);
}

size_t jm__view_type_node(jm__views *v, size_t section)
{
    size_t owner = v->owner_of[section];
    const jm__span *row = span_of(v, owner);
    const char *text = has_own_row(row) ? name_of(v, owner) : NULL;
    if (has_type(row)) {
        text = jm__dataset_text(v->a->scope.dataset, row->type_id);
        if (text[0] == '\0') text = "(no type)";
    }
    if (text == NULL) return no_layer_row(v, owner);
    jm_span_kind kind = jm__span_kind_is_range(row->kind) ? JM_SPAN_NVTX : row->kind;
    return jm__tree_top(v->tree, text, jm_span_kind_text(kind));
}

/* The innermost of a section and its ancestors that is no call within its parent: it outlasts the parent or
 * is of another thread. */
static size_t find_detached(const jm__span_index *spans, size_t section, size_t outer)
{
    const jm__dataset *d = spans->dataset;
    size_t inner = jm__section_span(spans, section), outer_span = jm__span_parent(spans, inner);
    if (outer_span == JM__NO_SPAN) return outer;
    bool apart = d->spans[outer_span].thread_id != d->spans[inner].thread_id ||
                 jm__span_end_ns(d, &d->spans[outer_span]) < jm__span_end_ns(d, &d->spans[inner]);
    return apart ? section : outer;
}

typedef struct row_name {
    const char *name, *kind;
} row_name;

static size_t set_operation(const jm__views *v, size_t node, const jm__collective *c)
{
    if (node != JM__NO_NODE && c->operation != NULL) v->tree->nodes.items[node].type = c->operation;
    return node;
}

/* Phases and windows have rows by name; all epochs share a row, and all steps. */
static row_name container_name(const jm__views *v, size_t section)
{
    jm_span_kind kind = span_of(v, section)->kind;
    bool by_name = kind == JM_SPAN_PHASE || kind == JM_SPAN_WINDOW;
    const char *text = jm_span_kind_text(kind);
    return (row_name){by_name ? name_of(v, section) : text, text};
}

static bool is_named(const jm__views *v, size_t node, row_name name)
{
    const jm__node *row = &v->tree->nodes.items[node];
    return strcmp(row->name, name.name) == 0 && strcmp(row->kind, name.kind) == 0;
}

/* Levels of rows in which a name is looked for. */
enum { LOOKUP_MAX = 256 };

static bool is_in_row_of(const jm__views *v, size_t node, row_name name)
{
    for (int i = 0; node != JM__NO_NODE && i < LOOKUP_MAX; i++) {
        if (is_named(v, node, name)) return true;
        node = v->tree->nodes.items[node].parent;
    }
    return false;
}

/* Whether it was called by a container of its own name: then it gets a row inside that one's. */
static bool is_call_of_same_name(const jm__views *v, size_t section, row_name name)
{
    const jm__span_index *spans = &v->a->scope.spans;
    const jm__span *inner = span_of(v, section);
    size_t last = v->detached_of[section];
    while (section != last) {
        section = jm__section_parent(spans, section);
        if (section == JM__NO_SPAN) return false;
        if (!jm__span_kind_is_container(span_of(v, section)->kind)) continue;
        row_name outer = container_name(v, section);
        bool same_name = strcmp(outer.name, name.name) == 0 && strcmp(outer.kind, name.kind) == 0;
        if (same_name && (inner->kind != JM_SPAN_STEP || jm__step_has_part(span_of(v, section), inner)))
            return true;
    }
    return false;
}

/* Whether it shares an enclosing row of its name, for example with another task that is open at the same
 * time.
 */
static bool is_in_open_row(const jm__views *v, size_t section, size_t node, row_name name)
{
    bool marked =
        span_of(v, section)->kind == JM_SPAN_STEP && span_of(v, section)->payload_kind != JM_PAYLOAD_NONE;
    if (v->detached_of[section] == JM__NO_SPAN && !marked) return false;
    return is_in_row_of(v, node, name) && !is_call_of_same_name(v, section, name);
}

size_t jm__view_container_node(jm__views *v, size_t section)
{
    size_t node = JM__NO_NODE;
    v->chain.count = 0;
    for (size_t s = section; s != JM__NO_SPAN; s = jm__section_parent(&v->a->scope.spans, s)) {
        if (v->container_of[s] != 0) {
            node = v->container_of[s] - 2;
            break;
        }
        if (!jm__vec_push(&v->chain, s)) v->tree->failed = true;
    }
    while (v->chain.count > 0 && !v->tree->failed) {
        size_t s = v->chain.items[--v->chain.count];
        if (jm__span_kind_is_container(span_of(v, s)->kind)) {
            row_name name = container_name(v, s);
            if (!is_in_open_row(v, s, node, name)) node = jm__view_node_under(v, node, name.name, name.kind);
        }
        v->container_of[s] = node + 2; /* JM__NO_NODE: 1 */
    }
    return v->tree->failed ? JM__NO_NODE : node;
}

size_t jm__view_container_row(jm__views *v, size_t section)
{
    row_name name = container_name(v, section);
    size_t node = jm__view_container_node(v, section);
    while (node != JM__NO_NODE && !is_named(v, node, name))
        node = v->tree->nodes.items[node].parent;
    return node;
}

static size_t innermost_work(const jm__span_index *spans, size_t section, size_t outer)
{
    jm_span_kind kind = kind_of(spans, section);
    if (jm__span_kind_is_container(kind)) return JM__NO_SPAN;
    return jm__span_kind_is_work(kind) ? section : outer;
}

/* Inside its container: forward, backward, recompute, optimizer or other. */
size_t jm__view_phase_node(jm__views *v, size_t section)
{
    size_t work = v->owner_of[section], container = jm__view_container_node(v, section);
    const char *leaf = work == JM__NO_SPAN ? "other" : jm_span_kind_text(span_of(v, work)->kind);
    return jm__view_node_under(v, container, leaf, leaf);
}

size_t jm__view_extrapolated_node(jm__views *v, size_t node, size_t step)
{
    static const char none[] = " (no layer)";
    const char *name = v->tree->nodes.items[node].name, *kind = v->tree->nodes.items[node].kind;
    size_t length = strlen(name);
    if (v->a->scope.options.by == JM_BY_PHASE)
        return jm__view_node_under(v, jm__view_container_node(v, step), name, kind);
    bool layerless = length >= sizeof none && strcmp(name + length + 1 - sizeof none, none) == 0;
    return layerless && v->owner_of != NULL ? no_layer_row(v, v->owner_of[step]) : node;
}

/* One row per occurrence, inside the row of the first enclosing span that lasts as long. */
size_t jm__view_span_node(jm__views *v, size_t section)
{
    const jm__span_index *spans = &v->a->scope.spans;
    size_t node = JM__NO_NODE;
    v->chain.count = 0;
    for (size_t s = jm__section_span(spans, section); s != JM__NO_SPAN; s = jm__span_enclosing(spans, s, s)) {
        if (v->of_span[s] != 0) {
            node = v->of_span[s] - 1;
            break;
        }
        if (!jm__vec_push(&v->chain, s)) v->tree->failed = true;
    }
    while (v->chain.count > 0 && !v->tree->failed) {
        size_t s = v->chain.items[--v->chain.count];
        const char *path = name_of(v, s), *dot = strrchr(path, '.');
        bool layer = jm__span_kind_is_layer(span_of(v, s)->kind) && dot != NULL && dot[1] != '\0';
        node =
            jm__tree_new(v->tree, node, layer ? dot + 1 : path, path, jm_span_kind_text(span_of(v, s)->kind));
        if (node == JM__NO_NODE) break;
        v->tree->nodes.items[node].span = s;
        v->of_span[s] = node + 1;
    }
    return v->tree->failed ? JM__NO_NODE : node;
}

/* The rows above a span's row are of enclosing spans, in order: those that last as long as it does. */
size_t jm__view_next_overlapping(const jm__views *v, size_t section, size_t *up)
{
    const jm__span_index *spans = &v->a->scope.spans;
    for (section = jm__section_parent(spans, section); section != JM__NO_SPAN;
         section = jm__section_parent(spans, section)) {
        if (*up == JM__NO_NODE) return section;
        size_t outer_node = v->tree->nodes.items[*up].parent;
        if (outer_node == JM__NO_NODE ||
            v->tree->nodes.items[outer_node].span != jm__section_span(spans, section))
            return section;
        *up = outer_node;
    }
    return JM__NO_SPAN;
}

size_t jm__view_span_overlap(jm__views *v, size_t section)
{
    if (v->overlap_of[section] != 0) return v->overlap_of[section] - 1;
    size_t row = jm__view_span_node(v, section), up = row, node = row;
    if (row == JM__NO_NODE) return row;
    if (jm__view_next_overlapping(v, section, &up) != JM__NO_SPAN) {
        const jm__node row_node = v->tree->nodes.items[row];
        node = jm__tree_new(v->tree, row, row_node.name, row_node.path, row_node.kind);
        if (node == JM__NO_NODE) return node;
        v->tree->nodes.items[node].overlap_section = section;
    }
    v->overlap_of[section] = node + 1;
    return node;
}

/* The demangled name. The path keeps CUPTI's mangled name, which is the same on every machine. */
static const char *view_readable_name(jm__views *v, const char *name)
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
    return !row->waits && !row->joint && row->grid[0] != 0;
}

/* Mark the classes with a shape whose name ran in more than one. False if memory is out. */
static bool find_split(jm__views *v)
{
    const jm__class *classes = v->a->work.classes.items;
    jm__map first = {.key_size = sizeof(row_name)}; /* texts are interned */
    bool fine = true;
    for (size_t c = 0; fine && c < v->a->work.classes.count; c++) {
        if (!has_shape(&classes[c])) continue;
        const row_name key = {classes[c].name, classes[c].kind};
        const jm__map_value *found = jm__map_find(&first, &key);
        if (found != NULL)
            v->split[c] = v->split[found->id] = true;
        else
            fine = jm__map_put(&first, &key, (jm__map_value){.id = (int64_t)c});
    }
    jm__map_free(&first);
    return fine;
}

jm_status jm__views_set_classes(jm__views *v, jm_error *err)
{
    size_t count = v->a->work.classes.count;
    v->of_class = calloc(count + 1, sizeof *v->of_class);
    v->split = calloc(count + 1, sizeof *v->split);
    bool fine = v->of_class != NULL && v->split != NULL && find_split(v);
    return fine ? JM_OK : jm__no_memory(err, "jm__views_set_classes");
}

static const char *shape_text(jm__tree *tree, const jm__class *row)
{
    const uint32_t *grid = row->grid, *block = row->block;
    return jm__tree_text(tree, "grid %ux%ux%u block %ux%ux%u", grid[0], grid[1], grid[2], block[0], block[1],
                         block[2]);
}

/* What kernels, copies and fills have: host spans have no class. */
static const char *class_text(const char *name, const char *kind)
{
    for (jm__work work = JM_WORK_FIRST_ + 1; jm__work_text(work)[0] != '\0'; work++)
        if (strcmp(kind, jm__work_text(work)) == 0) return jm__kernel_class_text(name);
    return NULL;
}

/* The node of a kernel's name: at the top, or in that of its class. */
static size_t name_node(jm__views *v, const jm__class *mine)
{
    const char *class = class_text(mine->name, mine->kind);
    size_t above = JM__NO_NODE;
    if (v->a->scope.options.by == JM_BY_CLASS && class != NULL) above = jm__tree_top(v->tree, class, "class");
    size_t node = jm__tree_node(v->tree, above, view_readable_name(v, mine->name), mine->name, mine->kind);
    if (node != JM__NO_NODE && class != NULL) v->tree->nodes.items[node].type = class;
    return node;
}

/* One row per name; if a name ran in several launch shapes, one row per shape inside it, except by class. */
size_t jm__view_kernel_node(jm__views *v, uint32_t class_index)
{
    if (v->of_class[class_index] != 0) return v->of_class[class_index] - 1;
    const jm__class *mine = &v->a->work.classes.items[class_index];
    if (mine->joint) return jm__view_kernel_node(v, mine->alone);
    size_t node = name_node(v, mine);
    if (v->split[class_index] && !mine->waits && v->a->scope.options.by != JM_BY_CLASS) {
        const char *shape = shape_text(v->tree, mine);
        const char *path = jm__tree_text(v->tree, "%s %s", mine->name, shape == NULL ? "" : shape);
        node = jm__tree_node(v->tree, node, shape, path, mine->kind);
    }
    if (mine->waits && node != JM__NO_NODE)
        node = jm__view_node_inside(v, node, "waiting for other ranks", "wait", true);
    if (node != JM__NO_NODE) v->of_class[class_index] = node + 1;
    return node;
}

static size_t new_inside(jm__views *v, size_t parent, const char *name, const char *kind, bool by_path)
{
    const char *path = name;
    if (by_path) {
        jm__strbuf whole_path = {0};
        write_path(&whole_path, v->tree->nodes.items[parent].path, name);
        path = whole_path.failed ? NULL : jm__tree_text(v->tree, "%s", whole_path.text);
        jm__strbuf_free(&whole_path);
    }
    const char *readable = view_readable_name(v, name);
    if (path == NULL || readable == NULL) v->tree->failed = true;
    size_t node = v->tree->failed ? JM__NO_NODE : jm__tree_new(v->tree, parent, readable, path, kind);
    if (node != JM__NO_NODE) v->tree->nodes.items[node].type = class_text(name, kind);
    return node;
}

size_t jm__view_node_inside(jm__views *v, size_t parent, const char *name, const char *kind, bool by_path)
{
    const uint64_t key[2] = {parent, (uintptr_t)name}; /* texts of the dataset are interned */
    size_t known = find_in(&v->inside, key);
    return known != JM__NO_NODE ? known
                                : put_in(&v->inside, key, v, new_inside(v, parent, name, kind, by_path));
}

static jm__section_owner *choice_of(jm_by by)
{
    if (by == JM_BY_LAYER) return outer_container;
    if (by == JM_BY_TYPE) return innermost_type;
    return by == JM_BY_PHASE ? innermost_work : NULL;
}

jm_status jm__views_init(jm__views *v, jm__tree *tree, const jm__attribution *a, jm_error *err)
{
    const jm__dataset *d = a->scope.dataset;
    size_t sections = jm__section_count(&a->scope.spans);
    *v = (jm__views){.a = a,
                     .tree = tree,
                     .rows = {.key_size = sizeof(row_key)},
                     .inside = {.key_size = 2 * sizeof(uint64_t)},
                     .collectives = {.key_size = 3 * sizeof(uint64_t)}};
    v->of_span = calloc(sections + 1, sizeof *v->of_span);
    v->container_of = calloc(sections + 1, sizeof *v->container_of);
    v->of_name = calloc(d->name_count + 1, sizeof *v->of_name);
    v->root_of = calloc(d->name_count + 1, sizeof *v->root_of);
    v->overlap_of = calloc(sections + 1, sizeof *v->overlap_of);
    bool fine = v->of_span != NULL && v->overlap_of != NULL && v->container_of != NULL &&
                v->of_name != NULL && v->root_of != NULL;
    jm__section_owner *choice = choice_of(a->scope.options.by);
    if (fine && choice != NULL) fine = (v->owner_of = jm__section_owners(&a->scope.spans, choice)) != NULL;
    if (fine && a->scope.options.by == JM_BY_PHASE)
        fine = (v->detached_of = jm__section_owners(&a->scope.spans, find_detached)) != NULL;
    if (fine && a->scope.options.by == JM_BY_LAYER) fine = find_roots(v);
    return fine ? JM_OK : jm__no_memory(err, "jm__views_init");
}

void jm__views_free(jm__views *v)
{
    free(v->of_span);
    free(v->container_of);
    free(v->owner_of);
    free(v->detached_of);
    free(v->overlap_of);
    free(v->of_name);
    free(v->root_of);
    free(v->split);
    free(v->of_class);
    jm__vec_free(&v->chain);
    jm__map_free(&v->rows);
    jm__map_free(&v->inside);
    jm__map_free(&v->collectives);
    *v = (jm__views){0};
}

/* ---- collectives (NCCL, NVSHMEM, RCCL): in no layer, whoever launched them */

static const char collective_kind[] = "collective", wait_kind[] = "wait";

bool jm__view_is_collective(const jm__views *v, size_t node)
{
    return strcmp(v->tree->nodes.items[node].kind, collective_kind) == 0;
}

bool jm__view_is_wait(const jm__views *v, size_t node)
{
    return strcmp(v->tree->nodes.items[node].kind, wait_kind) == 0;
}

/* The one that names the row of all its aliases. */
static const jm__collective *canonical_collective(const jm__views *v, uint32_t collective)
{
    const jm__collective *items = v->a->work.ranks.collectives.items.items;
    return &items[items[collective].alias_of];
}

/* Rows of single spans have no unique path, so rows inside them are found by the parent node. */
static size_t node_in_span(jm__views *v, size_t section, const jm__collective *c)
{
    while (section != JM__NO_SPAN && !jm__span_kind_is_container(span_of(v, section)->kind))
        section = jm__section_parent(&v->a->scope.spans, section);
    size_t parent = section == JM__NO_SPAN ? JM__NO_NODE : jm__view_span_node(v, section);
    return jm__view_node_inside(v, parent, c->name, collective_kind, false);
}

/* ---- waiting */

/* Names a GPU if nearly all waiting was for it. */
static size_t wait_node(jm__views *v, size_t node, uint32_t collective)
{
    static const double single_gpu_share = 0.9;
    const jm__ranks *ranks = &v->a->work.ranks;
    const char *path = jm__tree_text(v->tree, "%s/waiting", v->tree->nodes.items[node].path);
    if (path == NULL) return JM__NO_NODE;
    size_t known = jm__tree_find(v->tree, path, wait_kind);
    if (known != JM__NO_NODE) return known;
    double share;
    size_t board = jm__collective_awaited(&ranks->waits, &ranks->collectives, collective, &share);
    const char *text = "waiting for the others";
    if (board != SIZE_MAX && share >= single_gpu_share)
        text = jm__tree_text(v->tree, "waiting for GPU %d", jm__attribution_index(v->a, board));
    return jm__tree_node(v->tree, node, text, path, wait_kind);
}

/* Whether several ranks of the report waited in it. */
static bool several_waited(const jm__views *v, uint32_t collective)
{
    const jm__ranks *ranks = &v->a->work.ranks;
    const jm__collective *items = ranks->collectives.items.items;
    const jm__collective_wait *first = NULL;
    for (size_t i = 0; i < ranks->waits.count; i++) {
        const jm__collective_wait *wait = &ranks->waits.items[i];
        if (items[wait->collective].alias_of != items[collective].alias_of || !(wait->wait_s > 0)) continue;
        if (!jm__dataset_process_has_pid(v->a->scope.dataset, wait->process_id,
                                         v->a->scope.options.process_id))
            continue;
        if (first == NULL) first = wait;
        if (wait->process_id != first->process_id || wait->board != first->board) return true;
    }
    return false;
}

/* "rank 1 (GPU 1)" */
static size_t rank_node(jm__views *v, size_t waiting, int64_t process_id, size_t board)
{
    const jm__process *process = jm__dataset_process(v->a->scope.dataset, process_id);
    int gpu = jm__attribution_index(v->a, board);
    const char *name = process != NULL && process->rank >= 0
                           ? jm__tree_text(v->tree, "rank %" PRId64 " (GPU %d)", process->rank, gpu)
                           : jm__tree_text(v->tree, "GPU %d", gpu);
    return name == NULL ? JM__NO_NODE : jm__view_node_under(v, waiting, name, wait_kind);
}

static size_t waiting_node(jm__views *v, size_t node, int64_t process_id, uint32_t collective, size_t board)
{
    size_t waiting = node == JM__NO_NODE ? JM__NO_NODE : wait_node(v, node, collective);
    bool parted = waiting != JM__NO_NODE && several_waited(v, collective);
    return parted ? rank_node(v, waiting, process_id, board) : waiting;
}

static size_t row_node(jm__views *v, const jm__collective *c)
{
    const char *name = c->kernel != NULL ? view_readable_name(v, c->name) : c->name;
    return set_operation(v, jm__tree_node(v->tree, JM__NO_NODE, name, c->name, collective_kind), c);
}

/* Cached, since it is called for each kernel. */
static size_t rank_row(jm__views *v, int64_t process_id, uint32_t collective, size_t waits_on)
{
    const uint64_t key[3] = {collective, (uint64_t)process_id, waits_on};
    size_t node = find_in(&v->collectives, key);
    if (node != JM__NO_NODE) return node;
    node = row_node(v, canonical_collective(v, collective));
    if (waits_on != JM__WAITS_NOT) node = waiting_node(v, node, process_id, collective, waits_on);
    return put_in(&v->collectives, key, v, node);
}

size_t jm__view_collective_node(jm__views *v, size_t section, int64_t process_id, uint32_t collective,
                                size_t waits_on)
{
    jm_by by = v->a->scope.options.by;
    const jm__collective *c = canonical_collective(v, collective);
    if (by != JM_BY_SPAN && by != JM_BY_PHASE) return rank_row(v, process_id, collective, waits_on);
    if (by == JM_BY_SPAN) return set_operation(v, node_in_span(v, section, c), c);
    size_t parent = section == JM__NO_SPAN ? JM__NO_NODE : jm__view_container_node(v, section);
    return jm__view_node_under(v, parent, collective_kind, collective_kind);
}

/* ---- measured phases: counters and power sensors give the energy of a phase without a fit */

static bool has_container_around(const jm__span_index *spans, size_t section)
{
    for (size_t s = jm__section_parent(spans, section); s != JM__NO_SPAN; s = jm__section_parent(spans, s))
        if (jm__span_kind_is_container(kind_of(spans, s))) return true;
    return false;
}

static bool measure_phase(const jm__attribution *a, jm__node *node, const jm__intervals *windows)
{
    double sum_j = 0, variance = 0, sum_s = 0;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->requested || !jm__board_is_fitted(part->board)) continue;
        jm__intervals known = {0};
        bool fine = jm__intervals_add_all(&known, windows) &&
                    jm__intervals_subtract(&known, &part->time.lost) &&
                    jm__intervals_subtract(&known, &part->time.unrecorded);
        bool any = known.count > 0;
        jm__total total = jm__total_measure(&part->readings, &known);
        sum_s += (double)jm__intervals_duration_ns(&known) * 1e-9;
        fine = fine && jm__intervals_intersect(&known, &part->time.traced);
        for (size_t i = 0; fine && part->time.sampled != NULL && i < known.count; i++)
            sum_s += 1e-9 * (double)jm__intervals_overlap_ns(part->time.sampled, known.items[i].from_ns,
                                                             known.items[i].to_ns);
        jm__vec_free(&known);
        if (!fine) return false;
        if (total.source == NULL || !any) return true;
        sum_j += total.energy_j;
        variance += total.u_j * total.u_j;
    }
    node->phase_j = sum_j;
    node->phase_u_j = sqrt(variance);
    node->phase_s = sum_s;
    return true;
}

/* Work that was not recorded is measured by itself. */
static void add_measured_parts(jm__tree *tree)
{
    jm__node *nodes = tree->nodes.items;
    for (size_t n = 0; n < tree->nodes.count; n++)
        for (size_t p = nodes[n].parent; nodes[n].measured && p != JM__NO_NODE; p = nodes[p].parent)
            nodes[p].phase_j += nodes[n].measured_j; /* NAN: not measured */
}

bool jm__measured_phases(jm__views *v)
{
    const jm__span_index *spans = &v->a->scope.spans;
    if (v->a->scope.options.process_id != 0 || v->tree->failed) return true; /* sensors see all processes */
    size_t count = v->tree->nodes.count;
    jm__intervals *of_node = calloc(count + 1, sizeof *of_node), all = {0};
    int64_t sum_ns = 0;
    bool fine = of_node != NULL;
    for (size_t s = 0; fine && s < jm__section_count(spans); s++) {
        if (kind_of(spans, s) != JM_SPAN_PHASE || has_container_around(spans, s)) continue;
        size_t node = jm__view_container_node(v, s);
        if (node >= count) continue; /* not in the report's time */
        fine = jm__intervals_add_within(&of_node[node], &v->a->scope.windows, jm__section_start_ns(spans, s),
                                        jm__section_end_ns(spans, s));
    }
    for (size_t n = 0; fine && n < count; n++) {
        jm__intervals_normalise(&of_node[n]);
        sum_ns += jm__intervals_duration_ns(&of_node[n]);
        fine = jm__intervals_add_all(&all, &of_node[n]);
    }
    jm__intervals_normalise(&all);
    /* Phases of two processes at the same time share the board: sensors cannot separate them. */
    bool apart = sum_ns == jm__intervals_duration_ns(&all);
    for (size_t n = 0; fine && apart && n < count; n++)
        if (of_node[n].count > 0) fine = measure_phase(v->a, &v->tree->nodes.items[n], &of_node[n]);
    add_measured_parts(v->tree);
    for (size_t n = 0; of_node != NULL && n < count; n++)
        jm__vec_free(&of_node[n]);
    free(of_node);
    jm__vec_free(&all);
    return fine;
}
