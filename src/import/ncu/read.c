/* Finds and reads ncu's tables: units, header lines, pages. */
#include "base/csv.h"
#include "base/plain.h"
#include "base/status.h"
#include "base/vec.h"
#include "import/ncu/ncu.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns that describe the kernel: member, and ncu's name. */
#define JM_NCU_COLUMN_MAP(X)                                                                                 \
    X(id, "ID")                                                                                              \
    X(process_id, "Process ID")                                                                              \
    X(process, "Process Name")                                                                               \
    X(host, "Host Name")                                                                                     \
    X(kernel, "Kernel Name")                                                                                 \
    X(context, "Context")                                                                                    \
    X(stream, "Stream")                                                                                      \
    X(block, "Block Size")                                                                                   \
    X(grid, "Grid Size")                                                                                     \
    X(device, "Device")                                                                                      \
    X(cc, "CC")                                                                                              \
    X(launches, "Invocations")                                                                               \
    X(section, "Section Name")                                                                               \
    X(metric, "Metric Name")                                                                                 \
    X(unit, "Metric Unit")                                                                                   \
    X(value, "Metric Value")                                                                                 \
    X(average, "Average")
typedef enum ncu_form {
    JM_NCU_DETAILS,
    JM_NCU_RAW,
    JM_NCU_SUMMARY,
} ncu_form;

typedef struct ncu_header {
    ncu_form form;
    bool quoted; /* lines begin with a quote, as ncu writes them; else another program saved the table */
#define X(member, name) size_t member;
    JM_NCU_COLUMN_MAP(X)
#undef X
} ncu_header;

static const struct {
    const char *text, *meaning;
} explanations[] = {
    {"ERR_NVGPUCTRPERM", "this user may not read the GPU's counters: as root, or with the driver's option "
                         "NVreg_RestrictProfilingToAdminUsers=0"},
    {"No kernels were profiled", "no kernels were profiled: the program started none on a GPU, a filter "
                                 "(--kernel-name, --launch-skip, --nvtx) "
                                 "left out all, they ran in a child process (--target-processes all), or the "
                                 "program ended before its first one"},
    {"Failed to profile kernel", "ncu could not profile a kernel"},
    {"ERR_NVGPUCTR", "the GPU's counters cannot be read"},
    {"driver is not compatible", "this ncu is newer than the driver allows"},
    {"Another instance of profiler",
     "another profiler (ncu, CUPTI, joulemap's counters) has the GPU's counters"},
    {"ResourceUnavailable", "another profiler (ncu, CUPTI, joulemap's counters) has the GPU's counters"},
    {"unrecognised option", "this ncu does not know an option"},
    {"unrecognized option", "this ncu does not know an option"},
    {"Failed to find metric", "this ncu lacks a requested metric"},
    {"The application returned an error code", "the program itself failed under ncu"},
    {"Failed to launch", "ncu could not start the program"},
};

const char *jm__ncu_explain(const char *line)
{
    for (size_t i = 0; i < sizeof explanations / sizeof explanations[0]; i++)
        if (strstr(line, explanations[i].text) != NULL) return explanations[i].meaning;
    return NULL;
}

/* ---- units: quotients of words, each with an optional prefix ---- */

typedef struct word {
    const char *name;
    const char *base;
    bool takes_small; /* may have the prefixes p, n, u and m */
} word;

static const word words[] = {
    {"byte", "byte", false},     {"bytes", "byte", false},     {"B", "byte", false},
    {"second", "second", true},  {"s", "second", true},        {"sec", "second", true},
    {"cycle", "cycle", false},   {"cycles", "cycle", false},   {"inst", "inst", false},
    {"sector", "sector", false}, {"sectors", "sector", false}, {"request", "request", false},
    {"warp", "warp", false},     {"thread", "thread", false},  {"block", "block", false},
    {"hz", "hz", false},         {"Hz", "hz", false},          {"register", "register", false},
};

static const struct {
    const char *text;
    double factor;
    bool small;
} prefixes[] = {
    {"k", 1e3, false},        {"K", 1e3, false},     {"M", 1e6, false},     {"G", 1e9, false},
    {"T", 1e12, false},       {"P", 1e15, false},    {"Ki", 0x1p10, false}, {"Mi", 0x1p20, false},
    {"Gi", 0x1p30, false},    {"Ti", 0x1p40, false}, {"m", 1e-3, true},     {"u", 1e-6, true},
    {"\xc2\xb5", 1e-6, true}, {"n", 1e-9, true},     {"p", 1e-12, true},
};

