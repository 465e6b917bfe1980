/* Builds stacks: parents from depths, weights that a flame graph can draw as areas, and unambiguous names. */
#include "export/stacks.h"

#include "base/map.h"
#include "base/status.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows are in pre-order: the parent is the last row with a smaller depth. */
static bool find_parents(jm__stacks *s)
{
    size_t *last = calloc(s->count + 1, sizeof *last), depth = 0;
    if (last == NULL) return false;
    for (size_t i = 0; i < s->count; i++) {
        int32_t row_depth = jm_report_row(s->report, i)->depth;
        size_t max_depth = i == 0 ? 0 : depth + 1;
        depth = row_depth < 0 ? 0 : (size_t)row_depth < max_depth ? (size_t)row_depth : max_depth;
        s->parent[i] = depth == 0 ? s->count : last[depth - 1];
        last[depth] = i;
    }
    free(last);
    return true;
}

/* The share of the positive weights that remains after negative weights are subtracted. */
static double remaining_share(double plus, double minus)
{
    return plus + minus > 0 ? (plus + minus) / plus : 0;
}

/* Remove negative weights: subtract each from the weights below it and, if those do not suffice, beside it.
 */
static bool remove_negatives(double *weights, const size_t *parent, size_t count)
{
    double *plus = calloc(count + 1, sizeof *plus), *minus = calloc(count + 1, sizeof *minus);
    bool ok = plus != NULL && minus != NULL;
    for (size_t i = count; ok && i-- > 0;) {
        *(weights[i] > 0 ? &plus[i] : &minus[i]) += weights[i];
        double net = plus[i] + minus[i];
        *(net > 0 ? &plus[parent[i]] : &minus[parent[i]]) += net;
    }
    double *scale = plus; /* from the last entry, which contains all rows, inwards */
    if (ok) scale[count] = remaining_share(plus[count], minus[count]);
    for (size_t i = 0; ok && i < count; i++) {
        scale[i] = scale[parent[i]] * remaining_share(plus[i], minus[i]);
        weights[i] = fmax(0, weights[i]) * scale[i];
    }
    free(plus);
    free(minus);
    return ok;
}

/* A row's own time is its time without its children. Times of top-level rows are subtracted from a spare last
 * entry. */
static bool find_busy(jm__stacks *s)
{
    for (size_t i = 0; i < s->count; i++) {
        double busy_s = jm_report_row(s->report, i)->busy_s;
        s->busy_s[i] += busy_s;
        s->busy_s[s->parent[i]] -= busy_s;
    }
    return remove_negatives(s->busy_s, s->parent, s->count);
}

/* Unknown energy is 0; `(unresolved)` then gets the rest of the total. */
static bool find_energy(jm__stacks *s)
{
    double total_j = jm_report_totals_get(s->report)->total_energy_j, known_j = 0;
    for (size_t i = 0; i < s->count; i++) {
        const jm_row *row = jm_report_row(s->report, i);
        if (isfinite(row->energy_self_j))
            s->energy_j[i] = row->energy_self_j;
        else if (strcmp(row->kind, "unresolved") == 0 && isfinite(total_j))
            s->energy_j[i] = total_j - known_j;
        known_j += s->energy_j[i];
    }
    return remove_negatives(s->energy_j, s->parent, s->count);
}

typedef struct frame_key {
    const char *path;
    const char *kind;
} frame_key;

static uint64_t frame_hash(const void *key)
{
    const frame_key *frame = key;
    return jm__map_hash_bytes(jm__map_hash_bytes(0, frame->path, strlen(frame->path)), frame->kind,
                              strlen(frame->kind));
}

static bool frame_equal(const void *key, const void *another)
{
    const frame_key *a = key, *b = another;
    return strcmp(a->path, b->path) == 0 && strcmp(a->kind, b->kind) == 0;
}

