/* Tables of ncu out of what stands around them. */
#include "import/ncu/ncu.h"

#include "base/csv.h"
#include "base/map.h"
#include "base/number.h"
#include "base/status.h"
#include "base/vec.h"
#include "import/ncu/header.h"
#include "import/ncu/unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number of the table at hand that may be read in two ways. */
typedef struct doubt {
    size_t value;
    double comma; /* in base units */
} doubt;

/* A column of the raw page. */
typedef struct raw_column {
    bool kept;
    uint32_t metric;
    double factor;
} raw_column;

typedef struct reader {
    jm__ncu *to;
    jm__csv *csv;
    const char *path;
    jm__ncu_wanted wanted;
    const void *context;
    jm__ncu_header header;
    bool in_table, has_units; /* of the raw page: its line of units was read */
    size_t foreign;           /* fields of a line that is of no table of ours: rows below it have as many */
    JM_VEC(jm__ncu_kernel) kernels;
    JM_VEC(jm__ncu_metric) metrics;
    JM_VEC(jm__ncu_value) values;
    JM_VEC(raw_column) columns;
    JM_VEC(doubt) doubts;
    size_t table_kernel;            /* the first kernel of the table */
    int64_t point_line, comma_line; /* where a number stands that tells; 0: none in this table */
    char point_text[48], comma_text[48];
    jm__map texts, metric_ids; /* interned; key: section, name, unit in one text */
    char why[256], seen[200];  /* what ncu said before, or instead of, a table */
} reader;

static jm_status too_many(reader *r, jm_error *err, size_t most, const char *what)
{
    return jm__fail(err, JM_LIMIT, 0, NULL, "%s, line %" PRId64 ": more than %zu %s", r->path,
                    jm__csv_line(r->csv), most, what);
}

static const char *intern(reader *r, const char *text)
{
    jm__map_value *known = jm__map_find(&r->texts, &text);
    if (known != NULL) return known->object;
    const char *copy = jm__text_store_add(&r->to->texts, text, strlen(text));
    union {
        const char *text;
        void *object;
    } value = {.text = copy};
    if (copy == NULL || !jm__map_put(&r->texts, &copy, (jm__map_value){.object = value.object})) return NULL;
    return copy;
}

/* ---- metrics and their values */

static jm_status metric_id(reader *r, const char *section, const char *name, const char *unit, uint32_t *id,
                           jm_error *err)
{
    char all[512];
    snprintf(all, sizeof all, "%.180s\n%.240s\n%.60s", section, name, unit);
    const char *key = all;
    jm__map_value *known = jm__map_find(&r->metric_ids, &key);
    if (known != NULL) {
        *id = (uint32_t)known->id;
        return JM_OK;
    }
    if (r->metrics.count >= JM_NCU_METRICS_MAX) return too_many(r, err, JM_NCU_METRICS_MAX, "metrics");
    jm__ncu_metric metric = {intern(r, section), intern(r, name), intern(r, unit)};
    key = intern(r, all);
    *id = (uint32_t)r->metrics.count;
    bool done = metric.section != NULL && metric.name != NULL && metric.unit != NULL && key != NULL &&
                jm__map_put(&r->metric_ids, &key, (jm__map_value){.id = *id}) &&
                jm__vec_push(&r->metrics, metric);
    return done ? JM_OK : jm__no_memory(err, "jm__ncu_read");
}

static void note_evidence(reader *r, int64_t *line, char text[48], const char *field)
{
    if (*line != 0) return;
    *line = jm__csv_line(r->csv);
    snprintf(text, 48, "%.40s", field);
}

/* Every number of the table says what it can of the decimal sign, those that nobody wants too. */
static jm__number_kind look_at(reader *r, const char *field, double *point, double *comma)
{
    jm__number_kind kind = jm__number_read(field, point, comma);
    if (kind == JM_NUMBER_POINT) note_evidence(r, &r->point_line, r->point_text, field);
    if (kind == JM_NUMBER_COMMA) note_evidence(r, &r->comma_line, r->comma_text, field);
    return kind;
}

