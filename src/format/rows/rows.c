/* Texts and traits of boards, events, sensors and span kinds; coding of counter blocks. */
#include "format/rows/rows.h"

#include "format/rows/sensor_role.h"
#include "format/rows/span_kind.h"

#include <math.h>
#include <string.h>

/* ---- boards */

const jm_board jm__board_blank = {
    .index = -1,
    .cuda_index = -1,
    .power_limit_w = NAN,
    .power_limit_min_w = NAN,
    .power_limit_max_w = NAN,
    .clock_limit_mhz = NAN,
};

jm_board_kind jm_board_kind_of(const jm_board *board)
{
    static const struct {
        const char *name;
        jm_board_kind kind;
    } backends[] = {
#define X(name, kind) {#name, JM_BOARD_##kind},
        JM_BACKEND_MAP(X)
#undef X
    };
    if (board->upstream) return JM_BOARD_METER;
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (strcmp(backends[i].name, board->backend) == 0) return backends[i].kind;
    return JM_BOARD_GPU;
}

const char *jm_board_kind_text(jm_board_kind kind)
{
    static const char *const texts[] = {
#define X(name, text) text,
        JM_BOARD_KIND_MAP(X)
#undef X
    };
    return (unsigned)kind < JM_BOARD_KIND_COUNT ? texts[kind] : "unknown";
}

/* ---- events */

bool jm__event_has_value(jm_event_kind kind)
{
    static const bool has_value[JM_EVENT_COUNT] = {
#define X(name, text, has_value) has_value,
        JM_EVENT_MAP(X)
#undef X
    };
    return (unsigned)kind < JM_EVENT_COUNT && has_value[kind];
}

/* ---- roles of sensors */

