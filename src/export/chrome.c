/* JSON trace events for Perfetto and chrome://tracing; time 0 is the start of the recording.
 * https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU */
#include "base/status.h"
#include "base/utf8.h"
#include "export/format.h"
#include "export/put.h"
#include "export/trace.h"

#include <inttypes.h>
#include <joulemap/joulemap.h>

typedef struct events {
    FILE *out;
    int64_t start_ns;
    const char *separator; /* before the next event */
} events;

static bool put(events *e, json_t *event)
{
    bool ok = jm__json_put(e->out, e->separator, event);
    e->separator = ",\n";
    return ok;
}

static json_t *us(int64_t t_ns)
{
    return json_real((double)t_ns * 1e-3);
}

/* Name a track. A group has no thread: Perfetto uses 0 for the idle one. Counters are named by their events.
 */
static bool put_track(void *to, const jm__trace_track *track)
{
    if (track->kind == JM_TRACE_COUNTER) return true;
    json_t *name = jm__json_text(track->name);
    if (track->kind == JM_TRACE_GROUP)
        return put(to, json_pack("{ss ss sI s{so}}", "ph", "M", "name", "process_name", "pid",
                                 (json_int_t)track->group, "args", "name", name));
    return put(to,
               json_pack("{ss ss sI sI s{so}}", "ph", "M", "name", "thread_name", "pid",
                         (json_int_t)track->group, "tid", (json_int_t)track->number, "args", "name", name));
}

static json_t *figures(const jm_row *row)
{
    json_t *args =
        json_pack("{so so so so so ss}", "energy_j", jm__json_real(row->energy_j), "energy_low_j",
                  jm__json_real(row->energy_low_j), "energy_high_j", jm__json_real(row->energy_high_j),
                  "energy_self_j", jm__json_real(row->energy_self_j), "busy_s", jm__json_real(row->busy_s),
                  "provenance", jm_provenance_text(row->provenance));
    bool ok = args != NULL;
    if (row->samples >= 0) ok = ok && json_object_set_new(args, "samples", json_integer(row->samples)) == 0;
    if (row->tokens >= 0) ok = ok && json_object_set_new(args, "tokens", json_integer(row->tokens)) == 0;
    if (ok) return args;
    json_decref(args);
    return NULL;
}

/* JSON readers have no integers above INT64_MAX: unsigned payloads are quoted digits. NULL if memory is out.
 */
static json_t *payload_of(const jm__trace_slice *slice)
{
    char digits[24];
    switch (slice->payload_kind) {
    case JM_PAYLOAD_INTEGER:
        return json_integer(slice->payload.integer);
    case JM_PAYLOAD_NATURAL:
        snprintf(digits, sizeof digits, "%" PRIu64, slice->payload.natural);
        return json_string(digits);
    default:
        return jm__json_real(slice->payload.real);
    }
}

/* The figures of a span, and its type and payload. */
static json_t *span_arguments(const jm__trace_slice *slice)
{
    json_t *args = figures(slice->row);
    bool typed = slice->type != NULL && slice->type[0] != '\0';
    bool ok = args != NULL;
    if (typed) ok = ok && json_object_set_new(args, "type", jm__json_text(slice->type)) == 0;
    if (slice->payload_kind != JM_PAYLOAD_NONE)
        ok = ok && json_object_set_new(args, "payload", payload_of(slice)) == 0;
    if (ok) return args;
    json_decref(args);
    return NULL;
}

/* NULL if memory is out. */
static json_t *arguments(const jm__trace_slice *slice)
{
    if (slice->row != NULL) return span_arguments(slice);
    return slice->calls > 1 ? json_pack("{sI}", "calls", (json_int_t)slice->calls) : json_object();
}

static bool put_slice(void *to, const jm__trace_slice *slice)
{
    events *e = to;
    return put(e, json_pack("{ss so ss sI sI so so so}", "ph", "X", "name", jm__json_text(slice->name), "cat",
                            slice->kind, "pid", (json_int_t)slice->track->group, "tid",
                            (json_int_t)slice->track->number, "ts", us(slice->start_ns - e->start_ns), "dur",
                            us(slice->end_ns - slice->start_ns), "args", arguments(slice)));
}

static bool put_value(void *to, const jm__trace_track *track, int64_t t_ns, double value)
{
    events *e = to;
    json_t *args = json_object();
    jm__strbuf unit = {0};
    jm__utf8_add(&unit, track->unit[0] != '\0' ? track->unit : "value", false);
    bool ok = !unit.failed && json_object_set_new(args, unit.text, json_real(value)) == 0;
    jm__strbuf_free(&unit);
    if (!ok) json_decref(args);
    return ok && put(e, json_pack("{ss so sI so so}", "ph", "C", "name", jm__json_text(track->name), "pid",
                                  (json_int_t)track->group, "ts", us(t_ns - e->start_ns), "args", args));
}

/* Data of the whole file: version, total energy, and the clock's time at 0. */
static json_t *other_data(const jm_report *report, int64_t start_ns)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    return json_pack("{ss so so so sb}", "exporter", "joulemap", "version", jm__json_text(jm_version()),
                     "start_ns", json_integer(start_ns), "total_energy_j",
                     jm__json_real(totals->total_energy_j), "simulated", totals->simulated);
}

static jm_status write_chrome(const jm_report *report, FILE *out, jm_error *err)
{
    events e = {.out = out, .start_ns = jm__report_dataset(report)->start_ns, .separator = "\n"};
    const jm__trace_writer writer = {put_track, put_slice, put_value, &e};
    if (!jm__json_put(out, "{\"displayTimeUnit\":\"ms\",\n\"otherData\":", other_data(report, e.start_ns)))
        return jm__no_memory(err, "jm_export");
    fputs(",\n\"traceEvents\":[", out);
    JM_TRY(jm__trace_walk(report, &writer, err));
    fputs("\n]}\n", out);
    return JM_OK;
}

const jm__export_format jm__export_chrome = {"chrome", .by_span = true, .write = write_chrome};
