/* Which source a file of beliefs is for. */
#include "attribute/prior/file.h"

#include "base/status.h"
#include "base/strbuf.h"

#include <string.h>

static const struct source {
    const char *columns, *text;
    jm_provenance provenance;
    jm_status (*believe)(jm__belief *belief, jm__belief_lines *lines, jm__csv *csv,
                         const jm__belief_scene *scene, jm_error *err);
} sources[] = {
#define X(name, columns, provenance, text) {columns, text, JM_PROVENANCE_##provenance, jm__believe_##name},
    JM_BELIEF_MAP(X)
#undef X
        {NULL, NULL, JM_PROVENANCE_GIVEN, NULL},
};

/* Every one of the columns, which commas part, is in the file's header. */
static bool fits(const jm__csv *csv, const char *columns)
{
    char name[64];
    for (const char *at = columns; *at != '\0';) {
        size_t length = strcspn(at, ",");
        if (length >= sizeof name) return false;
        memcpy(name, at, length);
        name[length] = '\0';
        if (!jm__csv_has(csv, name)) return false;
        at += length + (at[length] == ',');
    }
    return true;
}

static jm_status no_source(const char *path, jm_error *err)
{
    jm__strbuf known = {0};
    for (const struct source *s = sources; s->believe != NULL; s++)
        jm__strbuf_format(&known, "%s%s (%s)", known.length > 0 ? "; " : "", s->columns, s->text);
    jm_status status = jm__fail(err, JM_BAD_DATA, 0, NULL, "%s has none of the headers that beliefs have: %s",
                                path, known.text != NULL ? known.text : "there are none yet");
    jm__strbuf_free(&known);
    return status;
}

jm_status jm__believe_file(jm__belief *belief, jm__belief_lines *lines, const char *path,
                           const jm__belief_scene *scene, jm_error *err)
{
    jm__csv *csv;
    *lines = (jm__belief_lines){0};
    JM_TRY(jm__csv_open(&csv, path, err));
    const struct source *s = sources;
    while (s->believe != NULL && !fits(csv, s->columns))
        s++;
    jm_status status = s->believe == NULL ? no_source(path, err) : JM_OK;
    if (status == JM_OK) status = jm__belief_init(belief, s->provenance, scene->columns->count, err);
    if (status == JM_OK) {
        status = s->believe(belief, lines, csv, scene, err);
        if (status != JM_OK) jm__belief_free(belief);
    }
    jm__csv_close(csv);
    return status;
}
