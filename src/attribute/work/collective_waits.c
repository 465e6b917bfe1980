/* Calls by rank, and their comparison once all are there. */
#include "attribute/work/collective_waits.h"

#include <string.h>

/* Of calls that should belong together; some may be cut short by a record that was lost. */
static const double strangers_most = 0.01;

void jm__collective_calls_free(jm__collective_calls *calls)
{
    for (size_t i = 0; i < calls->ranks.count; i++)
        jm__vec_free(&calls->ranks.items[i].calls);
    jm__vec_free(&calls->ranks);
    jm__vec_free(&calls->collectives);
    jm__map_free(&calls->rank_at);
    *calls = (jm__collective_calls){0};
}

static bool collective_at(jm__collective_calls *calls, const char *name, size_t *number)
{
    const jm__collective fresh = {.name = name};
    for (*number = 0; *number < calls->collectives.count; (*number)++)
        if (calls->collectives.items[*number].name == name) return true;
    return jm__vec_push(&calls->collectives, fresh);
}

/* NULL if memory is out. */
static jm__rank_calls *rank_of(jm__collective_calls *calls, const char *name, int64_t process_id,
                               size_t board)
{
    const uint64_t key[3] = {(uintptr_t)name, (uint64_t)process_id, board};
    calls->rank_at.key_size = sizeof key;
    const jm__map_value *known = jm__map_find(&calls->rank_at, key);
    if (known != NULL) return &calls->ranks.items[known->id];
    jm__rank_calls fresh = {.process_id = process_id, .board = board};
    if (!collective_at(calls, name, &fresh.collective) ||
        !jm__map_put(&calls->rank_at, key, (jm__map_value){.id = (int64_t)calls->ranks.count}) ||
        !jm__vec_push(&calls->ranks, fresh))
        return NULL;
    return &calls->ranks.items[calls->ranks.count - 1];
}

/* Nothing will be said of it. */
static void give_up(jm__collective_calls *calls, size_t collective)
{
    calls->collectives.items[collective].unknown = true;
    for (size_t i = 0; i < calls->ranks.count; i++)
        if (calls->ranks.items[i].collective == collective) jm__vec_free(&calls->ranks.items[i].calls);
}

bool jm__collective_calls_add(jm__collective_calls *calls, const char *name, const jm__item *item,
                              size_t board)
{
    jm__rank_calls *rank = rank_of(calls, name, item->process_id, board);
    if (rank == NULL) return false;
    jm__collective *collective = &calls->collectives.items[rank->collective];
    if (collective->unknown) return true;
    if (item->calls != 1 || collective->calls == JM_COLLECTIVE_CALLS_MAX) {
        give_up(calls, rank->collective);
        return true;
    }
    collective->calls++;
    return jm__vec_push(&rank->calls, ((jm__window){item->start_ns, item->end_ns}));
}

/* The ranks of one collective, and what is found of each. */
typedef struct matching {
    JM_VEC(const jm__rank_calls *) ranks;
    jm__collective_wait *waits; /* [ranks] */
    const jm__windows *const *windows;
} matching;

static double report_s(const matching *m, size_t rank, int64_t from_ns, int64_t to_ns)
{
    return 1e-9 * (double)jm__windows_overlap_ns(m->windows[m->ranks.items[rank]->board], from_ns, to_ns);
}

/* The call of this number, by all ranks; false if they were not all at it at one time. */
static bool compare(const matching *m, size_t number)
{
    size_t last = 0;
    int64_t first_end_ns = INT64_MAX;
    for (size_t r = 0; r < m->ranks.count; r++) {
        const jm__window *call = &m->ranks.items[r]->calls.items[number];
        if (call->from_ns > m->ranks.items[last]->calls.items[number].from_ns) last = r;
        if (call->to_ns < first_end_ns) first_end_ns = call->to_ns;
    }
    int64_t all_ns = m->ranks.items[last]->calls.items[number].from_ns;
    if (all_ns >= first_end_ns) return false;
    for (size_t r = 0; r < m->ranks.count; r++) {
        const jm__window *call = &m->ranks.items[r]->calls.items[number];
        double wait_s = report_s(m, r, call->from_ns, all_ns);
        m->waits[r].ran_s += report_s(m, r, call->from_ns, call->to_ns);
        m->waits[r].wait_s += wait_s;
        m->waits[r].calls += wait_s > 0;
        m->waits[last].awaited_s += wait_s;
    }
    return true;
}

static bool may_belong_together(const matching *m)
{
    for (size_t r = 1; r < m->ranks.count; r++)
        if (m->ranks.items[r]->calls.count != m->ranks.items[0]->calls.count) return false;
    return m->ranks.count > 1;
}

/* Adds nothing where the ranks' calls do not belong together. */
static bool match(jm__collective_waits *waits, const jm__collective *collective, matching *m)
{
    size_t before = waits->count, strangers = 0;
    if (!may_belong_together(m)) return true;
    size_t calls = m->ranks.items[0]->calls.count;
    for (size_t r = 0; r < m->ranks.count; r++) {
        const jm__rank_calls *rank = m->ranks.items[r];
        const jm__collective_wait fresh = {
            .name = collective->name, .process_id = rank->process_id, .board = rank->board};
        if (!jm__vec_push(waits, fresh)) return false;
    }
    m->waits = waits->items + before;
    for (size_t k = 0; k < calls; k++)
        strangers += !compare(m, k);
    if ((double)strangers > strangers_most * (double)calls) waits->count = before;
    return true;
}

bool jm__collective_waits_find(jm__collective_waits *waits, const jm__collective_calls *calls,
                               const jm__windows *const *windows)
{
    matching m = {.windows = windows};
    bool fine = true;
    for (size_t c = 0; fine && c < calls->collectives.count; c++) {
        const jm__collective *collective = &calls->collectives.items[c];
        m.ranks.count = 0;
        for (size_t r = 0; fine && r < calls->ranks.count && !collective->unknown; r++)
            if (calls->ranks.items[r].collective == c) fine = jm__vec_push(&m.ranks, &calls->ranks.items[r]);
        fine = fine && match(waits, collective, &m);
    }
    jm__vec_free(&m.ranks);
    return fine;
}

size_t jm__collective_awaited(const jm__collective_waits *waits, const char *name, double *share)
{
    size_t most = SIZE_MAX, first = SIZE_MAX;
    double all_s = 0, most_s = 0;
    bool several = false;
    for (size_t i = 0; i < waits->count; i++) {
        double board_s = 0;
        if (name != NULL && waits->items[i].name != name) continue;
        if (first == SIZE_MAX) first = waits->items[i].board;
        several = several || waits->items[i].board != first;
        all_s += waits->items[i].awaited_s;
        for (size_t k = 0; k < waits->count; k++)
            if (waits->items[k].board == waits->items[i].board &&
                (name == NULL || waits->items[k].name == name))
                board_s += waits->items[k].awaited_s;
        if (board_s <= most_s) continue;
        most_s = board_s;
        most = waits->items[i].board;
    }
    *share = all_s > 0 ? most_s / all_s : 0;
    return several ? most : SIZE_MAX;
}