static const word *find_word(const char *name)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].name, name) == 0) return &words[i];
    return NULL;
}

/* The factor of one word of a unit. *base is its base unit, or `name` itself if it is unknown. */
static double factor_of_word(const char *name, const char **base)
{
    const word *known = find_word(name);
    double factor = 1;
    for (size_t i = 0; known == NULL && i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t length = strlen(prefixes[i].text);
        if (strncmp(name, prefixes[i].text, length) != 0) continue;
        known = find_word(name + length);
        if (known != NULL && prefixes[i].small && !known->takes_small) known = NULL;
        factor = known != NULL ? prefixes[i].factor : 1;
    }
    *base = known != NULL ? known->base : name;
    return factor;
}

double jm__ncu_unit(const char *unit, char base[JM_NCU_UNIT_TEXT])
{
    char text[JM_NCU_UNIT_TEXT];
    snprintf(text, sizeof text, "%s", unit);
    if (strlen(unit) >= sizeof text) { /* no known unit is so long */
        snprintf(base, JM_NCU_UNIT_TEXT, "%s", text);
        return 1;
    }
    double factor = 1;
    size_t used = 0;
    bool divides = false, hertz = false;
    base[0] = '\0';
    for (char *rest = text; rest != NULL;) {
        char *slash = strchr(rest, '/');
        if (slash != NULL) *slash = '\0';
        const char *name;
        double by = factor_of_word(rest, &name);
        hertz |= strcmp(name, "hz") == 0;
        factor = divides ? factor / by : factor * by;
        int added = snprintf(base + used, JM_NCU_UNIT_TEXT - used, "%s%s", divides ? "/" : "", name);
        if (added < 0 || (size_t)added >= JM_NCU_UNIT_TEXT - used) break;
        used += (size_t)added;
        divides = true;
        rest = slash != NULL ? slash + 1 : NULL;
    }
    if (hertz && strcmp(base, "hz") == 0) snprintf(base, JM_NCU_UNIT_TEXT, "cycle/second");
    return factor;
}

/* ---- header lines of ncu's tables ---- */

static bool is_table(const char *header)
{
    return strstr(header, "Kernel Name") != NULL;
}

/* ncu separates fields by commas; spreadsheets may have saved its file with other separators. */
static bool starts_with(const char *line, const char *start)
{
    for (; *start != '\0'; line++, start++)
        if (*line != *start && !(*start == ',' && (*line == ';' || *line == '\t'))) return false;
    return true;
}

/* pandas adds a first column of row numbers without a name, and quotes only some fields. */
static bool is_row_number(const char *line, const char *id)
{
    size_t length = (size_t)(id - line);
    return (length == 1 || (length == 3 && strncmp(line, "\"\"", 2) == 0)) && strchr(",;\t", id[-1]) != NULL;
}

/* The offset of a header line within a line; it is not 0 after program output without a line end.
 * JM_CSV_NONE: there is no header line. */
static size_t ncu_header_at(const char *line, bool *quoted)
{
    static const char *const quoted_starts[] = {"\"ID\",\"", "\"Process ID\",\"Process Name\""};
    static const char *const plain_starts[] = {"ID,", ",ID,", "Process ID,Process Name", ",Process ID,"};
    size_t mark = jm__bom_length(line, strlen(line));
    *quoted = true;
    for (const char *at = strchr(line, '"'); at != NULL; at = strchr(at + 1, '"'))
        if ((starts_with(at, quoted_starts[0]) || starts_with(at, quoted_starts[1])) && is_table(at)) {
            *quoted = !is_row_number(line + mark, at);
            return *quoted ? (size_t)(at - line) : mark;
        }
    *quoted = false;
    for (size_t i = 0; i < 4; i++)
        if (starts_with(line + mark, plain_starts[i]) && is_table(line)) return mark;
    return JM_CSV_NONE;
}

/* Is this column of the raw page no metric? */
static bool ncu_is_fixed(const char *column)
{
    static const char *const others[] = {
        "",
        "Kernel Time",
        "Rule Name",
        "Rule Type",
        "Rule Description",
        "Estimated Speedup Type",
        "Estimated Speedup",
    };
    static const char *const known[] = {
#define X(member, name) name,
        JM_NCU_COLUMN_MAP(X)
#undef X
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i], column) == 0) return true;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(others[i], column) == 0) return true;
    return strstr(column, "Domain:") != NULL; /* NVTX ranges */
}

/* Finds the columns of the header line that was just read. BAD_DATA: a column is missing that each page
 * has. */
