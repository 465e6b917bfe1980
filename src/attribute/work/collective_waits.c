/* Calls by rank, and their comparison once all are there. */
#include "attribute/work/collective_waits.h"

#include <stdlib.h>
#include <string.h>

/* Of calls that should belong together and do not; some may be cut short by a record that was lost. */
static const double strangers_most = 0.01;       /* of one name: they may be of several groups */
static const double strangers_most_in_one = 0.5; /* of one communicator, whose calls are in one order */

void jm__collective_calls_free(jm__collective_calls *calls)
{
    for (size_t i = 0; i < calls->ranks.count; i++)
        jm__vec_free(&calls->ranks.items[i].calls);
    jm__vec_free(&calls->ranks);
    jm__vec_free(&calls->channels);
    jm__map_free(&calls->rank_at);
    *calls = (jm__collective_calls){0};
}

typedef struct rank_key {
    uint64_t channel, process_id, board;
} rank_key;

static jm__rank_calls *find_rank(const jm__collective_calls *calls, const rank_key *key)
{
    const jm__map_value *known = calls->rank_at.count > 0 ? jm__map_find(&calls->rank_at, key) : NULL;
    return known != NULL ? &calls->ranks.items[known->id] : NULL;
}

/* NULL if memory is out. */
static jm__rank_calls *rank_of(jm__collective_calls *calls, const rank_key *key)
{
    calls->rank_at.key_size = sizeof *key;
    jm__rank_calls *known = find_rank(calls, key);
    if (known != NULL) return known;
    const jm__rank_calls fresh = {
        .channel = (size_t)key->channel, .process_id = (int64_t)key->process_id, .board = (size_t)key->board};
    if (!jm__map_put(&calls->rank_at, key, (jm__map_value){.id = (int64_t)calls->ranks.count}) ||
        !jm__vec_push(&calls->ranks, fresh))
        return NULL;
    return &calls->ranks.items[calls->ranks.count - 1];
}

static bool has_channel(jm__collective_calls *calls, const jm__collectives *collectives, size_t channel)
{
    while (calls->channels.count <= channel) {
        const jm__channel_key *key = &collectives->channels.items[calls->channels.count];
        const jm__channel fresh = {.pair = key->pair != 0, .by_name = key->group == 0};
        if (!jm__vec_push(&calls->channels, fresh)) return false;
    }
    return true;
}

/* Nothing will be said of it. */
static void give_up(jm__collective_calls *calls, size_t channel)
{
    calls->channels.items[channel].unknown = true;
    for (size_t i = 0; i < calls->ranks.count; i++)
        if (calls->ranks.items[i].channel == channel) jm__vec_free(&calls->ranks.items[i].calls);
}

bool jm__collective_calls_add(jm__collective_calls *calls, const jm__collectives *collectives,
                              uint32_t collective, const char *kernel, const jm__item *item, size_t board)
{
    size_t at = collectives->items.items[collective].channel;
    const rank_key key = {at, (uint64_t)item->process_id, board};
    jm__rank_calls *rank = rank_of(calls, &key);
    if (rank == NULL || !has_channel(calls, collectives, at)) return false;
    jm__channel *channel = &calls->channels.items[at];
    if (channel->unknown) return true;
    if (item->calls != 1 || channel->calls == JM_COLLECTIVE_CALLS_MAX) {
        give_up(calls, at);
        return true;
    }
    channel->calls++;
    const jm__collective_call call = {.from_ns = item->start_ns,
                                      .to_ns = item->end_ns,
                                      .all_ns = JM__ALONE,
                                      .kernel = kernel,
                                      .collective = collective};
    return jm__vec_push(&rank->calls, call);
}

static int by_time(const void *a, const void *b)
{
    const jm__collective_call *left = a, *right = b;
    if (left->from_ns != right->from_ns) return left->from_ns < right->from_ns ? -1 : 1;
    return (left->to_ns > right->to_ns) - (left->to_ns < right->to_ns);
}

const jm__collective_call *jm__collective_call_at(const jm__collective_calls *calls, size_t channel,
                                                  const jm__item *item, size_t board)
{
    const rank_key key = {channel, (uint64_t)item->process_id, board};
    const jm__rank_calls *rank = find_rank(calls, &key);
    const jm__collective_call wanted = {.from_ns = item->start_ns, .to_ns = item->end_ns};
    if (rank == NULL || rank->calls.count == 0) return NULL;
    return bsearch(&wanted, rank->calls.items, rank->calls.count, sizeof wanted, by_time);
}

/* ---- which calls belong together */