/* As in tables (report/text.c): paths with rows of two kinds, and single occurrences. "(idle)" and "step"
 * need no kind. */
static bool needs_kind(const jm__stacks *s, const jm__map *by_path, size_t i)
{
    const jm_row *row = jm_report_row(s->report, i);
    if (row->name[0] == '(' || strcmp(row->name, row->kind) == 0) return false;
    if (jm_report_options_get(s->report)->by == JM_BY_SPAN) return true;
    return jm__map_find(by_path, &row->path)->id > 1;
}

static bool find_frames(jm__stacks *s)
{
    jm__map by_key = {.key_size = sizeof(frame_key), .hash = frame_hash, .equal = frame_equal};
    jm__map by_path = JM_MAP_OF_TEXTS; /* number of kinds of a path */
    bool ok = true;
    for (size_t i = 0; ok && i < s->count; i++) {
        const jm_row *row = jm_report_row(s->report, i);
        const frame_key key = {row->path, row->kind};
        const jm__map_value *known = jm__map_find(&by_key, &key);
        s->frame[i] = known != NULL ? (size_t)known->id : i;
        if (known != NULL) continue;
        const jm__map_value *kinds = jm__map_find(&by_path, &row->path);
        int64_t kind_count = kinds != NULL ? kinds->id : 0;
        ok = jm__map_put(&by_key, &key, (jm__map_value){.id = (int64_t)i}) &&
             jm__map_put(&by_path, &row->path, (jm__map_value){.id = kind_count + 1});
    }
    for (size_t i = 0; ok && i < s->count; i++)
        s->show_kind[i] = needs_kind(s, &by_path, i);
    jm__map_free(&by_key);
    jm__map_free(&by_path);
    return ok;
}

jm_status jm__stacks_of(jm__stacks *s, const jm_report *report, jm_error *err)
{
    *s = (jm__stacks){.report = report};
    s->count = jm_report_row_count(s->report);
    s->parent = calloc(s->count + 1, sizeof *s->parent);
    s->frame = calloc(s->count + 1, sizeof *s->frame);
    s->show_kind = calloc(s->count + 1, sizeof *s->show_kind);
    s->energy_j = calloc(s->count + 1, sizeof *s->energy_j);
    s->busy_s = calloc(s->count + 1, sizeof *s->busy_s);
    bool ok = s->parent != NULL && s->frame != NULL && s->show_kind != NULL && s->energy_j != NULL &&
              s->busy_s != NULL;
    if (ok && find_parents(s) && find_frames(s) && find_busy(s) && find_energy(s)) return JM_OK;
    jm__stacks_free(s);
    return jm__no_memory(err, "jm__stacks_of");
}

void jm__stacks_free(jm__stacks *s)
{
    free(s->parent);
    free(s->frame);
    free(s->show_kind);
    free(s->energy_j);
    free(s->busy_s);
    *s = (jm__stacks){0};
}

size_t jm__stacks_frames(const jm__stacks *s, size_t row, size_t frames[JM_STACK_MAX])
{
    size_t depth = 0;
    for (size_t i = row; i < s->count; i = s->parent[i])
        depth++;
    for (size_t i = row, at = depth; at-- > 0; i = s->parent[i])
        if (at < JM_STACK_MAX) frames[at] = i;
    return depth < JM_STACK_MAX ? depth : JM_STACK_MAX;
}

/* Boards may have the same name, so their indices are added. */
void jm__stacks_add_name(const jm__stacks *s, size_t i, jm__strbuf *out)
{
    const jm_row *row = jm_report_row(s->report, i);
    jm__utf8_add(out, row->name[0] != '\0' ? row->name : "(unnamed)", true);
    if (s->show_kind[i]) jm__strbuf_format(out, " (%s)", row->kind);
    if (jm_report_options_get(s->report)->by == JM_BY_BOARD && row->boards[0] != '\0')
        jm__strbuf_format(out, " [%s]", row->boards);
}