static jm_status ncu_header_read(ncu_header *header, const jm__csv *csv, bool quoted, jm_error *err)
{
    header->quoted = quoted;
#define X(member, name) header->member = jm__csv_find(csv, name);
    JM_NCU_COLUMN_MAP(X)
#undef X
    size_t column;
    JM_TRY(jm__csv_column(csv, "Kernel Name", &column, err));
    bool a_row_a_metric = header->metric != JM_CSV_NONE;
    header->form = !a_row_a_metric                                                  ? JM_NCU_RAW
                   : header->value == JM_CSV_NONE && header->average != JM_CSV_NONE ? JM_NCU_SUMMARY
                                                                                    : JM_NCU_DETAILS;
    if (header->form == JM_NCU_SUMMARY) header->value = header->average;
    if (!a_row_a_metric) return JM_OK;
    JM_TRY(jm__csv_column(csv, "Metric Unit", &column, err));
    if (header->form == JM_NCU_DETAILS) JM_TRY(jm__csv_column(csv, "Metric Value", &column, err));
    return JM_OK;
}

/* ---- reading tables ---- */

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
    jm__ncu_filter filter;
    const void *context;
    ncu_header header;
    bool in_table, has_units; /* on the raw page: the line of units was read */
    size_t other_fields; /* number of fields of the last line outside our tables: following rows of its table
                            have as many */
    JM_VEC(jm__ncu_kernel) kernels;
    JM_VEC(jm__ncu_metric) metrics;
    JM_VEC(jm__ncu_value) values;
    JM_VEC(raw_column) columns;
    size_t table_kernel;      /* first kernel of the current table */
    jm__text_ids metric_ids;  /* by section, name and unit */
    char why[256], seen[200]; /* messages of ncu around or instead of a table */
} reader;

static jm_status too_many(reader *r, jm_error *err, size_t most, const char *what)
{
    return jm__fail(err, JM_LIMIT, 0, NULL, "%s, line %" PRId64 ": more than %zu %s", r->path,
                    jm__csv_line(r->csv), most, what);
}

static const char *intern(reader *r, const char *text)
{
    int64_t id = jm__text_ids_add(&r->to->texts, text);
    return id >= 0 ? r->to->texts.items.items[id] : NULL;
}

/* ---- metrics and their values */

static jm_status metric_id(reader *r, const char *section, const char *name, const char *unit, uint32_t *id,
                           jm_error *err)
{
    char all[512];
    snprintf(all, sizeof all, "%.180s\n%.240s\n%.60s", section, name, unit);
    int64_t known = jm__text_ids_find(&r->metric_ids, all);
    *id = known >= 0 ? (uint32_t)known : (uint32_t)r->metrics.count;
    if (known >= 0) return JM_OK;
    if (r->metrics.count >= JM_NCU_METRICS_MAX) return too_many(r, err, JM_NCU_METRICS_MAX, "metrics");
    jm__ncu_metric metric = {intern(r, section), intern(r, name), intern(r, unit)};
    bool done = metric.section != NULL && metric.name != NULL && metric.unit != NULL &&
                jm__text_ids_add(&r->metric_ids, all) >= 0 && jm__vec_push(&r->metrics, metric);
    return done ? JM_OK : jm__no_memory(err, "jm__ncu_read");
}

/* Also applied to skipped values: in a table with decimal commas every number would be wrong. */
static jm_status read_number(const reader *r, const char *field, jm__number_kind *kind, double *value,
                             jm_error *err)
{
    double comma;
    *kind = jm__number_read(field, value, &comma);
    if (*kind != JM_NUMBER_COMMA) return JM_OK;
    jm__fail(err, JM_BAD_DATA, 0, NULL, "%s, line %" PRId64 ": \"%.40s\" has a decimal comma", r->path,
             jm__csv_line(r->csv), field);
    return jm__hint(err, JM_BAD_DATA, "ncu writes numbers as the locale has them: run it with LC_ALL=C");
}

static jm_status add_value(reader *r, uint32_t metric, double factor, const char *field, jm_error *err)
{
    jm__number_kind kind;
    jm__ncu_value value = {.metric = metric, .line = (uint32_t)jm__csv_line(r->csv)};
    JM_TRY(read_number(r, field, &kind, &value.number, err));
    value.number *= factor;
    if (r->values.count >= JM_NCU_VALUES_MAX) return too_many(r, err, JM_NCU_VALUES_MAX, "values");
    if (kind == JM_NUMBER_NONE && (value.text = intern(r, field)) == NULL)
        return jm__no_memory(err, "jm__ncu_read");
    r->kernels.items[r->kernels.count - 1].count++;
    return jm__vec_push(&r->values, value) ? JM_OK : jm__no_memory(err, "jm__ncu_read");
}

