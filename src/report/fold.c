/* What equal layers that are taken together are called. */
#include "report/fold.h"

#include "base/map.h"
#include "base/order.h"
#include "base/status.h"
#include "base/strbuf.h"

#include <joulemap/report.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row among those that may be taken together. */
typedef struct fold_candidate {
    size_t row;
    uint64_t look; /* kinds, types and names in its subtree */
    bool numbered;
} fold_candidate;

/* Those that are, in the order of their rows. */
typedef struct fold_members {
    const jm__fold_source *source;
    const size_t *end; /* of each row of the source: the first behind its subtree */
    const fold_candidate *items;
    size_t count;
} fold_members;

typedef struct fold_manner {
    bool most;        /* of those that look like it */
    bool starred;     /* "*" says which: no other siblings that look alike differ in their number */
    size_t names;     /* 0: called by them; else as so many of their class */
    size_t differ_at; /* the component of their paths that tells them from others of their name; 0: none */
} fold_manner;

static const jm_row *source_row(const jm__fold_source *source, size_t row)
{
    return source->row(source->context, row);
}

static const jm_row *member(const fold_members *m, size_t i)
{
    return source_row(m->source, m->items[i].row);
}

/* A component of a path, or all of a name. */
typedef struct piece {
    const char *text;
    size_t length;
} piece;

/* The component that stands there in the row's path, from 1; 0: the row's name. */
static piece piece_of(const fold_members *m, size_t i, size_t component)
{
    const jm_row *of = member(m, i);
    if (component == 0) return (piece){of->name, strlen(of->name)};
    const char *text = of->path;
    while (--component > 0 && *text != '\0')
        text += strcspn(text, ".") + (text[strcspn(text, ".")] == '.');
    return (piece){text, strcspn(text, ".")};
}

static bool is_same(piece a, piece b)
{
    return a.length == b.length && strncmp(a.text, b.text, a.length) == 0;
}

/* Where the members' paths begin to differ, from 1; 0: nowhere. */
static size_t fold_difference(const fold_members *m)
{
    for (size_t component = 1;; component++) {
        piece first = piece_of(m, 0, component);
        for (size_t i = 1; i < m->count; i++)
            if (!is_same(first, piece_of(m, i, component))) return component;
        if (first.text[first.length] == '\0') return 0;
    }
}

/* "1,3,5,..": what differs in the members. */
static void add_different(jm__strbuf *out, const fold_members *m, size_t component)
{
    enum { NAMED = 3 };
    piece said[NAMED];
    size_t different = 0;
    for (size_t i = 0; i < m->count && different <= NAMED; i++) {
        piece mine = piece_of(m, i, component);
        size_t same = 0;
        while (same < different && !is_same(said[same], mine))
            same++;
        if (same < different) continue;
        jm__strbuf_add(out, different > 0 ? "," : "");
        if (different < NAMED) {
            jm__strbuf_add_bytes(out, mine.text, mine.length);
            said[different] = mine;
        } else {
            jm__strbuf_add(out, "..");
        }
        different++;
    }
}

/* Whether they have several: "0" of "1.0" and "2.0" is one. */
static bool fold_has_names(const fold_members *m)
{
    for (size_t i = 1; i < m->count; i++)
        if (strcmp(member(m, 0)->name, member(m, i)->name) != 0) return true;
    return false;
}

/* A board beside others of its name: equal GPUs of one machine. */
static bool has_namesake(const fold_members *m)
{
    const jm_row *board = member(m, 0);
    if (board->depth > 0 || (strcmp(board->kind, "gpu") != 0 && strcmp(board->kind, "cpu") != 0))
        return false;
    for (size_t i = 0; i < m->source->count; i = m->end[i])
        if (i != m->items[0].row && strcmp(source_row(m->source, i)->name, board->name) == 0) return true;
    return false;
}

/* "*" of layers that differ in their number, "1,3,5,.." of a lesser part of those, or where other siblings
 * would be "*", too; "attn", and "attn (1,3)" of a lesser part of those in layers 0 to 5; "NVIDIA H200 1". */
