/* Sums by use, and by row and use. */
#include "attribute/work/tally.h"

#include <string.h>

void jm__work_cells_free(jm__work_cells *cells)
{
    jm__vec_free(&cells->items);
    jm__map_free(&cells->by_row);
}

void jm__tally_free(jm__tally *tally)
{
    jm__vec_free(&tally->uses);
    jm__work_cells_free(&tally->work);
    jm__work_cells_free(&tally->waits);
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
        !jm__vec_push(&cells->items, cell))
        return JM__NO_CELL;
    return cells->items.count - 1;
}

static bool add_cell(jm__work_cells *to, const jm__work_cell *from, uint32_t use)
{
    size_t at = jm__work_cell_at(to, from->row, use);
    if (at == JM__NO_CELL) return false;
    jm__work_cell *cell = &to->items.items[at];
    cell->seconds += from->seconds;
    cell->calls += from->calls;
    if (from->start_ns < cell->start_ns) cell->start_ns = from->start_ns;
    if (from->end_ns > cell->end_ns) cell->end_ns = from->end_ns;
    return true;
}

static bool add_cells(jm__work_cells *to, const jm__work_cells *from, const uint32_t *final_of)
{
    for (size_t i = 0; i < from->items.count; i++)
        if (!add_cell(to, &from->items.items[i], final_of[from->items.items[i].use])) return false;
    return true;
}

static bool add_use(jm__tally *to, const jm__use_sum *from, uint32_t use)
{
    if (from->ran_s < 0) return true;
    jm__use_sum *sum = jm__tally_use(to, use);
    if (sum == NULL) return false;
    jm__seconds_add(&sum->inside, from->inside, 1);
    sum->outside_s += from->outside_s;
    for (size_t place = 0; place < JM_PLACES; place++)
        sum->place_s[place] += from->place_s[place];
    sum->ran_s = (sum->ran_s < 0 ? 0 : sum->ran_s) + from->ran_s;
    sum->calls += from->calls;
    sum->copies_s += from->copies_s;
    sum->exposed_s += from->exposed_s;
    return true;
}

bool jm__tally_renumber(jm__tally *tally, const uint32_t *final_of)
{
    jm__tally fresh = {0};
    bool fine = true;
    for (size_t u = 0; fine && u < tally->uses.count; u++)
        fine = add_use(&fresh, &tally->uses.items[u], final_of[u]);
    fine = fine && add_cells(&fresh.work, &tally->work, final_of) &&
           add_cells(&fresh.waits, &tally->waits, final_of);
    memcpy(fresh.idle, tally->idle, sizeof fresh.idle);
    memcpy(fresh.idle_s, tally->idle_s, sizeof fresh.idle_s);
    memcpy(fresh.gaps, tally->gaps, sizeof fresh.gaps);
    fresh.collective_s = tally->collective_s;
    fresh.exposed_s = tally->exposed_s;
    jm__collective_sums sums = tally->collectives; /* by row: nothing of them changes */
    jm__map rows = tally->collective_of;
    tally->collectives = (jm__collective_sums){0};
    tally->collective_of = (jm__map){0};
    jm__tally_free(tally);
    *tally = fresh;
    tally->collectives = sums;
    tally->collective_of = rows;
    return fine;
}