/* ---- kernels */

/* An integer, possibly with commas, as in ids of more than three digits. */
static bool parse_integer(const char *text, int64_t *value)
{
    int64_t sum = 0;
    int digits = 0;
    for (; *text != '\0' && strcmp(text, ".0") != 0;
         text++) { /* "7.0": pandas writes integers of a column with gaps so */
        if (*text == ',' && digits > 0) continue;
        if (*text < '0' || *text > '9' || digits++ >= 18) return false;
        sum = 10 * sum + (*text - '0');
    }
    *value = sum;
    return digits > 0;
}

static jm_status integer_field(reader *r, size_t column, int64_t *value, jm_error *err)
{
    *value = 0;
    const char *text = jm__csv_text(r->csv, column);
    if (text[0] == '\0' || parse_integer(text, value)) return JM_OK;
    return jm__csv_bad(r->csv, column, err, "\"%.60s\" is not a whole number", text);
}

static void read_capability(const char *text, jm__ncu_kernel *kernel)
{
    char *end;
    long major = strtol(text, &end, 10);
    if (end == text || *end != '.' || major < 1 || major > 99) return;
    long minor = strtol(end + 1, &end, 10);
    if (*end != '\0' || minor < 0 || minor > 99) return;
    kernel->cc_major = (int)major;
    kernel->cc_minor = (int)minor;
}

static jm_status read_kernel(reader *r, jm__ncu_kernel *kernel, jm_error *err)
{
    const ncu_header *h = &r->header;
    *kernel = (jm__ncu_kernel){.launches = 1, .line = jm__csv_line(r->csv), .first = r->values.count};
    JM_TRY(integer_field(r, h->id, &kernel->id, err));
    JM_TRY(integer_field(r, h->process_id, &kernel->process_id, err));
    if (h->launches != JM_CSV_NONE) JM_TRY(integer_field(r, h->launches, &kernel->launches, err));
    if (kernel->launches < 1)
        return jm__csv_bad(r->csv, h->launches, err, "a kernel cannot have run %" PRId64 " times",
                           kernel->launches);
    if (h->id == JM_CSV_NONE) kernel->id = (int64_t)r->kernels.count;
    const struct {
        const char **to;
        size_t column;
    } texts[] = {
        {&kernel->name, h->kernel},     {&kernel->process, h->process}, {&kernel->host, h->host},
        {&kernel->context, h->context}, {&kernel->stream, h->stream},   {&kernel->device, h->device},
        {&kernel->block, h->block},     {&kernel->grid, h->grid},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if ((*texts[i].to = intern(r, jm__csv_text(r->csv, texts[i].column))) == NULL)
            return jm__no_memory(err, "jm__ncu_read");
    read_capability(jm__csv_text(r->csv, h->cc), kernel);
    if (kernel->name[0] == '\0') return jm__csv_bad(r->csv, h->kernel, err, "a kernel without a name");
    return JM_OK;
}

/* Texts are interned, so equal texts have one pointer. */
static bool is_same(const reader *r, const jm__ncu_kernel *a, const jm__ncu_kernel *b)
{
    if (r->header.id != JM_CSV_NONE && a->id != b->id) return false;
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
    const char *name = jm__csv_text(r->csv, r->header.metric),
               *section = jm__csv_text(r->csv, r->header.section);
    const char *text = jm__csv_text(r->csv, r->header.value);
    char unit[JM_NCU_UNIT_TEXT];
    double factor = jm__ncu_unit(jm__csv_text(r->csv, r->header.unit), unit), unwanted;
    jm__number_kind kind;
    if (name[0] == '\0') return JM_OK; /* this row is a rule */
    if (r->filter != NULL && !r->filter(r->context, section, name, unit))
        return read_number(r, text, &kind, &unwanted, err);
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
        column.kept = !ncu_is_fixed(name) && (r->filter == NULL || r->filter(r->context, "", name, unit));
        if (column.kept) JM_TRY(metric_id(r, "", name, unit, &column.metric, err));
        if (!jm__vec_push(&r->columns, column)) return jm__no_memory(err, "jm__ncu_read");
    }
    r->has_units = true;
    return JM_OK;
}

