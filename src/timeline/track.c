/* Spans, marks and launches into the rings of the calling threads. */
#include "timeline/track.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "timeline/dormant.h"
#include "timeline/lost.h"
#include "timeline/track_parts.h"

#include <string.h>

#define NAME_BYTES_MOST 4095u

/* A begin is refused while an end still fits: an open span whose end was lost would take all that follows. */
#define KEPT_FOR_ENDS(capacity) ((capacity) / 8)

static _Atomic uint32_t kept_kinds = JM_TRACK_ALL;

void jm__track_keep(uint32_t kinds)
{
    atomic_store_explicit(&kept_kinds, kinds, memory_order_relaxed);
}

/* For the span that begins next. */
static void push_payload(jm__lane *mine, int64_t t_ns, const jm__track_number *payload)
{
    jm_ring_span record = {.t_ns = t_ns,
                           .id = mine->next_id + 1,
                           .name = (uint32_t)payload->value.natural,
                           .type = (uint32_t)(payload->value.natural >> 32),
                           .op = JM_RING_PAYLOAD,
                           .kind = (uint8_t)payload->kind};
    uint64_t both = KEPT_FOR_ENDS(mine->ring.capacity) + 2;
    if (jm__ring_is_free(&mine->ring, both)) jm__ring_push_span(&mine->ring, &record, 0);
}

/* `payload`: NULL: none. */
static inline uint64_t begin(uint8_t kind, uint32_t name, uint32_t type, uint32_t samples,
                             const jm__track_number *payload)
{
    uint32_t kept = atomic_load_explicit(&kept_kinds, memory_order_relaxed);
    if (__builtin_expect(kept != JM_TRACK_ALL, 0) && (kept >> (kind % 32) & 1) == 0) return 0;
    jm__lane *mine = jm__lane_get();
    if (mine == NULL) return 0;
    jm_ring_span record = {.t_ns = jm__now_ns(),
                           .id = mine->next_id + 1,
                           .name = name,
                           .type = type,
                           .samples = samples,
                           .op = JM_RING_BEGIN,
                           .kind = kind};
    if (payload != NULL) push_payload(mine, record.t_ns, payload);
    if (!jm__ring_push_span(&mine->ring, &record, KEPT_FOR_ENDS(mine->ring.capacity))) return 0;
    return ++mine->next_id;
}

uint64_t jm__track_begin(uint8_t kind, uint32_t name, uint32_t type, uint32_t samples)
{
    return begin(kind, name, type, samples, NULL);
}

uint64_t jm__track_begin_with(uint8_t kind, uint32_t name, uint32_t type, uint32_t samples,
                              const jm__track_number *payload)
{
    return begin(kind, name, type, samples, payload->kind == JM_PAYLOAD_NONE ? NULL : payload);
}

void jm__track_end(uint64_t span)
{
    jm__track_end_counted(span, 0, 0);
}

void jm__track_end_counted(uint64_t span, uint32_t samples, uint32_t tokens)
{
    if (span == 0) return;
    jm__lane *mine = jm__lane_get();
    if (mine == NULL) return;
    jm_ring_span record = {
        .t_ns = jm__now_ns(), .id = span, .type = tokens, .samples = samples, .op = JM_RING_END};
    jm__ring_push_span(&mine->ring, &record, 0);
}

/* A quarter of a ring is for spans, however many nodes a graph has, or launches there are. */
static bool push_of_callback(const jm_ring_span *record)
{
    if (atomic_load_explicit(&jm__track_generation, memory_order_relaxed) == 0) return true;
    jm__lane *mine = jm__lane_in_callback();
    return mine != NULL && jm__ring_is_free(&mine->ring, mine->ring.capacity / 4) &&
           jm__ring_push_span(&mine->ring, record, 0);
}