/* The ranks of one channel, and how far each has been gone through. */
typedef struct matching {
    JM_VEC(jm__rank_calls *) ranks;
    JM_VEC(size_t) at;
} matching;

static jm__collective_call *call_of(const matching *m, size_t rank, size_t further)
{
    size_t at = m->at.items[rank] + further;
    return at < m->ranks.items[rank]->calls.count ? &m->ranks.items[rank]->calls.items[at] : NULL;
}

/* The calls at which all ranks are. */
typedef struct meeting {
    int64_t last_begin_ns, first_end_ns;
    size_t first_out; /* the rank whose call ends first */
    bool same_kernel;
} meeting;

static meeting meet(const matching *m)
{
    meeting all = {INT64_MIN, INT64_MAX, 0, true};
    for (size_t r = 0; r < m->ranks.count; r++) {
        const jm__collective_call *call = call_of(m, r, 0);
        if (call->from_ns > all.last_begin_ns) all.last_begin_ns = call->from_ns;
        all.same_kernel = all.same_kernel && call->kernel == call_of(m, 0, 0)->kernel;
        if (call->to_ns >= all.first_end_ns) continue;
        all.first_end_ns = call->to_ns;
        all.first_out = r;
    }
    return all;
}

static int64_t distance(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

/* The call of the rank that ends first was at one time with the others', but its next one is too, and ends
 * nearer to when they do. */
static bool next_fits_better(const matching *m, const meeting *all)
{
    const jm__collective_call *mine = call_of(m, all->first_out, 0), *next = call_of(m, all->first_out, 1);
    int64_t others_end_ns = INT64_MAX;
    for (size_t r = 0; r < m->ranks.count; r++)
        if (r != all->first_out && call_of(m, r, 0)->to_ns < others_end_ns)
            others_end_ns = call_of(m, r, 0)->to_ns;
    return next != NULL && next->kernel == mine->kernel && next->from_ns < others_end_ns &&
           distance(next->to_ns, others_end_ns) < distance(mine->to_ns, others_end_ns);
}

static void together(const matching *m, int64_t all_ns)
{
    for (size_t r = 0; r < m->ranks.count; r++)
        call_of(m, r, 0)->all_ns = all_ns;
}

static bool all_there(const matching *m)
{
    for (size_t r = 0; r < m->ranks.count; r++)
        if (call_of(m, r, 0) == NULL) return false;
    return true;
}

/* The least and the most calls of a rank. */
static size_t calls_of(const matching *m, bool most)
{
    size_t count = m->ranks.items[0]->calls.count;
    for (size_t r = 1; r < m->ranks.count; r++)
        if (most == (m->ranks.items[r]->calls.count > count)) count = m->ranks.items[r]->calls.count;
    return count;
}

/* Matches; returns how many calls, of the least that a rank has, found no partners. */
static size_t match_calls(matching *m)
{
    size_t least = calls_of(m, false), matched = 0;
    bool even = least == calls_of(m, true);
    while (all_there(m)) {
        const meeting all = meet(m);
        bool fit = all.last_begin_ns < all.first_end_ns && all.same_kernel;
        if (fit && !even) fit = !next_fits_better(m, &all);
        if (fit) together(m, all.last_begin_ns);
        matched += fit;
        for (size_t r = 0; r < m->ranks.count; r++)
            m->at.items[r] += fit || even || r == all.first_out;
    }
    return least - matched;
}

static bool gather(matching *m, jm__collective_calls *calls, size_t channel)
{
    m->ranks.count = m->at.count = 0;
    for (size_t r = 0; r < calls->ranks.count; r++) {
        jm__rank_calls *rank = &calls->ranks.items[r];
        if (rank->channel != channel || rank->calls.count == 0) continue;
        qsort(rank->calls.items, rank->calls.count, sizeof *rank->calls.items, by_time);
        if (!jm__vec_push(&m->ranks, rank) || !jm__vec_push(&m->at, 0)) return false;
    }
    return true;
}

static void match(matching *m, const jm__channel *channel)
{
    size_t ranks = m->ranks.count;
    if (ranks < 2 || (channel->pair && ranks != 2)) return;
    size_t least = calls_of(m, false), strangers = match_calls(m);
    double most = channel->by_name ? strangers_most : strangers_most_in_one;
    if ((double)strangers <= most * (double)least) return;
    for (size_t r = 0; r < ranks; r++)
        for (size_t i = 0; i < m->ranks.items[r]->calls.count; i++)
            m->ranks.items[r]->calls.items[i].all_ns = JM__ALONE;
}

/* ---- what was waited */

typedef struct summing {
    jm__collective_waits *waits;
    const jm__windows *const *windows;
} summing;

static jm__collective_wait *wait_of(summing *s, uint32_t collective, const jm__rank_calls *rank)
{
    for (size_t i = 0; i < s->waits->count; i++) {
        jm__collective_wait *wait = &s->waits->items[i];
        if (wait->collective == collective && wait->process_id == rank->process_id &&
            wait->board == rank->board)
            return wait;
    }
    const jm__collective_wait fresh = {
        .collective = collective, .process_id = rank->process_id, .board = rank->board};
    return jm__vec_push(s->waits, fresh) ? &s->waits->items[s->waits->count - 1] : NULL;
}

/* One call of all ranks: all_ns is the begin of the one that came last. */
static bool sum_meeting(summing *s, const matching *m)
{
    double waited_s = 0;
    size_t last = 0;
    for (size_t r = 0; r < m->ranks.count; r++) {
        const jm__rank_calls *rank = m->ranks.items[r];
        const jm__collective_call *call = call_of(m, r, 0);
        jm__collective_wait *wait = wait_of(s, call->collective, rank);
        if (wait == NULL) return false;
        double wait_s =
            1e-9 * (double)jm__windows_overlap_ns(s->windows[rank->board], call->from_ns, call->all_ns);
        if (call->from_ns == call->all_ns) last = r;
        wait->matched += jm__windows_hold(s->windows[rank->board], call->from_ns);
        wait->calls += wait_s > 0;
        wait->wait_s += wait_s;
        waited_s += wait_s;
    }
    jm__collective_wait *late = wait_of(s, call_of(m, last, 0)->collective, m->ranks.items[last]);
    if (late == NULL) return false;
    late->awaited_s += waited_s;
    late->late += waited_s > 0;
    return true;
}

/* Calls that belong together stand in the same order with each rank. */
static bool sum_up(summing *s, matching *m)
{
    for (size_t r = 0; r < m->ranks.count; r++)
        m->at.items[r] = 0;
    for (;;) {
        for (size_t r = 0; r < m->ranks.count; r++)
            while (call_of(m, r, 0) != NULL && call_of(m, r, 0)->all_ns == JM__ALONE)
                m->at.items[r]++;
        if (!all_there(m)) return true;
        if (!sum_meeting(s, m)) return false;
        for (size_t r = 0; r < m->ranks.count; r++)
            m->at.items[r]++;
    }
}

bool jm__collective_waits_find(jm__collective_waits *waits, jm__collective_calls *calls,
                               const jm__windows *const *windows)
{
    matching m = {0};
    summing sums = {waits, windows};
    bool fine = true;
    for (size_t c = 0; fine && c < calls->channels.count; c++) {
        if (calls->channels.items[c].unknown) continue;
        fine = gather(&m, calls, c);
        if (!fine || m.ranks.count == 0) continue;
        match(&m, &calls->channels.items[c]);
        fine = sum_up(&sums, &m);
    }
    jm__vec_free(&m.ranks);
    jm__vec_free(&m.at);
    return fine;
}

typedef struct chosen {
    const jm__collectives *collectives;
    uint32_t collective; /* JM__NO_COLLECTIVE: all */
} chosen;

static bool is_chosen(const chosen *which, const jm__collective_wait *wait)
{
    const jm__collective *items = which->collectives->items.items;
    return which->collective == JM__NO_COLLECTIVE ||
           items[wait->collective].same_as == items[which->collective].same_as;
}

static double awaited_s(const jm__collective_waits *waits, const chosen *which, size_t board)
{
    double seconds = 0;
    for (size_t k = 0; k < waits->count; k++)
        if (waits->items[k].board == board && is_chosen(which, &waits->items[k]))
            seconds += waits->items[k].awaited_s;
    return seconds;
}

size_t jm__collective_awaited(const jm__collective_waits *waits, const jm__collectives *collectives,
                              uint32_t collective, double *share)
{
    const chosen which = {collectives, collective};
    size_t most = SIZE_MAX, first = SIZE_MAX;
    double all_s = 0, most_s = 0;
    bool several = false;
    for (size_t i = 0; i < waits->count; i++) {
        size_t board = waits->items[i].board;
        if (!is_chosen(&which, &waits->items[i])) continue;
        if (first == SIZE_MAX) first = board;
        several = several || board != first;
        all_s += waits->items[i].awaited_s;
        double board_s = awaited_s(waits, &which, board);
        if (board_s <= most_s) continue;
        most_s = board_s;
        most = board;
    }
    *share = all_s > 0 ? most_s / all_s : 0;
    return several ? most : SIZE_MAX;
}
