/* Memory that runs out while a report is made and shown: an error, or the report as it is. */
#include "attribute/report.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "failing_each.h"
#include "format/rows/marks.h"
#include "page/parts.h"
#include "report/facts.h"
#include "report/json.h"
#include "report/text.h"
#include "small_run.h"

#include <joulemap/diff.h>
#include <unistd.h>

static char folder[] = "/tmp/joulemap-test-XXXXXX";
static char prior[64];
static synthetic *run;

/* Two requests, of which the second joins later. */
static void add_requests(void)
{
    static const struct {
        const char *name, *meta;
    } told[] = {{JM_MARK_REQUEST, "{\"request\": 1, \"id\": \"a\"}"},
                {JM_MARK_BATCH, "{\"n\": 1, \"all\": true, \"in\": {\"1\": [64, 0]}}"},
                {JM_MARK_REQUEST, "{\"request\": 2, \"id\": \"b\"}"},
                {JM_MARK_BATCH, "{\"n\": 2, \"in\": {\"1\": [0, 1], \"2\": [9, 0]}}"},
                {JM_MARK_REQUEST_ENDED, "{\"request\": 1, \"made\": 1}"}};
    static jm__mark marks[sizeof told / sizeof *told];
    int64_t steps_ns[2] = {INT64_MAX, INT64_MAX}; /* the first two */
    const jm__span *first = NULL;
    for (size_t i = 0; i < run->dataset.span_count; i++) {
        const jm__span *span = &run->dataset.spans[i];
        if (span->kind != JM_SPAN_STEP) continue;
        if (first == NULL) first = span;
        steps_ns[first == span ? 0 : 1] = span->start_ns;
        if (first != span) break;
    }
    assert_non_null(first);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        marks[i] = (jm__mark){.process_id = first->process_id,
                              .thread_id = first->thread_id,
                              .t_ns = i < 2 ? steps_ns[0] - 2 + (int64_t)i : steps_ns[1] - 5 + (int64_t)i,
                              .name_id = syn_name(run, told[i].name),
                              .meta = told[i].meta};
    run->dataset.marks = marks;
    run->dataset.mark_count = sizeof marks / sizeof *marks;
}

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(prior, sizeof prior, "%s/known.csv", folder);
    FILE *file = fopen(prior, "w");
    if (file == NULL) return -1;
    fputs("kernel,power_w,u_w\nattention,500,10\nno such,500,10\n", file);
    run = small_run_make();
    add_requests();
    return fclose(file);
}

static int tear_down(void **state)
{
    (void)state;
    syn_free(run);
    unlink(prior);
    return rmdir(folder);
}

typedef struct wish {
    jm_report_options options;
    jm_report *report;
    char *text;
} wish;

/* ---- the report */

static jm_status make_report(void *context, jm_error *err)
{
    wish *w = context;
    return jm__report_from_dataset(&w->report, &run->dataset, &w->options, err);
}

/* All figures of a report: those of JSON, and how rows hang together. */
static char *tell_report(void *context)
{
    const wish *w = context;
    jm__strbuf all = {0};
    char *json;
    assert_int_equal(jm_report_json(w->report, &json, NULL), JM_OK);
    jm__strbuf_add(&all, json);
    free(json);
    for (size_t i = 0; i < jm_report_row_count(w->report); i++) {
        double shared_j2;
        jm_sum sum;
        size_t pair[] = {0, i};
        assert_int_equal(jm_report_sum(w->report, pair, 2, &sum, NULL), JM_OK);
        assert_int_equal(jm_report_covariance(w->report, 0, i, &shared_j2, NULL), JM_OK);
        jm__strbuf_format(&all, "%zu: %a %a %a %a\n", i, sum.energy_j, sum.low_j, sum.high_j, shared_j2);
    }
    return jm__strbuf_take(&all);
}

static void drop_report(void *context)
{
    wish *w = context;
    jm_report_free(w->report);
    w->report = NULL;
}

