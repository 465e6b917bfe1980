/* The walk over spans, kernels, readings and hardware counters; and in which lane of its owner a slice
 * crosses no other: spans that another thread closed may cross, kernels of a graph overlap. */
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

typedef struct lane_of_owner {
    int64_t group;        /* the program or board it belongs to */
    int64_t owner;        /* the thread or stream, in its group */
    int64_t number;       /* of the owner's lanes, from 0 */
    JM_VEC(int64_t) open; /* the ends of the slices around, the outermost first */
} lane_of_owner;

typedef struct lane_table {
    JM_VEC(lane_of_owner) items;
    jm__map by_key;
} lane_table;

/* An owner has no more; what crosses slices in all of them goes into the last. A choice: hundreds that cross
 * are no picture. */
enum { LANES_MAX = 64 };

static void lanes_init(lane_table *lanes)
{
    *lanes = (lane_table){.by_key = {.key_size = 3 * sizeof(int64_t)}};
}

static void lanes_free(lane_table *lanes)
{
    for (size_t i = 0; i < lanes->items.count; i++)
        jm__vec_free(&lanes->items.items[i].open);
    jm__vec_free(&lanes->items);
    jm__map_free(&lanes->by_key);
}

static lane_of_owner *lane_of(lane_table *lanes, int64_t group, int64_t owner, int64_t number)
{
    const int64_t key[3] = {group, owner, number};
    const jm__map_value *known = jm__map_find(&lanes->by_key, key);
    if (known != NULL) return &lanes->items.items[known->id];
    const lane_of_owner lane = {.group = group, .owner = owner, .number = number};
    const jm__map_value at = {.id = (int64_t)lanes->items.count};
    if (!jm__map_put(&lanes->by_key, key, at) || !jm__vec_push(&lanes->items, lane)) return NULL;
    return &lanes->items.items[at.id];
}

/* Close what is over when the slice begins. Does it end before what is still open? */
static bool fits(lane_of_owner *lane, int64_t start_ns, int64_t end_ns)
{
    while (lane->open.count > 0 && lane->open.items[lane->open.count - 1] <= start_ns)
        lane->open.count--;
    return lane->open.count == 0 || end_ns <= lane->open.items[lane->open.count - 1];
}

/* The lane of a slice, by its index, made if need be; those of an owner come sorted by their start.
 * (size_t)-1 if memory is out. */
static size_t lanes_take(lane_table *lanes, int64_t group, int64_t owner, int64_t start_ns, int64_t end_ns)
{
    for (int64_t number = 0;; number++) {
        lane_of_owner *lane = lane_of(lanes, group, owner, number);
        if (lane == NULL) return (size_t)-1;
        if (!fits(lane, start_ns, end_ns) && number + 1 < LANES_MAX) continue;
        return jm__vec_push(&lane->open, end_ns) ? (size_t)(lane - lanes->items.items) : (size_t)-1;
    }
}

/* ---- the walk over spans, kernels, readings and hardware counters ---- */

/* A metric of a set of hardware counters. */
typedef struct metric {
    jm__trace_track track; /* its texts are those of the set's JSON */
    bool events;           /* a number in each sample's time; otherwise a rate already */
} metric;

typedef struct counter_set {
    json_t *names;
    json_t *units;
    metric *metrics; /* [its metric_count] */
} counter_set;

typedef struct walk {
    const jm__trace_writer *writer;
    const jm_report *report;
    const jm__dataset *dataset;
    const jm_report_options *options;
    lane_table lanes;
    size_t *row_of;    /* [spans]: its row + 1; 0: it has none */
    char **plain_name; /* [classes]: the name of a C++ kernel as people write it; NULL: not asked for, or none
                        */
    bool *looked_at;   /* [classes] */
    counter_set *sets; /* [counters.set_count] */
    int64_t counter_number; /* of the next metric's track */
} walk;

static bool tell_track(const walk *w, const jm__trace_track *track)
{
    return w->writer->track(w->writer->to, track);
}

/* Programs have the numbers of their rows: pids may come again, and be the same on two machines. Boards stand
 * after them. */
static int64_t board_group(const walk *w, int64_t board_id)
{
    size_t count = w->dataset->process_count;
    return board_id + (count > 0 ? w->dataset->processes[count - 1].id : 0);
}

static bool is_requested(const walk *w, int64_t board_id)
{
    return w->options->board_id == 0 || w->options->board_id == board_id;
}

static bool is_whole_run(const walk *w)
{
    return w->options->phase == NULL && w->options->from_ns == 0 && w->options->to_ns == 0;
}

/* In part, at least. */
static bool is_in_time(const walk *w, int64_t start_ns, int64_t end_ns)
{
    const jm__intervals *windows = jm__report_windows(w->report);
    return is_whole_run(w) || jm__intervals_contain(windows, start_ns) ||
           jm__intervals_overlap_ns(windows, start_ns, end_ns) > 0;
}

