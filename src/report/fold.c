/* Folds equal layers into one part and names it; groups and paths of parts. */
#include "report/fold.h"

#include "attribute/report.h"
#include "base/map.h"
#include "base/order.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "report/format.h"

#include <joulemap/report.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row that may be folded with its siblings. */
typedef struct fold_candidate {
    size_t row;
    uint64_t signature; /* hash of kinds, types and names in its subtree */
    bool numbered;
} fold_candidate;

/* The rows of one part, in the order of the report. */
typedef struct fold_members {
    const jm__fold_source *source;
    const size_t *end; /* of each row of the source: the first row after its subtree */
    const fold_candidate *items;
    size_t count;
} fold_members;

typedef struct part_naming {
    bool majority;    /* more than half of the rows with its signature */
    bool use_star;    /* "*" is unambiguous: no other siblings with one signature differ in their number */
    size_t names;     /* 0: named by the members' names; else the number of names in "2 RMSNorm" */
    size_t differ_at; /* the path component that distinguishes the part from others of its name; 0: none */
} part_naming;

static const jm_row *source_row(const jm__fold_source *source, size_t row)
{
    return source->row(source->context, row);
}

static const jm_row *member(const fold_members *m, size_t i)
{
    return source_row(m->source, m->items[i].row);
}

/* A path component, or a whole name. */
typedef struct piece {
    const char *text;
    size_t length;
} piece;

/* Component number `component` of the member's path, from 1; 0: the row's name. */
static piece piece_of(const fold_members *m, size_t i, size_t component)
{
    const jm_row *row = member(m, i);
    if (component == 0) return (piece){row->name, strlen(row->name)};
    const char *text = row->path;
    while (--component > 0 && *text != '\0')
        text += strcspn(text, ".") + (text[strcspn(text, ".")] == '.');
    return (piece){text, strcspn(text, ".")};
}

static bool is_same(piece a, piece b)
{
    return a.length == b.length && strncmp(a.text, b.text, a.length) == 0;
}

/* The first component in which the members' paths differ, from 1; 0: none. */
static size_t first_difference(const fold_members *m)
{
    for (size_t component = 1;; component++) {
        piece first = piece_of(m, 0, component);
        for (size_t i = 1; i < m->count; i++)
            if (!is_same(first, piece_of(m, i, component))) return component;
        if (first.text[first.length] == '\0') return 0;
    }
}

/* Add the members' different values of a component: "1,3,5,..". */
static void list_values(jm__strbuf *out, const fold_members *m, size_t component)
{
    enum { LISTED_MAX = 3 };
    piece listed[LISTED_MAX];
    size_t different = 0;
    for (size_t i = 0; i < m->count && different <= LISTED_MAX; i++) {
        piece mine = piece_of(m, i, component);
        size_t same = 0;
        while (same < different && !is_same(listed[same], mine))
            same++;
        if (same < different) continue;
        jm__strbuf_add(out, different > 0 ? "," : "");
        if (different < LISTED_MAX) {
            jm__strbuf_add_bytes(out, mine.text, mine.length);
            listed[different] = mine;
        } else {
            jm__strbuf_add(out, "..");
        }
        different++;
    }
}

/* Whether the members' names differ; "0" of "1.0" and "2.0" does not. */
static bool names_differ(const fold_members *m)
{
    for (size_t i = 1; i < m->count; i++)
        if (strcmp(member(m, 0)->name, member(m, i)->name) != 0) return true;
    return false;
}

/* Whether the part is a board with the name of another one: equal GPUs of one machine. */
static bool is_board_with_namesake(const fold_members *m)
{
    const jm_row *board = member(m, 0);
    if (board->depth > 0 || (strcmp(board->kind, "gpu") != 0 && strcmp(board->kind, "cpu") != 0))
        return false;
    for (size_t i = 0; i < m->source->count; i = m->end[i])
        if (i != m->items[0].row && strcmp(source_row(m->source, i)->name, board->name) == 0) return true;
    return false;
}

/* Add "*" for numbered layers; "1,3,5,.." for a minority of them, or if other siblings would be "*" as well;
 * "attn", or "attn (1,3)" for a minority of those in layers 0 to 5; "NVIDIA H200 1". */
