/* Writes the page: the template that npm built from web/, with the data inserted. */
#include "attribute/work/kernel_name.h"
#include "base/clock.h"
#include "base/embedded.h"
#include "base/json_value.h"
#include "base/options.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "page/parts.h"
#include "report/facts.h"
#include "report/fold.h"
#include "report/format.h"
#include "report/json.h"
#include "report/text.h"

#include <errno.h>
#include <joulemap/cap.h>
#include <joulemap/page.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Facts of a recording that the page shows, and their titles. */
static const struct {
    const char *key;
    const char *title;
} machine_facts[] = {
    {"command", "command"},
    {"folder", "folder"},
    {"host", "host"},
    {"system", "system"},
    {"kernel", "kernel"},
    {"cpu", "CPU"},
    {"joulemap_version", "recorded with joulemap"},
};

static json_t *machine_fact_at(const void *context, size_t i)
{
    const char *value = jm_recording_meta(context, machine_facts[i].key);
    return json_pack("[s o]", machine_facts[i].title, jm__json_text(value));
}

static json_t *board_at(const void *context, size_t i)
{
    jm_report_board board;
    if (jm_report_board_get(context, i, &board, NULL) != JM_OK) return NULL;
    const jm_board *b = board.board;
    return json_pack("{si so so so so so so so so so sb}", "index", (int)board.index, "name",
                     jm__json_text(b->name), "uuid", jm__json_text(b->uuid), "pci", jm__json_text(b->pci),
                     "host", jm__json_text(b->host), "driver", jm__json_text(b->driver), "power_limit_w",
                     jm__json_real(b->power_limit_w), "clock_limit_mhz", jm__json_real(b->clock_limit_mhz),
                     "energy_j", jm__json_real(board.energy_j), "gain_u",
                     board.gain_u > 0 ? jm__json_real(board.gain_u) : json_null(), "simulated",
                     (int)b->simulated);
}

static json_t *page_machine(const jm_page_run *run)
{
    const jm_recording *recording = run->recording;
    const char *start_ns = recording != NULL ? jm_recording_meta(recording, "start_unix_ns") : NULL;
    size_t fact_count = recording != NULL ? sizeof machine_facts / sizeof *machine_facts : 0;
    return json_pack("{so so so}", "facts", jm__json_array(fact_count, machine_fact_at, recording),
                     "start_unix_s",
                     start_ns != NULL ? json_integer(strtoll(start_ns, NULL, 10) / JM_NS_PER_S) : json_null(),
                     "boards", jm__json_array(jm_report_board_count(run->report), board_at, run->report));
}

/* ---- The search for a power cap that a recording was made for, from its JSON in the recording. The file is
 * not trusted: anything unexpected counts as no search. */

/* The note with the JSON of `joulemap cap search --json`. */
#define META_KEY "cap_search"

enum { CAPS_MAX = JM_CAP_MOST_CAPS, TRIALS_MAX = 512 };

/* ---- validation */

/* Without an allocation: json_unpack reports a lack of memory as a value that does not fit. */
static bool are_numbers(const json_t *object, size_t count, const char *const *keys)
{
    for (size_t i = 0; i < count; i++)
        if (!json_is_number(json_object_get(object, keys[i]))) return false;
    return true;
}

static bool is_figure(const json_t *value)
{
    return json_array_size(value) == 3 && json_is_number(json_array_get(value, 0)) &&
           json_is_number(json_array_get(value, 1)) && json_is_number(json_array_get(value, 2));
}

static bool are_all(const json_t *items, size_t most, bool (*is)(const json_t *item))
{
    size_t count = json_array_size(items);
    for (size_t i = 0; i < count; i++)
        if (!is(json_array_get(items, i))) return false;
    return count > 0 && count <= most;
}

static bool is_cap(const json_t *item)
{
    const json_t *relative = json_object_get(item, "relative");
    for (int o = 0; o < JM_CAP_OBJECTIVE_COUNT; o++)
        if (!is_figure(json_object_get(relative, jm_cap_objective_text((jm_cap_objective)o)))) return false;
    return json_is_number(json_object_get(item, "cap_w"));
}

static bool is_trial(const json_t *item)
{
    static const char *const keys[] = {"number", "cap_w", "time_s", "power_w"};
    return are_numbers(item, 4, keys) && json_is_string(json_object_get(item, "stage"));
}

static const json_t *caps_of(const json_t *search)
{
    return json_object_get(json_object_get(search, "predicted"), "caps");
}