static void add_names(jm__strbuf *out, const fold_members *m, const fold_manner *how)
{
    bool differ = fold_has_names(m), numbered = m->items[0].numbered;
    if (differ && numbered && how->most && how->starred) {
        jm__strbuf_add(out, "*");
    } else if (differ && numbered) {
        add_different(out, m, 0);
    } else {
        jm__strbuf_add(out, member(m, 0)->name);
        if (has_namesake(m)) jm__strbuf_format(out, " %s", member(m, 0)->boards);
        if (how->differ_at == 0) return;
        jm__strbuf_add(out, " (");
        add_different(out, m, how->differ_at);
        jm__strbuf_add(out, ")");
    }
}

/* Of "RMSNorm" in "RMSNorm(2048)". */
static size_t class_length(const char *type)
{
    return strcspn(type, "(");
}

/* Names ("attn"; "*" of numbers), or of siblings that are not told apart their class: "2 RMSNorm". */
static void fold_name(jm__strbuf *out, const fold_members *m, const fold_manner *how)
{
    if (how->names == 0) {
        add_names(out, m, how);
        return;
    }
    const char *type = member(m, 0)->type;
    jm__strbuf_format(out, "%zu ", how->names);
    jm__strbuf_add_bytes(out, type, class_length(type));
}

/* ---- equal layers are siblings, numbered, whose subtrees look alike: PyTorch's ModuleList and Sequential.
 * Siblings with names are taken together if the sensor does not tell one from the other: the two norms of a
 * block ---- */

static const double equal_share = 0.05, equal_deviations = 3;

/* Candidates that belong together, of which a part is still to be made. */
typedef struct task {
    size_t first; /* in the pool */
    size_t count;
    fold_manner called;
    bool lesser; /* not most of those that look like it, or in a part that is not */
    int32_t depth;
    char *above; /* the name of the mere list around it, or NULL; owned */
} task;

typedef struct folder {
    const jm__fold_source *source;
    jm__fold *fold;
    size_t *end;    /* of each row: the first behind its subtree */
    uint64_t *look; /* of each row: kinds, types and names in its subtree */
    bool expand;
    JM_VEC(fold_candidate) pool; /* siblings stand together */
    JM_VEC(task) tasks;          /* the next one last: layers may lie in each other by the ten thousand */
} folder;

static const jm_row *row_of(const folder *f, size_t row)
{
    return source_row(f->source, row);
}

static bool is_number(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    return digits > 0 && name[digits] == '\0';
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return jm__map_hash_bytes(hash, text, strlen(text) + 1);
}

/* Children stand in the order in which they first ran, which may differ: their looks are added up. */
static void find_looks(folder *f)
{
    for (size_t i = f->source->count; i-- > 0;) {
        const jm_row *row = row_of(f, i);
        uint64_t below = 0;
        size_t child = i + 1;
        while (child < f->source->count && row_of(f, child)->depth > row->depth) {
            const char *name = row_of(f, child)->name;
            below += hash_text(f->look[child], is_number(name) ? "*" : name);
            child = f->end[child];
        }
        f->end[i] = child;
        f->look[i] = jm__map_hash_bytes(hash_text(hash_text(0, row->kind), row->type), &below, sizeof below);
    }
}

/* ---- which belong together */

/* 0: they belong together. */
static int compare_looks(const folder *f, const fold_candidate *a, const fold_candidate *b)
{
    if (f->expand) return 0;
    if (a->numbered != b->numbered) return a->numbered ? 1 : -1;
    if (a->look != b->look) return a->look > b->look ? 1 : -1;
    return a->numbered ? 0 : strcmp(row_of(f, a->row)->name, row_of(f, b->row)->name);
}

static int by_look(const void *left, const void *right, void *context)
{
    const fold_candidate *a = left, *b = right;
    int looks = compare_looks(context, a, b);
    return looks != 0 ? looks : (a->row > b->row) - (a->row < b->row);
}

static int by_energy(const void *left, const void *right, void *context)
{
    const folder *f = context;
    double a = row_of(f, ((const fold_candidate *)left)->row)->energy_j;
    double b = row_of(f, ((const fold_candidate *)right)->row)->energy_j;
    if (isfinite(a) != isfinite(b)) return isfinite(a) ? -1 : 1;
    return (a > b) - (a < b);
}

static int by_row(const void *left, const void *right)
{
    size_t a = ((const fold_candidate *)left)->row, b = ((const fold_candidate *)right)->row;
    return (a > b) - (a < b);
}

/* Move those that differ from the one in the middle behind the others; returns how many are equal, one at
 * least. */
