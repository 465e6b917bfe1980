/* Nodes by path and kind, cells by node and column: two open hash tables. */
#include "attribute/rollup/tree.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void jm__tree_free(jm__tree *tree)
{
    for (size_t i = 0; i < tree->texts.count; i++)
        free(tree->texts.items[i]);
    jm__vec_free(&tree->texts);
    jm__vec_free(&tree->nodes);
    free(tree->node_slots);
    free(tree->cells);
    *tree = (jm__tree){0};
}

const char *jm__tree_text(jm__tree *tree, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length >= 0 && jm__vec_push(&tree->texts, text)) return text;
    if (length >= 0) free(text);
    tree->failed = true;
    return NULL;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return (hash ^ 0xff) * UINT64_C(1099511628211);
}

static uint64_t hash_key(const char *path, const char *kind)
{
    return hash_text(hash_text(UINT64_C(14695981039346656037), path), kind);
}

/* Slots hold node + 1; 0 is empty. */
static size_t find_slot(const jm__tree *tree, const char *path, const char *kind)
{
    size_t slot = (size_t)hash_key(path, kind) & (tree->node_slot_count - 1);
    for (; tree->node_slots[slot] != 0; slot = (slot + 1) & (tree->node_slot_count - 1)) {
        const jm__node *node = &tree->nodes.items[tree->node_slots[slot] - 1];
        if (strcmp(node->path, path) == 0 && strcmp(node->kind, kind) == 0) break;
    }
    return slot;
}

static bool grow_slots(jm__tree *tree)
{
    if (tree->node_slot_count > 2 * (tree->nodes.count + 1)) return true;
    size_t *old = tree->node_slots, old_count = tree->node_slot_count;
    size_t count = old_count == 0 ? 256 : 2 * old_count;
    size_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL) return false;
    tree->node_slots = slots;
    tree->node_slot_count = count;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i] == 0) continue;
        const jm__node *node = &tree->nodes.items[old[i] - 1];
        slots[find_slot(tree, node->path, node->kind)] = old[i];
    }
    free(old);
    return true;
}

size_t jm__tree_new(jm__tree *tree, size_t parent, const char *name, const char *path, const char *kind)
{
    jm__node node = {.parent = parent,
                     .name = name,
                     .path = path,
                     .kind = kind,
                     .whole_j = NAN,
                     .start_ns = INT64_MAX,
                     .host_start_ns = INT64_MAX};
    if (tree->nodes.count >= JM_NODES_MAX) tree->full = tree->failed = true;
    if (tree->failed || name == NULL || path == NULL || !jm__vec_push(&tree->nodes, node)) {
        tree->failed = true;
        return JM__NO_NODE;
    }
    return tree->nodes.count - 1;
}

size_t jm__tree_node(jm__tree *tree, size_t parent, const char *name, const char *path, const char *kind)
{
    if (tree->failed || name == NULL || path == NULL || !grow_slots(tree)) {
        tree->failed = true;
        return JM__NO_NODE;
    }
    size_t slot = find_slot(tree, path, kind);
    if (tree->node_slots[slot] != 0) return tree->node_slots[slot] - 1;
    size_t node = jm__tree_new(tree, parent, name, path, kind);
    if (node != JM__NO_NODE) tree->node_slots[slot] = node + 1;
    return node;
}

static size_t cell_slot(const jm__cell *cells, size_t slots, uint32_t node, uint32_t column)
{
    uint64_t key = ((uint64_t)node << 32 | column) * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = (size_t)(key >> 20) & (slots - 1);
    while (cells[slot].node != 0 && (cells[slot].node != node || cells[slot].column != column))
        slot = (slot + 1) & (slots - 1);
    return slot;
}

static bool grow_cells(jm__tree *tree)
{
    if (tree->cell_slots > 2 * (tree->cell_count + 1)) return true;
    size_t slots = tree->cell_slots == 0 ? 1024 : 2 * tree->cell_slots;
    jm__cell *cells = calloc(slots, sizeof *cells);
    if (cells == NULL) return false;
    for (size_t i = 0; i < tree->cell_slots; i++) {
        const jm__cell *cell = &tree->cells[i];
        if (cell->node != 0) cells[cell_slot(cells, slots, cell->node, cell->column)] = *cell;
    }
    free(tree->cells);
    tree->cells = cells;
    tree->cell_slots = slots;
    return true;
}

/* In the table a cell's node counts from 1, so that 0 is an empty slot. */
void jm__tree_add(jm__tree *tree, size_t node, uint32_t column, double seconds)
{
    if (tree->failed || node == JM__NO_NODE || seconds == 0) return;
    if (!grow_cells(tree)) {
        tree->failed = true;
        return;
    }
    uint32_t key = (uint32_t)node + 1;
    jm__cell *cell = &tree->cells[cell_slot(tree->cells, tree->cell_slots, key, column)];
    if (cell->node == 0) tree->cell_count++;
    cell->node = key;
    cell->column = column;
    cell->seconds += seconds;
}

void jm__tree_seen(jm__tree *tree, size_t node, int64_t start_ns, int64_t end_ns, size_t board)
{
    if (tree->failed || node == JM__NO_NODE) return;
    jm__node *item = &tree->nodes.items[node];
    if (item->start_ns == INT64_MAX || end_ns > item->end_ns) item->end_ns = end_ns;
    if (start_ns < item->start_ns) item->start_ns = start_ns;
    item->boards |= UINT64_C(1) << (board < 63 ? board : 63);
}

void jm__tree_seen_on_host(jm__tree *tree, size_t node, int64_t start_ns, int64_t end_ns)
{
    if (tree->failed || node == JM__NO_NODE) return;
    jm__node *item = &tree->nodes.items[node];
    if (item->host_start_ns != INT64_MAX) return; /* the first occurrence */
    item->host_start_ns = start_ns;
    item->host_end_ns = end_ns;
}
