/* The report as JSON: every figure in full, null where there is none. */
#include "report/json.h"

#include "base/status.h"
#include "base/strbuf.h"
#include "report/format.h"

#include <joulemap/report.h>
#include <stdlib.h>
#include <string.h>

/* Where a value's text goes, and its indentation. */
typedef struct place {
    jm__strbuf *out;
    int spaces;
} place;

enum { INDENT = 2 };

/* A newline byte is always a line end of the layout: inside texts JSON escapes it. */
static int add_bytes(const char *bytes, size_t count, void *to)
{
    const place *at = to;
    for (size_t used = 0, part; used < count; used += part) {
        const char *end = memchr(bytes + used, '\n', count - used);
        part = end != NULL ? (size_t)(end - bytes) + 1 - used : count - used;
        jm__strbuf_add_bytes(at->out, bytes + used, part);
        if (end != NULL) jm__strbuf_format(at->out, "%*s", at->spaces, "");
    }
    return 0; /* the buffer keeps the failure */
}

/* Write into our own buffer: json_dumps leaves a key out for which its buffer could not grow (jansson 2.14).
 */
bool jm__json_add(jm__strbuf *out, const json_t *value, int depth)
{
    enum { DIGITS = 15 };
    place at = {out, depth * INDENT};
    return value != NULL &&
           json_dump_callback(value, add_bytes, &at, JSON_INDENT(INDENT) | JSON_REAL_PRECISION(DIGITS)) == 0;
}

static json_t *text_at(const void *values, size_t i)
{
    return jm__json_text(((const char *const *)values)[i]);
}

/* `values`: NULL-terminated, or NULL. */
static json_t *texts(const char *const *values)
{
    size_t count = 0;
    while (values != NULL && values[count] != NULL)
        count++;
    return jm__json_array(count, text_at, values);
}

static json_t *field(jm_field_kind kind, const void *value)
{
    switch (kind) {
    case JM_FIELD_TEXT:
    case JM_FIELD_TEXT_OR_NONE:
        return jm__json_text(*(const jm_field_TEXT *)value);
    case JM_FIELD_TEXTS:
        return texts(*(const jm_field_TEXTS *)value);
    case JM_FIELD_INT32:
        return json_integer(*(const jm_field_INT32 *)value);
    case JM_FIELD_INT64:
        return json_integer(*(const jm_field_INT64 *)value);
    case JM_FIELD_COUNT_OR_NONE: {
        jm_field_COUNT_OR_NONE count = *(const jm_field_COUNT_OR_NONE *)value;
        return count < 0 ? json_null() : json_integer(count);
    }
    case JM_FIELD_REAL:
    case JM_FIELD_REAL_OR_NONE:
        return jm__json_real(*(const jm_field_REAL *)value);
    case JM_FIELD_FLAG:
        return json_boolean(*(const jm_field_FLAG *)value);
    case JM_FIELD_PROVENANCE:
        return jm__json_text(jm_provenance_text(*(const jm_field_PROVENANCE *)value));
    case JM_FIELD_KIND_COUNT:
        break;
    }
    return NULL;
}

