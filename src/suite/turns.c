/* The account of the board's power, and who is next. */
#include "suite/turns.h"

#include "suite/fault.h"

#include <math.h>
#include <stdlib.h>

#define MEMORY_S    0.1 /* of the board's limiter */
#define LONGEST_GAP 12e-3
#define NO_GAP      (1.0 / 3)

/* An entry's time so far, and the lengths that it has yet to play in this round. */
struct suite_turns_player {
    double played_s;
    int lengths[SUITE_LENGTHS];
    int left;
};

void suite_account_add(suite_account *account, double power, double seconds)
{
    account->level = power + (account->level - power) * exp(-seconds / MEMORY_S);
}

double suite_account_rest_before(const suite_account *account, double power, double seconds)
{
    const double kept = exp(-seconds / MEMORY_S);
    const double bearable = fmax((SUITE_MEAN_POWER - power * (1 - kept)) / kept, 1.02 * SUITE_REST_POWER);
    if (account->level <= bearable) return 0;
    return MEMORY_S * log((account->level - SUITE_REST_POWER) / (bearable - SUITE_REST_POWER));
}

jm_status suite_turns_open(suite_turns *turns, const suite_entry *entries, size_t count, suite_chance *chance,
                           jm_error *err)
{
    *turns = (suite_turns){.entries = entries,
                           .count = count,
                           .chance = chance,
                           .account = {SUITE_REST_POWER},
                           .players = calloc(count + 1, sizeof *turns->players),
                           .waiting = calloc(count + 1, sizeof *turns->waiting),
                           .last = SIZE_MAX};
    if (turns->players != NULL && turns->waiting != NULL) return JM_OK;
    suite_turns_close(turns);
    return suite_fail(err, JM_NO_MEMORY, "", "no memory for the order of the suite");
}

void suite_turns_close(suite_turns *turns)
{
    free(turns->players);
    free(turns->waiting);
    turns->players = NULL;
    turns->waiting = NULL;
}

/* Those that wait, the least played first; how many. */
static size_t line_up(suite_turns *turns)
{
    size_t count = 0;
    for (size_t i = 0; i < turns->count; i++) {
        const double played_s = turns->players[i].played_s;
        if (played_s >= SUITE_ENOUGH_S) continue;
        size_t at = count++;
        for (; at > 0 && turns->players[turns->waiting[at - 1]].played_s > played_s; at--)
            turns->waiting[at] = turns->waiting[at - 1];
        turns->waiting[at] = i;
    }
    return count;
}

/* One of the first third, not that of the last turn if there is another. */
static size_t choose(suite_turns *turns, size_t waiting)
{
    size_t third = (waiting + 2) / 3;
    size_t pick = suite_chance_one_of(turns->chance, (uint32_t)third);
    if (turns->waiting[pick] == turns->last && third > 1)
        pick = (pick + 1 + suite_chance_one_of(turns->chance, (uint32_t)(third - 1))) % third;
    return turns->waiting[pick];
}

static int next_length(suite_turns *turns, struct suite_turns_player *player)
{
    if (player->left == 0)
        for (; player->left < SUITE_LENGTHS; player->left++)
            player->lengths[player->left] = player->left;
    const int pick = (int)suite_chance_one_of(turns->chance, (uint32_t)player->left);
    const int length = player->lengths[pick];
    player->lengths[pick] = player->lengths[--player->left];
    return length;
}

bool suite_turns_next(suite_turns *turns, suite_turn *turn)
{
    const size_t waiting = line_up(turns);
    if (waiting == 0) return false;
    const size_t number = choose(turns, waiting);
    const suite_entry *entry = &turns->entries[number];
    struct suite_turns_player *player = &turns->players[number];
    const uint32_t calls = entry->calls[next_length(turns, player)];
    const double seconds = calls * entry->call_s,
                 power = entry->heavy ? SUITE_HEAVY_POWER : SUITE_LIGHT_POWER;
    double gap_s =
        suite_chance_part(turns->chance) < NO_GAP ? 0 : suite_chance_between(turns->chance, 0, LONGEST_GAP);
    gap_s = fmax(gap_s, suite_account_rest_before(&turns->account, power, seconds));
    suite_account_add(&turns->account, SUITE_REST_POWER, gap_s);
    suite_account_add(&turns->account, power, seconds);
    player->played_s += seconds;
    turns->last = number;
    *turn = (suite_turn){entry, calls, gap_s};
    return true;
}