static bool is_search(const json_t *search)
{
    static const char *const keys[] = {"reference_cap_w", "chosen_cap_w"};
    return are_numbers(search, 2, keys) && json_is_string(json_object_get(search, "objective")) &&
           json_is_string(json_object_get(search, "verdict")) && are_all(caps_of(search), CAPS_MAX, is_cap) &&
           are_all(json_object_get(search, "trials"), TRIALS_MAX, is_trial);
}

/* ---- the part that is shown. NULL if memory is out */

static json_t *cap_at(const void *caps, size_t i)
{
    const json_t *item = json_array_get(caps, i), *relative = json_object_get(item, "relative");
    json_t *cap = json_pack("{sO}", "cap_w", json_object_get(item, "cap_w"));
    for (int o = 0; cap != NULL && o < JM_CAP_OBJECTIVE_COUNT; o++) {
        const char *key = jm_cap_objective_text((jm_cap_objective)o);
        if (json_object_set(cap, key, json_object_get(relative, key)) == 0) continue;
        json_decref(cap);
        return NULL;
    }
    return cap;
}

static json_t *trial_at(const void *trials, size_t i)
{
    const json_t *item = json_array_get(trials, i);
    return json_pack("{sO sO sO sO sO}", "stage", json_object_get(item, "stage"), "number",
                     json_object_get(item, "number"), "cap_w", json_object_get(item, "cap_w"), "time_s",
                     json_object_get(item, "time_s"), "power_w", json_object_get(item, "power_w"));
}

/* The confirmed figure of `what`: [value, low, high]; null: not measured. */
static json_t *confirmed_figure(const char *what, const json_t *proof)
{
    char low[16], high[16];
    const char *const keys[] = {what, low, high};
    snprintf(low, sizeof low, "%s_low", what);
    snprintf(high, sizeof high, "%s_high", what);
    if (!are_numbers(proof, 3, keys)) return json_null();
    return json_pack("[f f f]", json_number_value(json_object_get(proof, what)),
                     json_number_value(json_object_get(proof, low)),
                     json_number_value(json_object_get(proof, high)));
}

json_t *jm__page_cap_of(const json_t *search)
{
    if (!is_search(search)) return json_null();
    const json_t *proof = json_object_get(search, "proof"), *caps = caps_of(search),
                 *trials = json_object_get(search, "trials");
    return json_pack("{sO sO sO sO so so so so}", "objective", json_object_get(search, "objective"),
                     "verdict", json_object_get(search, "verdict"), "reference_w",
                     json_object_get(search, "reference_cap_w"), "chosen_w",
                     json_object_get(search, "chosen_cap_w"), "saving", confirmed_figure("saving", proof),
                     "slowdown", confirmed_figure("slowdown", proof), "caps",
                     jm__json_array(json_array_size(caps), cap_at, caps), "trials",
                     jm__json_array(json_array_size(trials), trial_at, trials));
}

static json_t *page_cap(const jm_recording *recording)
{
    const char *text = recording != NULL ? jm_recording_meta(recording, META_KEY) : NULL;
    json_error_t error;
    json_t *search = text != NULL ? json_loads(text, JSON_REJECT_DUPLICATES, &error) : json_null();
    if (search == NULL && json_error_code(&error) == json_error_out_of_memory) return NULL;
    json_t *shown = jm__page_cap_of(search);
    json_decref(search);
    return shown;
}

/* ---- answers to the first questions: what takes the most energy, how much time is waiting, and why */

/* "565 ±51 J, 8.2 % of the total" */
static void add_figure(jm__strbuf *out, const jm_row *row)
{
    char energy[JM_CELL], share[JM_CELL];
    jm__format_energy(energy, row->energy_j, row->energy_low_j, row->energy_high_j);
    jm__format_share(share, row->share);
    jm__strbuf_format(out, "%s, %s of the total", energy, share);
}

static bool is_work(const jm_row *row)
{
    return row->name[0] != '('; /* not "(idle)", "(outside)", "(unresolved)" */
}

/* Whether the part has children: the next part is deeper. */
static bool has_parts(const jm__fold *fold, size_t part)
{
    size_t next = part + 1;
    return next < fold->parts.count && fold->parts.items[next].sum.depth > fold->parts.items[part].sum.depth;
}

/* The leaf part of work with the most energy; SIZE_MAX: none. A kernel's parts are its launch shapes, so the
 * kernel itself counts. */
static size_t find_largest(const jm__fold *fold, jm_by by)
{
    size_t largest = (size_t)-1;
    bool work = true; /* whether the present top-level row is work */
    for (size_t i = 0; i < fold->parts.count; i++) {
        const jm_row *row = &fold->parts.items[i].sum;
        if (row->depth == 0) work = is_work(row);
        bool counts = jm__is_by_kernel(by) ? row->depth == 0 : !has_parts(fold, i);
        if (!work || !counts || !(row->energy_j > 0)) continue;
        if (largest == (size_t)-1 || row->energy_j > fold->parts.items[largest].sum.energy_j) largest = i;
    }
    return largest;
}

