/* Walks over spans, kernels, readings and hardware counters for trace formats. Slices of a thread or stream
 * may cross: spans that another thread closed, kernels of a graph. So each slice gets a lane in which it
 * crosses no other. */
#include "export/trace.h"

#include "attribute/work/work.h"
#include "base/demangle.h"
#include "base/map.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "format/rows/span_kind.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A lane of a thread or stream. */
typedef struct trace_lane {
    int64_t number;       /* among the owner's lanes, from 0 */
    JM_VEC(int64_t) open; /* ends of the open slices, the outermost first */
} trace_lane;

typedef struct lane_table {
    JM_VEC(trace_lane) items;
    jm__map by_key; /* the program or board, the thread or stream in it, the number */
} lane_table;

/* Lanes per owner; what crosses slices in all of them goes into the last. A choice: nobody can read hundreds.
 */
enum { LANES_MAX = 64 };

static void lanes_free(lane_table *lanes)
{
    for (size_t i = 0; i < lanes->items.count; i++)
        jm__vec_free(&lanes->items.items[i].open);
    jm__vec_free(&lanes->items);
    jm__map_free(&lanes->by_key);
}

static trace_lane *lane_of(lane_table *lanes, int64_t group, int64_t owner, int64_t number)
{
    const int64_t key[3] = {group, owner, number};
    const jm__map_value *known = jm__map_find(&lanes->by_key, key);
    if (known != NULL) return &lanes->items.items[known->id];
    const trace_lane added = {.number = number};
    const jm__map_value at = {.id = (int64_t)lanes->items.count};
    if (!jm__map_put(&lanes->by_key, key, at) || !jm__vec_push(&lanes->items, added)) return NULL;
    return &lanes->items.items[at.id];
}

/* Close slices that end before the new one begins. True if the new one ends before those still open. */
static bool fits(trace_lane *in, int64_t start_ns, int64_t end_ns)
{
    while (in->open.count > 0 && in->open.items[in->open.count - 1] <= start_ns)
        in->open.count--;
    return in->open.count == 0 || end_ns <= in->open.items[in->open.count - 1];
}

/* The index of the slice's lane, which is made if needed. An owner's slices must come sorted by start.
 * (size_t)-1 if memory is out. */
static size_t find_lane(lane_table *lanes, int64_t group, int64_t owner, int64_t start_ns, int64_t end_ns)
{
    for (int64_t number = 0;; number++) {
        trace_lane *found = lane_of(lanes, group, owner, number);
        if (found == NULL) return (size_t)-1;
        if (!fits(found, start_ns, end_ns) && number + 1 < LANES_MAX) continue;
        return jm__vec_push(&found->open, end_ns) ? (size_t)(found - lanes->items.items) : (size_t)-1;
    }
}

/* A metric of a set of hardware counters. */
typedef struct metric {
    jm__trace_track track; /* its texts belong to the set's JSON */
    bool events;           /* a count per sample, shown as a rate; false: already a rate or level */
} metric;

typedef struct counter_set {
    json_t *names;
    json_t *units;
    metric *metrics; /* [metric_count of the set] */
} counter_set;

typedef struct walk {
    const jm__trace_writer *writer;
    const jm_report *report;
    const jm__dataset *dataset;
    const jm_report_options *options;
    lane_table lanes;
    size_t *row_of;   /* [spans]: index of its row + 1; 0: none */
    char **demangled; /* [classes]: demangled name of a C++ kernel; NULL: not demangled yet, or no C++ name */
    bool *demangle_tried;   /* [classes] demangling was tried */
    counter_set *sets;      /* [counters.set_count] */
    int64_t counter_number; /* number of the next metric's track */
} walk;

static bool write_track(const walk *w, const jm__trace_track *track)
{
    return w->writer->track(w->writer->to, track);
}

/* The group of a board. Groups of programs are numbered by their row, as process ids may repeat or exist on
 * two machines; boards follow. */
static int64_t board_group(const walk *w, int64_t board_id)
{
    size_t count = w->dataset->process_count;
    return board_id + (count > 0 ? w->dataset->processes[count - 1].id : 0);
}

static bool is_requested(const walk *w, int64_t board_id)
{
    return w->options->board_id == 0 || w->options->board_id == board_id;
}

/* Whether the time overlaps the report's time. */
static bool is_in_time(const walk *w, int64_t start_ns, int64_t end_ns)
{
    const jm__intervals *windows = jm__report_windows(w->report);
    bool whole_run = w->options->phase == NULL && w->options->from_ns == 0 && w->options->to_ns == 0;
    return whole_run || jm__intervals_contain(windows, start_ns) ||
           jm__intervals_overlap_ns(windows, start_ns, end_ns) > 0;
}

