/* The schemas in docs/schema are what the tables of fields and texts say: made anew here, and compared.
 * UPDATE=1 ctest -R ^report_schema$ -V writes them. */
#include <jansson.h>
#include <joulemap/diff.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DRAFT  "https://json-schema.org/draft/2020-12/schema"
#define FOLDER JM_SOURCE_DIR "/docs/schema/"

/* One of the texts of a map. */
#define ADD_TEXT(name, text) json_array_append_new(texts, json_string(text));
#define ONE_OF(function, MAP)                                                                                \
    static json_t *function(void)                                                                            \
    {                                                                                                        \
        json_t *texts = json_array();                                                                        \
        MAP(ADD_TEXT)                                                                                        \
        return json_pack("{so}", "enum", texts);                                                             \
    }

ONE_OF(one_provenance, JM_PROVENANCE_MAP)
ONE_OF(one_key, JM_BY_MAP)
ONE_OF(one_unit, JM_PER_MAP)
ONE_OF(one_change, JM_CHANGE_MAP)
ONE_OF(one_sameness, JM_SAMENESS_MAP)

/* The schema of a value; what is missing is null. */
static json_t *value_of(jm_field_kind kind)
{
    switch (kind) {
    case JM_FIELD_TEXT:
        return json_pack("{ss}", "type", "string");
    case JM_FIELD_TEXT_OR_NONE:
        return json_pack("{s[ss]}", "type", "string", "null");
    case JM_FIELD_TEXTS:
        return json_pack("{sss{ss}}", "type", "array", "items", "type", "string");
    case JM_FIELD_INT32:
    case JM_FIELD_INT64:
        return json_pack("{ss}", "type", "integer");
    case JM_FIELD_COUNT_OR_NONE:
        return json_pack("{s[ss]si}", "type", "integer", "null", "minimum", 0);
    case JM_FIELD_REAL:
        return json_pack("{ss}", "type", "number");
    case JM_FIELD_REAL_OR_NONE:
        return json_pack("{s[ss]}", "type", "number", "null");
    case JM_FIELD_FLAG:
        return json_pack("{ss}", "type", "boolean");
    case JM_FIELD_PROVENANCE:
        return one_provenance();
    case JM_FIELD_KIND_COUNT:
        break;
    }
    return NULL;
}

/* An object that has what is required, and nothing that is not among its properties. */
static json_t *object_of(void)
{
    return json_pack("{sss{}s[]sb}", "type", "object", "properties", "required", "additionalProperties", 0);
}

static void add(json_t *object, const char *key, json_t *value, bool required)
{
    assert_non_null(value);
    json_object_set_new(json_object_get(object, "properties"), key, value);
    if (required) json_array_append_new(json_object_get(object, "required"), json_string(key));
}

static json_t *described(json_t *value, const char *doc)
{
    json_object_set_new(value, "description", json_string(doc));
    return value;
}

static void add_field(json_t *object, const char *key, jm_field_kind kind, const char *doc, bool required)
{
    add(object, key, described(value_of(kind), doc), required);
}

static void add_rows(json_t *object, const char *doc)
{
    add(object, "rows",
        json_pack("{sss{ss}ss}", "type", "array", "items", "$ref", "#/$defs/row", "description", doc), true);
}

/* A document: what draft it is of, its object, and what a row is. */
static json_t *document(const char *title, json_t *object, json_t *row)
{
    json_t *head = json_pack("{ssss}", "$schema", DRAFT, "title", title);
    json_object_update_new(head, object);
    json_object_set_new(head, "$defs", json_pack("{so}", "row", row));
    return head;
}

