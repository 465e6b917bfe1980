/* Rows of reports by kind and path. Models that were wrapped in one of the runs have longer paths there:
 * "module.blocks.0" is "blocks.0". */
#include "report/diff_match.h"

#include "base/map.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* What DistributedDataParallel, DataParallel and torch.compile call the model in them. */
static const char *const wrappers[] = {"module", "_orig_mod"};

static bool is_wrapper(const char *part, size_t length)
{
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (strlen(wrappers[i]) == length && strncmp(part, wrappers[i], length) == 0) return true;
    return false;
}

static bool is_layer(const jm_row *row)
{
    return strcmp(row->kind, "layer") == 0;
}

/* "blocks.0" of "module.blocks._orig_mod.0"; nothing of "module". */
static void add_unwrapped(jm__strbuf *out, const char *path)
{
    bool first = true;
    for (;; path++) {
        size_t length = strcspn(path, ".");
        if (!is_wrapper(path, length)) {
            if (!first) jm__strbuf_add(out, ".");
            jm__strbuf_add_bytes(out, path, length);
            first = false;
        }
        path += length;
        if (*path == '\0') return;
    }
}

/* A wrapper that holds nothing is a layer that is called so. */
static bool has_children(const jm_report *report, size_t row)
{
    const jm_row *next = jm_report_row(report, row + 1);
    return next != NULL && next->depth > jm_report_row(report, row)->depth;
}

/* All of its path are wrappers, so what is in it stands for it. */
static bool is_bare(const jm_report *report, size_t i)
{
    const jm_row *row = jm_report_row(report, i);
    const char *part = row->path;
    if (!is_layer(row) || !has_children(report, i)) return false;
    for (;; part++) {
        size_t length = strcspn(part, ".");
        if (!is_wrapper(part, length)) return false;
        part += length;
        if (*part == '\0') return true;
    }
}

/* NULL if memory is out. */
static char *key_of(const jm_report *report, size_t i, bool unwrapped)
{
    const jm_row *row = jm_report_row(report, i);
    jm__strbuf key = {0};
    jm__strbuf_format(&key, "%s\n", row->kind);
    size_t start = key.length;
    if (unwrapped && is_layer(row)) add_unwrapped(&key, row->path);
    if (key.length == start) jm__strbuf_add(&key, row->path);
    return jm__strbuf_take(&key);
}

typedef struct row_around {
    size_t row;
    int32_t depth, inside; /* its own in the report, that of the diff's rows in it */
} row_around;

/* Those around the next row, from the outermost. */
typedef JM_VEC(row_around) rows_around;

static void leave_rows(rows_around *around, int32_t depth)
{
    while (around->count > 0 && around->items[around->count - 1].depth >= depth)
        around->count--;
}

static bool enter_row(rows_around *around, size_t i, int32_t depth, jm__matched_row *mine)
{
    mine->depth = around->count > 0 ? around->items[around->count - 1].inside : 0;
    return jm__vec_push(around, ((row_around){i, depth, mine->depth + (mine->left_out ? 0 : 1)}));
}

static bool is_around(const rows_around *around, int64_t row)
{
    for (size_t i = 0; i < around->count; i++)
        if (around->items[i].row == (size_t)row) return true;
    return false;
}

/* The row has its whole path for a key, in place of the one it has in the map. */
static bool make_way(jm__matched_row *row, jm__map *by_key, const jm_report *report, size_t i)
{
    const char *key = row->key;
    jm__map_remove(by_key, &key);
    free(row->key);
    row->key = key_of(report, i, false);
    key = row->key;
    return key != NULL && jm__map_put(by_key, &key, (jm__map_value){.id = (int64_t)i});
}

/* Of rows inside each other that have one key the outermost stays. Elsewhere a model may be there twice, as
 * it is and wrapped: then the wrapped one, or else the second, has its whole path for a key. */
static bool give_key(jm__matched_row *rows, jm__map *by_key, const rows_around *around,
                     const jm_report *report, size_t i)
{
    jm__matched_row *mine = &rows[i];
    mine->key = key_of(report, i, true);
    if (mine->key == NULL) return false;
    const char *key = mine->key;
    const jm__map_value *before = jm__map_find(by_key, &key);
    mine->left_out = is_bare(report, i) || (before != NULL && is_around(around, before->id));
    if (mine->left_out) return true;
    if (before != NULL) {
        char *whole = key_of(report, i, false);
        if (whole == NULL) return false;
        bool wrapped = strcmp(whole, mine->key) != 0;
        size_t other = (size_t)before->id;
        if (!wrapped && !make_way(&rows[other], by_key, report, other)) {
            free(whole);
            return false;
        }
        free(mine->key);
        mine->key = whole;
        key = whole;
    }
    return jm__map_put(by_key, &key, (jm__map_value){.id = (int64_t)i});
}