/* NULL if memory is out. */
static json_t *row_object(const void *report, size_t i)
{
    const jm_row *row = jm_report_row(report, i);
    jm_by by = jm_report_options_get(report)->by;
    bool is_occurrence = by == JM_BY_SPAN || by == JM_BY_REQUEST;
    unsigned places = is_occurrence ? JM_IN_ROW | JM_IN_OCCURRENCE : JM_IN_ROW;
    json_t *object = json_object();
    bool ok = object != NULL;
#define X(kind, name, key, place, doc)                                                                       \
    if (ok && (places & (place)) != 0)                                                                       \
        ok = json_object_set_new(object, key, field(JM_FIELD_##kind, &row->name)) == 0;
    JM_ROW_FIELDS(X)
#undef X
    if (ok) return object;
    json_decref(object);
    return NULL;
}

/* Write items one by one: as a JSON tree in memory a row takes ten times its text. False: memory is out. */
static bool add_array(jm__strbuf *out, size_t count, json_t *(*item)(const void *context, size_t i),
                      const void *context)
{
    bool ok = true;
    jm__strbuf_add(out, "[");
    for (size_t i = 0; ok && i < count; i++) {
        json_t *object = item(context, i);
        jm__strbuf_add(out, i == 0 ? "\n    " : ",\n    ");
        ok = jm__json_add(out, object, 2);
        json_decref(object);
    }
    jm__strbuf_add(out, count > 0 ? "\n  ]" : "]");
    return ok;
}

static json_t *member_at(const void *rows, size_t i)
{
    return json_integer((json_int_t)((const size_t *)rows)[i]);
}

static json_t *group_object(const void *groups, size_t i)
{
    const jm_group *group = jm_group_get(groups, i);
    json_t *rows = jm__json_array(group->members, member_at, group->rows);
    return json_pack(
        "{so so so so si sI so sI so so so so so so so so so so so}", "name", jm__json_text(group->name),
        "path", jm__json_text(group->path), "kind", jm__json_text(group->kind), "type",
        jm__json_text(group->type), "depth", group->depth, "members", (json_int_t)group->members, "rows",
        rows, "calls", (json_int_t)group->calls, "busy_s", jm__json_real(group->busy_s), "energy_j",
        jm__json_real(group->energy_j), "energy_low_j", jm__json_real(group->energy_low_j), "energy_high_j",
        jm__json_real(group->energy_high_j), "step_s", jm__json_real(group->step_s), "step_j",
        jm__json_real(group->step_j), "step_low_j", jm__json_real(group->step_low_j), "step_high_j",
        jm__json_real(group->step_high_j), "power_w", jm__json_real(group->power_w), "share",
        jm__json_real(group->share), "provenance", jm__json_text(jm_provenance_text(group->provenance)));
}

/* Groups of layers; by other keys each row would be a group of its own. */
static jm_status add_groups(jm__strbuf *out, const jm_report *report, jm_error *err)
{
    if (jm_report_options_get(report)->by != JM_BY_LAYER) return JM_OK;
    jm_groups *groups = NULL;
    JM_TRY(jm_groups_create(&groups, report, err));
    jm__strbuf_add(out, ",\n  \"groups\": ");
    bool ok = add_array(out, jm_group_count(groups), group_object, groups);
    jm_groups_free(groups);
    return ok ? JM_OK : jm__no_memory(err, "jm_report_json");
}

static json_t *note_at(const void *report, size_t i)
{
    return jm__json_text(jm_report_note(report, i));
}

/* Add the totals and qualities that belong in `here`. */
static bool add_summary(json_t *object, const jm_report *report, unsigned here)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    const jm_report_quality *quality = jm_report_quality_get(report);
    bool ok = true;
#define T(kind, name, key, place, doc)                                                                       \
    if (ok && (here & (place)) != 0)                                                                         \
        ok = json_object_set_new(object, key, field(JM_FIELD_##kind, &totals->name)) == 0;
#define Q(kind, name, key, place, doc)                                                                       \
    if (ok && (here & (place)) != 0)                                                                         \
        ok = json_object_set_new(object, key, field(JM_FIELD_##kind, &quality->name)) == 0;
    JM_SUMMARY_FIELDS(T, Q)
#undef T
#undef Q
    return ok;
}

static json_t *stage_at(const void *report, size_t i)
{
    const jm_stage *stage = jm_report_stage(report, i);
    return json_pack("{ss so so so}", "name", stage->name, "steps",
                     stage->steps < 0 ? json_null() : json_integer(stage->steps), "seconds",
                     jm__json_real(stage->seconds), "energy_j", jm__json_real(stage->energy_j));
}

json_t *jm__report_summary(const jm_report *report)
{
    const jm_report_options *options = jm_report_options_get(report);
    json_t *quality = json_object(), *overhead = json_object();
    json_t *object = json_pack("{ss ss so}", "version", jm_version(), "by", jm_by_text(options->by), "phase",
                               jm__json_text(options->phase));
    bool ok = add_summary(object, report, JM_IN_REPORT) && add_summary(quality, report, JM_IN_QUALITY) &&
              add_summary(overhead, report, JM_IN_OVERHEAD) &&
              json_object_set_new(quality, "notes",
                                  jm__json_array(jm_report_note_count(report), note_at, report)) == 0 &&
              json_object_set_new(object, "stages",
                                  jm__json_array(jm_report_stage_count(report), stage_at, report)) == 0 &&
              json_object_set(object, "quality", quality) == 0 &&
              json_object_set(object, "overhead", overhead) == 0;
    json_decref(quality);
    json_decref(overhead);
    if (ok) return object;
    json_decref(object);
    return NULL;
}

static jm_status add_report(jm__strbuf *out, const jm_report *report, jm_error *err)
{
    static const char end[] = "\n}";
    json_t *root = jm__report_summary(report);
    bool ok = jm__json_add(out, root, 0) && !out->failed;
    json_decref(root);
    if (!ok) return jm__no_memory(err, "jm_report_json");
    out->length -= strlen(end); /* the last members follow */
    jm__strbuf_add(out, ",\n  \"rows\": ");
    if (!add_array(out, jm_report_row_count(report), row_object, report))
        return jm__no_memory(err, "jm_report_json");
    JM_TRY(add_groups(out, report, err));
    jm__strbuf_add(out, end);
    jm__strbuf_add(out, "\n");
    return JM_OK;
}

jm_status jm_report_json(const jm_report *report, char **out, jm_error *err)
{
    jm__strbuf text = {0};
    jm_status status = add_report(&text, report, err);
    return jm__hand_over(out, &text, status, "jm_report_json", err);
}