static const struct {
    const char *name;
    jm_quantity quantity;
    int rank;
    bool stamps_late;
} roles[JM_SENSOR_ROLE_COUNT] = {[JM_SENSOR_OTHER] = {"", JM_QUANTITY_COUNT, JM_RANK_OTHER, JM_STAMPS_EXACT},
#define X(role, name, quantity, rank, stamps)                                                                \
    [JM_SENSOR_##role] = {name, JM_QUANTITY_##quantity, JM_RANK_##rank, JM_STAMPS_##stamps},
                                 JM_SENSOR_MAP(X)
#undef X
};

jm__sensor_role jm__sensor_role_of(const char *name)
{
    for (int role = JM_SENSOR_OTHER + 1; role < JM_SENSOR_ROLE_COUNT; role++)
        if (strcmp(roles[role].name, name) == 0) return (jm__sensor_role)role;
    return JM_SENSOR_OTHER;
}

const char *jm__sensor_name(jm__sensor_role role)
{
    return roles[role].name;
}

jm_quantity jm__sensor_quantity(jm__sensor_role role)
{
    return roles[role].quantity;
}

bool jm__sensor_is(const jm_sensor *sensor, jm__sensor_role role)
{
    return jm__sensor_role_of(sensor->name) == role;
}

bool jm__sensor_stamps_late(const jm_sensor *sensor)
{
    return roles[jm__sensor_role_of(sensor->name)].stamps_late;
}

int jm__sensor_rank(const jm_sensor *sensor)
{
    if (sensor->quantity != JM_QUANTITY_POWER || sensor->response == JM_RESPONSE_COUNTER) return JM_RANK_NONE;
    return roles[jm__sensor_role_of(sensor->name)].rank;
}

bool jm__sensor_is_counter(const jm_sensor *sensor)
{
    return sensor->response == JM_RESPONSE_COUNTER && sensor->quantity == JM_QUANTITY_ENERGY;
}

/* ---- kinds of spans */

typedef enum kind_role { OTHER, CONTAINER, LAYER, WORK } kind_role;

typedef struct traits {
    const char *text;
    bool wide;
    kind_role role;
} traits;

static const traits *traits_of(jm_span_kind kind)
{
    static const traits all[JM_SPAN_KIND_COUNT] = {{"none", false, OTHER},
#define X(name, text, process_wide, role) {text, process_wide, role},
                                                   JM_SPAN_KIND_MAP(X)
#undef X
    };
    return &all[(unsigned)kind < JM_SPAN_KIND_COUNT ? kind : JM_SPAN_NONE];
}

const char *jm_span_kind_text(jm_span_kind kind)
{
    return traits_of(kind)->text;
}

bool jm__span_kind_is_wide(jm_span_kind kind)
{
    return traits_of(kind)->wide;
}

bool jm__span_kind_is_container(jm_span_kind kind)
{
    return traits_of(kind)->role == CONTAINER;
}

bool jm__span_kind_is_layer(jm_span_kind kind)
{
    return traits_of(kind)->role == LAYER;
}

bool jm__span_kind_is_work(jm_span_kind kind)
{
    return traits_of(kind)->role == LAYER || traits_of(kind)->role == WORK;
}

bool jm__span_kind_is_range(jm_span_kind kind)
{
    return kind == JM_SPAN_NVTX || kind == JM_SPAN_CARRIED;
}

/* ---- coding of counter blocks */

enum { WORD = 8, WORDS_BEFORE_VALUES = 2 };

static size_t sample_size(int64_t metric_count)
{
    return (size_t)(WORDS_BEFORE_VALUES + metric_count) * WORD;
}

size_t jm__counter_block_size(int64_t count, int64_t metric_count)
{
    if (metric_count < 1 || metric_count > JM_COUNTER_METRICS_MAX || count < 1) return 0;
    if ((uint64_t)count > JM_COUNTER_BLOCK_BYTES_MAX / sample_size(metric_count)) return 0;
    return (size_t)count * sample_size(metric_count);
}

static void put(unsigned char *to, uint64_t value)
{
    for (int i = 0; i < WORD; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get(const unsigned char *from)
{
    uint64_t value = 0;
    for (int i = 0; i < WORD; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

void jm__counter_block_pack(void *to, int64_t block_start_ns, const jm__counter_sample *samples,
                            int64_t count, int64_t metric_count)
{
    unsigned char *at = to;
    for (int64_t i = 0; i < count; i++) {
        put(at, (uint64_t)(samples[i].start_ns - block_start_ns));
        put(at + WORD, (uint64_t)(samples[i].end_ns - samples[i].start_ns));
        at += WORDS_BEFORE_VALUES * WORD;
        for (int64_t m = 0; m < metric_count; m++, at += WORD) {
            uint64_t bits;
            memcpy(&bits, &samples[i].values[m], sizeof bits);
            put(at, bits);
        }
    }
}

bool jm__counter_block_is_sound(const jm__counter_block *block, int64_t metric_count)
{
    size_t size = jm__counter_block_size(block->count, metric_count);
    if (size == 0 || block->data.size != size || block->end_ns < block->start_ns) return false;
    uint64_t length_ns = (uint64_t)block->end_ns - (uint64_t)block->start_ns;
    const unsigned char *at = block->data.at;
    for (int64_t i = 0; i < block->count; i++, at += sample_size(metric_count)) {
        uint64_t begin_ns = get(at), duration_ns = get(at + WORD);
        if (begin_ns > length_ns || duration_ns > length_ns - begin_ns) return false;
    }
    return true;
}

void jm__counter_block_sample(const jm__counter_block *block, int64_t metric_count, int64_t index,
                              jm__counter_sample *sample)
{
    const unsigned char *at =
        (const unsigned char *)block->data.at + (size_t)index * sample_size(metric_count);
    sample->start_ns = block->start_ns + (int64_t)get(at);
    sample->end_ns = sample->start_ns + (int64_t)get(at + WORD);
    at += WORDS_BEFORE_VALUES * WORD;
    for (int64_t m = 0; m < metric_count; m++, at += WORD) {
        uint64_t bits = get(at);
        memcpy(&sample->values[m], &bits, sizeof bits);
    }
}