static jm_status add_value(reader *r, uint32_t metric, double factor, const char *field, jm_error *err)
{
    double point, comma;
    jm__ncu_kernel *kernel = &r->kernels.items[r->kernels.count - 1];
    jm__ncu_value value = {.number = NAN, .metric = metric, .line = (uint32_t)jm__csv_line(r->csv)};
    jm__number_kind kind = look_at(r, field, &point, &comma);
    if (r->values.count >= JM_NCU_VALUES_MAX) return too_many(r, err, JM_NCU_VALUES_MAX, "values");
    if (kind == JM_NUMBER_NONE && (value.text = intern(r, field)) == NULL)
        return jm__no_memory(err, "jm__ncu_read");
    if (kind == JM_NUMBER_COMMA) value.number = comma * factor;
    if (kind == JM_NUMBER_POINT || kind == JM_NUMBER_PLAIN || kind == JM_NUMBER_AMBIGUOUS)
        value.number = point * factor;
    if (kind == JM_NUMBER_AMBIGUOUS) {
        if (r->doubts.count == 0 && r->to->ambiguous_line == 0) r->to->ambiguous_line = value.line;
        doubt open = {r->values.count, comma * factor};
        if (!jm__vec_push(&r->doubts, open)) return jm__no_memory(err, "jm__ncu_read");
    }
    kernel->count++;
    return jm__vec_push(&r->values, value) ? JM_OK : jm__no_memory(err, "jm__ncu_read");
}

static jm_status end_table(reader *r, jm_error *err)
{
    if (r->point_line != 0 && r->comma_line != 0) {
        return jm__fail(err, JM_BAD_DATA, 0, NULL,
                        "%s: \"%s\" in line %" PRId64 " has a decimal point, \"%s\" in line %" PRId64
                        " of the same table a decimal comma: one of the two is damaged",
                        r->path, r->point_text, r->point_line, r->comma_text, r->comma_line);
    }
    r->to->decimal_is_comma = r->comma_line != 0;
    if (r->comma_line != 0)
        for (size_t i = 0; i < r->doubts.count; i++)
            r->values.items[r->doubts.items[i].value].number = r->doubts.items[i].comma;
    if (r->doubts.count > 0 && r->point_line == 0 && r->comma_line == 0)
        r->to->decimal_guessed = true;
    else if (!r->to->decimal_guessed)
        r->to->ambiguous_line = 0;
    r->doubts.count = 0;
    r->point_line = r->comma_line = 0;
    r->in_table = r->has_units = false;
    return JM_OK;
}

/* ---- kernels */

static const char *field(reader *r, size_t column)
{
    return column == JM_NCU_NO_COLUMN ? "" : jm__csv_text(r->csv, column);
}

/* A whole number without or with grouping signs, as IDs of more than three digits may have. */
static bool whole(const char *text, int64_t *value)
{
    int64_t sum = 0;
    int digits = 0;
    for (; *text != '\0' && strcmp(text, ".0") != 0; text++) { /* "7.0", of a column with gaps */
        if (*text == ',' || *text == '.' || *text == '\'' || *text == ' ' || (unsigned char)*text >= 0x80) {
            if (digits == 0) return false;
            continue;
        }
        if (*text < '0' || *text > '9' || digits++ >= 18) return false;
        sum = 10 * sum + (*text - '0');
    }
    *value = sum;
    return digits > 0;
}

static jm_status whole_field(reader *r, size_t column, int64_t *value, jm_error *err)
{
    *value = 0;
    const char *text = field(r, column);
    if (text[0] == '\0' || whole(text, value)) return JM_OK;
    return jm__csv_bad(r->csv, column, err, "\"%.60s\" is no whole number", text);
}