/* "model.layers.*.mlp", the name of a phase or a kernel. */
static void add_name(jm__strbuf *out, const jm_report *report, const jm__fold *fold, const jm__part *part)
{
    const char *name = part->name;
    jm__strbuf path = {0};
    if (jm_report_options_get(report)->by == JM_BY_LAYER) {
        jm__part_path_add(&path, report, fold, part);
        if (path.text != NULL) jm__utf8_add(out, path.text, true);
    } else if (jm__is_cpp_name(name)) {
        jm__kernel_name_add(out, name, JM_BREVITY_INNER);
    } else {
        jm__utf8_add(out, name, true);
    }
    out->failed = out->failed || path.failed;
    jm__strbuf_free(&path);
}

static jm_status add_largest(jm__facts *facts, const char *question, const jm_report *report, jm_error *err)
{
    jm__fold fold = {0};
    jm__strbuf text = {0};
    jm_by by = jm_report_options_get(report)->by;
    jm_status status = jm__fold_make(&fold, report, false, NULL, err);
    size_t largest = status == JM_OK ? find_largest(&fold, by) : (size_t)-1;
    if (largest != (size_t)-1) {
        jm__part *part = &fold.parts.items[largest];
        status = jm__fold_interval(&fold, report, part, err);
        add_name(&text, report, &fold, part);
        if (part->members > 1) jm__strbuf_format(&text, " (%zu alike)", part->members);
        jm__strbuf_add(&text, ": ");
        add_figure(&text, &part->sum);
        if (status == JM_OK) status = jm__facts_add(facts, question, &text, err);
    }
    jm__strbuf_free(&text);
    jm__fold_free(&fold);
    return status;
}

/* The gap with the most energy inside the row of idle time. */
static const jm_row *find_cause(const jm_report *report, size_t idle)
{
    const jm_row *cause = NULL;
    for (size_t i = idle + 1; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (row->depth <= jm_report_row(report, idle)->depth) break;
        if (isfinite(row->energy_j) && (cause == NULL || row->energy_j > cause->energy_j)) cause = row;
    }
    return cause;
}

static jm_status add_waiting(jm__facts *facts, const jm_report *report, jm_error *err)
{
    char time[JM_CELL], energy[JM_CELL];
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (strcmp(row->kind, "idle") != 0 || row->depth != 0) continue;
        const jm_row *cause = find_cause(report, i);
        jm__strbuf text = {0};
        jm__format_time(time, row->busy_s);
        jm__strbuf_format(&text, "%s without a kernel: ", time);
        add_figure(&text, row);
        if (cause != NULL) {
            jm__format_energy(energy, cause->energy_j, cause->energy_low_j, cause->energy_high_j);
            jm__format_time(time, cause->busy_s);
            jm__strbuf_format(&text, "; most of it %s: %s in %s", cause->name, energy, time);
            if (jm__row_has_layer(cause)) {
                jm__strbuf_add(&text, ", mostly before ");
                jm__utf8_add(&text, cause->mostly_at, true);
            }
        }
        return jm__facts_add(facts, "waiting", &text, err);
    }
    return JM_OK;
}

/* ---- the page's data */

/* A line has about 150 bytes, with long names 700. */
enum { ROWS_MAX = 2000, KERNELS_MAX = 1000, DIGITS = 7 };

/* The object takes `part`. False if `part` is NULL. */
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
    if (status == JM_OK) status = add_largest(&found, "costs most", run->report, err);
    if (status == JM_OK && run->kernels != NULL) status = add_largest(&found, "kernel", run->kernels, err);
    if (status == JM_OK) status = add_waiting(&found, run->report, err);
    if (status == JM_OK) json = jm__json_array(found.count, fact_at, &found);
    jm__facts_free(&found);
    return json;
}

/* Waiting time that is part of other rows. */
static json_t *waits(const jm_report *report, jm_error *err)
{
    jm__facts found = {0};
    json_t *json = NULL;
    if (jm__waits_add(&found, report, err) == JM_OK) json = jm__json_array(found.count, wait_at, &found);
    jm__facts_free(&found);
    return json;
}

/* Only reports by layer are folded; null: the rows are complete. */
static json_t *folded(const jm_report *report, jm_error *err)
{
    if (jm_report_options_get(report)->by != JM_BY_LAYER) return json_null();
    return lines(report, false, ROWS_MAX, err);
}

