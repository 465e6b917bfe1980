/* Parents out of depths, weights that are an area, names that tell frames apart. */
#include "export/stacks.h"

#include "base/map.h"
#include "base/status.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows are in pre-order: around each is the last one that is less deep. */
static bool find_parents(jm__stacks *s)
{
    size_t *last = calloc(s->count + 1, sizeof *last), depth = 0;
    if (last == NULL) return false;
    for (size_t i = 0; i < s->count; i++) {
        int32_t marked = jm_report_row(s->report, i)->depth;
        size_t deepest = i == 0 ? 0 : depth + 1;
        depth = marked < 0 ? 0 : (size_t)marked < deepest ? (size_t)marked : deepest;
        s->parent[i] = depth == 0 ? s->count : last[depth - 1];
        last[depth] = i;
    }
    free(last);
    return true;
}

/* What stays of a sum of positive weights when negative ones are taken off it, by that sum. */
static double kept(double plus, double minus)
{
    return plus + minus > 0 ? (plus + minus) / plus : 0;
}

/* Make negative weights go, each at the expense of what lies below it and, if that is not enough, beside it.
 */
static bool settle(double *weights, const size_t *parent, size_t count)
{
    double *plus = calloc(count + 1, sizeof *plus), *minus = calloc(count + 1, sizeof *minus);
    bool fine = plus != NULL && minus != NULL;
    for (size_t i = count; fine && i-- > 0;) {
        *(weights[i] > 0 ? &plus[i] : &minus[i]) += weights[i];
        double net = plus[i] + minus[i];
        *(net > 0 ? &plus[parent[i]] : &minus[parent[i]]) += net;
    }
    double *scale = plus; /* from its last entry, which is around all, to the rows inside */
    if (fine) scale[count] = kept(plus[count], minus[count]);
    for (size_t i = 0; fine && i < count; i++) {
        scale[i] = scale[parent[i]] * kept(plus[i], minus[i]);
        weights[i] = fmax(0, weights[i]) * scale[i];
    }
    free(plus);
    free(minus);
    return fine;
}

/* A row's own time is what its children do not have. What is inside of none takes it off an entry more. */
static bool weigh_busy(jm__stacks *s)
{
    for (size_t i = 0; i < s->count; i++) {
        double busy_s = jm_report_row(s->report, i)->busy_s;
        s->busy_s[i] += busy_s;
        s->busy_s[s->parent[i]] -= busy_s;
    }
    return settle(s->busy_s, s->parent, s->count);
}

/* What no sensor tells of is 0, and `(unresolved)` then what the others leave of the total. */
static bool weigh_energy(jm__stacks *s)
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
    return settle(s->energy_j, s->parent, s->count);
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

/* As the table says it (report/text.c): of paths that rows of two kinds have, and of all that are one
 * occurrence; "(idle)" and "step" say what they are. */
static bool says_kind(const jm__stacks *s, const jm__map *by_path, size_t i)
{
    const jm_row *row = jm_report_row(s->report, i);
    if (row->name[0] == '(' || strcmp(row->name, row->kind) == 0) return false;
    if (jm_report_options_get(s->report)->by == JM_BY_SPAN) return true;
    return jm__map_find(by_path, &row->path)->id > 1;
}

static bool find_frames(jm__stacks *s)
{
    jm__map by_key = {.key_size = sizeof(frame_key), .hash = frame_hash, .equal = frame_equal};
    jm__map by_path = JM_MAP_OF_TEXTS; /* how many kinds it has */
    bool fine = true;
    for (size_t i = 0; fine && i < s->count; i++) {
        const jm_row *row = jm_report_row(s->report, i);
        const frame_key key = {row->path, row->kind};
        const jm__map_value *known = jm__map_find(&by_key, &key);
        s->frame[i] = known != NULL ? (size_t)known->id : i;
        if (known != NULL) continue;
        const jm__map_value *kinds = jm__map_find(&by_path, &row->path);
        int64_t before = kinds != NULL ? kinds->id : 0;
        fine = jm__map_put(&by_key, &key, (jm__map_value){.id = (int64_t)i}) &&
               jm__map_put(&by_path, &row->path, (jm__map_value){.id = before + 1});
    }
    for (size_t i = 0; fine && i < s->count; i++)
        s->says_kind[i] = says_kind(s, &by_path, i);
    jm__map_free(&by_key);
    jm__map_free(&by_path);
    return fine;
}

jm_status jm__stacks_of(jm__stacks *s, const jm_report *report, jm_error *err)
{
    *s = (jm__stacks){.report = report};
    s->count = jm_report_row_count(s->report);
    s->parent = calloc(s->count + 1, sizeof *s->parent);
    s->frame = calloc(s->count + 1, sizeof *s->frame);
    s->says_kind = calloc(s->count + 1, sizeof *s->says_kind);
    s->energy_j = calloc(s->count + 1, sizeof *s->energy_j);
    s->busy_s = calloc(s->count + 1, sizeof *s->busy_s);
    bool fine = s->parent != NULL && s->frame != NULL && s->says_kind != NULL && s->energy_j != NULL &&
                s->busy_s != NULL;
    if (fine && find_parents(s) && find_frames(s) && weigh_busy(s) && weigh_energy(s)) return JM_OK;
    jm__stacks_free(s);
    return jm__no_memory(err, "jm__stacks_of");
}

void jm__stacks_free(jm__stacks *s)
{
    free(s->parent);
    free(s->frame);
    free(s->says_kind);
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

/* Boards may all be called the same. */
void jm__stacks_add_name(const jm__stacks *s, size_t i, jm__strbuf *out)
{
    const jm_row *row = jm_report_row(s->report, i);
    jm__utf8_add(out, row->name[0] != '\0' ? row->name : "(unnamed)", true);
    if (s->says_kind[i]) jm__strbuf_format(out, " (%s)", row->kind);
    if (jm_report_options_get(s->report)->by == JM_BY_BOARD && row->boards[0] != '\0')
        jm__strbuf_format(out, " [%s]", row->boards);
}