static void read_capability(const char *text, jm__ncu_kernel *kernel)
{
    char *end;
    long major = strtol(text, &end, 10);
    if (end == text || (*end != '.' && *end != ',') || major < 1 || major > 99) return;
    long minor = strtol(end + 1, &end, 10);
    if (*end != '\0' || minor < 0 || minor > 99) return;
    kernel->cc_major = (int)major;
    kernel->cc_minor = (int)minor;
}

static jm_status read_kernel(reader *r, jm__ncu_kernel *kernel, jm_error *err)
{
    const jm__ncu_header *h = &r->header;
    *kernel = (jm__ncu_kernel){.launches = 1, .line = jm__csv_line(r->csv), .first = r->values.count};
    JM_TRY(whole_field(r, h->id, &kernel->id, err));
    JM_TRY(whole_field(r, h->process_id, &kernel->process_id, err));
    if (h->launches != JM_NCU_NO_COLUMN) JM_TRY(whole_field(r, h->launches, &kernel->launches, err));
    if (kernel->launches < 1)
        return jm__csv_bad(r->csv, h->launches, err, "a kernel cannot have run %" PRId64 " times",
                           kernel->launches);
    if (h->id == JM_NCU_NO_COLUMN) kernel->id = (int64_t)r->kernels.count;
    kernel->name = intern(r, field(r, h->kernel));
    kernel->process = intern(r, field(r, h->process));
    kernel->host = intern(r, field(r, h->host));
    kernel->context = intern(r, field(r, h->context));
    kernel->stream = intern(r, field(r, h->stream));
    kernel->device = intern(r, field(r, h->device));
    kernel->block = intern(r, field(r, h->block));
    kernel->grid = intern(r, field(r, h->grid));
    read_capability(field(r, h->cc), kernel);
    bool all = kernel->name != NULL && kernel->process != NULL && kernel->host != NULL &&
               kernel->context != NULL && kernel->stream != NULL && kernel->device != NULL &&
               kernel->block != NULL && kernel->grid != NULL;
    if (!all) return jm__no_memory(err, "jm__ncu_read");
    if (kernel->name[0] == '\0') return jm__csv_bad(r->csv, h->kernel, err, "a kernel without a name");
    return JM_OK;
}

/* Texts are interned: the same text is the same pointer. */
static bool is_same(const reader *r, const jm__ncu_kernel *a, const jm__ncu_kernel *b)
{
    if (r->header.id != JM_NCU_NO_COLUMN && a->id != b->id) return false;
    return a->process_id == b->process_id && a->name == b->name && a->host == b->host &&
           a->context == b->context && a->stream == b->stream && a->device == b->device &&
           a->block == b->block && a->grid == b->grid;
}

static jm_status push_kernel(reader *r, const jm__ncu_kernel *kernel, jm_error *err)
{
    if (r->kernels.count >= JM_NCU_KERNELS_MAX) return too_many(r, err, JM_NCU_KERNELS_MAX, "kernels");
    return jm__vec_push(&r->kernels, *kernel) ? JM_OK : jm__no_memory(err, "jm__ncu_read");
}

/* ---- pages */

static jm_status details_row(reader *r, jm_error *err)
{
    jm__ncu_kernel kernel;
    JM_TRY(read_kernel(r, &kernel, err));
    bool first = r->kernels.count == r->table_kernel;
    if (first || !is_same(r, &r->kernels.items[r->kernels.count - 1], &kernel))
        JM_TRY(push_kernel(r, &kernel, err));
    const char *name = field(r, r->header.metric), *section = field(r, r->header.section);
    const char *text = field(r, r->header.value);
    char unit[JM_NCU_UNIT_TEXT];
    double factor = jm__ncu_unit(field(r, r->header.unit), unit), point, comma;
    if (name[0] == '\0') return JM_OK; /* a rule */
    if (r->wanted != NULL && !r->wanted(r->context, section, name, unit)) {
        look_at(r, text, &point, &comma);
        return JM_OK;
    }
    uint32_t metric;
    JM_TRY(metric_id(r, section, name, unit, &metric, err));
    return add_value(r, metric, factor, text, err);
}

