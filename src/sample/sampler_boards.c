/* The sampler's boards: told to the sink with their sensors, read, lost and found again. */
#include "base/status.h"
#include "rows/sensor_role.h"
#include "sample/sampler_parts.h"
#include "sample/who_else.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How soon a lost board is tried again, as a ring may still have what was missed; then ever more rarely. */
#define RETRY_NS      (INT64_C(100) * JM_NS_PER_MS)
#define RETRY_MOST_NS (INT64_C(2) * JM_NS_PER_S)
#define WHO_NS        (INT64_C(10) * JM_NS_PER_S) /* how often it is asked who uses a board */

void jm__sampler_event(const jm__sampler *sampler, jm_event_kind kind, int64_t board_id, double value,
                       const char *text)
{
    jm__event event = {.kind = kind, .t_ns = jm__now_ns(), .board_id = board_id, .value = value};
    snprintf(event.text, sizeof event.text, "%s", text);
    sampler->sink.event(sampler->sink.context, &event);
}

static const jm_sensor *ring_of(const jm_inventory *inventory, size_t board)
{
    for (size_t i = 0; i < jm_inventory_sensor_count(inventory, board); i++) {
        const jm_sensor *sensor = jm_inventory_sensor(inventory, board, i);
        if (jm__sensor_is(sensor, JM_SENSOR_POWER_RING)) return sensor;
    }
    return NULL;
}

/* The best power sensor that works. NULL: none (RAPL has only a counter). */
static const jm_sensor *main_power(const jm_inventory *inventory, size_t board)
{
    const jm_sensor *best = NULL;
    int best_rank = JM_RANK_NONE;
    for (size_t i = 0; i < jm_inventory_sensor_count(inventory, board); i++) {
        const jm_sensor *sensor = jm_inventory_sensor(inventory, board, i);
        if (sensor->missing[0] != '\0' || jm__sensor_rank(sensor) <= best_rank) continue;
        best = sensor;
        best_rank = jm__sensor_rank(sensor);
    }
    return best;
}

static void fallback_tell(const jm__sampler *sampler, size_t board, int64_t board_id, const jm_sensor *best)
{
    const jm_sensor *ring = ring_of(sampler->inventory, board);
    if (ring == NULL || ring == best) return;
    char text[256];
    snprintf(text, sizeof text, "no %.40s (%.100s): power comes from %.40s", ring->name, ring->missing,
             best == NULL ? "the energy counter alone" : best->name);
    jm__sampler_event(sampler, JM_EVENT_SENSOR_FAILED, board_id, 0, text);
}

void jm__sampler_announce(jm__sampler *sampler, size_t number, int64_t now_ns)
{
    jm_inventory *inventory = sampler->inventory;
    const jm_sensor *best = main_power(inventory, number);
    int best_rank = best == NULL ? JM_RANK_NONE : jm__sensor_rank(best);
    jm_board row = *jm_inventory_board(inventory, number);
    sampled_board *board = &sampler->boards[number];
    row.id = sampler->sink.board(sampler->sink.context, &row);
    board->id = row.id;
    board->first_channel = sampler->channel_count;
    if (row.id < 0) return;
    fallback_tell(sampler, number, row.id, best);
    for (size_t i = 0; i < jm_inventory_sensor_count(inventory, number); i++) {
        const jm_sensor *sensor = jm_inventory_sensor(inventory, number, i);
        jm_sensor told = *sensor;
        told.board_id = row.id;
        told.id = sampler->sink.sensor(sampler->sink.context, &told);
        if (told.id < 0 || told.missing[0] != '\0') continue;
        jm__channel *channel = &sampler->channels[sampler->channel_count++];
        *channel = (jm__channel){
            .board = number, .sensor = i, .sensor_id = told.id, .board_id = row.id, .row = told};
        bool buffered = jm__devices_sensor(sampler->context.devices, number, i)->buffered;
        jm__channel_init(channel, buffered, best_rank, sensor == best, now_ns,
                         sampler->context.ring_period_ns);
    }
    board->channel_count = sampler->channel_count - board->first_channel;
}

void jm__sampler_tell_absent(const jm__sampler *sampler)
{
    const jm__findings *findings = jm__devices_findings(sampler->context.devices);
    for (size_t i = 0; i < findings->absent_count; i++)
        jm__sampler_event(sampler, JM_EVENT_BOARD_ABSENT, 0, 0, findings->absent[i]);
}