static json_t *row_object(void)
{
    json_t *row = object_of();
#define X(kind, name, key, place, doc)                                                                       \
    add_field(row, key, JM_FIELD_##kind, doc, ((place)&JM_IN_OCCURRENCE) == 0);
    JM_ROW_FIELDS(X)
#undef X
    return row;
}

static void add_summary(json_t *object, unsigned here)
{
#define X(kind, name, key, place, doc)                                                                       \
    if (((place)&here) != 0) add_field(object, key, JM_FIELD_##kind, doc, true);
    JM_SUMMARY_FIELDS(X, X)
#undef X
}

/* Rows that are one occurrence say when it was, and no others do. */
static json_t *occurrences(void)
{
    json_t *when = json_array(), *none = json_object();
#define X(kind, name, key, place, doc)                                                                       \
    if (((place)&JM_IN_OCCURRENCE) != 0) {                                                                   \
        json_array_append_new(when, json_string(key));                                                       \
        json_object_set_new(none, key, json_false());                                                        \
    }
    JM_ROW_FIELDS(X)
#undef X
    return json_pack("{s{s{s{s[ss]}}} s{s{s{s{so}}}} s{s{s{s{so}}}}}", "if", "properties", "by", "enum",
                     jm_by_text(JM_BY_SPAN), jm_by_text(JM_BY_REQUEST), "then", "properties", "rows", "items",
                     "required", when, "else", "properties", "rows", "items", "properties", none);
}

/* Not of rows by other keys than the layer. */
static json_t *groups(void)
{
    json_t *group = object_of();
    add_field(group, "name", JM_FIELD_TEXT, "\"*\" stands for the numbers of members", true);
    add_field(group, "path", JM_FIELD_TEXT, "\"blocks.*.attn\"; of one row its own", true);
    add_field(group, "kind", JM_FIELD_TEXT, "As of a row", true);
    add_field(group, "type", JM_FIELD_TEXT, "As of a row", true);
    add_field(group, "depth", JM_FIELD_INT32, "In the tree of groups, from 0", true);
    add_field(group, "members", JM_FIELD_INT64, "How many rows it is of", true);
    add(group, "rows",
        json_pack("{sss{ss}ss}", "type", "array", "items", "type", "integer", "description",
                  "Their numbers in rows, from 0"),
        true);
    add_field(group, "calls", JM_FIELD_INT64, "Of all members, as what follows", true);
    add_field(group, "busy_s", JM_FIELD_REAL_OR_NONE, "Seconds", true);
    add_field(group, "energy_j", JM_FIELD_REAL_OR_NONE, "Joules", true);
    add_field(group, "energy_low_j", JM_FIELD_REAL_OR_NONE, "Lower end of the 95 % interval of the sum",
              true);
    add_field(group, "energy_high_j", JM_FIELD_REAL_OR_NONE, "Upper end of it", true);
    add_field(group, "step_s", JM_FIELD_REAL_OR_NONE, "As of a row", true);
    add_field(group, "step_j", JM_FIELD_REAL_OR_NONE, "As of a row", true);
    add_field(group, "step_low_j", JM_FIELD_REAL_OR_NONE, "Lower end of its 95 % interval", true);
    add_field(group, "step_high_j", JM_FIELD_REAL_OR_NONE, "Upper end of it", true);
    add_field(group, "power_w", JM_FIELD_REAL_OR_NONE, "Watts", true);
    add_field(group, "share", JM_FIELD_REAL_OR_NONE, "Of the total", true);
    add_field(group, "provenance", JM_FIELD_PROVENANCE, "The worst of them", true);
    return json_pack("{ss so ss}", "type", "array", "items", group, "description",
                     "Equal layers taken together; by layer alone");
}

/* What the run is made of. */
static json_t *stages(void)
{
    json_t *stage = object_of();
    add_field(stage, "name", JM_FIELD_TEXT, "\"steady steps\", \"before the first step\" ...", true);
    add_field(stage, "steps", JM_FIELD_COUNT_OR_NONE, "How many; missing where it is no steps", true);
    add_field(stage, "seconds", JM_FIELD_REAL_OR_NONE, "Its time; missing where that is in the others'",
              true);
    add_field(stage, "energy_j", JM_FIELD_REAL_OR_NONE, "Joules; all add up to total_energy_j", true);
    return json_pack("{ss so ss}", "type", "array", "items", stage, "description",
                     "The parts of a run with steps; empty without steps");
}

static json_t *report_schema(void)
{
    json_t *report = object_of(), *quality = object_of(), *overhead = object_of();
    add_field(report, "version", JM_FIELD_TEXT, "Of joulemap", true);
    add(report, "by", described(one_key(), "What a row stands for"), true);
    add_field(report, "phase", JM_FIELD_TEXT_OR_NONE, "Only what happened inside phases of this name", true);
    add_summary(report, JM_IN_REPORT);
    add_summary(quality, JM_IN_QUALITY);
    add_field(quality, "notes", JM_FIELD_TEXTS, "Sentences that a reader must know", true);
    add_summary(overhead, JM_IN_OVERHEAD);
    add(report, "stages", stages(), true);
    add(report, "quality", quality, true);
    add(report, "overhead", overhead, true);
    add_rows(report, "Parents before their children");
    add(report, "groups", groups(), false);
    json_object_update_new(report, occurrences());
    return document("What joulemap report --json and joulemap export --format json print", report,
                    row_object());
}

static json_t *change_object(bool is_row)
{
    static const char *const figures[] = {"a_j",    "a_low_j",    "a_high_j",    "b_j", "b_low_j", "b_high_j",
                                          "change", "change_low", "change_high", "a_s", "b_s"};
    json_t *object = object_of();
    if (is_row) add_field(object, "path", JM_FIELD_TEXT, "From the row in A, else in B", true);
    if (is_row) add_field(object, "kind", JM_FIELD_TEXT, "Of the row", true);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        add(object, figures[i], value_of(JM_FIELD_REAL_OR_NONE), true);
    add_field(object, "a_runs", JM_FIELD_INT64, "Number of runs of A that have it", true);
    add_field(object, "b_runs", JM_FIELD_INT64, "Number of runs of B that have it", true);
    add_field(object, "a_deviation_j", JM_FIELD_REAL_OR_NONE,
              "Standard deviation of one run of A, from at least two", true);
    add_field(object, "b_deviation_j", JM_FIELD_REAL_OR_NONE,
              "Standard deviation of one run of B, from at least two", true);
    add(object, "verdict", one_change(), true);
    return object;
}

/* A run, or a side, which says the same of all of its runs. */
static json_t *run_object(const char *name, const char *verdict)
{
    json_t *run = object_of();
    add_field(run, "name", JM_FIELD_TEXT, name, true);
    add_field(run, "units", JM_FIELD_INT64, "Number of steps, samples or runs that its joules are divided by",
              true);
    add_field(run, "clock_mhz", JM_FIELD_REAL_OR_NONE, "Mean clock while kernels ran", true);
    add_field(run, "temperature_c", JM_FIELD_REAL_OR_NONE, "Mean of the GPUs, degrees Celsius", true);
    add_field(run, "throttled_share", JM_FIELD_REAL_OR_NONE, "Share of the time", true);
    add_field(run, "verdict", JM_FIELD_TEXT, verdict, true);
    add_field(run, "verdict_reason", JM_FIELD_TEXT, verdict, true);
    return run;
}

static json_t *side_object(void)
{
    json_t *side = run_object("Name of the side", "From the report of its worst run");
    json_t *runs =
        json_pack("{ss so}", "type", "array", "items", run_object("Name of the run", "From its report"));
    add(side, "runs", described(runs, "The runs of its means"), true);
    return side;
}

static json_t *diff_schema(void)
{
    json_t *diff = object_of();
    add_field(diff, "version", JM_FIELD_TEXT, "Version of joulemap", true);
    add(diff, "by", described(one_key(), "Kind of rows"), true);
    add(diff, "per", described(one_unit(), "Divisor of joules"), true);
    add_field(diff, "simulated", JM_FIELD_FLAG, "Any board was a simulated one", true);
    add(diff, "a", side_object(), true);
    add(diff, "b", side_object(), true);
    add(diff, "gpu", described(one_sameness(), "Whether both sides used the same boards"), true);
    add_field(diff, "gain_u", JM_FIELD_REAL, "Relative standard uncertainty of gains in the total's change",
              true);
    add(diff, "total", change_object(false), true);
    add_rows(diff, "Rows of A, then rows that only B has");
    return document("What joulemap diff --json prints", diff, change_object(true));
}

/* Takes what was made. */
static void compare(const char *path, json_t *made)
{
    if (getenv("UPDATE") != NULL) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(json_dumpf(made, file, JSON_INDENT(2) | JSON_ENSURE_ASCII), 0);
        fputc('\n', file);
        fclose(file);
    }
    json_error_t error;
    json_t *kept = json_load_file(path, 0, &error);
    if (kept == NULL) fail_msg("%s: %s", path, error.text);
    if (!json_equal(made, kept)) fail_msg("%s is not what the tables say: UPDATE=1 makes it anew", path);
    json_decref(made);
    json_decref(kept);
}

static void test_the_schema_of_a_report_is_what_its_table_of_fields_says(void **state)
{
    (void)state;
    compare(FOLDER "report.schema.json", report_schema());
}

static void test_the_schema_of_a_diff_knows_all_texts(void **state)
{
    (void)state;
    compare(FOLDER "diff.schema.json", diff_schema());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_schema_of_a_report_is_what_its_table_of_fields_says),
        cmocka_unit_test(test_the_schema_of_a_diff_knows_all_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