static void fail_each_report(const char *name, jm_report_options options)
{
    wish w = {.options = options};
    w.options.size = sizeof w.options;
    const failing_trial trial = {name, &w, make_report, tell_report, drop_report, failing_for_memory};
    failing_each(&trial, FAILING_MEMORY);
}

static void test_a_report_without_memory_is_an_error_or_the_same_report(void **state)
{
    (void)state;
    fail_each_report("by layer", (jm_report_options){.by = JM_BY_LAYER});
    fail_each_report(
        "by kernel, of a phase, with a belief",
        (jm_report_options){.by = JM_BY_KERNEL, .prior = prior, .phase = "train", .board_id = 2});
    fail_each_report("by type", (jm_report_options){.by = JM_BY_TYPE, .board_id = 2});
    fail_each_report("by phase", (jm_report_options){.by = JM_BY_PHASE, .board_id = 2});
    fail_each_report("by board", (jm_report_options){.by = JM_BY_BOARD, .board_id = 2});
    fail_each_report("by span", (jm_report_options){.by = JM_BY_SPAN, .board_id = 2});
    fail_each_report("by request", (jm_report_options){.by = JM_BY_REQUEST, .board_id = 2});
    fail_each_report("by class", (jm_report_options){.by = JM_BY_CLASS, .board_id = 2});
}

/* ---- what is made of it */

static jm_status make_text(void *context, jm_error *err)
{
    wish *w = context;
    const jm_text_options shown = {.size = sizeof shown, .width = 80, .limit = 8, .notes = true};
    return jm_report_text(w->report, &shown, &w->text, err);
}

static jm_status make_json(void *context, jm_error *err)
{
    wish *w = context;
    return jm_report_json(w->report, &w->text, err);
}

static jm_status make_fragment(void *context, jm_error *err)
{
    wish *w = context;
    return jm_report_fragment(w->report, 8, &w->text, err);
}

static jm_status make_page_data(void *context, jm_error *err)
{
    wish *w = context;
    const jm_page_run shown = {.size = sizeof shown, .name = "a run", .report = w->report};
    jm__strbuf data = {0};
    jm_status status = jm__page_document(&data, &shown, NULL, NULL, err);
    if (status == JM_OK && (w->text = jm__strbuf_take(&data)) == NULL)
        status = jm__no_memory(err, "the test");
    jm__strbuf_free(&data);
    return status;
}

static jm_status make_csv(void *context, jm_error *err)
{
    wish *w = context;
    return jm_report_csv(w->report, &w->text, err);
}

static jm_status make_sums(void *context, jm_error *err)
{
    wish *w = context;
    double shared_j2 = 0;
    jm_sum sum;
    const size_t rows[] = {0, 1, jm_report_row_count(w->report) - 1};
    JM_TRY(jm_report_sum(w->report, rows, 3, &sum, err));
    JM_TRY(jm_report_covariance(w->report, 0, 1, &shared_j2, err));
    char text[128];
    int length = snprintf(text, sizeof text, "%a %a %a %a", sum.energy_j, sum.low_j, sum.high_j, shared_j2);
    w->text = malloc((size_t)length + 1);
    if (w->text == NULL) return jm__no_memory(err, "the test");
    memcpy(w->text, text, (size_t)length + 1);
    return JM_OK;
}

static char *tell_text(void *context)
{
    return strdup(((wish *)context)->text);
}

static void drop_text(void *context)
{
    free(((wish *)context)->text);
}

static void fail_each_view(jm_by by)
{
    wish w = {.options = {.size = sizeof w.options, .by = by, .phase = "train"}};
    assert_int_equal(make_report(&w, NULL), JM_OK);
    const failing_trial text = {"as text", &w, make_text, tell_text, drop_text, failing_for_memory};
    const failing_trial json = {"as JSON", &w, make_json, tell_text, drop_text, failing_for_memory};
    const failing_trial csv = {"as CSV", &w, make_csv, tell_text, drop_text, failing_for_memory};
    const failing_trial sums = {"sums", &w, make_sums, tell_text, drop_text, failing_for_memory};
    failing_each(&text, FAILING_MEMORY);
    failing_each(&json, FAILING_MEMORY);
    failing_each(&csv, FAILING_MEMORY);
    failing_each(&sums, FAILING_MEMORY);
    drop_report(&w);
}