/* ---- programs and boards */

static bool tell_group(const walk *w, int64_t number, const jm__strbuf *name)
{
    const jm__trace_track track = {
        .kind = JM_TRACE_GROUP, .number = number, .group = number, .name = name->text};
    return !name->failed && tell_track(w, &track);
}

static bool tell_process(const walk *w, const jm__process *process)
{
    jm__strbuf name = {0};
    const char *command = process->command != NULL ? process->command : "";
    jm__strbuf_format(&name, "%s%spid %" PRId64, command, command[0] != '\0' ? ", " : "", process->pid);
    if (process->rank >= 0) jm__strbuf_format(&name, ", rank %" PRId64, process->rank);
    bool whole = tell_group(w, process->id, &name);
    jm__strbuf_free(&name);
    return whole;
}

static bool tell_board(const walk *w, const jm_board *board)
{
    jm__strbuf name = {0};
    if (jm__board_is_fitted(board) && board->index >= 0) jm__strbuf_format(&name, "GPU %d, ", board->index);
    jm__strbuf_add(&name, board->name);
    bool whole = tell_group(w, board_group(w, board->id), &name);
    jm__strbuf_free(&name);
    return whole;
}

static bool tell_groups(const walk *w)
{
    const jm__dataset *d = w->dataset;
    bool whole = true;
    for (size_t i = 0; whole && i < d->process_count; i++)
        if (w->options->process_id == 0 || d->processes[i].pid == w->options->process_id)
            whole = tell_process(w, &d->processes[i]);
    for (size_t i = 0; whole && i < d->board_count; i++)
        if (is_requested(w, d->boards[i].id)) whole = tell_board(w, &d->boards[i]);
    return whole;
}

/* ---- slices */

static bool tell_line(const walk *w, jm__trace_track *track, size_t lane, const char *owner)
{
    char name[96];
    int64_t number = w->lanes.items.items[lane].number;
    snprintf(name, sizeof name, number == 0 ? "%s" : "%s (%" PRId64 ")", owner, number + 1);
    track->name = name;
    return tell_track(w, track);
}

/* `owner`: what its line is called. */
static bool tell_slice(walk *w, int64_t group, int64_t owner_id, const char *owner, jm__trace_slice *slice)
{
    size_t known = w->lanes.items.count;
    size_t lane = lanes_take(&w->lanes, group, owner_id, slice->start_ns, slice->end_ns);
    if (lane == (size_t)-1) return false;
    jm__trace_track track = {.kind = JM_TRACE_LINE, .number = (int64_t)lane + 1, .group = group};
    if (lane == known && !tell_line(w, &track, lane, owner)) return false;
    slice->track = &track;
    return w->writer->slice(w->writer->to, slice);
}

static bool tell_span(walk *w, const jm__span *span, const jm_row *row)
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
    return tell_slice(w, span->process_id, span->thread_id, owner, &slice);
}

static bool tell_spans(walk *w)
{
    const jm__dataset *d = w->dataset;
    bool whole = true;
    for (size_t i = 0; i < jm_report_row_count(w->report); i++) {
        size_t span = jm__report_row_span(w->report, i);
        if (span != JM__NO_SPAN) w->row_of[span] = i + 1;
    }
    for (size_t i = 0; whole && i < d->span_count; i++)
        if (w->row_of[i] > 0) whole = tell_span(w, &d->spans[i], jm_report_row(w->report, w->row_of[i] - 1));
    return whole;
}

/* Of its class, as people write it; NULL if memory is out. */
static const char *kernel_name(walk *w, const jm__kernel_class *class)
{
    size_t i = (size_t) class->id - 1;
    const char *name = jm__dataset_text(w->dataset, class->name_id);
    if (!w->looked_at[i] && !jm__demangle(&w->plain_name[i], name)) return NULL;
    w->looked_at[i] = true;
    if (w->plain_name[i] != NULL) return w->plain_name[i];
    return name[0] != '\0' ? name : "(unnamed)";
}

static jm_status take_kernel(void *taker, const jm__kernel_run *kernel, jm_error *err)
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
    bool whole = slice.name != NULL &&
                 tell_slice(w, board_group(w, stream->board_id), kernel->stream_id, owner, &slice);
    return whole ? JM_OK : jm__no_memory(err, "jm_export");
}