jm_status jm__sampler_no_board(const jm_inventory *inventory, jm_error *err)
{
    const jm__findings *findings = jm__devices_findings(jm__inventory_devices(inventory));
    const char *detail = "no back end found one";
    for (size_t i = findings->count; i-- > 0;) {
        const jm_finding *finding = &findings->items[i];
        /* What a single call lacks ("NVML: nvmlDevice...") is not why there is no board. */
        if (!finding->works && strchr(finding->subject, ':') == NULL) detail = finding->detail;
    }
    return jm__fail(err, JM_NO_DEVICE, 0, "", "no GPU to read on this machine: %s", detail);
}

static void board_lose(jm__sampler *sampler, sampled_board *board, const jm_error *err)
{
    if (!board->lost) {
        char text[256];
        snprintf(text, sizeof text, "%.240s", err->text);
        jm__sampler_event(sampler, JM_EVENT_BOARD_LOST, board->id, (double)err->code, text);
    }
    /* One that comes and goes is tried as rarely as one that stays away. */
    int64_t now_ns = jm__now_ns();
    bool again = board->pause_ns != 0 && now_ns - board->lost_ns < 2 * RETRY_MOST_NS;
    board->pause_ns = again ? 2 * board->pause_ns : RETRY_NS;
    if (board->pause_ns > RETRY_MOST_NS) board->pause_ns = RETRY_MOST_NS;
    board->lost = true;
    board->lost_ns = now_ns;
    board->retry_ns = now_ns + board->pause_ns;
    for (size_t i = 0; i < board->channel_count; i++) {
        jm__channel *channel = &sampler->channels[board->first_channel + i];
        channel->edge_ns = channel->search_ns = 0;
    }
}

static void board_regain(jm__sampler *sampler, sampled_board *board)
{
    board->lost = false;
    jm__sampler_event(sampler, JM_EVENT_BOARD_BACK, board->id, 0, "it answers again");
    for (size_t i = 0; i < board->channel_count; i++)
        sampler->channels[board->first_channel + i].due_ns = jm__now_ns();
}

/* A counter was read at an edge: the power up to there is wanted too, to tell what of its energy lies beyond.
 */
static void power_follow(jm__sampler *sampler, const sampled_board *board, int64_t t_ns)
{
    for (size_t i = 0; i < board->channel_count; i++)
        jm__channel_hurry(&sampler->channels[board->first_channel + i], t_ns, false);
}

/* A main power sensor fell silent: the best of the board's others takes its place. */
static void power_replace(jm__sampler *sampler, const sampled_board *board)
{
    jm__channel *best = NULL;
    for (size_t i = 0; i < board->channel_count; i++) {
        jm__channel *channel = &sampler->channels[board->first_channel + i];
        int rank = jm__sensor_rank(&channel->row);
        if (rank == JM_RANK_NONE || jm__channel_is_silent(channel)) continue;
        if (best == NULL || rank > jm__sensor_rank(&best->row)) best = channel;
    }
    if (best != NULL && !best->power) jm__channel_promote(best);
    for (size_t i = 0; i < board->channel_count; i++)
        jm__channel_back_up(&sampler->channels[board->first_channel + i],
                            best == NULL ? JM_RANK_NONE : jm__sensor_rank(&best->row));
}

void jm__sampler_serve(jm__sampler *sampler, jm__channel *channel)
{
    bool was_silent = jm__channel_is_silent(channel);
    jm_error err;
    sampled_board *board = &sampler->boards[channel->board];
    bool edge_wanted = channel->way == JM_CHANNEL_COUNTER && channel->edge_ns != 0;
    jm_status status = jm__channel_serve(channel, &sampler->context, &err);
    if (status == JM_DEVICE_LOST) {
        board_lose(sampler, board, &err);
        return;
    }
    if (board->lost) board_regain(sampler, board);
    if (channel->power && !was_silent && jm__channel_is_silent(channel)) power_replace(sampler, board);
    /* At the start the next read of the ring brings it anyway. */
    if (sampler->begun && edge_wanted && channel->edge_ns == 0)
        power_follow(sampler, board, channel->emitted_ns);
}

void jm__sampler_tell_who(jm__sampler *sampler)
{
    if (!sampler->begun || jm__now_ns() < sampler->who_due_ns) return;
    sampler->who_due_ns = jm__now_ns() + WHO_NS;
    for (size_t i = 0; i < sampler->board_count; i++) {
        sampled_board *board = &sampler->boards[i];
        char who[sizeof board->who];
        if (board->id < 0 || board->lost) continue;
        jm__who_else(who, sizeof who, sampler->context.devices, i);
        if (strcmp(who, board->who) == 0) continue;
        memcpy(board->who, who, sizeof board->who);
        jm__sampler_event(sampler, JM_EVENT_PROCESSES, board->id, 0, who);
    }
}