static size_t part_equals(folder *f, fold_candidate *items, size_t count)
{
    if (count == 1) return 1;
    qsort_r(items, count, sizeof *items, by_energy, f);
    size_t usual = items[count / 2].row, equal = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i].row != usual && !f->source->equal(f->source->context, items[i].row, usual)) continue;
        fold_candidate moved = items[i];
        items[i] = items[equal];
        items[equal++] = moved;
    }
    qsort(items, equal, sizeof *items, by_row);
    qsort(items + equal, count - equal, sizeof *items, by_row);
    return equal;
}

/* ---- a part of them */

/* By adding up: intervals are found for the parts that are shown. */
static void sum_up(const folder *f, const fold_candidate *items, size_t count, jm_row *sum)
{
    *sum = *row_of(f, items[0].row);
    if (count == 1) return; /* the report's own interval */
    sum->calls = 0;
    sum->busy_s = sum->energy_j = sum->share = 0;
    sum->energy_low_j = sum->energy_high_j = NAN;
    sum->forward_share = sum->backward_share = 0;
    for (size_t i = 0; i < count; i++) {
        const jm_row *row = row_of(f, items[i].row);
        sum->calls += row->calls;
        sum->busy_s += row->busy_s;
        sum->energy_j += row->energy_j;
        sum->share += row->share;
        sum->forward_share += row->forward_share * row->energy_j;
        sum->backward_share += row->backward_share * row->energy_j;
        if (row->provenance > sum->provenance) sum->provenance = row->provenance;
    }
    sum->power_w = sum->busy_s > 0 ? sum->energy_j / sum->busy_s : NAN;
    sum->forward_share /= sum->energy_j;
    sum->backward_share /= sum->energy_j;
}

/* Children of all members, at the end of the pool. */
static jm_status find_children(folder *f, const task *t, jm_error *err)
{
    for (size_t i = 0; i < t->count; i++) {
        size_t row = f->pool.items[t->first + i].row;
        for (size_t child = row + 1; child < f->end[row]; child = f->end[child]) {
            fold_candidate next = {child, f->look[child], is_number(row_of(f, child)->name)};
            if (!jm__vec_push(&f->pool, next)) return jm__no_memory(err, "jm__fold_make");
        }
    }
    return JM_OK;
}

/* A list that is never called and draws nothing itself, with one part in it, is no line of its own: "layers"
 * and "*" are "layers.*".
 */
static bool is_mere_list(const folder *f, const task *t, const fold_candidate *children, size_t count)
{
    if (f->expand || count == 0 || !children[0].numbered) return false;
    for (size_t i = 0; i < t->count; i++) {
        const jm_row *row = row_of(f, f->pool.items[t->first + i].row);
        bool nothing_of_its_own = row->calls == 0 && row->energy_self_j == 0;
        if (!nothing_of_its_own) return false;
    }
    for (size_t i = 1; i < count; i++)
        if (compare_looks(f, &children[0], &children[i]) != 0) return false;
    return true;
}

static jm_status push_task(folder *f, task next, const char *above, jm_error *err)
{
    next.above = above != NULL ? strdup(above) : NULL;
    if ((above == NULL || next.above != NULL) && jm__vec_push(&f->tasks, next)) return JM_OK;
    free(next.above);
    return jm__no_memory(err, "jm__fold_make");
}

/* Whether others beside these `equal` from `done` on have the first one's name. */
static bool has_namesakes(const folder *f, const fold_candidate *items, size_t count, size_t done,
                          size_t equal)
{
    const char *name = row_of(f, items[done].row)->name;
    for (size_t i = 0; i < count; i++)
        if ((i < done || i >= done + equal) && strcmp(row_of(f, items[i].row)->name, name) == 0) return true;
    return false;
}

/* Some that look alike: those of equal energy together, then those of them that are left, and so on. */
static jm_status push_alike(folder *f, size_t first, size_t count, const task *around, const char *above,
                            jm_error *err)
{
    size_t differ_at = 0;
    for (size_t done = 0; done < count;) {
        size_t equal = part_equals(f, f->pool.items + first + done, count - done);
        bool most = 2 * equal > count;
        bool marked_apart = most || !has_namesakes(f, f->pool.items + first, count, done, equal);
        if (!marked_apart && differ_at == 0) {
            const fold_members all = {f->source, f->end, f->pool.items + first, count};
            differ_at = fold_difference(&all);
        }
        const task next = {.first = first + done,
                           .count = equal,
                           .called = {.most = most,
                                      .starred = around->called.starred,
                                      .differ_at = marked_apart ? 0 : differ_at},
                           .lesser = around->lesser || !most,
                           .depth = around->depth};
        JM_TRY(push_task(f, next, above, err));
        done += equal;
    }
    return JM_OK;
}