static const char searched[] =
    "{\"objective\": \"ed2p\", \"verdict\": \"better\", \"reference_cap_w\": 700, \"chosen_cap_w\": 500, "
    "\"proof\": {\"saving\": 0.1, \"saving_low\": 0.09, \"saving_high\": 0.11}, \"trials\": [{\"number\": 1, "
    "\"stage\": \"probe\", \"cap_w\": 700, \"time_s\": 1, \"power_w\": 600}], \"predicted\": {\"caps\": "
    "[{\"cap_w\": 500, \"relative\": {\"time\": [1, 1, 1], \"energy\": [0.9, 0.8, 1], \"edp\": [1, 1, 1], "
    "\"ed2p\": [1, 1, 1]}}]}}";

static json_t *search_told;

static jm_status make_page_search(void *context, jm_error *err)
{
    wish *w = context;
    json_t *shown = jm__page_cap_of(search_told);
    jm__strbuf text = {0};
    bool whole = shown != NULL && jm__json_add(&text, shown, 0);
    if (shown != NULL) assert_true(json_is_object(shown)); /* not a page without its search */
    w->text = whole ? jm__strbuf_take(&text) : NULL;
    jm__strbuf_free(&text);
    json_decref(shown);
    return w->text != NULL ? JM_OK : jm__no_memory(err, "jm__page_cap_of");
}

static void test_a_page_without_memory_is_an_error_or_the_same_page(void **state)
{
    (void)state;
    wish w = {.options = {.size = sizeof w.options, .phase = "train"}};
    assert_int_equal(make_report(&w, NULL), JM_OK);
    const failing_trial fragment = {"a fragment", &w,        make_fragment,
                                    tell_text,    drop_text, failing_for_memory};
    const failing_trial page = {"a page", &w, make_page_data, tell_text, drop_text, failing_for_memory};
    failing_each(&fragment, FAILING_MEMORY);
    failing_each(&page, FAILING_MEMORY);
    const failing_trial search = {"a search on a page", &w, make_page_search, tell_text, drop_text,
                                  failing_for_memory};
    search_told = json_loads(searched, 0, NULL);
    failing_each(&search, FAILING_MEMORY);
    json_decref(search_told);
    drop_report(&w);
}

static void test_a_view_without_memory_is_an_error_or_the_same_view(void **state)
{
    (void)state;
    fail_each_view(JM_BY_KERNEL);
    fail_each_view(JM_BY_SPAN);
}

/* ---- parts of a view that ask for memory seldom: each time is tried */

static jm_status make_head(void *context, jm_error *err)
{
    wish *w = context;
    jm__strbuf head = {0};
    jm_status status = jm__head_add(&head, "Energy by kernel", w->report, false, 60, err);
    if (status == JM_OK && (w->text = jm__strbuf_take(&head)) == NULL)
        status = jm__no_memory(err, "jm__head_add");
    jm__strbuf_free(&head);
    return status;
}

static void test_a_head_without_memory_is_an_error_or_has_its_title_and_all_facts(void **state)
{
    (void)state;
    wish w = {.options = {.size = sizeof w.options, .by = JM_BY_KERNEL, .phase = "train"}};
    assert_int_equal(make_report(&w, NULL), JM_OK);
    const failing_trial head = {"a head", &w, make_head, tell_text, drop_text, failing_for_memory};
    failing_each_of(&head, FAILING_MEMORY, 1);
    drop_report(&w);
}

enum { LINES_MOST = 32 };

/* The lines of a table, before it is laid out. */
typedef struct lines {
    jm__fold fold;
    jm__row_traits traits;
    char cells[LINES_MOST][JM_TABLE_COLUMNS][JM_CELL];
} lines;

