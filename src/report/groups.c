/* Groups: the parts of a fold for other people, with names, patterns of paths and intervals. */
#include "base/status.h"
#include "base/strbuf.h"
#include "report/fold.h"
#include "report/part_path.h"

#include <joulemap/report.h>
#include <stdlib.h>
#include <string.h>

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