void jm__track_node(uint64_t node, uint64_t original, uint32_t graph)
{
    jm_ring_span record = {.t_ns = jm__now_ns(),
                           .id = node,
                           .name = (uint32_t)original,
                           .type = (uint32_t)(original >> 32),
                           .samples = graph,
                           .op = JM_RING_NODE};
    if (!push_of_callback(&record)) jm__lost_add(JM_LOST_NODES, 1);
}

static void tell_of_graph(uint8_t op, uint32_t graph)
{
    jm_ring_span record = {.t_ns = jm__now_ns(), .samples = graph, .op = op};
    push_of_callback(&record);
}

void jm__track_graph_gone(uint32_t graph)
{
    tell_of_graph(JM_RING_GRAPH_GONE, graph);
}

void jm__track_exec_begun(void)
{
    tell_of_graph(JM_RING_EXEC_BEGUN, 0);
}

void jm__track_exec_made(uint32_t graph)
{
    tell_of_graph(JM_RING_EXEC_MADE, graph);
}

void jm__track_launch(uint32_t correlation, uint32_t again)
{
    push_of_callback(
        &(jm_ring_span){.t_ns = jm__now_ns(), .id = correlation, .samples = again, .op = JM_RING_LAUNCH});
}

/* No memory, or JM_NAMES_MAX of them: what will bear this name has none. */
static void count_refused_name(void)
{
    jm__lane *mine = jm__own_generation == atomic_load(&jm__track_generation) ? jm__own_lane : NULL;
    if (mine != NULL)
        atomic_fetch_add_explicit(&mine->ring.header->names_refused, 1, memory_order_relaxed);
    else
        jm__lost_add(JM_LOST_NAMES, 1);
}

/* `always`: also where there is no run, for those to come. */
static uint32_t intern(const char *text, size_t most, bool always)
{
    bool in_run;
    jm__names *names = jm__track_names_lock(&in_run);
    uint32_t number = in_run || always ? jm__names_intern(names, text, jm__utf8_cut(text, most)) : 0;
    jm__track_names_unlock();
    if ((in_run || always) && number == 0) count_refused_name();
    return number;
}

uint32_t jm__track_intern(const char *text, size_t most)
{
    if (text == NULL || text[0] == '\0') return 0;
    if (atomic_load_explicit(&jm__track_generation, memory_order_relaxed) == 0 && !jm__dormant_wanted())
        return 0;
    return intern(text, most, false);
}

uint32_t jm__track_register(const char *text, size_t most)
{
    return text == NULL || text[0] == '\0' ? 0 : intern(text, most, true);
}

const char *jm__track_text(uint32_t number)
{
    bool in_run;
    const char *text = jm__names_text(jm__track_names_lock(&in_run), number);
    jm__track_names_unlock();
    return text;
}

static void push_mark(jm__lane *mine, int64_t t_ns, uint32_t name, uint32_t meta)
{
    jm_ring_span record = {.t_ns = t_ns, .name = name, .type = meta, .op = JM_RING_MARK};
    jm__ring_push_span(&mine->ring, &record, KEPT_FOR_ENDS(mine->ring.capacity));
}

void jm__track_mark(const char *name, const char *meta)
{
    if (atomic_load_explicit(&jm__track_generation, memory_order_relaxed) == 0) return;
    jm__track_mark_with(jm__track_intern(name, NAME_BYTES_MOST), meta);
}

void jm__track_mark_with(uint32_t name, const char *meta)
{
    int64_t t_ns = jm__now_ns();
    uint32_t meta_number = 0;
    jm__lane *mine = jm__lane_get();
    if (mine == NULL) return;
    if (meta != NULL) { /* hardly ever the same twice: not kept */
        bool in_run;
        meta_number = jm__names_write_once(jm__track_names_lock(&in_run), meta, strlen(meta));
        jm__track_names_unlock();
        if (meta_number == 0 && meta[0] != '\0') count_refused_name();
    }
    push_mark(mine, t_ns, name, meta_number);
}

void jm__track_mark_number(uint32_t name)
{
    jm__lane *mine = jm__lane_get();
    if (mine != NULL) push_mark(mine, jm__now_ns(), name, 0);
}
