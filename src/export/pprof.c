/* pprof's profile, gzipped: each row of a report is a sample with its stack, in microjoules and nanoseconds.
 * https://github.com/google/pprof/blob/main/proto/profile.proto */
#define ZLIB_CONST /* so that zlib's input is const */
#include "base/status.h"
#include "base/text_ids.h"
#include "base/utf8.h"
#include "export/format.h"
#include "export/put.h"
#include "export/stacks.h"
#include "format/rows/rows.h"

#include <inttypes.h>
#include <joulemap/joulemap.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

/* zlib's default window, and 16 for the gzip header; how much of the input it gets at once. */
enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8, INPUT_MAX = 1 << 30 };

/* The header has no time, so that equal data give equal files. False: no memory. The caller checks the stream
 * for errors. */
static bool put_gzipped(const jm__strbuf *bytes, FILE *out)
{
    unsigned char part[1 << 14];
    z_stream stream = {.next_in = (const unsigned char *)bytes->text};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    size_t left = bytes->length;
    do {
        if (stream.avail_in == 0) {
            stream.avail_in = left < INPUT_MAX ? (uInt)left : INPUT_MAX;
            left -= stream.avail_in;
        }
        stream.next_out = part;
        stream.avail_out = sizeof part;
        deflate(&stream, left == 0 ? Z_FINISH : Z_NO_FLUSH);
        fwrite(part, 1, sizeof part - stream.avail_out, out);
    } while (stream.avail_out == 0 || left > 0);
    deflateEnd(&stream);
    return true;
}

/* ---- the profile */

/* Field numbers of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_DURATION = 10,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14
};
enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

typedef struct profile {
    const jm__stacks *stacks;
    jm__text_ids texts; /* the string table, which samples and functions index */
    jm__strbuf message, part, encoded;
    bool failed; /* memory is out; checked once, at the end */
} profile;

/* The index of a text in the string table. A new text is added before its first use. */
static int64_t string_index(profile *p, const char *text)
{
    size_t known = p->texts.items.count;
    int64_t id = jm__text_ids_add(&p->texts, text);
    if (id < 0) p->failed = true;
    if (id < (int64_t)known) return id;
    jm__pb_text(&p->encoded, PROFILE_STRING, text);
    return id;
}

static void put_sample_type(profile *p, const char *type, const char *unit)
{
    int64_t type_number = string_index(p, type), unit_number = string_index(p, unit);
    jm__pb_int(&p->message, VALUE_TYPE, type_number);
    jm__pb_int(&p->message, VALUE_UNIT, unit_number);
    jm__pb_message(&p->encoded, PROFILE_SAMPLE_TYPE, &p->message);
}

static void put_comment(profile *p, const jm__strbuf *text)
{
    if (text->failed) p->failed = true;
    if (!p->failed) jm__pb_int(&p->encoded, PROFILE_COMMENT, string_index(p, text->text));
}

/* Comments for `pprof -comments`: the report's key, its total and its notes. */
static void put_comments(profile *p)
{
    const jm_report *report = p->stacks->report;
    const jm_report_totals *totals = jm_report_totals_get(report);
    jm__strbuf text = {0};
    jm__strbuf_format(&text, "joulemap %s by %s%s", jm_version(),
                      jm_by_text(jm_report_options_get(report)->by),
                      totals->simulated ? ", SIMULATED GPU" : "");
    put_comment(p, &text);
    text.length = 0;
    if (isfinite(totals->total_energy_j)) {
        jm__strbuf_format(&text, "total_energy_j %.15g", totals->total_energy_j);
        put_comment(p, &text);
    }
    jm__strbuf_free(&text);
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        jm__pb_int(&p->encoded, PROFILE_COMMENT, string_index(p, jm_report_note(report, i)));
}

static void put_head(profile *p)
{
    const jm_report_totals *totals = jm_report_totals_get(p->stacks->report);
    string_index(p, ""); /* the format requires "" to be the first */
    put_sample_type(p, "energy", "microjoules");
    put_sample_type(p, "time", "nanoseconds");
    jm__pb_int(&p->encoded, PROFILE_DEFAULT_TYPE, string_index(p, "energy"));
    if (isfinite(totals->duration_s))
        jm__pb_int(&p->encoded, PROFILE_DURATION, llround(totals->duration_s * 1e9));
    put_comments(p);
}

static void add_label(profile *p, const char *key, const char *text)
{
    int64_t key_number = string_index(p, key), text_number = string_index(p, text);
    jm__pb_int(&p->part, LABEL_KEY, key_number);
    jm__pb_int(&p->part, LABEL_TEXT, text_number);
    jm__pb_message(&p->message, SAMPLE_LABEL, &p->part);
}