static jm_status raw_units(reader *r, jm_error *err)
{
    r->columns.count = 0;
    for (size_t i = 0; i < jm__csv_column_count(r->csv); i++) {
        const char *name = jm__csv_column_name(r->csv, i);
        char unit[JM_NCU_UNIT_TEXT];
        raw_column column = {.factor = jm__ncu_unit(jm__csv_text(r->csv, i), unit)};
        column.kept = !jm__ncu_is_fixed(name) && (r->wanted == NULL || r->wanted(r->context, "", name, unit));
        if (column.kept) JM_TRY(metric_id(r, "", name, unit, &column.metric, err));
        if (!jm__vec_push(&r->columns, column)) return jm__no_memory(err, "jm__ncu_read");
    }
    r->has_units = true;
    return JM_OK;
}

static jm_status raw_row(reader *r, jm_error *err)
{
    jm__ncu_kernel kernel;
    double point, comma;
    if (!r->has_units) {
        if (field(r, r->header.id)[0] == '\0' && field(r, r->header.kernel)[0] == '\0')
            return raw_units(r, err);
        return jm__fail(err, JM_BAD_DATA, 0, NULL,
                        "%s, line %" PRId64
                        ": the raw page has a line of units below its header; here a kernel follows",
                        r->path, jm__csv_line(r->csv));
    }
    JM_TRY(read_kernel(r, &kernel, err));
    JM_TRY(push_kernel(r, &kernel, err));
    for (size_t i = 0; i < r->columns.count; i++) {
        const raw_column *column = &r->columns.items[i];
        const char *text = jm__csv_text(r->csv, i);
        if (column->kept)
            JM_TRY(add_value(r, column->metric, column->factor, text, err));
        else if (strstr(jm__csv_column_name(r->csv, i), "__") != NULL)
            look_at(r, text, &point, &comma);
    }
    return JM_OK;
}

/* ---- lines */

static void note_line(reader *r, const char *line)
{
    const char *means = jm__ncu_explain(line);
    r->to->other_lines++;
    r->to->clocks_free |= strstr(line, "unmodified GPU clocks") != NULL;
    r->to->caches_kept |= strstr(line, "uncontrolled GPU caches") != NULL;
    if (means != NULL && r->why[0] == '\0') snprintf(r->why, sizeof r->why, "%s", means);
    if (r->seen[0] == '\0' && line[strspn(line, " \t\r")] != '\0')
        snprintf(r->seen, sizeof r->seen, "%.80s", line);
}

static jm_status begin_table(reader *r, size_t before, bool quoted, jm_error *err)
{
    if (r->in_table) JM_TRY(end_table(r, err));
    if (before > 0) jm__csv_pass(r->csv, before);
    JM_TRY(jm__csv_header(r->csv, err));
    JM_TRY(jm__ncu_header_read(&r->header, r->csv, quoted, err));
    r->to->tables++;
    r->table_kernel = r->kernels.count;
    r->in_table = true;
    return JM_OK;
}

/* Whether a line may belong to the table: ncu quotes every field, and pandas may do so for texts alone. */
static bool may_be_row(const reader *r, const char *line)
{
    if (!r->in_table) return false;
    if (line[0] == '"') return true;
    bool begins = line[0] != '\0' && strchr(",;\t0123456789", line[0]) != NULL;
    return begins && (!r->header.quoted || jm__csv_fields_of(r->csv, line) == jm__csv_column_count(r->csv));
}