/* By time: those of a stream may overlap, and which lie inside which is told by their order. */
static jm_status tell_kernels(walk *w, jm_error *err)
{
    const jm__kernel_source *kernels = &w->dataset->kernels;
    return kernels->each != NULL ? kernels->each(kernels->context, true, take_kernel, w, err) : JM_OK;
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

static bool tell_readings(const walk *w)
{
    const jm__dataset *d = w->dataset;
    bool *marked = calloc(d->sensor_count + 1, sizeof *marked), whole = marked != NULL;
    for (size_t i = 0; whole && i < d->reading_count; i++) {
        const jm_reading *reading = &d->readings[i];
        if (reading->sensor_id < 1 || (size_t)reading->sensor_id > d->sensor_count) continue;
        size_t number = (size_t)reading->sensor_id - 1;
        const jm_sensor *sensor = &d->sensors[number];
        if (!is_shown(w, sensor) || !isfinite(reading->value)) continue;
        if (!is_in_time(w, reading->t_ns, reading->t_ns)) continue;
        const jm__trace_track track = sensor_track(w, sensor);
        whole = (marked[number] || tell_track(w, &track)) &&
                w->writer->value(w->writer->to, &track, reading->t_ns, reading->value);
        marked[number] = true;
    }
    free(marked);
    return whole;
}

/* ---- hardware counters */

/* NULL in a damaged file. False: no memory. */
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

/* Sampling that began anew is another set of the same metrics: they go on in their tracks. */
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
    const counter_set *before = same_metrics(w, s);
    int64_t number = before != NULL ? before->metrics[0].track.number : w->counter_number;
    size_t count = (size_t)from->metric_count;
    set->metrics = calloc(count + 1, sizeof *set->metrics);
    if (set->metrics == NULL || !load_texts(&set->names, from->metrics) ||
        !load_texts(&set->units, from->units))
        return false;
    for (size_t m = 0; m < count; m++)
        set->metrics[m] = metric_of(set, m, number + (int64_t)m, board_group(w, from->board_id));
    bool whole = true, requested = before == NULL && is_requested(w, from->board_id);
    for (size_t m = 0; whole && requested && m < count; m++)
        whole = tell_track(w, &set->metrics[m].track);
    if (before == NULL) w->counter_number += from->metric_count;
    return whole;
}

/* Numbers of counters' tracks: sensors, then the metrics of one set after the other. */
static bool open_sets(walk *w)
{
    w->counter_number = (int64_t)w->dataset->sensor_count + 1;
    for (size_t s = 0; s < w->dataset->counters.set_count; s++)
        if (!open_set(w, s)) return false;
    return true;
}

/* A sample stands where it begins. */
static bool tell_sample(const walk *w, const counter_set *set, int64_t metric_count,
                        const jm__counter_sample *sample)
{
    double duration_s = (double)(sample->end_ns - sample->start_ns) * 1e-9;
    bool whole = true;
    for (int64_t m = 0; whole && m < metric_count; m++) {
        const metric *each = &set->metrics[m];
        double value = each->events ? sample->values[m] / duration_s : sample->values[m];
        if (isfinite(value)) whole = w->writer->value(w->writer->to, &each->track, sample->start_ns, value);
    }
    return whole;
}

static jm_status take_block(void *taker, const jm__counter_block *block, jm_error *err)
{
    walk *w = taker;
    const jm__counter_set *from = &w->dataset->counters.sets[block->set_id - 1];
    const counter_set *set = &w->sets[block->set_id - 1];
    bool whole = true;
    if (!is_requested(w, from->board_id)) return JM_OK;
    for (int64_t i = 0; whole && i < block->count; i++) {
        jm__counter_sample sample;
        jm__counter_block_sample(block, from->metric_count, i, &sample);
        if (is_in_time(w, sample.start_ns, sample.end_ns))
            whole = tell_sample(w, set, from->metric_count, &sample);
    }
    return whole ? JM_OK : jm__no_memory(err, "jm_export");
}

static jm_status tell_counters(walk *w, jm_error *err)
{
    const jm__counter_source *counters = &w->dataset->counters;
    if (counters->each == NULL) return JM_OK;
    if (!open_sets(w)) return jm__no_memory(err, "jm_export");
    return counters->each(counters->context, take_block, w, err);
}

/* ---- all of it */

static bool walk_begin(walk *w)
{
    const jm__dataset *d = w->dataset;
    lanes_init(&w->lanes);
    w->row_of = calloc(d->span_count + 1, sizeof *w->row_of);
    w->plain_name = calloc(d->class_count + 1, sizeof *w->plain_name);
    w->looked_at = calloc(d->class_count + 1, sizeof *w->looked_at);
    w->sets = calloc(d->counters.set_count + 1, sizeof *w->sets);
    return w->row_of != NULL && w->plain_name != NULL && w->looked_at != NULL && w->sets != NULL;
}

static void walk_end(walk *w)
{
    lanes_free(&w->lanes);
    free(w->row_of);
    for (size_t i = 0; w->plain_name != NULL && i < w->dataset->class_count; i++)
        free(w->plain_name[i]);
    free(w->plain_name);
    free(w->looked_at);
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
    bool whole = walk_begin(&w) && tell_groups(&w) && tell_spans(&w);
    jm_status status = whole ? tell_kernels(&w, err) : jm__no_memory(err, "jm_export");
    if (status == JM_OK && !tell_readings(&w)) status = jm__no_memory(err, "jm_export");
    if (status == JM_OK) status = tell_counters(&w, err);
    walk_end(&w);
    return status;
}