/* ---- programs and boards */

static bool write_group(const walk *w, int64_t number, const jm__strbuf *name)
{
    const jm__trace_track track = {
        .kind = JM_TRACE_GROUP, .number = number, .group = number, .name = name->text};
    return !name->failed && write_track(w, &track);
}

static bool write_process(const walk *w, const jm__process *process)
{
    jm__strbuf name = {0};
    const char *command = process->command != NULL ? process->command : "";
    jm__strbuf_format(&name, "%s%spid %" PRId64, command, command[0] != '\0' ? ", " : "", process->pid);
    if (process->rank >= 0) jm__strbuf_format(&name, ", rank %" PRId64, process->rank);
    bool ok = write_group(w, process->id, &name);
    jm__strbuf_free(&name);
    return ok;
}

static bool write_board(const walk *w, const jm_board *board)
{
    jm__strbuf name = {0};
    if (jm__board_is_fitted(board) && board->index >= 0) jm__strbuf_format(&name, "GPU %d, ", board->index);
    jm__strbuf_add(&name, board->name);
    bool ok = write_group(w, board_group(w, board->id), &name);
    jm__strbuf_free(&name);
    return ok;
}

static bool write_groups(const walk *w)
{
    const jm__dataset *d = w->dataset;
    bool ok = true;
    for (size_t i = 0; ok && i < d->process_count; i++)
        if (w->options->process_id == 0 || d->processes[i].pid == w->options->process_id)
            ok = write_process(w, &d->processes[i]);
    for (size_t i = 0; ok && i < d->board_count; i++)
        if (is_requested(w, d->boards[i].id)) ok = write_board(w, &d->boards[i]);
    return ok;
}

/* ---- slices */

static bool write_line(const walk *w, jm__trace_track *track, size_t lane, const char *owner)
{
    char name[96];
    int64_t number = w->lanes.items.items[lane].number;
    snprintf(name, sizeof name, number == 0 ? "%s" : "%s (%" PRId64 ")", owner, number + 1);
    track->name = name;
    return write_track(w, track);
}

/* `owner`: name of its line. */
static bool write_slice(walk *w, int64_t group, int64_t owner_id, const char *owner, jm__trace_slice *slice)
{
    size_t known = w->lanes.items.count;
    size_t lane = find_lane(&w->lanes, group, owner_id, slice->start_ns, slice->end_ns);
    if (lane == (size_t)-1) return false;
    jm__trace_track track = {.kind = JM_TRACE_LINE, .number = (int64_t)lane + 1, .group = group};
    if (lane == known && !write_line(w, &track, lane, owner)) return false;
    slice->track = &track;
    return w->writer->slice(w->writer->to, slice);
}

static bool write_span(walk *w, const jm__span *span, const jm_row *row)
{
    char owner[40];
    snprintf(owner, sizeof owner, "thread %" PRId64, span->thread_id);
    jm__trace_slice slice = {.name = row->path,
                             .kind = row->kind,
                             .start_ns = span->start_ns,
                             .end_ns = jm__span_end_ns(w->dataset, span),
                             .calls = 1,
                             .row = row,
                             .payload_kind = span->payload_kind,
                             .payload = span->payload};
    if (jm__span_kind_is_range(span->kind)) slice.type = jm__dataset_text(w->dataset, span->type_id);
    return write_slice(w, span->process_id, span->thread_id, owner, &slice);
}

static bool write_spans(walk *w)
{
    const jm__dataset *d = w->dataset;
    bool ok = true;
    for (size_t i = 0; i < jm_report_row_count(w->report); i++) {
        size_t span = jm__report_row_span(w->report, i);
        if (span != JM__NO_SPAN) w->row_of[span] = i + 1;
    }
    for (size_t i = 0; ok && i < d->span_count; i++)
        if (w->row_of[i] > 0) ok = write_span(w, &d->spans[i], jm_report_row(w->report, w->row_of[i] - 1));
    return ok;
}

/* The demangled name of a class; NULL if memory is out. */
static const char *kernel_name(walk *w, const jm__kernel_class *class)
{
    size_t i = (size_t) class->id - 1;
    const char *name = jm__dataset_text(w->dataset, class->name_id);
    if (!w->demangle_tried[i] && !jm__demangle(&w->demangled[i], name)) return NULL;
    w->demangle_tried[i] = true;
    if (w->demangled[i] != NULL) return w->demangled[i];
    return name[0] != '\0' ? name : "(unnamed)";
}