static int last_row_first(const void *left, const void *right, void *context)
{
    const folder *f = context;
    size_t a = f->pool.items[((const task *)left)->first].row;
    size_t b = f->pool.items[((const task *)right)->first].row;
    return (a < b) - (a > b);
}

/* So many names, if they are of one class with nothing below, take the same time and are all only weakly
 * known; else 0. `items`: of one look, by their names. */
static size_t count_names(const folder *f, const fold_candidate *items, size_t count)
{
    size_t names = 0;
    double least_s = INFINITY, most_s = 0, busy_s = 0;
    for (size_t i = 0; i < count; i++) {
        const jm_row *row = row_of(f, items[i].row);
        bool weak = row->provenance >= JM_PROVENANCE_WEAK && isfinite(row->energy_j);
        bool has_children = f->end[items[i].row] > items[i].row + 1;
        if (items[i].numbered || has_children || !weak || row->type[0] == '\0') return 0;
        busy_s += row->busy_s;
        if (i + 1 < count && strcmp(row_of(f, items[i + 1].row)->name, row->name) == 0) continue;
        names++;
        least_s = fmin(least_s, busy_s);
        most_s = fmax(most_s, busy_s);
        busy_s = 0;
    }
    return names > 1 && most_s - least_s <= equal_share * most_s ? names : 0;
}

/* No sibling, from `siblings` on in the pool, is of their class but looks otherwise: of linear layers, some
 * of another size, a reader wants each by name. */
static bool is_whole_class(const folder *f, size_t siblings, const fold_candidate *one)
{
    const char *type = row_of(f, one->row)->type;
    size_t length = class_length(type);
    for (size_t i = siblings; i < f->pool.count; i++) {
        const fold_candidate *other = &f->pool.items[i];
        const char *its = row_of(f, other->row)->type;
        bool same_class = class_length(its) == length && strncmp(type, its, length) == 0;
        if (same_class && (other->look != one->look || other->numbered)) return false;
    }
    return true;
}

/* Some of one look, of the siblings from there on in the pool: with names that say nothing which the sensor
 * tells all together, else by name. */
static jm_status push_of_look(folder *f, size_t siblings, size_t first, size_t count, const task *around,
                              const char *above, jm_error *err)
{
    fold_candidate *items = f->pool.items + first;
    size_t names = around->depth > 0 ? count_names(f, items, count) : 0;
    if (names > 0 && !is_whole_class(f, siblings, items)) names = 0;
    if (names > 0 && part_equals(f, items, count) == count) {
        task all = *around;
        all.first = first, all.count = count, all.called = (fold_manner){.most = true, .names = names};
        return push_task(f, all, above, err);
    }
    if (names > 0) qsort_r(items, count, sizeof *items, by_look, f); /* as they were */
    for (size_t i = 0, end; i < count; i = end) {
        end = i + 1;
        while (end < count && compare_looks(f, &items[i], &items[end]) == 0)
            end++;
        JM_TRY(push_alike(f, first + i, end - i, around, above, err));
    }
    return JM_OK;
}

/* Where those of the look of `items[0]` end, of siblings by their looks. */
static size_t end_of_look(const folder *f, const fold_candidate *items, size_t count)
{
    size_t end = 1;
    while (!f->expand && end < count && items[end].look == items[0].look &&
           items[end].numbered == items[0].numbered)
        end++;
    return end;
}

/* Whether at most one look, of siblings by their looks, has members that differ in their number. */
static bool have_one_list(const folder *f, const fold_candidate *items, size_t count)
{
    size_t lists = 0;
    for (size_t i = 0, of_look; i < count; i += of_look) {
        of_look = end_of_look(f, items + i, count - i);
        const fold_members of_it = {f->source, f->end, items + i, of_look};
        if (items[i].numbered && fold_has_names(&of_it)) lists++;
    }
    return lists <= 1;
}

/* The siblings from `first` on as tasks, by their first rows. `around`: their depth, and whether they are in
 * a lesser part. */