static jm_status raw_row(reader *r, jm_error *err)
{
    jm__ncu_kernel kernel;
    double unwanted;
    jm__number_kind kind;
    if (!r->has_units) {
        if (jm__csv_text(r->csv, r->header.id)[0] == '\0' &&
            jm__csv_text(r->csv, r->header.kernel)[0] == '\0')
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
            JM_TRY(read_number(r, text, &kind, &unwanted, err));
    }
    return JM_OK;
}

/* ---- lines */

static void note_line(reader *r, const char *line)
{
    const char *meaning = jm__ncu_explain(line);
    r->to->clocks_free |= strstr(line, "unmodified GPU clocks") != NULL;
    r->to->caches_kept |= strstr(line, "uncontrolled GPU caches") != NULL;
    if (meaning != NULL && r->why[0] == '\0') snprintf(r->why, sizeof r->why, "%s", meaning);
    if (r->seen[0] == '\0' && line[strspn(line, " \t\r")] != '\0')
        snprintf(r->seen, sizeof r->seen, "%.80s", line);
}

static jm_status begin_table(reader *r, size_t before, bool quoted, jm_error *err)
{
    if (before > 0) jm__csv_skip(r->csv, before);
    JM_TRY(jm__csv_header(r->csv, err));
    JM_TRY(ncu_header_read(&r->header, r->csv, quoted, err));
    r->to->tables++;
    r->table_kernel = r->kernels.count;
    r->in_table = true;
    r->has_units = false;
    return JM_OK;
}

/* May a line belong to the table? ncu quotes every field, pandas perhaps only texts. */
static bool may_be_row(const reader *r, const char *line)
{
    if (!r->in_table) return false;
    if (line[0] == '"') return true;
    bool begins = line[0] != '\0' && strchr(",;\t0123456789", line[0]) != NULL;
    return begins && (!r->header.quoted || jm__csv_fields_of(r->csv, line) == jm__csv_column_count(r->csv));
}

static jm_status read_row(reader *r, jm_error *err)
{
    bool more;
    JM_TRY(jm__csv_next(r->csv, &more, err));
    if (!more) return JM_OK;
    size_t has = jm__csv_field_count(r->csv), wants = jm__csv_column_count(r->csv);
    int64_t id;
    bool rule = r->header.form == JM_NCU_DETAILS && has > r->header.value &&
                has < wants; /* older versions write short rows for rules */
    if (has != wants && !rule) {
        const char *first = jm__csv_text(r->csv, r->header.id == JM_CSV_NONE ? 0 : r->header.id);
        bool names = first[0] != '\0' && !parse_integer(first, &id);
        if (2 * has <= wants &&
            (names || has == r->other_fields)) { /* a table of a rule, or of the program itself */
            r->other_fields = has;
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
        if (line == NULL) return JM_OK;
        size_t before = ncu_header_at(line, &quoted);
        if (before != JM_CSV_NONE) {
            JM_TRY(begin_table(r, before, quoted, err));
        } else if (may_be_row(r, line)) {
            JM_TRY(read_row(r, err));
        } else {
            if (line[0] != '\0' && strcmp(line, "\r") != 0) note_line(r, line);
            jm__csv_skip(r->csv, SIZE_MAX);
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

static void move_results(reader *r, jm__ncu *ncu)
{
    ncu->kernels = r->kernels.items;
    ncu->count = r->kernels.count;
    ncu->metrics = r->metrics.items;
    ncu->metric_count = r->metrics.count;
    ncu->values = r->values.items;
    ncu->value_count = r->values.count;
}

jm_status jm__ncu_read(jm__ncu *ncu, const char *path, jm__ncu_filter filter, const void *context,
                       jm_error *err)
{
    *ncu = (jm__ncu){0};
    reader *r = calloc(1, sizeof *r);
    if (r == NULL) return jm__no_memory(err, "jm__ncu_read");
    r->to = ncu;
    r->path = path;
    r->filter = filter;
    r->context = context;
    jm_status status = jm__csv_open_text(&r->csv, path, err);
    if (status == JM_OK) status = read_lines(r, err);
    move_results(r, ncu);
    if (status == JM_OK && ncu->count == 0) status = nothing_found(r, err);
    jm__csv_close(r->csv);
    jm__text_ids_free(&r->metric_ids);
    jm__vec_free(&r->columns);
    free(r);
    if (status != JM_OK) jm__ncu_free(ncu);
    return status;
}

void jm__ncu_free(jm__ncu *ncu)
{
    free(ncu->kernels);
    free(ncu->metrics);
    free(ncu->values);
    jm__text_ids_free(&ncu->texts);
    *ncu = (jm__ncu){0};
}