static jm_status write_kernel(void *taker, const jm__kernel_run *kernel, jm_error *err)
{
    walk *w = taker;
    const jm__stream *stream = &w->dataset->streams[kernel->stream_id - 1];
    const jm__kernel_class *class = &w->dataset->classes[kernel->class_id - 1];
    if (!is_requested(w, stream->board_id) || !is_in_time(w, kernel->start_ns, kernel->end_ns)) return JM_OK;
    if (!jm__dataset_process_has_pid(w->dataset, stream->process_id, w->options->process_id)) return JM_OK;
    const jm__process *process = jm__dataset_process(w->dataset, stream->process_id);
    char owner[64];
    snprintf(owner, sizeof owner, "stream %" PRIu32 ", pid %" PRId64, stream->stream,
             process != NULL ? process->pid : 0);
    jm__trace_slice slice = {.name = kernel_name(w, class),
                             .kind = jm__work_text(class->work),
                             .start_ns = kernel->start_ns,
                             .end_ns = kernel->end_ns,
                             .calls = kernel->calls};
    bool ok = slice.name != NULL &&
              write_slice(w, board_group(w, stream->board_id), kernel->stream_id, owner, &slice);
    return ok ? JM_OK : jm__no_memory(err, "jm_export");
}

/* Sorted by time, as the nesting of overlapping kernels follows from their order. */
static jm_status write_kernels(walk *w, jm_error *err)
{
    const jm__kernel_source *kernels = &w->dataset->kernels;
    return kernels->each != NULL ? kernels->each(kernels->context, true, write_kernel, w, err) : JM_OK;
}

/* ---- values */

static bool is_shown(const walk *w, const jm_sensor *sensor)
{
    bool shown = sensor->quantity == JM_QUANTITY_POWER || sensor->quantity == JM_QUANTITY_CLOCK_SM;
    return shown && is_requested(w, sensor->board_id);
}

static jm__trace_track sensor_track(const walk *w, const jm_sensor *sensor)
{
    return (jm__trace_track){.kind = JM_TRACE_COUNTER,
                             .number = sensor - w->dataset->sensors + 1,
                             .group = board_group(w, sensor->board_id),
                             .name = sensor->name,
                             .unit = jm_quantity_unit(sensor->quantity)};
}

static bool write_readings(const walk *w)
{
    const jm__dataset *d = w->dataset;
    bool *track_written = calloc(d->sensor_count + 1, sizeof *track_written), ok = track_written != NULL;
    for (size_t i = 0; ok && i < d->reading_count; i++) {
        const jm_reading *reading = &d->readings[i];
        if (reading->sensor_id < 1 || (size_t)reading->sensor_id > d->sensor_count) continue;
        size_t number = (size_t)reading->sensor_id - 1;
        const jm_sensor *sensor = &d->sensors[number];
        if (!is_shown(w, sensor) || !isfinite(reading->value)) continue;
        if (!is_in_time(w, reading->t_ns, reading->t_ns)) continue;
        const jm__trace_track track = sensor_track(w, sensor);
        ok = (track_written[number] || write_track(w, &track)) &&
             w->writer->value(w->writer->to, &track, reading->t_ns, reading->value);
        track_written[number] = true;
    }
    free(track_written);
    return ok;
}

/* ---- hardware counters */

/* *array is NULL if the file is damaged. False: no memory. */
static bool load_texts(json_t **array, const char *text)
{
    json_error_t error = {0};
    *array = json_loads(text, 0, &error);
    return *array != NULL || json_error_code(&error) != json_error_out_of_memory;
}

static metric metric_of(const counter_set *set, size_t m, int64_t number, int64_t group)
{
    const char *name = json_string_value(json_array_get(set->names, m));
    const char *unit = json_string_value(json_array_get(set->units, m));
    bool events =
        unit != NULL && (strcmp(unit, JM_COUNTER_EVENTS) == 0 || strcmp(unit, JM_COUNTER_SLOT_CYCLES) == 0);
    return (metric){.track = {.kind = JM_TRACE_COUNTER,
                              .number = number,
                              .group = group,
                              .name = name != NULL ? name : "(unnamed)",
                              .unit = events         ? "1/s"
                                      : unit != NULL ? unit
                                                     : ""},
                    .events = events};
}

/* An earlier set with the same metrics of the board: sampling that was restarted goes on in its tracks. */
static const counter_set *same_metrics(const walk *w, size_t s)
{
    const jm__counter_set *sets = w->dataset->counters.sets;
    for (size_t i = 0; i < s; i++)
        if (sets[i].board_id == sets[s].board_id && strcmp(sets[i].metrics, sets[s].metrics) == 0 &&
            strcmp(sets[i].units, sets[s].units) == 0)
            return &w->sets[i];
    return NULL;
}

