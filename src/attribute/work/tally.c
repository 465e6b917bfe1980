/* Sums by class, and by row and class. */
#include "attribute/work/tally.h"

void jm__tally_free(jm__tally *tally)
{
    jm__vec_free(&tally->classes);
    jm__vec_free(&tally->cells);
    jm__map_free(&tally->by_row);
    *tally = (jm__tally){0};
}

jm__class_sum *jm__tally_class(jm__tally *tally, uint32_t class_index)
{
    while (tally->classes.count <= class_index)
        if (!jm__vec_push(&tally->classes, (jm__class_sum){.ran_s = -1})) return NULL;
    return &tally->classes.items[class_index];
}

size_t jm__tally_cell(jm__tally *tally, uint32_t row, uint32_t class_index)
{
    const uint32_t key[2] = {row, class_index};
    tally->by_row.key_size = sizeof key;
    const jm__map_value *known = jm__map_find(&tally->by_row, key);
    if (known != NULL) return (size_t)known->id;
    jm__work_cell cell = {.row = row, .class_index = class_index, .start_ns = INT64_MAX, .end_ns = INT64_MIN};
    if (!jm__map_put(&tally->by_row, key, (jm__map_value){.id = (int64_t)tally->cells.count}) ||
        !jm__vec_push(&tally->cells, cell))
        return JM__NO_CELL;
    return tally->cells.count - 1;
}

static bool add_cell(jm__tally *to, const jm__work_cell *from, uint32_t class_index)
{
    size_t at = jm__tally_cell(to, from->row, class_index);
    if (at == JM__NO_CELL) return false;
    jm__work_cell *cell = &to->cells.items[at];
    cell->seconds += from->seconds;
    cell->calls += from->calls;
    if (from->start_ns < cell->start_ns) cell->start_ns = from->start_ns;
    if (from->end_ns > cell->end_ns) cell->end_ns = from->end_ns;
    return true;
}

static bool add_class(jm__tally *to, const jm__class_sum *from, uint32_t class_index)
{
    if (from->ran_s < 0) return true;
    jm__class_sum *sum = jm__tally_class(to, class_index);
    if (sum == NULL) return false;
    sum->inside.report_s += from->inside.report_s;
    sum->inside.learn_s += from->inside.learn_s;
    sum->outside_s += from->outside_s;
    sum->ran_s = (sum->ran_s < 0 ? 0 : sum->ran_s) + from->ran_s;
    return true;
}

bool jm__tally_renumber(jm__tally *tally, const uint32_t *final_of)
{
    jm__tally fresh = {0};
    bool fine = true;
    for (size_t c = 0; fine && c < tally->classes.count; c++)
        fine = add_class(&fresh, &tally->classes.items[c], final_of[c]);
    for (size_t i = 0; fine && i < tally->cells.count; i++)
        fine = add_cell(&fresh, &tally->cells.items[i], final_of[tally->cells.items[i].class_index]);
    for (size_t s = 0; s < JM_IDLE_STATES; s++)
        fresh.idle[s] = tally->idle[s];
    jm__tally_free(tally);
    *tally = fresh;
    return fine;
}