static jm_status make_cells(void *context, jm_error *err)
{
    lines *l = context;
    const jm__energy_scale scale = jm__energy_scale_for(1);
    memset(l->cells, 0, sizeof l->cells);
    for (size_t i = 0; i < l->fold.parts.count; i++)
        if (!jm__row_cells(l->cells[i], &l->traits, &l->fold.parts.items[i], &scale, false))
            return jm__no_memory(err, "jm__row_cells");
    return JM_OK;
}

static char *tell_cells(void *context)
{
    const lines *l = context;
    jm__strbuf all = {0};
    for (size_t i = 0; i < l->fold.parts.count; i++)
        for (size_t c = 0; c < JM_TABLE_COLUMNS; c++)
            jm__strbuf_format(&all, "%s%s", l->cells[i][c], c + 1 < JM_TABLE_COLUMNS ? "|" : "\n");
    return jm__strbuf_take(&all);
}

static void keep(void *context)
{
    (void)context;
}

static void test_cells_without_memory_are_an_error_or_the_same_cells(void **state)
{
    (void)state;
    static lines all = {.traits = {.by_kernel = true}};
    wish w = {.options = {.size = sizeof w.options, .by = JM_BY_KERNEL, .phase = "train"}};
    assert_int_equal(make_report(&w, NULL), JM_OK);
    assert_int_equal(jm__fold_make(&all.fold, w.report, true, NULL, NULL), JM_OK);
    assert_in_range(all.fold.parts.count, 2, LINES_MOST);
    for (size_t i = 0; i < all.fold.parts.count; i++)
        jm__row_traits_add(&all.traits, &all.fold.parts.items[i]);
    assert_true(all.traits.has_layer); /* a layer's name is what asks for memory */
    const failing_trial cells = {"cells", &all, make_cells, tell_cells, keep, failing_for_memory};
    failing_each_of(&cells, FAILING_MEMORY, 1);
    jm__fold_free(&all.fold);
    drop_report(&w);
}

/* ---- two of them */

typedef struct beside {
    jm_report *reports[4];
    size_t a_side;
    jm_status (*view)(const jm_diff *diff, char **out, jm_error *err);
    char *text;
} beside;

static jm_status view_text(const jm_diff *diff, char **out, jm_error *err)
{
    return jm_diff_text(diff, 80, 8, out, err);
}

static jm_status view_markdown(const jm_diff *diff, char **out, jm_error *err)
{
    return jm_diff_markdown(diff, 0, out, err);
}

static jm_status make_diff(void *context, jm_error *err)
{
    beside *d = context;
    jm_diff *diff;
    const jm_report *const *reports = (const jm_report *const *)d->reports;
    const jm_diff_side a = {reports, NULL, d->a_side}, b = {reports + d->a_side, NULL, d->a_side};
    JM_TRY(jm_diff_create_many(&diff, &a, &b, NULL, err));
    jm_status status = d->view(diff, &d->text, err);
    jm_diff_free(diff);
    return status;
}

static char *tell_diff(void *context)
{
    return strdup(((beside *)context)->text);
}

static void drop_diff(void *context)
{
    free(((beside *)context)->text);
}

static void test_a_diff_without_memory_is_an_error_or_the_same_diff(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        jm_status (*view)(const jm_diff *diff, char **out, jm_error *err);
    } views[] = {{"diff as text", view_text}, {"as Markdown", view_markdown}, {"as JSON", jm_diff_json}};
    wish w[2] = {{.options = {.size = sizeof w->options, .phase = "train"}},
                 {.options = {.size = sizeof w->options}}};
    for (int r = 0; r < 2; r++)
        assert_int_equal(make_report(&w[r], NULL), JM_OK);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        beside one = {.reports = {w[0].report, w[1].report}, .a_side = 1, .view = views[i].view};
        const failing_trial trial = {views[i].name, &one,      make_diff,
                                     tell_diff,     drop_diff, failing_for_memory};
        failing_each(&trial, FAILING_MEMORY);
        beside two = {.reports = {w[0].report, w[0].report, w[1].report, w[1].report},
                      .a_side = 2,
                      .view = views[i].view};
        const failing_trial several = {views[i].name, &two,      make_diff,
                                       tell_diff,     drop_diff, failing_for_memory};
        failing_each(&several, FAILING_MEMORY);
    }
    drop_report(&w[0]);
    drop_report(&w[1]);
}