static void add_names(jm__strbuf *out, const fold_members *m, const part_naming *naming)
{
    bool differ = names_differ(m), numbered = m->items[0].numbered;
    if (differ && numbered && naming->majority && naming->use_star) {
        jm__strbuf_add(out, "*");
    } else if (differ && numbered) {
        list_values(out, m, 0);
    } else {
        jm__strbuf_add(out, member(m, 0)->name);
        if (is_board_with_namesake(m)) jm__strbuf_format(out, " %s", member(m, 0)->boards);
        if (naming->differ_at == 0) return;
        jm__strbuf_add(out, " (");
        list_values(out, m, naming->differ_at);
        jm__strbuf_add(out, ")");
    }
}

/* Length of "RMSNorm" in "RMSNorm(2048)". */
static size_t class_length(const char *type)
{
    return strcspn(type, "(");
}

/* The part's name: its members' names, or their class if the names do not matter: "2 RMSNorm". */
static void add_part_name(jm__strbuf *out, const fold_members *m, const part_naming *naming)
{
    if (naming->names == 0) {
        add_names(out, m, naming);
        return;
    }
    const char *type = member(m, 0)->type;
    jm__strbuf_format(out, "%zu ", naming->names);
    jm__strbuf_add_bytes(out, type, class_length(type));
}

/* ---- Equal layers are numbered siblings with the same signature, as in PyTorch's ModuleList and Sequential.
 * Siblings with names are folded if the sensor cannot distinguish them, such as the two norms of a block. */

static const double equal_share = 0.05, equal_deviations = 3;

/* Rows that will become one part. */
typedef struct task {
    size_t first; /* in the pool */
    size_t count;
    part_naming naming;
    bool minority; /* not the majority of the rows with its signature, or inside such a part */
    int32_t depth;
    char *prefix; /* prefix of the name, "layers": the plain list that it is in; NULL: none; owned */
} task;