static jm_status push_tasks(folder *f, size_t first, const task *around, const char *above, jm_error *err)
{
    size_t count = f->pool.count - first, before = f->tasks.count;
    fold_candidate *items = f->pool.items + first;
    if (count > 0) qsort_r(items, count, sizeof *items, by_look, f);
    task like_them = *around;
    like_them.called.starred = have_one_list(f, items, count);
    for (size_t i = 0, of_look; i < count; i += of_look) {
        of_look = end_of_look(f, items + i, count - i);
        JM_TRY(push_of_look(f, first, first + i, of_look, &like_them, above, err));
    }
    task *pushed = f->tasks.items + before;
    if (f->tasks.count > before) qsort_r(pushed, f->tasks.count - before, sizeof *pushed, last_row_first, f);
    return JM_OK;
}

/* One part, and tasks for what is in it. */
static jm_status do_task(folder *f, const task *t, jm_error *err)
{
    const fold_candidate *items = f->pool.items + t->first;
    const fold_members members = {f->source, f->end, items, t->count};
    jm__strbuf text = {0};
    if (t->above != NULL) jm__strbuf_format(&text, "%s.", t->above);
    fold_name(&text, &members, &t->called);
    jm__part part = {.name = jm__strbuf_take(&text),
                     .members = t->count,
                     .by_type = t->called.names > 0,
                     .lesser = t->lesser,
                     .row = items[0].row,
                     .first = t->first};
    if (part.name == NULL) return jm__no_memory(err, "jm__fold_make");
    size_t children = f->pool.count;
    jm_status status = find_children(f, t, err);
    bool hidden = status == JM_OK && is_mere_list(f, t, f->pool.items + children, f->pool.count - children);
    sum_up(f, f->pool.items + t->first, t->count, &part.sum);
    part.sum.depth = t->depth;
    const task inside = {.depth = t->depth + (hidden ? 0 : 1), .lesser = t->lesser};
    if (status == JM_OK) status = push_tasks(f, children, &inside, hidden ? part.name : NULL, err);
    if (status == JM_OK && !hidden && jm__vec_push(&f->fold->parts, part)) return JM_OK;
    free(part.name);
    return status != JM_OK || hidden ? status : jm__no_memory(err, "jm__fold_make");
}

static jm_status do_all(folder *f, jm_error *err)
{
    find_looks(f);
    for (size_t i = 0; i < f->source->count; i = f->end[i]) {
        fold_candidate next = {i, f->look[i], is_number(row_of(f, i)->name)};
        if (!jm__vec_push(&f->pool, next)) return jm__no_memory(err, "jm__fold_make");
    }
    JM_TRY(push_tasks(f, 0, &(const task){0}, NULL, err));
    while (f->tasks.count > 0) {
        task next = f->tasks.items[--f->tasks.count];
        jm_status status = do_task(f, &next, err);
        free(next.above);
        if (status != JM_OK) return status;
    }
    return JM_OK;
}

jm_status jm__fold_rows(jm__fold *fold, const jm__fold_source *source, bool expand, jm_error *err)
{
    folder f = {.source = source, .fold = fold, .expand = expand};
    f.end = calloc(source->count + 1, sizeof *f.end);
    f.look = calloc(source->count + 1, sizeof *f.look);
    jm_status status =
        f.end != NULL && f.look != NULL ? do_all(&f, err) : jm__no_memory(err, "jm__fold_make");
    fold->rows = calloc(f.pool.count + 1, sizeof *fold->rows);
    if (status == JM_OK && fold->rows == NULL) status = jm__no_memory(err, "jm__fold_make");
    for (size_t i = 0; fold->rows != NULL && i < f.pool.count; i++)
        fold->rows[i] = f.pool.items[i].row;
    for (size_t i = 0; i < f.tasks.count; i++)
        free(f.tasks.items[i].above);
    jm__vec_free(&f.tasks);
    jm__vec_free(&f.pool);
    free(f.end);
    free(f.look);
    return status;
}

/* ---- of a report */

double jm__fold_variance_apart(const jm_report *report, size_t a, size_t b, size_t *queried)
{
    enum { MOST_QUERIED = 1000 };
    if ((*queried)++ >= MOST_QUERIED) return NAN;
    double own = 0, other = 0, common = 0;
    if (jm_report_covariance(report, a, a, &own, NULL) != JM_OK ||
        jm_report_covariance(report, b, b, &other, NULL) != JM_OK ||
        jm_report_covariance(report, a, b, &common, NULL) != JM_OK)
        return NAN;
    return fmax(0, own + other - 2 * common);
}