static jm_status row(reader *r, jm_error *err)
{
    bool more;
    JM_TRY(jm__csv_next(r->csv, &more, err));
    if (!more) return JM_OK;
    size_t has = jm__csv_field_count(r->csv), wants = jm__csv_column_count(r->csv);
    int64_t id;
    bool rule =
        r->header.form == JM_NCU_DETAILS && has > r->header.value && has < wants; /* of older versions */
    if (has != wants && !rule) {
        const char *first = field(r, r->header.id == JM_NCU_NO_COLUMN ? 0 : r->header.id);
        bool names = first[0] != '\0' && !whole(first, &id);
        if (2 * has <= wants &&
            (names || has == r->foreign)) { /* a table of a rule's, or the program's own */
            r->foreign = has;
            note_line(r, first);
            return JM_OK;
        }
        return jm__fail(err, JM_BAD_DATA, 0, NULL,
                        "%s, line %" PRId64 ": %zu fields where the header has %zu", r->path,
                        jm__csv_line(r->csv), has, wants);
    }
    return r->header.form == JM_NCU_RAW ? raw_row(r, err) : details_row(r, err);
}

static jm_status read_lines(reader *r, jm_error *err)
{
    for (;;) {
        const char *line;
        bool quoted;
        JM_TRY(jm__csv_peek(r->csv, &line, err));
        if (line == NULL) return r->in_table ? end_table(r, err) : JM_OK;
        size_t before = jm__ncu_header_at(line, &quoted);
        if (before != JM_NCU_NO_COLUMN) {
            JM_TRY(begin_table(r, before, quoted, err));
        } else if (may_be_row(r, line)) {
            JM_TRY(row(r, err));
        } else {
            if (line[0] != '\0' && strcmp(line, "\r") != 0) note_line(r, line);
            jm__csv_pass(r->csv, SIZE_MAX);
        }
    }
}

static jm_status nothing_found(const reader *r, jm_error *err)
{
    if (r->to->tables > 0 && r->why[0] == '\0') {
        return jm__fail(err, JM_BAD_DATA, 0, NULL,
                        "%s has the header line of a table of ncu's, and no kernel below it", r->path);
    }
    if (r->why[0] != '\0')
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "%s has no kernels: %s", r->path, r->why);
    if (strncmp(r->seen, "NVR", 3) == 0) {
        jm__fail(err, JM_BAD_DATA, 0, NULL, "%s is a report of ncu's own format", r->path);
        return jm__hint(err, JM_BAD_DATA, "make CSV of it: ncu --import FILE --csv --page raw >FILE.csv");
    }
    char first[sizeof r->seen];
    jm__fail(err, JM_BAD_DATA, 0, NULL, "%s has no table of ncu's in it; it begins with \"%s\"", r->path,
             jm_text_printable(first, sizeof first, r->seen));
    return jm__hint(err, JM_BAD_DATA, "run ncu with --csv, --page details or --page raw");
}

static void take(reader *r, jm__ncu *ncu)
{
    ncu->kernels = r->kernels.items;
    ncu->count = r->kernels.count;
    ncu->metrics = r->metrics.items;
    ncu->metric_count = r->metrics.count;
    ncu->values = r->values.items;
    ncu->value_count = r->values.count;
}

jm_status jm__ncu_read(jm__ncu *ncu, const char *path, jm__ncu_wanted wanted, const void *context,
                       jm_error *err)
{
    *ncu = (jm__ncu){0};
    reader *r = calloc(1, sizeof *r);
    if (r == NULL) return jm__no_memory(err, "jm__ncu_read");
    r->to = ncu;
    r->path = path;
    r->wanted = wanted;
    r->context = context;
    r->texts = r->metric_ids = (jm__map)JM_MAP_OF_TEXTS;
    jm_status status = jm__csv_open_text(&r->csv, path, err);
    if (status == JM_OK) status = read_lines(r, err);
    take(r, ncu);
    if (status == JM_OK && ncu->count == 0) status = nothing_found(r, err);
    jm__csv_close(r->csv);
    jm__map_free(&r->texts);
    jm__map_free(&r->metric_ids);
    jm__vec_free(&r->columns);
    jm__vec_free(&r->doubts);
    free(r);
    if (status != JM_OK) jm__ncu_free(ncu);
    return status;
}

void jm__ncu_free(jm__ncu *ncu)
{
    free(ncu->kernels);
    free(ncu->metrics);
    free(ncu->values);
    jm__text_store_free(&ncu->texts);
    *ncu = (jm__ncu){0};
}