static bool open_set(walk *w, size_t s)
{
    const jm__counter_set *from = &w->dataset->counters.sets[s];
    counter_set *set = &w->sets[s];
    const counter_set *earlier = same_metrics(w, s);
    int64_t number = earlier != NULL ? earlier->metrics[0].track.number : w->counter_number;
    size_t count = (size_t)from->metric_count;
    set->metrics = calloc(count + 1, sizeof *set->metrics);
    if (set->metrics == NULL || !load_texts(&set->names, from->metrics) ||
        !load_texts(&set->units, from->units))
        return false;
    for (size_t m = 0; m < count; m++)
        set->metrics[m] = metric_of(set, m, number + (int64_t)m, board_group(w, from->board_id));
    bool ok = true, requested = earlier == NULL && is_requested(w, from->board_id);
    for (size_t m = 0; ok && requested && m < count; m++)
        ok = write_track(w, &set->metrics[m].track);
    if (earlier == NULL) w->counter_number += from->metric_count;
    return ok;
}

/* Tracks of counters are numbered: first sensors, then the metrics of each set. */
static bool open_sets(walk *w)
{
    w->counter_number = (int64_t)w->dataset->sensor_count + 1;
    for (size_t s = 0; s < w->dataset->counters.set_count; s++)
        if (!open_set(w, s)) return false;
    return true;
}

/* A sample is drawn at its start. */
static bool write_sample(const walk *w, const counter_set *set, int64_t metric_count,
                         const jm__counter_sample *sample)
{
    double duration_s = (double)(sample->end_ns - sample->start_ns) * 1e-9;
    bool ok = true;
    for (int64_t m = 0; ok && m < metric_count; m++) {
        const metric *each = &set->metrics[m];
        double value = each->events ? sample->values[m] / duration_s : sample->values[m];
        if (isfinite(value)) ok = w->writer->value(w->writer->to, &each->track, sample->start_ns, value);
    }
    return ok;
}

static jm_status write_block(void *taker, const jm__counter_block *block, jm_error *err)
{
    walk *w = taker;
    const jm__counter_set *from = &w->dataset->counters.sets[block->set_id - 1];
    const counter_set *set = &w->sets[block->set_id - 1];
    bool ok = true;
    if (!is_requested(w, from->board_id)) return JM_OK;
    for (int64_t i = 0; ok && i < block->count; i++) {
        jm__counter_sample sample;
        jm__counter_block_sample(block, from->metric_count, i, &sample);
        if (is_in_time(w, sample.start_ns, sample.end_ns))
            ok = write_sample(w, set, from->metric_count, &sample);
    }
    return ok ? JM_OK : jm__no_memory(err, "jm_export");
}

static jm_status write_counters(walk *w, jm_error *err)
{
    const jm__counter_source *counters = &w->dataset->counters;
    if (counters->each == NULL) return JM_OK;
    if (!open_sets(w)) return jm__no_memory(err, "jm_export");
    return counters->each(counters->context, write_block, w, err);
}

/* ---- the walk */

static bool walk_begin(walk *w)
{
    const jm__dataset *d = w->dataset;
    w->lanes.by_key.key_size = 3 * sizeof(int64_t);
    w->row_of = calloc(d->span_count + 1, sizeof *w->row_of);
    w->demangled = calloc(d->class_count + 1, sizeof *w->demangled);
    w->demangle_tried = calloc(d->class_count + 1, sizeof *w->demangle_tried);
    w->sets = calloc(d->counters.set_count + 1, sizeof *w->sets);
    return w->row_of != NULL && w->demangled != NULL && w->demangle_tried != NULL && w->sets != NULL;
}

static void walk_end(walk *w)
{
    lanes_free(&w->lanes);
    free(w->row_of);
    for (size_t i = 0; w->demangled != NULL && i < w->dataset->class_count; i++)
        free(w->demangled[i]);
    free(w->demangled);
    free(w->demangle_tried);
    for (size_t s = 0; w->sets != NULL && s < w->dataset->counters.set_count; s++) {
        json_decref(w->sets[s].names);
        json_decref(w->sets[s].units);
        free(w->sets[s].metrics);
    }
    free(w->sets);
}

jm_status jm__trace_walk(const jm_report *report, const jm__trace_writer *writer, jm_error *err)
{
    walk w = {.writer = writer,
              .report = report,
              .dataset = jm__report_dataset(report),
              .options = jm_report_options_get(report)};
    bool ok = walk_begin(&w) && write_groups(&w) && write_spans(&w);
    jm_status status = ok ? write_kernels(&w, err) : jm__no_memory(err, "jm_export");
    if (status == JM_OK && !write_readings(&w)) status = jm__no_memory(err, "jm_export");
    if (status == JM_OK) status = write_counters(&w, err);
    walk_end(&w);
    return status;
}
