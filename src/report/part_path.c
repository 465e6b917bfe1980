/* Paths of equal layers, side by side: where one of them differs stands a star. */
#include "report/part_path.h"

#include <stdlib.h>
#include <string.h>

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

static void add_common(jm__strbuf *out, const char **at, size_t count)
{
    while (at[0][0] != '\0') {
        size_t length = component(at[0]);
        if (is_same(at, count, length))
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
