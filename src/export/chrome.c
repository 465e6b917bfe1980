/* Trace events, which Perfetto and chrome://tracing show: spans by thread with their joules, power and clock
 * of each board as tracks, on one time line that begins with the recording.
 * https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU */
#include "attribute/report.h"
#include "attribute/work/work.h"
#include "base/options.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "export/format.h"
#include "export/json_put.h"
#include "export/lanes.h"

#include <joulemap/joulemap.h>
#include <math.h>
#include <stdlib.h>

typedef struct trace {
    FILE *out;
    const jm_report *report;
    const jm__dataset *dataset;
    const jm_report_options *options;
    size_t *row_of; /* [spans]: its row + 1; 0: it has none */
    jm__lanes lanes;
    const char *before; /* what parts the next event from what was written */
} trace;

static bool put(trace *t, json_t *event)
{
    bool whole = jm__json_put(t->out, t->before, event);
    t->before = ",\n";
    return whole;
}

static json_t *us(const trace *t, int64_t t_ns)
{
    return json_real((double)(t_ns - t->dataset->start_ns) * 1e-3);
}

/* Programs have the numbers of their rows: pids may come again, and be the same on two machines. Boards stand
 * after them. */
static int64_t board_track(const trace *t, int64_t board_id)
{
    size_t count = t->dataset->process_count;
    return board_id + (count > 0 ? t->dataset->processes[count - 1].id : 0);
}

/* Of a program or a board. It has no thread: Perfetto takes 0 for the idle one. */
static bool put_track_name(trace *t, int64_t track, const char *name)
{
    return put(t, json_pack("{ss ss sI s{so}}", "ph", "M", "name", "process_name", "pid", (json_int_t)track,
                            "args", "name", jm__json_text(name)));
}

static bool name_process(trace *t, const jm__process *process)
{
    jm__strbuf name = {0};
    const char *command = process->command != NULL ? process->command : "";
    jm__strbuf_format(&name, "%s%spid %lld", command, command[0] != '\0' ? ", " : "",
                      (long long)process->pid);
    if (process->rank >= 0) jm__strbuf_format(&name, ", rank %lld", (long long)process->rank);
    bool whole = !name.failed && put_track_name(t, process->id, name.text);
    jm__strbuf_free(&name);
    return whole;
}

static bool name_board(trace *t, const jm_board *board)
{
    jm__strbuf name = {0};
    if (jm__board_is_fitted(board) && board->index >= 0) jm__strbuf_format(&name, "GPU %d, ", board->index);
    jm__strbuf_add(&name, board->name);
    bool whole = !name.failed && put_track_name(t, board_track(t, board->id), name.text);
    jm__strbuf_free(&name);
    return whole;
}

static bool is_wanted(const trace *t, int64_t board_id)
{
    return t->options->board_id == 0 || t->options->board_id == board_id;
}

static bool put_names(trace *t)
{
    const jm__dataset *d = t->dataset;
    bool whole = true;
    for (size_t i = 0; whole && i < d->process_count; i++)
        if (t->options->process_id == 0 || d->processes[i].pid == t->options->process_id)
            whole = name_process(t, &d->processes[i]);
    for (size_t i = 0; whole && i < d->board_count; i++)
        if (is_wanted(t, d->boards[i].id)) whole = name_board(t, &d->boards[i]);
    return whole;
}

static bool name_lane(trace *t, size_t lane)
{
    const jm__lane *mine = &t->lanes.items.items[lane];
    char name[64];
    if (mine->number == 0)
        snprintf(name, sizeof name, "thread %lld", (long long)mine->thread_id);
    else
        snprintf(name, sizeof name, "thread %lld (%lld)", (long long)mine->thread_id,
                 (long long)mine->number + 1);
    return put(t, json_pack("{ss ss sI sI s{ss}}", "ph", "M", "name", "thread_name", "pid",
                            (json_int_t)mine->process_id, "tid", (json_int_t)lane + 1, "args", "name", name));
}

/* What the report knows of a span; NULL if memory is out. */
static json_t *figures(const jm_row *row)
{
    json_t *args =
        json_pack("{so so so so so ss}", "energy_j", jm__json_real(row->energy_j), "energy_low_j",
                  jm__json_real(row->energy_low_j), "energy_high_j", jm__json_real(row->energy_high_j),
                  "energy_self_j", jm__json_real(row->energy_self_j), "busy_s", jm__json_real(row->busy_s),
                  "provenance", jm_provenance_text(row->provenance));
    if (args == NULL || row->samples < 0) return args;
    if (json_object_set_new(args, "samples", json_integer(row->samples)) == 0) return args;
    json_decref(args);
    return NULL;
}

