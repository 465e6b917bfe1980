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

/* Collectives of a board, and what of their time was waiting, or beside nothing. */
static bool add_collectives(jm_report_totals *t, sum *all, sum *exposed, sum *waiting,
                            const jm__board_part *part, const jm__work_set *work)
{
    if (!is_traced(part)) return false;
    for (size_t u = 0; u < part->work->tally.uses.count; u++) {
        const jm__use_sum *use = &part->work->tally.uses.items[u];
        const jm__class *class = &work->classes.items[work->uses.items.items[u].class_index];
        if (use->ran_s < 0 || class->family != JM_KERNEL_FAMILY_COLLECTIVE) continue;
        add(all, part, u, use->inside.report_s);
        add(exposed, part, u, use->exposed_s);
        if (class->waits) add(waiting, part, u, use->inside.report_s);
    }
    t->collective_s += part->work->tally.collective_s; /* by the clock: what is beside counts in full */
    t->collective_exposed_s += part->work->tally.exposed_s;
    return true;
}

static void sum_collectives(jm_report_totals *t, const jm__attribution *a)
{
    const jm__ranks *ranks = &a->work.ranks;
    sum all = {0}, exposed = {0}, waiting = {0};
    bool traced = false;
    double share;
    t->collective_s = t->collective_exposed_s = 0;
    for (size_t b = 0; b < a->dataset->board_count; b++)
        traced = add_collectives(t, &all, &exposed, &waiting, &a->boards[b], &a->work) || traced;
    t->collective_energy_j = all.energy_j;
    t->collective_exposed_energy_j = exposed.energy_j;
    if (!traced)
        t->collective_s = t->collective_energy_j = t->collective_exposed_s = t->collective_exposed_energy_j =
            NAN;
    t->collective_wait_s = t->collective_wait_energy_j = NAN;
    t->collective_wait_gpu = -1;
    if (ranks->waits.count == 0) return;
    t->collective_wait_s = waiting.seconds;
    t->collective_wait_energy_j = waiting.energy_j;
    size_t board = jm__collective_awaited(&ranks->waits, &ranks->collectives, JM__NO_COLLECTIVE, &share);
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
    sum_collectives(t, a);
}