typedef struct folder {
    const jm__fold_source *source;
    jm__fold *fold;
    size_t *end;         /* of each row: the first row after its subtree */
    uint64_t *signature; /* of each row */
    bool expand;
    JM_VEC(fold_candidate) pool; /* siblings are contiguous */
    JM_VEC(task) tasks;          /* a stack: layers may be nested ten thousand deep */
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

/* Children are in the order in which they first ran, which may vary: their signatures are added up. */
static void find_signatures(folder *f)
{
    for (size_t i = f->source->count; i-- > 0;) {
        const jm_row *row = row_of(f, i);
        uint64_t below = 0;
        size_t child = i + 1;
        while (child < f->source->count && row_of(f, child)->depth > row->depth) {
            const char *name = row_of(f, child)->name;
            below += hash_text(f->signature[child], is_number(name) ? "*" : name);
            child = f->end[child];
        }
        f->end[i] = child;
        f->signature[i] =
            jm__map_hash_bytes(hash_text(hash_text(0, row->kind), row->type), &below, sizeof below);
    }
}

/* ---- comparing siblings */

/* 0: they may be folded. */
static int compare_signatures(const folder *f, const fold_candidate *a, const fold_candidate *b)
{
    if (f->expand) return 0;
    if (a->numbered != b->numbered) return a->numbered ? 1 : -1;
    if (a->signature != b->signature) return a->signature > b->signature ? 1 : -1;
    return a->numbered ? 0 : strcmp(row_of(f, a->row)->name, row_of(f, b->row)->name);
}

static int by_signature(const void *left, const void *right, void *context)
{
    const fold_candidate *a = left, *b = right;
    int order = compare_signatures(context, a, b);
    return order != 0 ? order : (a->row > b->row) - (a->row < b->row);
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

/* Move the rows that differ from the median behind the others. Returns the number of equal rows, at least 1.
 */
static size_t partition_equals(folder *f, fold_candidate *items, size_t count)
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

/* ---- making parts */

/* Sum the members. Intervals are computed later, for the parts that are shown. */
static void sum_up(const folder *f, const fold_candidate *items, size_t count, jm_row *sum)
{
    *sum = *row_of(f, items[0].row);
    if (count == 1) return; /* the report's own interval */
    sum->calls = 0;
    sum->busy_s = sum->energy_j = sum->share = 0;
    sum->step_s = sum->step_j = 0;
    sum->energy_low_j = sum->energy_high_j = sum->step_low_j = sum->step_high_j = NAN;
    sum->forward_share = sum->backward_share = 0;
    for (size_t i = 0; i < count; i++) {
        const jm_row *row = row_of(f, items[i].row);
        sum->calls += row->calls;
        sum->busy_s += row->busy_s;
        sum->energy_j += row->energy_j;
        sum->step_s += row->step_s;
        sum->step_j += row->step_j;
        sum->share += row->share;
        sum->forward_share += row->forward_share * row->energy_j;
        sum->backward_share += row->backward_share * row->energy_j;
        if (row->provenance > sum->provenance) sum->provenance = row->provenance;
    }
    sum->power_w = sum->busy_s > 0 ? sum->energy_j / sum->busy_s : NAN;
    sum->forward_share /= sum->energy_j;
    sum->backward_share /= sum->energy_j;
}

/* Append the children of all members to the pool. */
static jm_status find_children(folder *f, const task *t, jm_error *err)
{
    for (size_t i = 0; i < t->count; i++) {
        size_t row = f->pool.items[t->first + i].row;
        for (size_t child = row + 1; child < f->end[row]; child = f->end[child]) {
            fold_candidate next = {child, f->signature[child], is_number(row_of(f, child)->name)};
            if (!jm__vec_push(&f->pool, next)) return jm__no_memory(err, "jm__fold_make");
        }
    }
    return JM_OK;
}

/* A list that is never called, draws no energy itself and has one part in it gets no line of its own:
 * "layers" and "*" become "layers.*". */
static bool is_plain_list(const folder *f, const task *t, const fold_candidate *children, size_t count)
{
    if (f->expand || count == 0 || !children[0].numbered) return false;
    for (size_t i = 0; i < t->count; i++) {
        const jm_row *row = row_of(f, f->pool.items[t->first + i].row);
        bool empty = row->calls == 0 && row->energy_self_j == 0;
        if (!empty) return false;
    }
    for (size_t i = 1; i < count; i++)
        if (compare_signatures(f, &children[0], &children[i]) != 0) return false;
    return true;
}

static jm_status push_task(folder *f, task next, const char *prefix, jm_error *err)
{
    next.prefix = prefix != NULL ? strdup(prefix) : NULL;
    if ((prefix == NULL || next.prefix != NULL) && jm__vec_push(&f->tasks, next)) return JM_OK;
    free(next.prefix);
    return jm__no_memory(err, "jm__fold_make");
}

/* Whether rows other than the `equal` ones from `done` on have the first one's name. */
static bool name_is_shared(const folder *f, const fold_candidate *items, size_t count, size_t done,
                           size_t equal)
{
    const char *name = row_of(f, items[done].row)->name;
    for (size_t i = 0; i < count; i++)
        if ((i < done || i >= done + equal) && strcmp(row_of(f, items[i].row)->name, name) == 0) return true;
    return false;
}

/* Push tasks for rows with one signature: first those of equal energy, then those equal among the rest, and
 * so on. */
static jm_status push_equals(folder *f, size_t first, size_t count, const task *parent, const char *prefix,
                             jm_error *err)
{
    size_t differ_at = 0;
    for (size_t done = 0; done < count;) {
        size_t equal = partition_equals(f, f->pool.items + first + done, count - done);
        bool majority = 2 * equal > count;
        bool unambiguous = majority || !name_is_shared(f, f->pool.items + first, count, done, equal);
        if (!unambiguous && differ_at == 0) {
            const fold_members all = {f->source, f->end, f->pool.items + first, count};
            differ_at = first_difference(&all);
        }
        const task next = {.first = first + done,
                           .count = equal,
                           .naming = {.majority = majority,
                                      .use_star = parent->naming.use_star,
                                      .differ_at = unambiguous ? 0 : differ_at},
                           .minority = parent->minority || !majority,
                           .depth = parent->depth};
        JM_TRY(push_task(f, next, prefix, err));
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

/* The number of names if all rows are of one class without children, take the same time and are only weakly
 * known; else 0. `items`: of one signature, sorted by name. */
static size_t count_names(const folder *f, const fold_candidate *items, size_t count)
{
    size_t names = 0;
    double least_s = INFINITY, most_s = 0, busy_s = 0;
    for (size_t i = 0; i < count; i++) {
        const jm_row *row = row_of(f, items[i].row);
        bool weak = row->provenance >= JM_PROVENANCE_WEAK && isfinite(row->energy_j);
        bool has_children = f->end[items[i].row] > items[i].row + 1;
        bool kernel = jm__row_is_kernel(row); /* its type is no layer's */
        if (items[i].numbered || has_children || !weak || row->type[0] == '\0' || kernel) return 0;
        busy_s += row->busy_s;
        if (i + 1 < count && strcmp(row_of(f, items[i + 1].row)->name, row->name) == 0) continue;
        names++;
        least_s = fmin(least_s, busy_s);
        most_s = fmax(most_s, busy_s);
        busy_s = 0;
    }
    return names > 1 && most_s - least_s <= equal_share * most_s ? names : 0;
}

/* Whether no sibling, from `siblings` on in the pool, has the same class but another signature. A reader
 * wants linear layers of different sizes by name. */
static bool is_whole_class(const folder *f, size_t siblings, const fold_candidate *one)
{
    const char *type = row_of(f, one->row)->type;
    size_t length = class_length(type);
    for (size_t i = siblings; i < f->pool.count; i++) {
        const fold_candidate *other = &f->pool.items[i];
        const char *type_of_other = row_of(f, other->row)->type;
        bool same_class = class_length(type_of_other) == length && strncmp(type, type_of_other, length) == 0;
        if (same_class && (other->signature != one->signature || other->numbered)) return false;
    }
    return true;
}

/* Push tasks for siblings of one signature. Names that the sensor cannot distinguish become one part, others
 * are pushed by name. */
static jm_status push_signature(folder *f, size_t siblings, size_t first, size_t count, const task *parent,
                                const char *prefix, jm_error *err)
{
    fold_candidate *items = f->pool.items + first;
    size_t names = parent->depth > 0 ? count_names(f, items, count) : 0;
    if (names > 0 && !is_whole_class(f, siblings, items)) names = 0;
    if (names > 0 && partition_equals(f, items, count) == count) {
        task all = *parent;
        all.first = first, all.count = count, all.naming = (part_naming){.majority = true, .names = names};
        return push_task(f, all, prefix, err);
    }
    if (names > 0) qsort_r(items, count, sizeof *items, by_signature, f); /* restore the order */
    for (size_t i = 0, end; i < count; i = end) {
        end = i + 1;
        while (end < count && compare_signatures(f, &items[i], &items[end]) == 0)
            end++;
        JM_TRY(push_equals(f, first + i, end - i, parent, prefix, err));
    }
    return JM_OK;
}

/* Number of siblings, sorted by signature, that have the signature of `items[0]`. */
static size_t count_same_signature(const folder *f, const fold_candidate *items, size_t count)
{
    size_t end = 1;
    while (!f->expand && end < count && items[end].signature == items[0].signature &&
           items[end].numbered == items[0].numbered)
        end++;
    return end;
}

/* Whether at most one signature among the siblings has members that differ in their number. */
static bool have_one_list(const folder *f, const fold_candidate *items, size_t count)
{
    size_t lists = 0;
    for (size_t i = 0, same; i < count; i += same) {
        same = count_same_signature(f, items + i, count - i);
        const fold_members members = {f->source, f->end, items + i, same};
        if (items[i].numbered && names_differ(&members)) lists++;
    }
    return lists <= 1;
}

/* Push the siblings from `first` on as tasks, ordered by their first rows. `parent`: their depth, and whether
 * they are in a minority. */
static jm_status push_tasks(folder *f, size_t first, const task *parent, const char *prefix, jm_error *err)
{
    size_t count = f->pool.count - first, before = f->tasks.count;
    fold_candidate *items = f->pool.items + first;
    if (count > 0) qsort_r(items, count, sizeof *items, by_signature, f);
    task siblings_task = *parent;
    siblings_task.naming.use_star = have_one_list(f, items, count);
    for (size_t i = 0, same; i < count; i += same) {
        same = count_same_signature(f, items + i, count - i);
        JM_TRY(push_signature(f, first, first + i, same, &siblings_task, prefix, err));
    }
    task *pushed = f->tasks.items + before;
    if (f->tasks.count > before) qsort_r(pushed, f->tasks.count - before, sizeof *pushed, last_row_first, f);
    return JM_OK;
}

/* Make one part, and push tasks for its children. */
static jm_status do_task(folder *f, const task *t, jm_error *err)
{
    const fold_candidate *items = f->pool.items + t->first;
    const fold_members members = {f->source, f->end, items, t->count};
    jm__strbuf text = {0};
    if (t->prefix != NULL) jm__strbuf_format(&text, "%s.", t->prefix);
    add_part_name(&text, &members, &t->naming);
    jm__part part = {.name = jm__strbuf_take(&text),
                     .members = t->count,
                     .by_type = t->naming.names > 0,
                     .minority = t->minority,
                     .row = items[0].row,
                     .first = t->first};
    if (part.name == NULL) return jm__no_memory(err, "jm__fold_make");
    size_t children = f->pool.count;
    jm_status status = find_children(f, t, err);
    bool hidden = status == JM_OK && is_plain_list(f, t, f->pool.items + children, f->pool.count - children);
    sum_up(f, f->pool.items + t->first, t->count, &part.sum);
    part.sum.depth = t->depth;
    part.call_s = part.sum.calls > 0 ? part.sum.busy_s / (double)part.sum.calls : NAN;
    part.call_j = part.sum.calls > 0 ? part.sum.energy_j / (double)part.sum.calls : NAN;
    const task inside = {.depth = t->depth + (hidden ? 0 : 1), .minority = t->minority};
    if (status == JM_OK) status = push_tasks(f, children, &inside, hidden ? part.name : NULL, err);
    if (status == JM_OK && !hidden && jm__vec_push(&f->fold->parts, part)) return JM_OK;
    free(part.name);
    return status != JM_OK || hidden ? status : jm__no_memory(err, "jm__fold_make");
}

static jm_status do_all(folder *f, jm_error *err)
{
    find_signatures(f);
    for (size_t i = 0; i < f->source->count; i = f->end[i]) {
        fold_candidate next = {i, f->signature[i], is_number(row_of(f, i)->name)};
        if (!jm__vec_push(&f->pool, next)) return jm__no_memory(err, "jm__fold_make");
    }
    JM_TRY(push_tasks(f, 0, &(const task){0}, NULL, err));
    while (f->tasks.count > 0) {
        task next = f->tasks.items[--f->tasks.count];
        jm_status status = do_task(f, &next, err);
        free(next.prefix);
        if (status != JM_OK) return status;
    }
    return JM_OK;
}

jm_status jm__fold_rows(jm__fold *fold, const jm__fold_source *source, bool expand, jm_error *err)
{
    folder f = {.source = source, .fold = fold, .expand = expand};
    f.end = calloc(source->count + 1, sizeof *f.end);
    f.signature = calloc(source->count + 1, sizeof *f.signature);
    jm_status status =
        f.end != NULL && f.signature != NULL ? do_all(&f, err) : jm__no_memory(err, "jm__fold_make");
    fold->rows = calloc(f.pool.count + 1, sizeof *fold->rows);
    if (status == JM_OK && fold->rows == NULL) status = jm__no_memory(err, "jm__fold_make");
    for (size_t i = 0; fold->rows != NULL && i < f.pool.count; i++)
        fold->rows[i] = f.pool.items[i].row;
    for (size_t i = 0; i < f.tasks.count; i++)
        free(f.tasks.items[i].prefix);
    jm__vec_free(&f.tasks);
    jm__vec_free(&f.pool);
    free(f.end);
    free(f.signature);
    return status;
}

/* ---- folding a report */

double jm__fold_variance_apart(const jm_report *report, size_t a, size_t b, size_t *queries)
{
    enum { QUERIES_MAX = 1000 };
    if ((*queries)++ >= QUERIES_MAX) return NAN;
    double own = 0, other = 0, common = 0;
    if (jm_report_covariance(report, a, a, &own, NULL) != JM_OK ||
        jm_report_covariance(report, b, b, &other, NULL) != JM_OK ||
        jm_report_covariance(report, a, b, &common, NULL) != JM_OK)
        return NAN;
    return fmax(0, own + other - 2 * common);
}

typedef struct report_source {
    const jm_report *report;
    const bool *selected; /* NULL: no selection */
    size_t queries;       /* covariances computed so far */
} report_source;

static const jm_row *report_row(void *context, size_t row)
{
    return jm_report_row(((const report_source *)context)->report, row);
}

static bool report_equal(void *context, size_t row, size_t usual)
{
    report_source *source = context;
    const jm_row *mine = report_row(context, row), *its = report_row(context, usual);
    double apart_j = fabs(mine->energy_j - its->energy_j);
    if (source->selected != NULL && source->selected[row] != source->selected[usual]) return false;
    if (mine->calls != its->calls) return false;
    if (!isfinite(apart_j)) return isfinite(mine->energy_j) == isfinite(its->energy_j);
    if (apart_j <= equal_share * fabs(its->energy_j)) return true;
    double variance = jm__fold_variance_apart(source->report, row, usual, &source->queries);
    return apart_j <= equal_deviations * sqrt(variance);
}

jm_status jm__fold_make(jm__fold *fold, const jm_report *report, bool expand, const bool *selected,
                        jm_error *err)
{
    report_source rows = {.report = report, .selected = selected};
    const jm__fold_source source = {&rows, jm_report_row_count(report), report_row, report_equal};
    return jm__fold_rows(fold, &source, expand || jm_report_options_get(report)->by != JM_BY_LAYER, err);
}

jm_status jm__fold_interval(const jm__fold *fold, const jm_report *report, jm__part *part, jm_error *err)
{
    if (part->members == 1) return JM_OK;
    jm_sum sum = {0};
    JM_TRY(jm_report_sum(report, fold->rows + part->first, part->members, &sum, err));
    part->sum.energy_low_j = sum.low_j;
    part->sum.energy_high_j = sum.high_j;
    if (isnan(part->sum.step_j)) return JM_OK;
    JM_TRY(jm__report_sum_step(report, fold->rows + part->first, part->members, &sum, err));
    part->sum.step_low_j = sum.low_j;
    part->sum.step_high_j = sum.high_j;
    return JM_OK;
}

void jm__fold_free(jm__fold *fold)
{
    free(fold->rows);
    for (size_t i = 0; i < fold->parts.count; i++)
        free(fold->parts.items[i].name);
    jm__vec_free(&fold->parts);
}

/* ---- which parts of a fold get an interval ---- */

/* The interval of a folded part takes a walk through the whole report, so only the largest parts get one. The
 * number is a choice. */
enum { INTERVALS_MAX = 500 };

static int by_sum(const void *left, const void *right)
{
    const jm__part *a = *(jm__part *const *)left, *b = *(jm__part *const *)right;
    int order = jm__largest_first(a->sum.energy_j, b->sum.energy_j);
    return order != 0 ? order : (a > b) - (a < b); /* in their order */
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
    for (size_t i = 0; status == JM_OK && i < count && i < INTERVALS_MAX; i++)
        status = jm__fold_interval(fold, report, several[i], err);
    free(several);
    return status;
}

/* ---- the common path of equal layers, with a star where they differ */

/* Add the first components of paths that differ: "1,3,5,..". */
static void list_components(jm__strbuf *out, const char *const *at, size_t count, const char *ends)
{
    enum { LISTED_MAX = 3 };
    piece last = {"", 0};
    size_t listed = 0;
    for (size_t i = 0; i < count && listed <= LISTED_MAX; i++) {
        piece mine = {at[i], strcspn(at[i], ends)};
        if (is_same(mine, last)) continue;
        jm__strbuf_add(out, listed > 0 ? "," : "");
        if (listed < LISTED_MAX)
            jm__strbuf_add_bytes(out, mine.text, mine.length);
        else
            jm__strbuf_add(out, "..");
        last = mine;
        listed++;
    }
}

void jm__common_path_add(jm__strbuf *out, const char **at, const jm__part *part, const char *ends,
                         bool listed)
{
    while (at[0][0] != '\0') {
        piece first = {at[0], strcspn(at[0], ends)};
        bool common = true;
        for (size_t i = 1; common && i < part->members; i++)
            common = is_same(first, (piece){at[i], strcspn(at[i], ends)});
        if (common)
            jm__strbuf_add_bytes(out, first.text, first.length);
        else if (listed)
            list_components(out, at, part->members, ends);
        else
            jm__strbuf_add(out, "*");
        jm__strbuf_add_bytes(out, first.text + first.length, first.text[first.length] != '\0');
        for (size_t i = 0; i < part->members; i++) {
            at[i] += strcspn(at[i], ends);
            at[i] += at[i][0] != '\0';
        }
    }
    if (!part->by_type || out->failed) return; /* else the name of the class is the last component */
    char *last = strrchr(out->text, '.');
    out->length = last != NULL ? (size_t)(last + 1 - out->text) : 0;
    jm__strbuf_add(out, part->name);
}

void jm__part_path_add(jm__strbuf *out, const jm_report *report, const jm__fold *fold, const jm__part *part)
{
    const char **at = calloc(part->members, sizeof *at);
    out->failed = out->failed || at == NULL;
    for (size_t i = 0; at != NULL && i < part->members; i++)
        at[i] = jm_report_row(report, fold->rows[part->first + i])->path;
    if (at != NULL) jm__common_path_add(out, at, part, "./", false);
    free(at);
}

/* ---- groups: the public form of parts, with names, path patterns and intervals */

struct jm_groups {
    jm__fold fold;
    jm_group *items;
    char **paths; /* [count]: patterns of groups with several members; NULL: the row's own path */
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
        .step_s = sum->step_s,
        .step_j = sum->step_j,
        .step_low_j = sum->step_low_j,
        .step_high_j = sum->step_high_j,
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
