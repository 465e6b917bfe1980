/* In which order bursts are played: random and balanced, and below the board's power limit. Without a GPU. */
#ifndef SUITE_TURNS_H
#define SUITE_TURNS_H

#include "suite/chance.h"
#include "suite/ready.h"

/* What a board draws, as parts of its power limit: the most that was seen on an H200 (940 W of 700 W for
 * products, 740 W for memory, 165 W between bursts), and the mean over some time constants of its limiter
 * that stays below it. */
#define SUITE_HEAVY_POWER 1.35
#define SUITE_LIGHT_POWER 1.05
#define SUITE_REST_POWER  0.25
#define SUITE_MEAN_POWER  0.95

/* The running mean of the board's power, in parts of its limit, as bursts and gaps move it. */
typedef struct suite_account {
    double level; /* SUITE_REST_POWER at first */
} suite_account;

/* Move the mean by so many seconds at this power. */
void suite_account_add(suite_account *account, double power, double seconds);

/* The seconds of rest after which a burst at `power` ends below the limit. */
double suite_account_rest_before(const suite_account *account, double power, double seconds);

typedef struct suite_turn {
    const suite_entry *entry;
    uint32_t calls;
    double gap_s; /* before it */
} suite_turn;

typedef struct suite_turns {
    const suite_entry *entries;
    size_t count;
    suite_chance *chance;
    suite_account account;
    struct suite_turns_player *players; /* one an entry */
    size_t *waiting;                    /* those that have not had enough */
    size_t last;
} suite_turns;

/* Entries and chance stay the caller's. NO_MEMORY. */
jm_status suite_turns_open(suite_turns *turns, const suite_entry *entries, size_t count, suite_chance *chance,
                           jm_error *err);

/* The next turn: at random among the third that has had least so far. Each entry plays its lengths in turn,
 * in an order that changes from round to round, so all get equal time. False: each has had SUITE_ENOUGH_S. */
bool suite_turns_next(suite_turns *turns, suite_turn *turn);
void suite_turns_close(suite_turns *turns);

#endif
