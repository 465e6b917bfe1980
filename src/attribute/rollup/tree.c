/* Look-up of nodes by path and kind, and of cells by node and column. */
#include "attribute/rollup/tree.h"

#include "base/plain.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void jm__tree_free(jm__tree *tree)
{
    jm__tree_close(tree);
    jm__text_store_free(&tree->texts);
    jm__vec_free(&tree->nodes);
    jm__vec_free(&tree->cells);
    jm__vec_free(&tree->steady);
    jm__vec_free(&tree->shared);
    jm__vec_free(&tree->off_j);
    free(tree->off_board_j);
    *tree = (jm__tree){0};
}

void jm__tree_close(jm__tree *tree)
{
    jm__map_free(&tree->by_path);
    jm__map_free(&tree->by_column);
    jm__map_free(&tree->groups);
    jm__map_free(&tree->cell_groups);
}

const char *jm__tree_text(jm__tree *tree, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = jm__vprint(NULL, 0, format, args);
    char *text = length < 0 ? NULL : jm__text_store_reserve(&tree->texts, (size_t)length + 1);
    if (text != NULL) jm__vprint(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    if (text == NULL) tree->failed = true;
    return text;
}

typedef struct node_key {
    const char *path;
    const char *kind;
} node_key;

static uint64_t node_hash(const void *key)
{
    const node_key *node = key;
    return jm__map_hash_bytes(jm__map_hash_bytes(0, node->path, strlen(node->path)), node->kind,
                              strlen(node->kind));
}

static bool node_equal(const void *key, const void *another)
{
    const node_key *a = key, *b = another;
    return strcmp(a->path, b->path) == 0 && strcmp(a->kind, b->kind) == 0;
}

void jm__tree_init(jm__tree *tree)
{
    *tree = (jm__tree){
        .by_path = {.key_size = sizeof(node_key), .hash = node_hash, .equal = node_equal},
        .by_column = {.key_size = sizeof(uint64_t)},
        .groups = {.key_size = sizeof(node_key), .hash = node_hash, .equal = node_equal},
        .cell_groups = {.key_size = sizeof(uint64_t)},
    };
}

static size_t push_node(jm__tree *tree, size_t parent, const char *name, const char *path, const char *kind)
{
    jm__node node = {.parent = parent,
                     .span = JM__NO_SPAN,
                     .overlap_section = JM__NO_SPAN,
                     .group = tree->nodes.count,
                     .name = name,
                     .path = path,
                     .kind = kind,
                     .phase_j = NAN,
                     .start_ns = INT64_MAX,
                     .host_start_ns = INT64_MAX};
    if (tree->nodes.count >= JM_NODES_MAX) tree->full = tree->failed = true;
    if (tree->failed || name == NULL || path == NULL || !jm__vec_push(&tree->nodes, node)) {
        tree->failed = true;
        return JM__NO_NODE;
    }
    return tree->nodes.count - 1;
}

/* The number of a key in `map`; new keys get `number`. */
static size_t first_of(jm__tree *tree, jm__map *map, const void *key, size_t number)
{
    const jm__map_value *found = jm__map_find(map, key);
    if (found != NULL) return (size_t)found->id;
    if (!jm__map_put(map, key, (jm__map_value){.id = (int64_t)number})) tree->failed = true;
    return number;
}

size_t jm__tree_new(jm__tree *tree, size_t parent, const char *name, const char *path, const char *kind)
{
    size_t node = push_node(tree, parent, name, path, kind);
    if (node == JM__NO_NODE) return node;
    const node_key key = {path, kind};
    tree->nodes.items[node].group = first_of(tree, &tree->groups, &key, node);
    return tree->failed ? JM__NO_NODE : node;
}

size_t jm__tree_find(const jm__tree *tree, const char *path, const char *kind)
{
    const node_key key = {path, kind};
    const jm__map_value *found = jm__map_find(&tree->by_path, &key);
    return found != NULL ? (size_t)found->id : JM__NO_NODE;
}

size_t jm__tree_node(jm__tree *tree, size_t parent, const char *name, const char *path, const char *kind)
{
    if (tree->failed || name == NULL || path == NULL) {
        tree->failed = true;
        return JM__NO_NODE;
    }
    size_t found = jm__tree_find(tree, path, kind), node;
    if (found != JM__NO_NODE) return found;
    const node_key key = {path, kind};
    node = push_node(tree, parent, name, path, kind);
    if (node != JM__NO_NODE && !jm__map_put(&tree->by_path, &key, (jm__map_value){.id = (int64_t)node}))
        tree->failed = true;
    return tree->failed ? JM__NO_NODE : node;
}

void jm__tree_add(jm__tree *tree, size_t node, uint32_t column, double seconds, double steady_s)
{
    if (tree->failed || node == JM__NO_NODE || seconds == 0) return;
    uint64_t key = (uint64_t)node << 32 | column;
    const jm__map_value *found = jm__map_find(&tree->by_column, &key);
    if (found != NULL) {
        tree->cells.items[found->id].seconds += seconds;
        if (tree->steps) tree->steady.items[found->id].seconds += steady_s;
        return;
    }
    jm__cell cell = {(uint32_t)node, column, seconds, tree->cells.count};
    if (tree->groups.count > 0) {
        uint64_t group = (uint64_t)tree->nodes.items[node].group << 32 | column;
        cell.group = first_of(tree, &tree->cell_groups, &group, tree->cells.count);
    }
    jm__map_value at = {.id = (int64_t)tree->cells.count};
    if (!jm__vec_push(&tree->cells, cell) || !jm__map_put(&tree->by_column, &key, at)) tree->failed = true;
    cell.seconds = steady_s;
    if (tree->steps && !jm__vec_push(&tree->steady, cell)) tree->failed = true;
}

void jm__tree_add_busy(jm__tree *tree, size_t node, size_t board, size_t column, double seconds,
                       double steady_s)
{
    if (node == JM__NO_NODE || seconds == 0) return;
    tree->nodes.items[node].spent.busy_s += seconds;
    tree->nodes.items[node].spent.steady_s += steady_s;
    tree->nodes.items[node].boards |= jm__board_bit(board);
    jm__tree_add(tree, node, (uint32_t)column, seconds, steady_s);
}

void jm__tree_seen(jm__tree *tree, size_t node, int64_t start_ns, int64_t end_ns, size_t board)
{
    if (tree->failed || node == JM__NO_NODE) return;
    jm__node *item = &tree->nodes.items[node];
    if (item->start_ns == INT64_MAX || end_ns > item->end_ns) item->end_ns = end_ns;
    if (start_ns < item->start_ns) item->start_ns = start_ns;
    item->boards |= jm__board_bit(board);
}

void jm__tree_seen_on_host(jm__tree *tree, size_t node, int64_t start_ns, int64_t end_ns)
{
    if (tree->failed || node == JM__NO_NODE) return;
    jm__node *item = &tree->nodes.items[node];
    if (item->host_start_ns != INT64_MAX) return; /* the first occurrence */
    item->host_start_ns = start_ns;
    item->host_end_ns = end_ns;
}