/* ---- what goes out of a recording */

typedef struct outlet {
    jm_recording *recording;
    const char *format;
    char *text;
    size_t size;
} outlet;

static void drop_outlet(void *context)
{
    outlet *o = context;
    free(o->text);
    o->text = NULL;
}

static jm_status export(void *context, jm_error *err)
{
    outlet *o = context;
    const jm_report_options options = {.size = sizeof options, .by = JM_BY_LAYER, .board_id = 2};
    FILE *out = open_memstream(&o->text, &o->size);
    if (out == NULL) return jm__no_memory(err, "open_memstream");
    jm_status status = jm_export(o->recording, o->format, &options, out, err);
    fclose(out);
    if (status == JM_OK && o->text == NULL) status = jm__no_memory(err, "fclose"); /* of the test's stream */
    if (status != JM_OK) drop_outlet(o);
    return status;
}

/* Of all that was recorded: `text`. */
static jm_status find_energy(void *context, jm_error *err)
{
    outlet *o = context;
    const jm__dataset *d = &run->dataset;
    jm_sum sum;
    char text[96];
    JM_TRY(jm_recording_energy(o->recording, 0, d->start_ns, d->end_ns, &sum, err));
    snprintf(text, sizeof text, "%a %a %a", sum.energy_j, sum.low_j, sum.high_j);
    o->size = strlen(text);
    o->text = strdup(text);
    return o->text != NULL ? JM_OK : jm__no_memory(err, "the test");
}

/* As a text, whatever bytes it has. */
static char *tell_outlet(void *context)
{
    const outlet *o = context;
    char *told = malloc(o->size + 1);
    for (size_t i = 0; told != NULL && i <= o->size; i++)
        told[i] = i < o->size && o->text[i] == '\0' ? '0' : o->text[i];
    return told;
}

static void test_an_export_without_memory_is_an_error_or_the_same_export(void **state)
{
    (void)state;
#define X(name) #name,
    static const char *const formats[] = {JM_EXPORT_FORMAT_MAP(X) NULL};
#undef X
    jm__writer *writer;
    outlet o = {0};
    assert_int_equal(jm__writer_create(&writer, NULL, false, NULL), JM_OK);
    assert_int_equal(small_run_tell(writer, run, NULL), JM_OK);
    assert_int_equal(jm__writer_recording(writer, &o.recording, NULL), JM_OK);
    const failing_trial trial = {"export", &o, export, tell_outlet, drop_outlet, failing_for_memory};
    for (const char *const *format = formats; *format != NULL; format++) {
        bool by_jansson = strcmp(*format, "json") == 0 || strcmp(*format, "chrome") == 0;
        o.format = *format;
        failing_each(&trial, by_jansson ? FAILING_OWN_MEMORY : FAILING_MEMORY);
    }
    const failing_trial energy = {"energy", &o, find_energy, tell_outlet, drop_outlet, failing_for_memory};
    failing_each(&energy, FAILING_MEMORY);
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_report_without_memory_is_an_error_or_the_same_report),
        cmocka_unit_test(test_a_page_without_memory_is_an_error_or_the_same_page),
        cmocka_unit_test(test_a_view_without_memory_is_an_error_or_the_same_view),
        cmocka_unit_test(test_a_head_without_memory_is_an_error_or_has_its_title_and_all_facts),
        cmocka_unit_test(test_cells_without_memory_are_an_error_or_the_same_cells),
        cmocka_unit_test(test_a_diff_without_memory_is_an_error_or_the_same_diff),
        cmocka_unit_test(test_an_export_without_memory_is_an_error_or_the_same_export),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