static bool list_rows(jm__matched_row *rows, jm__map *by_key, const jm_report *report)
{
    rows_around around = {0};
    bool fine = true;
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        rows[i].row = JM__NO_ROW_OF_IT;
    for (size_t i = 0; fine && i < jm_report_row_count(report); i++) {
        int32_t depth = jm_report_row(report, i)->depth;
        leave_rows(&around, depth);
        fine = give_key(rows, by_key, &around, report, i) && enter_row(&around, i, depth, &rows[i]);
    }
    jm__vec_free(&around);
    return fine;
}

/* The only layer at the top that has no counterpart among the keys of another report; JM__NO_ROW_OF_IT: none,
 * or several. */
static size_t only_root(const jm__matched_row *rows, const jm_report *report, const jm__map *others)
{
    size_t root = JM__NO_ROW_OF_IT;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        const char *key = rows[i].key;
        if (row->depth != 0 || !is_layer(row) || rows[i].left_out || jm__map_find(others, &key) != NULL)
            continue;
        if (root != JM__NO_ROW_OF_IT) return JM__NO_ROW_OF_IT;
        root = i;
    }
    return root;
}

/* The row below is nothing but a wrapper: "module" in "DistributedDataParallel". */
static bool wraps(const jm_report *report, size_t root)
{
    return has_children(report, root) && is_bare(report, root + 1);
}

/* A model has the name of its class, wrapped in DistributedDataParallel that of this one: if it is the only
 * one without a counterpart, it is that of the first report. */
static void match_root(jm__match *match, const jm_report *const *reports, const jm__map *by_key, size_t r)
{
    size_t first = only_root(match->rows[0], reports[0], &by_key[r]),
           mine = only_root(match->rows[r], reports[r], &by_key[0]);
    if (first == JM__NO_ROW_OF_IT || mine == JM__NO_ROW_OF_IT) return;
    if (wraps(reports[0], first) || wraps(reports[r], mine))
        match->rows[r][mine].row = match->rows[0][first].row;
}

/* Give the rows of one report their rows of all. `all`: by key. */
static bool number_rows(jm__match *match, size_t r, jm__map *all)
{
    for (size_t i = 0; i < match->counts[r]; i++) {
        jm__matched_row *mine = &match->rows[r][i];
        const char *key = mine->key;
        if (mine->left_out || mine->row != JM__NO_ROW_OF_IT) continue;
        const jm__map_value *known = jm__map_find(all, &key);
        mine->row = known != NULL ? (size_t)known->id : match->row_count++;
        if (known == NULL && !jm__map_put(all, &key, (jm__map_value){.id = (int64_t)mine->row})) return false;
    }
    return true;
}

static bool match_all(jm__match *match, const jm_report *const *reports, jm__map *by_key)
{
    jm__map all = JM_MAP_OF_TEXTS;
    bool fine = true;
    for (size_t r = 0; fine && r < match->reports; r++) {
        by_key[r] = (jm__map)JM_MAP_OF_TEXTS;
        match->counts[r] = jm_report_row_count(reports[r]);
        match->rows[r] = calloc(match->counts[r] + 1, sizeof *match->rows[r]);
        fine = match->rows[r] != NULL && list_rows(match->rows[r], &by_key[r], reports[r]);
        if (fine && r > 0) match_root(match, reports, by_key, r);
        fine = fine && number_rows(match, r, &all);
    }
    jm__map_free(&all);
    return fine;
}

jm_status jm__match_make(jm__match *match, const jm_report *const *reports, size_t count, jm_error *err)
{
    *match = (jm__match){.rows = calloc(count, sizeof *match->rows),
                         .counts = calloc(count, sizeof *match->counts),
                         .reports = count};
    jm__map *by_key = calloc(count, sizeof *by_key);
    bool fine =
        match->rows != NULL && match->counts != NULL && by_key != NULL && match_all(match, reports, by_key);
    for (size_t r = 0; by_key != NULL && r < count; r++)
        jm__map_free(&by_key[r]);
    free(by_key);
    return fine ? JM_OK : jm__no_memory(err, "jm_diff_create");
}

void jm__match_free(jm__match *match)
{
    for (size_t r = 0; match->rows != NULL && r < match->reports; r++) {
        for (size_t i = 0; match->rows[r] != NULL && i < match->counts[r]; i++)
            free(match->rows[r][i].key);
        free(match->rows[r]);
    }
    free(match->rows);
    free(match->counts);
    *match = (jm__match){0};
}