/* Write a sample; locations are innermost first. A row's frame is its location. */
static void put_sample(profile *p, size_t row)
{
    const jm__stacks *s = p->stacks;
    const int64_t values[2] = {llround(s->energy_j[row] * 1e6), llround(s->busy_s[row] * 1e9)};
    if (values[0] == 0 && values[1] == 0) return;
    size_t frames[JM_STACK_MAX], depth = jm__stacks_frames(s, row, frames);
    int64_t locations[JM_STACK_MAX];
    for (size_t i = 0; i < depth; i++)
        locations[i] = (int64_t)s->frame[frames[depth - 1 - i]] + 1;
    const jm_row *mine = jm_report_row(s->report, row);
    jm__pb_ints(&p->message, SAMPLE_LOCATION, locations, depth);
    jm__pb_ints(&p->message, SAMPLE_VALUE, values, 2);
    add_label(p, "provenance", jm_provenance_text(mine->provenance));
    add_label(p, "kind", mine->kind);
    if (mine->boards[0] != '\0') add_label(p, "boards", mine->boards);
    jm__pb_message(&p->encoded, PROFILE_SAMPLE, &p->message);
}

static bool is_kernel(const jm_row *row)
{
#define X(name, text)                                                                                        \
    if (strcmp(row->kind, text) == 0) return true;
    JM_WORK_MAP(X)
#undef X
    return false;
}

/* pprof merges functions of one name: right for kernels, while layers are distinguished by their path. */
static void add_function_name(const jm__stacks *s, size_t row, jm__strbuf *out)
{
    const jm_row *mine = jm_report_row(s->report, row);
    bool by_name = is_kernel(mine) || jm_report_options_get(s->report)->by == JM_BY_BOARD;
    if (by_name || mine->path[0] == '\0') {
        jm__stacks_add_name(s, row, out);
        return;
    }
    jm__utf8_add(out, mine->path, true);
    if (s->show_kind[row]) jm__strbuf_format(out, " (%s)", mine->kind);
}

/* The file is the row's type or kind, so that `pprof -files` sums up by type of layer. A system name equal to
 * the name would be demangled as C++ and lose its brackets. */
static void put_function(profile *p, size_t row)
{
    const jm_row *mine = jm_report_row(p->stacks->report, row);
    int64_t id = (int64_t)row + 1;
    jm__strbuf name = {0};
    add_function_name(p->stacks, row, &name);
    p->failed |= name.failed;
    int64_t name_number = name.failed ? 0 : string_index(p, name.text),
            path_number = string_index(p, mine->path);
    int64_t file_number = string_index(p, mine->type[0] != '\0' ? mine->type : mine->kind);
    jm__strbuf_free(&name);
    jm__pb_int(&p->message, FUNCTION_ID, id);
    jm__pb_int(&p->message, FUNCTION_NAME, name_number);
    if (path_number != name_number) jm__pb_int(&p->message, FUNCTION_SYSTEM_NAME, path_number);
    jm__pb_int(&p->message, FUNCTION_FILE, file_number);
    jm__pb_message(&p->encoded, PROFILE_FUNCTION, &p->message);
    jm__pb_int(&p->part, LINE_FUNCTION, id);
    jm__pb_int(&p->message, LOCATION_ID, id);
    jm__pb_message(&p->message, LOCATION_LINE, &p->part);
    jm__pb_message(&p->encoded, PROFILE_LOCATION, &p->message);
}

static void put_profile(profile *p)
{
    const jm__stacks *s = p->stacks;
    put_head(p);
    for (size_t i = 0; !p->failed && i < s->count; i++)
        put_sample(p, i);
    for (size_t i = 0; !p->failed && i < s->count; i++)
        if (s->frame[i] == i) put_function(p, i);
}

static jm_status write_stacks(const jm__stacks *stacks, FILE *out, jm_error *err)
{
    profile p = {.stacks = stacks};
    put_profile(&p);
    bool whole = !p.failed && !p.encoded.failed && put_gzipped(&p.encoded, out);
    jm__text_ids_free(&p.texts);
    jm__strbuf_free(&p.message);
    jm__strbuf_free(&p.part);
    jm__strbuf_free(&p.encoded);
    return whole ? JM_OK : jm__no_memory(err, "jm_export");
}

const jm__export_format jm__export_pprof = {"pprof", .binary = true, .with_kernels = true,
                                            .write_stacks = write_stacks};
