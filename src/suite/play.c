/* Windows around bursts. */
#include "suite/play.h"

#include "suite/fault.h"
#include "suite/turns.h"
#include "suite/watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double dwell_s[] = {5e-3, 150e-3};

/* Of the span that is the work of a simulated board. */
static jm_span_id begin_work(const suite_player *player, const suite_entry *entry)
{
    char name[SUITE_NAME + 16];
    if (!player->simulated) return 0;
    snprintf(name, sizeof name, "%s (%s)", entry->name, suite_kind_text(entry->kind));
    return jm_span_begin(JM_SPAN_FORWARD, jm_name_intern(name), jm_name_intern(entry->name), 0);
}

static jm_status play_burst(const suite_player *player, const suite_entry *entry, uint32_t calls,
                            double *seconds, jm_error *err)
{
    const jm_span_id work = begin_work(player, entry);
    jm_status status = suite_play(player->driver, &entry->call, entry->name, calls, seconds, err);
    jm_span_end(work);
    return status;
}

static jm_span_id begin_window(const suite_entry *entry)
{
    return jm_span_begin(JM_SPAN_WINDOW, jm_name_intern(entry->name),
                         jm_name_intern(suite_kind_text(entry->kind)), 0);
}

static jm_status play_turns(const suite_player *player, suite_turns *turns, double seconds,
                            bool (*told)(double share), suite_played *played, jm_error *err)
{
    const double begin_s = suite_now_s();
    suite_turn turn;
    while (suite_turns_next(turns, &turn)) {
        const double past_s = suite_now_s() - begin_s;
        double burst_s;
        if (past_s >= seconds || !told(past_s / seconds)) break;
        if (turn.gap_s > 0 && !suite_sleep(turn.gap_s)) break;
        const jm_span_id window = begin_window(turn.entry);
        jm_status status = play_burst(player, turn.entry, turn.calls, &burst_s, err);
        jm_span_end(window);
        if (status != JM_OK) return status;
        played->seconds[turn.entry - turns->entries] += burst_s;
        played->bursts++;
    }
    return JM_OK;
}

jm_status suite_play_all(const suite_player *player, double seconds, bool (*told)(double share),
                         suite_played *played, jm_error *err)
{
    suite_turns turns;
    const suite_ready *ready = player->ready;
    *played = (suite_played){.seconds = calloc(ready->count + 1, sizeof *played->seconds)};
    if (played->seconds == NULL) return suite_fail(err, JM_NO_MEMORY, "", "no memory for the suite");
    SUITE_TRY(suite_turns_open(&turns, ready->entries, ready->count, player->chance, err));
    jm_status status = play_turns(player, &turns, seconds, told, played, err);
    suite_turns_close(&turns);
    return status;
}

void suite_played_free(suite_played *played)
{
    free(played->seconds);
    *played = (suite_played){0};
}

/* The first matrix product of the list, as training draws most with it; where there is none, the first of
 * all. */
static const suite_entry *heaviest(const suite_ready *ready)
{
    for (size_t i = 0; i < ready->count; i++)
        if (ready->entries[i].best) return &ready->entries[i];
    return &ready->entries[0];
}

jm_status suite_play_square_wave(const suite_player *player, double seconds, jm_error *err)
{
    const suite_entry *entry = heaviest(player->ready);
    const double end_s = suite_now_s() + seconds;
    while (suite_now_s() < end_s && suite_ended() == 0) {
        const double until_s = suite_now_s() + suite_chance_between(player->chance, dwell_s[0], dwell_s[1]);
        double burst_s;
        jm_status status = JM_OK;
        const jm_span_id window = begin_window(entry);
        while (status == JM_OK && suite_now_s() < until_s)
            status = play_burst(player, entry, entry->calls[0], &burst_s, err);
        jm_span_end(window);
        if (status != JM_OK) return status;
        suite_sleep(suite_chance_between(player->chance, dwell_s[0], dwell_s[1]));
    }
    return JM_OK;
}

static jm_status play_each_once(const suite_player *player, jm_error *err)
{
    for (size_t i = 0; i < player->ready->count && suite_ended() == 0; i++) {
        const suite_entry *entry = &player->ready->entries[i];
        double seconds;
        SUITE_TRY(suite_play(player->driver, &entry->call, entry->name, 1, &seconds, err));
        printf("%s %s %.9f\n", entry->name, suite_kind_text(entry->kind), seconds);
    }
    return JM_OK;
}

jm_status suite_play_once(const suite_player *player, jm_error *err)
{
    static const char what[] = "no profiler can be told what to look at";
    int code = player->driver->cuProfilerStart();
    if (code != 0) return suite_driver_fail(player->driver, code, "cuProfilerStart", what, err);
    jm_status status = play_each_once(player, err);
    code = player->driver->cuProfilerStop();
    if (status != JM_OK || code == 0) return status;
    return suite_driver_fail(player->driver, code, "cuProfilerStop", what, err);
}