/* All that the report itself gives. */
static bool put_report(json_t *object, const jm_page_run *run, jm_error *err)
{
    return put(object, "summary", jm__report_summary(run->report)) && put(object, "facts", facts(run, err)) &&
           put(object, "machine", page_machine(run)) && put(object, "cap", page_cap(run->recording)) &&
           put(object, "power", jm__page_power(run->report, err)) &&
           put(object, "spans", jm__page_spans(run->report)) &&
           put(object, "rows", lines(run->report, true, ROWS_MAX, err)) &&
           put(object, "folded", folded(run->report, err));
}

/* `whole`: with null in place of what is not there; else only what is there. */
static json_t *run_object(const jm_page_run *run, bool whole, jm_error *err)
{
    json_t *object = json_object();
    bool fine = put(object, "name", jm__json_text(run->name));
    if (fine && run->report != NULL) fine = put_report(object, run, err);
    if (fine && run->kernels != NULL)
        fine = put(object, "kernels", lines(run->kernels, true, KERNELS_MAX, err));
    else if (fine && whole)
        fine = put(object, "kernels", json_null());
    if (fine && run->report != NULL) fine = put(object, "waits", waits(run->report, err));
    if (fine && run->spans != NULL)
        fine = put(object, "steps", jm__page_steps(run->spans, NULL, err));
    else if (fine && whole)
        fine = put(object, "steps", json_null());
    if (fine && run->report != NULL && !whole) fine = put(object, "choices", jm__page_choices(run->report));
    if (fine) return object;
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

/* Escape "<", which could end the element around the data. */
static int add_escaped(const char *bytes, size_t count, void *to)
{
    jm__strbuf *out = to;
    const char *end = bytes + count, *next;
    for (; (next = memchr(bytes, '<', (size_t)(end - bytes))) != NULL; bytes = next + 1) {
        jm__strbuf_add_bytes(out, bytes, (size_t)(next - bytes));
        jm__strbuf_add(out, "\\u003c");
    }
    jm__strbuf_add_bytes(out, bytes, (size_t)(end - bytes));
    return 0; /* the buffer keeps the failure */
}

static int add_bytes(const char *bytes, size_t count, void *to)
{
    jm__strbuf_add_bytes(to, bytes, count);
    return 0; /* the buffer keeps the failure */
}

static jm_status add_document(jm__strbuf *out, json_t *root_take, json_dump_callback_t add, const char *call,
                              const jm_error *cause, jm_error *err)
{
    bool whole = root_take != NULL &&
                 json_dump_callback(root_take, add, out,
                                    JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(DIGITS)) == 0;
    json_decref(root_take);
    if (whole && !out->failed) return JM_OK;
    if (cause->status == JM_OK) return jm__no_memory(err, call);
    if (err != NULL) *err = *cause;
    return cause->status;
}

/* NULL after an error; if *cause is OK, memory is out. */
static json_t *page_object(const jm_page_run *const *all, size_t count, const jm_diff *diff, bool whole,
                           jm_error *cause)
{
    json_t *root = json_object(), *runs = json_array();
    bool fine = true;
    for (size_t r = 0; fine && r < count; r++)
        fine = json_array_append_new(runs, run_object(all[r], whole, cause)) == 0;
    fine = fine && put(root, "version", jm__json_text(jm_version())) &&
           json_object_set(root, "runs", runs) == 0 && put(root, "diff", diff_object(diff, cause));
    json_decref(runs);
    if (fine) return root;
    json_decref(root);
    return NULL;
}

jm_status jm__page_document(jm__strbuf *out, const jm_page_run *run, const jm_page_run *other,
                            const jm_diff *diff, jm_error *err)
{
    jm_error cause = {.status = JM_OK};
    const jm_page_run *const runs[] = {run, other};
    json_t *root = page_object(runs, other != NULL ? 2 : 1, diff, true, &cause);
    return add_document(out, root, add_escaped, "jm_page_write", &cause, err);
}

/* ---- the template with the data */

extern const jm__embedded jm__page_template[];

/* Replaced by the data; web/page.html has it once. */
static const char placeholder[] = "@JOULEMAP_DATA@";

static jm_status find_template(const jm__embedded **page, size_t *before, jm_error *err)
{
    *page = &jm__page_template[0];
    if ((*page)->name == NULL) {
        jm__fail(err, JM_NOT_SUPPORTED, 0, "jm_page_write", "this joulemap was built without the page");
        return jm__hint(err, JM_NOT_SUPPORTED, "build it again where node 18 or newer and npm are on PATH");
    }
    const char *at = memmem((*page)->text, (*page)->length, placeholder, strlen(placeholder));
    if (at == NULL)
        return jm__fail(err, JM_INTERNAL, 0, "jm_page_write", "the page has no placeholder for its data");
    *before = (size_t)(at - (*page)->text);
    return JM_OK;
}

static jm_status put_page(const jm__embedded *page, size_t before, const jm__strbuf *data, FILE *out,
                          jm_error *err)
{
    size_t after = before + strlen(placeholder);
    errno = 0;
    fwrite(page->text, 1, before, out);
    fwrite(data->text, 1, data->length, out);
    fwrite(page->text + after, 1, page->length - after, out);
    if (fflush(out) == 0 && !ferror(out)) return JM_OK;
    int code = errno;
    jm_status status = jm_status_of_errno(code);
    jm__fail(err, status, code, "fwrite", "cannot write the page%s%s", code != 0 ? ": " : "",
             code != 0 ? strerror(code) : "");
    return status == JM_DISK_FULL ? jm__hint(err, status, "free space there, or write it elsewhere") : status;
}

jm_status jm_page_write_served(FILE *out, jm_error *err)
{
    const jm__embedded *page;
    size_t before = 0;
    jm__strbuf data = {0};
    jm_error none = {.status = JM_OK};
    JM_TRY(find_template(&page, &before, err));
    json_t *root =
        json_pack("{so s[] sn sb}", "version", jm__json_text(jm_version()), "runs", "diff", "served", 1);
    jm_status status = add_document(&data, root, add_escaped, "jm_page_write_served", &none, err);
    if (status == JM_OK) status = put_page(page, before, &data, out, err);
    jm__strbuf_free(&data);
    return status;
}

static jm_status write(const jm_page_run *a, const jm_page_run *b, const jm_diff *diff, FILE *out,
                       jm_error *err)
{
    const jm__embedded *page;
    size_t before = 0;
    jm__strbuf data = {0};
    JM_TRY(find_template(&page, &before, err));
    jm_status status = jm__page_document(&data, a, b, diff, err);
    if (status == JM_OK) status = put_page(page, before, &data, out, err);
    jm__strbuf_free(&data);
    return status;
}

static jm_status copy_run(jm_page_run *to, const jm_page_run *from, jm_error *err)
{
    JM_TRY(jm__options_copy(to, sizeof *to, from, "jm_page_write", err));
    if (to->report == NULL) return jm__fail(err, JM_USAGE, 0, "jm_page_write", "a page needs a report");
    if (jm_report_options_get(to->report)->by == JM_BY_SPAN) {
        jm__fail(err, JM_USAGE, 0, "jm_page_write", "a page has no rows by span");
        return jm__hint(err, JM_USAGE, "use another key of rows, such as layer; steps are on each page");
    }
    return JM_OK;
}

jm_status jm_page_write(const jm_page_run *run, FILE *out, jm_error *err)
{
    jm_page_run shown;
    JM_TRY(copy_run(&shown, run, err));
    return write(&shown, NULL, NULL, out, err);
}

jm_status jm_page_write_diff(const jm_diff *diff, const jm_page_run *a, const jm_page_run *b, FILE *out,
                             jm_error *err)
{
    jm_page_run shown[2];
    JM_TRY(copy_run(&shown[0], a, err));
    JM_TRY(copy_run(&shown[1], b, err));
    return write(&shown[0], &shown[1], diff, out, err);
}

/* ---- data for a page that is served */

jm_status jm_page_data(const jm_page_run *const *runs, size_t count, const jm_diff *diff, char **out,
                       jm_error *err)
{
    jm_error cause = {.status = JM_OK};
    jm__strbuf text = {0};
    *out = NULL;
    json_t *root = page_object(runs, count, diff, false, &cause);
    jm_status status = add_document(&text, root, add_bytes, "jm_page_data", &cause, err);
    return jm__hand_over(out, &text, status, "jm_page_data", err);
}

jm_status jm_page_layer(const jm_report *layers, const jm_report *spans, const char *pattern, char **out,
                        jm_error *err)
{
    jm_error cause = {.status = JM_OK};
    jm__strbuf text = {0};
    *out = NULL;
    json_t *root = jm__page_layer(layers, pattern, &cause);
    if (root != NULL &&
        !put(root, "steps", spans != NULL ? jm__page_steps(spans, pattern, &cause) : json_null())) {
        json_decref(root);
        root = NULL;
    }
    jm_status status = add_document(&text, root, add_bytes, "jm_page_layer", &cause, err);
    return jm__hand_over(out, &text, status, "jm_page_layer", err);
}
