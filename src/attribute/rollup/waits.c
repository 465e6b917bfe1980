/* Seconds out of the pass, joules at the powers of the fit. */
#include "attribute/rollup/waits.h"

#include <math.h>

typedef struct sum {
    double seconds;
    double energy_j;
} sum;

/* Seconds of a use, and what they cost. */
static void add(sum *to, const jm__board_part *part, size_t use, double seconds)
{
    if (!(seconds > 0)) return;
    double power_w = part->fit.known ? part->fit.power_w[part->work->columns.of_use[use]] : NAN;
    to->seconds += seconds;
    to->energy_j += power_w * jm__use_scale(part->work, use) * seconds;
}

/* Is anything known of what ran on it? */
static bool is_traced(const jm__board_part *part)
{
    return part->wanted && part->work->columns.count > 0 && !part->work->from_host;
}

static bool add_copies(sum *copies, const jm__board_part *part)
{
    if (!is_traced(part)) return false;
    for (size_t u = 0; u < part->work->tally.uses.count; u++)
        add(copies, part, u, part->work->tally.uses.items[u].copies_s);
    return true;
}

static double ran_s(const jm__attribution *a, const jm__collective_wait *rank)
{
    double seconds = 0;
    for (size_t i = 0; i < a->work.waits.count; i++) {
        const jm__collective_wait *other = &a->work.waits.items[i];
        if (other->name == rank->name && other->board == rank->board) seconds += other->ran_s;
    }
    return seconds;
}

/* A collective shares its time with what ran beside it, and so does its waiting. */
static void add_waiting(sum *waiting, const jm__attribution *a, const jm__collective_wait *rank)
{
    const jm__board_part *part = &a->boards[rank->board];
    double share = rank->wait_s / ran_s(a, rank);
    for (size_t u = 0; rank->wait_s > 0 && u < part->work->tally.uses.count; u++) {
        const jm__use_sum *use = &part->work->tally.uses.items[u];
        const jm__class *class = &a->work.classes.items[a->work.uses.items.items[u].class_index];
        if (use->ran_s >= 0 && class->name == rank->name) add(waiting, part, u, share * use->inside.report_s);
    }
}

static void sum_waiting(jm_report_totals *t, const jm__attribution *a)
{
    sum waiting = {0};
    double share;
    t->collective_wait_s = t->collective_wait_energy_j = NAN;
    t->collective_wait_gpu = -1;
    if (a->work.waits.count == 0) return;
    for (size_t i = 0; i < a->work.waits.count; i++)
        add_waiting(&waiting, a, &a->work.waits.items[i]);
    t->collective_wait_s = waiting.seconds;
    t->collective_wait_energy_j = waiting.energy_j;
    size_t board = jm__collective_awaited(&a->work.waits, NULL, &share);
    if (board != SIZE_MAX && share >= 0.5) t->collective_wait_gpu = jm__attribution_index(a, board);
}

void jm__waits_sum(jm_report_totals *t, const jm__attribution *a)
{
    sum copies = {0};
    bool traced = false;
    for (size_t b = 0; b < a->dataset->board_count; b++)
        traced = add_copies(&copies, &a->boards[b]) || traced;
    t->copy_s = traced ? copies.seconds : NAN;
    t->copy_energy_j = traced ? copies.energy_j : NAN;
    sum_waiting(t, a);
}
