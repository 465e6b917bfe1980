/* Sums by use, and by row and use. */
#include "attribute/work/tally.h"

#include <stdlib.h>
#include <string.h>

void jm__work_cells_free(jm__work_cells *cells)
{
    jm__vec_free(&cells->items);
    jm__vec_free(&cells->off_s);
    jm__map_free(&cells->by_row);
}

void jm__tally_free(jm__tally *tally)
{
    jm__vec_free(&tally->uses);
    jm__vec_free(&tally->rests);
    jm__work_cells_free(&tally->work);
    jm__work_cells_free(&tally->waits);
    jm__work_cells_free(&tally->lent);
    jm__vec_free(&tally->stood_uses);
    jm__vec_free(&tally->lent_rows);
    jm__map_free(&tally->lent_at);
    free(tally->turns);
    free(tally->stood_idle_s);
    jm__vec_free(&tally->collectives);
    jm__map_free(&tally->collective_of);
    *tally = (jm__tally){0};
}

jm__use_sum *jm__tally_use(jm__tally *tally, uint32_t use)
{
    while (tally->uses.count <= use)
        if (!jm__vec_push(&tally->uses, (jm__use_sum){.ran_s = -1})) return NULL;
    return &tally->uses.items[use];
}

jm__use_sum *jm__tally_stood_use(jm__tally *tally, uint32_t use)
{
    while (tally->stood_uses.count <= use)
        if (!jm__vec_push(&tally->stood_uses, (jm__use_sum){.ran_s = -1})) return NULL;
    return &tally->stood_uses.items[use];
}

/* Room for the draws of one more cell. */
static bool push_draws(jm__work_cells *cells)
{
    size_t count = cells->off_s.count, more = cells->draws;
    if (!jm__vec_reserve(&cells->off_s, count + more)) return false;
    if (more > 0) memset(cells->off_s.items + count, 0, more * sizeof *cells->off_s.items);
    cells->off_s.count += more;
    return true;
}

size_t jm__tally_collective(jm__tally *tally, uint32_t row)
{
    tally->collective_of.key_size = sizeof row;
    const jm__map_value *known = jm__map_find(&tally->collective_of, &row);
    if (known != NULL) return (size_t)known->id;
    const jm__collective_sum fresh = {.row = row};
    if (!jm__map_put(&tally->collective_of, &row, (jm__map_value){.id = (int64_t)tally->collectives.count}) ||
        !jm__vec_push(&tally->collectives, fresh))
        return SIZE_MAX;
    return tally->collectives.count - 1;
}

size_t jm__work_cell_at(jm__work_cells *cells, uint32_t row, uint32_t use)
{
    const uint32_t key[2] = {row, use};
    cells->by_row.key_size = sizeof key;
    const jm__map_value *known = jm__map_find(&cells->by_row, key);
    if (known != NULL) return (size_t)known->id;
    jm__work_cell cell = {.row = row, .use = use, .start_ns = INT64_MAX, .end_ns = INT64_MIN};
    if (!jm__map_put(&cells->by_row, key, (jm__map_value){.id = (int64_t)cells->items.count}) ||
        !push_draws(cells) || !jm__vec_push(&cells->items, cell))
        return JM__NO_CELL;
    return cells->items.count - 1;
}

size_t jm__tally_lend(jm__tally *tally, jm__lent_row row, uint32_t use, uint32_t calls)
{
    tally->lent_at.key_size = sizeof row;
    const jm__map_value *known = jm__map_find(&tally->lent_at, &row);
    uint32_t number = known != NULL ? (uint32_t)known->id : (uint32_t)tally->lent_rows.count;
    if (known == NULL && (!jm__map_put(&tally->lent_at, &row, (jm__map_value){.id = number}) ||
                          !jm__vec_push(&tally->lent_rows, row)))
        return JM__NO_CELL;
    size_t cell = jm__work_cell_at(&tally->lent, number, use);
    if (cell != JM__NO_CELL) tally->lent.items.items[cell].stood_calls += calls;
    return cell;
}

static bool add_cell(jm__work_cells *to, const jm__work_cells *all, size_t i, uint32_t use)
{
    const jm__work_cell *from = &all->items.items[i];
    size_t at = jm__work_cell_at(to, from->row, use);
    if (at == JM__NO_CELL) return false;
    jm__work_cell *cell = &to->items.items[at];
    cell->seconds += from->seconds;
    cell->calls += from->calls;
    cell->stood_s += from->stood_s;
    cell->stood_calls += from->stood_calls;
    for (size_t r = 0; r < to->draws; r++)
        to->off_s.items[at * to->draws + r] += all->off_s.items[i * to->draws + r];
    if (from->start_ns < cell->start_ns) cell->start_ns = from->start_ns;
    if (from->end_ns > cell->end_ns) cell->end_ns = from->end_ns;
    return true;
}

static bool add_cells(jm__work_cells *to, const jm__work_cells *from, const uint32_t *final_of)
{
    to->draws = from->draws;
    for (size_t i = 0; i < from->items.count; i++)
        if (!add_cell(to, from, i, final_of[from->items.items[i].use])) return false;
    return true;
}

void jm__use_sum_add(jm__use_sum *sum, const jm__use_sum *from, double share)
{
    jm__seconds_add(&sum->inside, from->inside, share);
    sum->outside_s += share * from->outside_s;
    for (size_t place = 0; place < JM_PLACES; place++)
        sum->place_s[place] += share * from->place_s[place];
    sum->copies_s += share * from->copies_s;
    sum->exposed_s += share * from->exposed_s;
    sum->stood_s += share * from->stood_s;
}

static bool add_use(jm__tally *to, const jm__use_sum *from, uint32_t use)
{
    if (from->ran_s < 0) return true;
    jm__use_sum *sum = jm__tally_use(to, use);
    if (sum == NULL) return false;
    jm__use_sum_add(sum, from, 1);
    sum->ran_s = (sum->ran_s < 0 ? 0 : sum->ran_s) + from->ran_s;
    sum->calls += from->calls;
    return true;
}

bool jm__tally_renumber(jm__tally *tally, const uint32_t *final_of)
{
    jm__tally fresh = {0};
    bool fine = true;
    for (size_t u = 0; fine && u < tally->uses.count; u++)
        fine = add_use(&fresh, &tally->uses.items[u], final_of[u]);
    fine = fine && add_cells(&fresh.work, &tally->work, final_of) &&
           add_cells(&fresh.waits, &tally->waits, final_of) && add_cells(&fresh.lent, &tally->lent, final_of);
    jm__work_cells *const old[] = {&tally->work, &tally->waits, &tally->lent};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        jm__work_cells_free(old[i]);
    jm__vec_free(&tally->uses);
    tally->uses.items = fresh.uses.items;
    tally->uses.count = fresh.uses.count;
    tally->uses.capacity = fresh.uses.capacity;
    tally->work = fresh.work;
    tally->waits = fresh.waits;
    tally->lent = fresh.lent;
    return fine;
}
