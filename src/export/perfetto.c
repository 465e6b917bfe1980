/* Perfetto's trace: a sequence of packets with track events. Names are interned: defined once, then referred
 * to by number. https://perfetto.dev/docs/reference/trace-packet-proto */
#include "base/map.h"
#include "base/status.h"
#include "export/format.h"
#include "export/put.h"
#include "export/trace.h"

#include <joulemap/joulemap.h>
#include <math.h>

/* Field numbers of perfetto_trace.proto. */
enum { TRACE_PACKET = 1 };
enum {
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60,
};
enum { FLAG_STATE_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PARENT = 5, TRACK_COUNTER = 8 };
enum { COUNTER_UNIT_NAME = 6 };
enum {
    EVENT_CATEGORY = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_VALUE = 44
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum {
    ANNOTATION_NAME = 1,
    ANNOTATION_FLAG = 2,
    ANNOTATION_NATURAL = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_REAL = 5,
    ANNOTATION_TEXT = 6,
    ANNOTATION_TEXT_NUMBER = 17
};
enum { INTERNED_CATEGORY = 1, INTERNED_NAME = 2, INTERNED_ANNOTATION = 3, INTERNED_TEXT = 29 };
enum { ENTRY_NUMBER = 1, ENTRY_TEXT = 2 };

/* Keys of annotations of slices and of the file; their interned number is their position here. */
#define ANNOTATION_MAP(X)                                                                                    \
    X(energy_j)                                                                                              \
    X(energy_low_j)                                                                                          \
    X(energy_high_j)                                                                                         \
    X(energy_self_j)                                                                                         \
    X(busy_s)                                                                                                \
    X(provenance)                                                                                            \
    X(samples)                                                                                               \
    X(tokens)                                                                                                \
    X(calls)                                                                                                 \
    X(total_energy_j)                                                                                        \
    X(simulated)                                                                                             \
    X(version)                                                                                               \
    X(type)                                                                                                  \
    X(payload)

enum annotation {
    KEY_NONE,
#define X(name) KEY_##name,
    ANNOTATION_MAP(X)
#undef X
        KEY_END
};

static const char *const annotation_names[KEY_END] = {
#define X(name) [KEY_##name] = #name,
    ANNOTATION_MAP(X)
#undef X
};

typedef struct packets {
    FILE *out;
    int64_t zero_ns;     /* time 0 of the file, as it cannot hold negative times */
    jm__map names;       /* interned numbers of slice names */
    jm__map kinds;       /* interned numbers of categories */
    jm__strbuf interned; /* new names, for the next packet */
    jm__strbuf packet, event, part, trace;
} packets;

/* Not the UUID of any track of the walk: those begin at 4. */
enum { FILE_TRACK = 1, FIRST_UUID = 4 };

static int64_t uuid(jm__trace_track_kind kind, int64_t number)
{
    return FIRST_UUID * number + (int64_t)kind;
}

/* Write `packet` as a packet of our only sequence. */
static bool put_packet(packets *p, int64_t flags)
{
    jm__pb_int(&p->packet, PACKET_SEQUENCE, 1);
    jm__pb_int(&p->packet, PACKET_FLAGS, flags);
    if (p->interned.length > 0 || p->interned.failed)
        jm__pb_message(&p->packet, PACKET_INTERNED, &p->interned);
    jm__pb_message(&p->trace, TRACE_PACKET, &p->packet);
    if (p->trace.failed) return false;
    fwrite(p->trace.text, 1, p->trace.length, p->out);
    p->trace.length = 0;
    return true;
}

static bool put_event(packets *p, int64_t t_ns)
{
    jm__pb_int(&p->packet, PACKET_TIMESTAMP, t_ns > p->zero_ns ? t_ns - p->zero_ns : 0);
    jm__pb_message(&p->packet, PACKET_EVENT, &p->event);
    return put_packet(p, FLAG_NEEDS_STATE);
}

static void intern(packets *p, uint32_t table, int64_t number, const char *text)
{
    jm__pb_int(&p->part, ENTRY_NUMBER, number);
    jm__pb_text(&p->part, ENTRY_TEXT, text);
    jm__pb_message(&p->interned, table, &p->part);
}

/* The interned number of a text. A new text is defined in the next packet. 0: no memory. */
static int64_t intern_text(packets *p, jm__map *map, uint32_t table, const char *text)
{
    const jm__map_value *known = jm__map_find(map, &text);
    if (known != NULL) return known->id;
    int64_t number = (int64_t)map->count + 1;
    if (!jm__map_put(map, &text, (jm__map_value){.id = number})) return 0;
    intern(p, table, number, text);
    return number;
}

static bool put_track(void *to, const jm__trace_track *track)
{
    packets *p = to;
    jm__pb_int(&p->event, TRACK_UUID, uuid(track->kind, track->number));
    jm__pb_text(&p->event, TRACK_NAME, track->name);
    if (track->kind != JM_TRACE_GROUP)
        jm__pb_int(&p->event, TRACK_PARENT, uuid(JM_TRACE_GROUP, track->group));
    if (track->kind == JM_TRACE_COUNTER) {
        jm__pb_text(&p->part, COUNTER_UNIT_NAME, track->unit);
        jm__pb_message(&p->event, TRACK_COUNTER, &p->part);
    }
    jm__pb_message(&p->packet, PACKET_TRACK, &p->event);
    return put_packet(p, FLAG_NEEDS_STATE);
}

static void end_annotation(packets *p)
{
    jm__pb_message(&p->event, EVENT_ANNOTATION, &p->part);
}

/* Unknown values are left out. */
static void annotate_real(packets *p, enum annotation name, double value)
{
    if (!isfinite(value)) return;
    jm__pb_int(&p->part, ANNOTATION_NAME, name);
    jm__pb_double(&p->part, ANNOTATION_REAL, value);
    end_annotation(p);
}

static void annotate_int(packets *p, enum annotation name, uint32_t kind, int64_t value)
{
    jm__pb_int(&p->part, ANNOTATION_NAME, name);
    jm__pb_int(&p->part, kind, value);
    end_annotation(p);
}

static void annotate_figures(packets *p, const jm_row *row)
{
    annotate_real(p, KEY_energy_j, row->energy_j);
    annotate_real(p, KEY_energy_low_j, row->energy_low_j);
    annotate_real(p, KEY_energy_high_j, row->energy_high_j);
    annotate_real(p, KEY_energy_self_j, row->energy_self_j);
    annotate_real(p, KEY_busy_s, row->busy_s);
    annotate_int(p, KEY_provenance, ANNOTATION_TEXT_NUMBER, (int64_t)row->provenance + 1);
    if (row->samples >= 0) annotate_int(p, KEY_samples, ANNOTATION_INT, row->samples);
    if (row->tokens >= 0) annotate_int(p, KEY_tokens, ANNOTATION_INT, row->tokens);
}

/* The type and payload that the program gave a range. */
static void annotate_range(packets *p, const jm__trace_slice *slice)
{
    if (slice->type != NULL && slice->type[0] != '\0') {
        jm__pb_int(&p->part, ANNOTATION_NAME, KEY_type);
        jm__pb_text(&p->part, ANNOTATION_TEXT, slice->type);
        end_annotation(p);
    }
    if (slice->payload_kind == JM_PAYLOAD_REAL)
        annotate_real(p, KEY_payload, slice->payload.real);
    else if (slice->payload_kind != JM_PAYLOAD_NONE)
        annotate_int(p, KEY_payload,
                     slice->payload_kind == JM_PAYLOAD_NATURAL ? ANNOTATION_NATURAL : ANNOTATION_INT,
                     slice->payload.integer);
}

/* The end event follows directly: readers sort events by time. */
static bool put_slice(void *to, const jm__trace_slice *slice)
{
    packets *p = to;
    int64_t track = uuid(JM_TRACE_LINE, slice->track->number);
    int64_t name = intern_text(p, &p->names, INTERNED_NAME, slice->name);
    int64_t kind = intern_text(p, &p->kinds, INTERNED_CATEGORY, slice->kind);
    if (name == 0 || kind == 0) return false;
    jm__pb_int(&p->event, EVENT_TYPE, TYPE_BEGIN);
    jm__pb_int(&p->event, EVENT_TRACK, track);
    jm__pb_int(&p->event, EVENT_NAME, name);
    jm__pb_int(&p->event, EVENT_CATEGORY, kind);
    if (slice->row != NULL) annotate_figures(p, slice->row);
    annotate_range(p, slice);
    if (slice->calls > 1) annotate_int(p, KEY_calls, ANNOTATION_INT, slice->calls);
    if (!put_event(p, slice->start_ns)) return false;
    jm__pb_int(&p->event, EVENT_TYPE, TYPE_END);
    jm__pb_int(&p->event, EVENT_TRACK, track);
    return put_event(p, slice->end_ns);
}

static bool put_value(void *to, const jm__trace_track *track, int64_t t_ns, double value)
{
    packets *p = to;
    jm__pb_int(&p->event, EVENT_TYPE, TYPE_COUNTER);
    jm__pb_int(&p->event, EVENT_TRACK, uuid(JM_TRACE_COUNTER, track->number));
    jm__pb_double(&p->event, EVENT_VALUE, value);
    return put_event(p, t_ns);
}

/* Define all fixed names, and add an event with the total energy. */
static bool put_head(packets *p, const jm_report *report)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    jm__pb_int(&p->event, TRACK_UUID, FILE_TRACK);
    jm__pb_text(&p->event, TRACK_NAME, "joulemap");
    jm__pb_message(&p->packet, PACKET_TRACK, &p->event);
    for (int i = KEY_NONE + 1; i < KEY_END; i++)
        intern(p, INTERNED_ANNOTATION, i, annotation_names[i]);
    for (int i = 0; i < JM_PROVENANCE_COUNT; i++)
        intern(p, INTERNED_TEXT, i + 1, jm_provenance_text((jm_provenance)i));
    if (!put_packet(p, FLAG_STATE_CLEARED)) return false;
    int64_t name = intern_text(p, &p->names, INTERNED_NAME, "joulemap");
    if (name == 0) return false;
    jm__pb_int(&p->event, EVENT_TYPE, TYPE_INSTANT);
    jm__pb_int(&p->event, EVENT_TRACK, FILE_TRACK);
    jm__pb_int(&p->event, EVENT_NAME, name);
    annotate_real(p, KEY_total_energy_j, totals->total_energy_j);
    annotate_int(p, KEY_simulated, ANNOTATION_FLAG, totals->simulated);
    jm__pb_int(&p->part, ANNOTATION_NAME, KEY_version);
    jm__pb_text(&p->part, ANNOTATION_TEXT, jm_version());
    end_annotation(p);
    return put_event(p, jm__report_dataset(report)->start_ns);
}

static jm_status write_perfetto(const jm_report *report, FILE *out, jm_error *err)
{
    packets p = {.out = out, .names = JM_MAP_OF_TEXTS, .kinds = JM_MAP_OF_TEXTS};
    int64_t start_ns = jm__report_dataset(report)->start_ns;
    if (start_ns < 0) p.zero_ns = start_ns; /* only imported recordings: CLOCK_MONOTONIC is not negative */
    const jm__trace_writer writer = {put_track, put_slice, put_value, &p};
    jm_status status =
        put_head(&p, report) ? jm__trace_walk(report, &writer, err) : jm__no_memory(err, "jm_export");
    jm__map_free(&p.names);
    jm__map_free(&p.kinds);
    jm__strbuf_free(&p.interned);
    jm__strbuf_free(&p.packet);
    jm__strbuf_free(&p.event);
    jm__strbuf_free(&p.part);
    jm__strbuf_free(&p.trace);
    return status;
}

const jm__export_format jm__export_perfetto = {"perfetto", .binary = true, .by_span = true,
                                               .write = write_perfetto};
