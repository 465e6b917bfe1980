/* Groups: the parts of a fold for other people, with names, patterns of paths and intervals. */
#include "base/status.h"
#include "base/strbuf.h"
#include "report/fold.h"

#include <joulemap/report.h>
#include <stdlib.h>
#include <string.h>

/* An interval of several takes a walk through the whole report: so many, of those with most energy. A choice.
 */
enum { INTERVALS_MOST = 500 };

struct jm_groups {
    jm__fold fold;
    jm_group *items;
    char **paths; /* [count]: of those of several; NULL: the row's own */
};

/* Up to the end of a path's component. */
static size_t component(const char *path)
{
    return strcspn(path, "./");
}

/* The same component in all members' paths; `at` says where in each it begins. */
static bool is_same(const char *const *at, size_t count, size_t length)
{
    for (size_t i = 1; i < count; i++)
        if (component(at[i]) != length || strncmp(at[0], at[i], length) != 0) return false;
    return true;
}

/* "blocks.*.attn" of "blocks.0.attn" and "blocks.1.attn"; NULL if memory is out. */
static char *make_pattern(const jm_report *report, const size_t *rows, const jm__part *part)
{
    size_t count = part->members;
    jm__strbuf out = {0};
    const char **at = calloc(count + 1, sizeof *at);
    if (at == NULL) return NULL;
    for (size_t i = 0; i < count; i++)
        at[i] = jm_report_row(report, rows[i])->path;
    while (count > 0 && at[0][0] != '\0') {
        size_t length = component(at[0]);
        if (is_same(at, count, length))
            jm__strbuf_add_bytes(&out, at[0], length);
        else
            jm__strbuf_add(&out, "*");
        if (at[0][length] != '\0') jm__strbuf_add_bytes(&out, at[0] + length, 1);
        for (size_t i = 0; i < count; i++) {
            at[i] += component(at[i]);
            at[i] += at[i][0] != '\0';
        }
    }
    free(at);
    jm__part_name_path(&out, part);
    return jm__strbuf_take(&out);
}

static jm_status fill(jm_groups *groups, const jm_report *report, size_t number, jm_error *err)
{
    const jm__part *part = &groups->fold.parts.items[number];
    const jm_row *sum = &part->sum;
    const size_t *rows = groups->fold.rows + part->first;
    const char *path = sum->path;
    if (part->members > 1) {
        path = groups->paths[number] = make_pattern(report, rows, part);
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

static int by_energy(const void *left, const void *right)
{
    double a = (*(jm__part *const *)left)->sum.energy_j, b = (*(jm__part *const *)right)->sum.energy_j;
    return (a < b) - (a > b);
}

static jm_status find_intervals(jm__fold *fold, const jm_report *report, jm_error *err)
{
    size_t count = 0;
    jm__part **several = calloc(fold->parts.count + 1, sizeof *several);
    if (several == NULL) return jm__no_memory(err, "jm_groups_create");
    for (size_t i = 0; i < fold->parts.count; i++)
        if (fold->parts.items[i].members > 1) several[count++] = &fold->parts.items[i];
    if (count > 0) qsort(several, count, sizeof *several, by_energy);
    jm_status status = JM_OK;
    for (size_t i = 0; status == JM_OK && i < count && i < INTERVALS_MOST; i++)
        status = jm__fold_interval(fold, report, several[i], err);
    free(several);
    return status;
}

static jm_status make(jm_groups *groups, const jm_report *report, jm_error *err)
{
    JM_TRY(jm__fold_make(&groups->fold, report, false, NULL, err));
    JM_TRY(find_intervals(&groups->fold, report, err));
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