static bool put_span(trace *t, const jm__span *span, const jm_row *row)
{
    int64_t end_ns = jm__span_end_ns(t->dataset, span);
    size_t known = t->lanes.items.count, lane = jm__lanes_take(&t->lanes, span, end_ns);
    if (lane == (size_t)-1) return false;
    if (lane == known && !name_lane(t, lane)) return false;
    return put(t, json_pack("{ss so ss sI sI so so so}", "ph", "X", "name", jm__json_text(row->path), "cat",
                            row->kind, "pid", (json_int_t)span->process_id, "tid", (json_int_t)lane + 1, "ts",
                            us(t, span->start_ns), "dur", json_real((double)(end_ns - span->start_ns) * 1e-3),
                            "args", figures(row)));
}

static bool put_spans(trace *t)
{
    const jm__dataset *d = t->dataset;
    bool whole = true;
    t->row_of = calloc(d->span_count + 1, sizeof *t->row_of);
    if (t->row_of == NULL) return false;
    for (size_t i = 0; i < jm_report_row_count(t->report); i++) {
        size_t span = jm__report_row_span(t->report, i);
        if (span != JM__NO_SPAN) t->row_of[span] = i + 1;
    }
    for (size_t i = 0; whole && i < d->span_count; i++)
        if (t->row_of[i] > 0) whole = put_span(t, &d->spans[i], jm_report_row(t->report, t->row_of[i] - 1));
    return whole;
}

/* The sensor of a track; NULL if the reading is shown on none. */
static const jm_sensor *track_of(const trace *t, const jm_reading *reading)
{
    const jm__dataset *d = t->dataset;
    const jm_report_options *o = t->options;
    if (reading->sensor_id < 1 || (size_t)reading->sensor_id > d->sensor_count) return NULL;
    const jm_sensor *sensor = &d->sensors[reading->sensor_id - 1];
    bool shown = sensor->quantity == JM_QUANTITY_POWER || sensor->quantity == JM_QUANTITY_CLOCK_SM;
    bool in_time =
        (o->from_ns == 0 && o->to_ns == 0) || (reading->t_ns >= o->from_ns && reading->t_ns < o->to_ns);
    return shown && in_time && is_wanted(t, sensor->board_id) && isfinite(reading->value) ? sensor : NULL;
}

static bool put_readings(trace *t)
{
    const jm__dataset *d = t->dataset;
    bool whole = true;
    for (size_t i = 0; whole && i < d->reading_count; i++) {
        const jm_reading *reading = &d->readings[i];
        const jm_sensor *sensor = track_of(t, reading);
        if (sensor == NULL) continue;
        whole = put(t, json_pack("{ss so sI so s{so}}", "ph", "C", "name", jm__json_text(sensor->name), "pid",
                                 (json_int_t)board_track(t, sensor->board_id), "ts", us(t, reading->t_ns),
                                 "args", jm_quantity_unit(sensor->quantity), json_real(reading->value)));
    }
    return whole;
}

/* What is not in the events: the energy of all, and when time 0 is. */
static json_t *other_data(const trace *t)
{
    const jm_report_totals *totals = jm_report_totals_get(t->report);
    return json_pack("{ss so so so sb}", "exporter", "joulemap", "version", jm__json_text(jm_version()),
                     "start_ns", json_integer(t->dataset->start_ns), "total_energy_j",
                     jm__json_real(totals->total_energy_j), "simulated", totals->simulated);
}

static bool put_file(trace *t)
{
    bool whole = jm__json_put(t->out, "{\"displayTimeUnit\":\"ms\",\n\"otherData\":", other_data(t));
    fputs(",\n\"traceEvents\":[", t->out);
    t->before = "\n";
    whole = whole && put_names(t) && put_spans(t) && put_readings(t);
    fputs("\n]}\n", t->out);
    return whole;
}

static jm_status write_chrome(jm_recording *recording, const jm_report_options *options, FILE *out,
                              jm_error *err)
{
    jm_report_options by_span;
    jm_report *report;
    JM_TRY(jm__options_copy(&by_span, sizeof by_span, options, "jm_export", err));
    by_span.by = JM_BY_SPAN; /* an event is an occurrence, whatever rows were asked for */
    JM_TRY(jm_report_create(&report, recording, &by_span, err));
    trace t = {.out = out,
               .report = report,
               .dataset = jm__report_dataset(report),
               .options = jm_report_options_get(report)};
    jm__lanes_init(&t.lanes);
    bool whole = put_file(&t);
    jm__lanes_free(&t.lanes);
    free(t.row_of);
    jm_report_free(report);
    return whole ? JM_OK : jm__no_memory(err, "jm_export");
}

const jm__export_format jm__export_chrome = {"chrome", write_chrome};
