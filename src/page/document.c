/* The parts of a page's data together. */
#include "page/document.h"

#include "base/json_value.h"
#include "base/status.h"
#include "page/column.h"
#include "page/lines_json.h"
#include "page/parts.h"
#include "report/facts.h"
#include "report/json.h"

#include <string.h>

/* A line is some 150 bytes, with long names 700. */
enum { MOST_ROWS = 2000, MOST_KERNELS = 1000, DIGITS = 7 };

/* jansson takes what an object is given; NULL of a part, and it is no whole. */
static bool put(json_t *object, const char *key, json_t *part)
{
    return json_object_set_new(object, key, part) == 0;
}

static json_t *lines(const jm_report *report, bool expand, size_t most, jm_error *err)
{
    jm__page_lines table;
    jm_status status = jm__page_lines_make(&table, report, expand, most, err);
    json_t *json = status == JM_OK ? jm__page_lines_json(&table) : NULL;
    jm__page_lines_free(&table);
    return json;
}

static json_t *fact_at(const void *context, size_t i)
{
    const jm__fact *fact = &((const jm__facts *)context)->items[i];
    return json_pack("[so]", fact->name, jm__json_text(fact->text));
}

static json_t *wait_at(const void *context, size_t i)
{
    return jm__json_text(((const jm__facts *)context)->items[i].text);
}

static json_t *facts(const jm_page_run *run, jm_error *err)
{
    jm__facts found = {0};
    json_t *json = NULL;
    jm_status status = jm__facts_make(&found, run->report, err);
    if (status == JM_OK) status = jm__page_answers(&found, run, err);
    if (status == JM_OK) json = jm__page_array(found.count, fact_at, &found);
    jm__facts_free(&found);
    return json;
}

/* Waiting that is no idle time. */
static json_t *waits(const jm_report *report, jm_error *err)
{
    jm__facts found = {0};
    json_t *json = NULL;
    if (jm__waits_add(&found, report, err) == JM_OK) json = jm__page_array(found.count, wait_at, &found);
    jm__facts_free(&found);
    return json;
}

/* Equal layers are folded by layer alone; else the rows are all there is. */
static json_t *folded(const jm_report *report, jm_error *err)
{
    if (jm_report_options_get(report)->by != JM_BY_LAYER) return json_null();
    return lines(report, false, MOST_ROWS, err);
}

static json_t *run_object(const jm_page_run *run, jm_error *err)
{
    json_t *object = json_object();
    if (put(object, "name", jm__json_text(run->name)) &&
        put(object, "summary", jm__report_summary(run->report)) && put(object, "facts", facts(run, err)) &&
        put(object, "machine", jm__page_machine(run)) && put(object, "cap", jm__page_cap(run->recording)) &&
        put(object, "power", jm__page_power(run->report, err)) &&
        put(object, "spans", jm__page_spans(run->report)) &&
        put(object, "rows", lines(run->report, true, MOST_ROWS, err)) &&
        put(object, "folded", folded(run->report, err)) &&
        put(object, "kernels",
            run->kernels != NULL ? lines(run->kernels, true, MOST_KERNELS, err) : json_null()) &&
        put(object, "waits", waits(run->report, err)) &&
        put(object, "steps", run->spans != NULL ? jm__page_steps(run->spans, err) : json_null()))
        return object;
    json_decref(object);
    return NULL;
}

static json_t *diff_object(const jm_diff *diff, jm_error *err)
{
    if (diff == NULL) return json_null();
    char *text = NULL;
    if (jm_diff_json(diff, &text, err) != JM_OK) return NULL;
    json_t *object = json_loads(text, 0, NULL);
    free(text);
    return object;
}

/* "<" could end the element that the data stand in. */
static int add_escaped(const char *bytes, size_t count, void *to)
{
    jm__strbuf *out = to;
    for (size_t used = 0; used < count;) {
        size_t plain = 0;
        while (used + plain < count && bytes[used + plain] != '<')
            plain++;
        jm__strbuf_add_bytes(out, bytes + used, plain);
        used += plain;
        if (used == count) break;
        jm__strbuf_add(out, "\\u003c");
        used++;
    }
    return 0; /* the buffer remembers */
}

jm_status jm__page_document(jm__strbuf *out, const jm_page_run *run, const jm_page_run *other,
                            const jm_diff *diff, jm_error *err)
{
    jm_error cause = {.status = JM_OK};
    json_t *root = json_object(), *runs = json_array();
    bool whole = json_array_append_new(runs, run_object(run, &cause)) == 0 &&
                 (other == NULL || json_array_append_new(runs, run_object(other, &cause)) == 0) &&
                 put(root, "version", jm__json_text(jm_version())) &&
                 json_object_set(root, "runs", runs) == 0 && put(root, "diff", diff_object(diff, &cause)) &&
                 json_dump_callback(root, add_escaped, out,
                                    JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(DIGITS)) == 0;
    json_decref(runs);
    json_decref(root);
    if (whole && !out->failed) return JM_OK;
    if (cause.status == JM_OK) return jm__no_memory(err, "jm_page_write");
    if (err != NULL) *err = cause;
    return cause.status;
}