static bool is_equal(const jm_report *report, size_t row, size_t usual, size_t *queried)
{
    double energy_j = jm_report_row(report, row)->energy_j, usual_j = jm_report_row(report, usual)->energy_j;
    double apart_j = fabs(energy_j - usual_j);
    if (jm_report_row(report, row)->calls != jm_report_row(report, usual)->calls) return false;
    if (!isfinite(apart_j)) return isfinite(energy_j) == isfinite(usual_j);
    if (apart_j <= equal_share * fabs(usual_j)) return true;
    return apart_j <= equal_deviations * sqrt(jm__fold_variance_apart(report, row, usual, queried));
}

typedef struct of_report {
    const jm_report *report;
    const bool *queried; /* NULL: all, or none */
    size_t variances;    /* asked for so far */
} of_report;

static const jm_row *report_row(void *context, size_t row)
{
    return jm_report_row(((const of_report *)context)->report, row);
}

static bool report_equal(void *context, size_t row, size_t usual)
{
    of_report *of = context;
    if (of->queried != NULL && of->queried[row] != of->queried[usual]) return false;
    return is_equal(of->report, row, usual, &of->variances);
}

jm_status jm__fold_make(jm__fold *fold, const jm_report *report, bool expand, const bool *queried,
                        jm_error *err)
{
    of_report of = {.report = report, .queried = queried};
    const jm__fold_source source = {&of, jm_report_row_count(report), report_row, report_equal};
    return jm__fold_rows(fold, &source, expand || jm_report_options_get(report)->by != JM_BY_LAYER, err);
}

jm_status jm__fold_interval(const jm__fold *fold, const jm_report *report, jm__part *part, jm_error *err)
{
    if (part->members == 1) return JM_OK;
    jm_sum sum = {0};
    JM_TRY(jm_report_sum(report, fold->rows + part->first, part->members, &sum, err));
    part->sum.energy_low_j = sum.low_j;
    part->sum.energy_high_j = sum.high_j;
    return JM_OK;
}

void jm__part_name_path(jm__strbuf *path, const jm__part *part)
{
    if (!part->by_type || path->failed) return;
    char *last = strrchr(path->text, '.');
    path->length = last != NULL ? (size_t)(last + 1 - path->text) : 0;
    jm__strbuf_add(path, part->name);
}

void jm__fold_free(jm__fold *fold)
{
    free(fold->rows);
    for (size_t i = 0; i < fold->parts.count; i++)
        free(fold->parts.items[i].name);
    jm__vec_free(&fold->parts);
}

/* ---- which parts of a fold get an interval ---- */

/* An interval of several takes a walk through the whole report: so many, of those with most energy. A choice.
 */
enum { INTERVALS_MOST = 500 };

static int by_sum(const void *left, const void *right)
{
    const jm__part *a = *(jm__part *const *)left, *b = *(jm__part *const *)right;
    int order = jm__largest_first(a->sum.energy_j, b->sum.energy_j);
    return order != 0 ? order : (a > b) - (a < b); /* as they stand */
}

jm_status jm__fold_intervals(jm__fold *fold, const jm_report *report, const bool *chosen, jm_error *err)
{
    size_t count = 0;
    jm__part **several = calloc(fold->parts.count + 1, sizeof *several);
    if (several == NULL) return jm__no_memory(err, "jm__fold_intervals");
    for (size_t i = 0; i < fold->parts.count; i++)
        if (fold->parts.items[i].members > 1 && (chosen == NULL || chosen[i]))
            several[count++] = &fold->parts.items[i];
    if (count > 0) qsort(several, count, sizeof *several, by_sum);
    jm_status status = JM_OK;
    for (size_t i = 0; status == JM_OK && i < count && i < INTERVALS_MOST; i++)
        status = jm__fold_interval(fold, report, several[i], err);
    free(several);
    return status;
}

/* ---- paths of equal layers, side by side: where one of them differs stands a star ---- */

/* Up to the end of a path's component. */
static size_t component(const char *path)
{
    return strcspn(path, "./");
}

/* The same component in all members' paths; `at` says where in each it begins. */
static bool is_common(const char *const *at, size_t count, size_t length)
{
    for (size_t i = 1; i < count; i++)
        if (component(at[i]) != length || strncmp(at[0], at[i], length) != 0) return false;
    return true;
}

static void add_common(jm__strbuf *out, const char **at, size_t count)
{
    while (at[0][0] != '\0') {
        size_t length = component(at[0]);
        if (is_common(at, count, length))
            jm__strbuf_add_bytes(out, at[0], length);
        else
            jm__strbuf_add(out, "*");
        if (at[0][length] != '\0') jm__strbuf_add_bytes(out, at[0] + length, 1);
        for (size_t i = 0; i < count; i++) {
            at[i] += component(at[i]);
            at[i] += at[i][0] != '\0';
        }
    }
}

void jm__part_path_add(jm__strbuf *out, const jm_report *report, const jm__fold *fold, const jm__part *part)
{
    const char **at = calloc(part->members + 1, sizeof *at);
    jm__strbuf path = {.failed = at == NULL};
    for (size_t i = 0; at != NULL && i < part->members; i++)
        at[i] = jm_report_row(report, fold->rows[part->first + i])->path;
    if (at != NULL && part->members > 0) add_common(&path, at, part->members);
    jm__part_name_path(&path, part);
    if (path.text != NULL) jm__strbuf_add(out, path.text);
    out->failed = out->failed || path.failed;
    jm__strbuf_free(&path);
    free(at);
}

/* ---- groups: the parts of a fold for other people, with names, patterns of paths and intervals ---- */

struct jm_groups {
    jm__fold fold;
    jm_group *items;
    char **paths; /* [count]: of those of several; NULL: the row's own */
};

static jm_status fill(jm_groups *groups, const jm_report *report, size_t number, jm_error *err)
{
    const jm__part *part = &groups->fold.parts.items[number];
    const jm_row *sum = &part->sum;
    const size_t *rows = groups->fold.rows + part->first;
    const char *path = sum->path;
    if (part->members > 1) {
        jm__strbuf pattern = {0};
        jm__part_path_add(&pattern, report, &groups->fold, part);
        path = groups->paths[number] = jm__strbuf_take(&pattern);
        if (path == NULL) return jm__no_memory(err, "jm_groups_create");
    }
    groups->items[number] = (jm_group){
        .name = part->name,
        .path = path,
        .kind = sum->kind,
        .type = sum->type,
        .depth = sum->depth,
        .members = part->members,
        .rows = rows,
        .calls = sum->calls,
        .busy_s = sum->busy_s,
        .energy_j = sum->energy_j,
        .energy_low_j = sum->energy_low_j,
        .energy_high_j = sum->energy_high_j,
        .power_w = sum->power_w,
        .share = sum->share,
        .provenance = sum->provenance,
    };
    return JM_OK;
}

static jm_status make(jm_groups *groups, const jm_report *report, jm_error *err)
{
    JM_TRY(jm__fold_make(&groups->fold, report, false, NULL, err));
    JM_TRY(jm__fold_intervals(&groups->fold, report, NULL, err));
    size_t count = groups->fold.parts.count;
    groups->items = calloc(count + 1, sizeof *groups->items);
    groups->paths = calloc(count + 1, sizeof *groups->paths);
    if (groups->items == NULL || groups->paths == NULL) return jm__no_memory(err, "jm_groups_create");
    for (size_t i = 0; i < count; i++)
        JM_TRY(fill(groups, report, i, err));
    return JM_OK;
}

jm_status jm_groups_create(jm_groups **out, const jm_report *report, jm_error *err)
{
    jm_groups *groups = calloc(1, sizeof *groups);
    *out = NULL;
    if (groups == NULL) return jm__no_memory(err, "jm_groups_create");
    jm_status status = make(groups, report, err);
    if (status == JM_OK)
        *out = groups;
    else
        jm_groups_free(groups);
    return status;
}

void jm_groups_free(jm_groups *groups)
{
    if (groups == NULL) return;
    for (size_t i = 0; groups->paths != NULL && i < groups->fold.parts.count; i++)
        free(groups->paths[i]);
    free(groups->paths);
    free(groups->items);
    jm__fold_free(&groups->fold);
    free(groups);
}

size_t jm_group_count(const jm_groups *groups)
{
    return groups->fold.parts.count;
}

const jm_group *jm_group_get(const jm_groups *groups, size_t group)
{
    return group < groups->fold.parts.count ? &groups->items[group] : NULL;
}
