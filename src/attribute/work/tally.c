/* Sums by use, and by row and use; their extrapolation to untraced steps. */
#include "attribute/work/tally.h"

#include <math.h>
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
    jm__vec_free(&tally->unrecorded);
    jm__work_cells_free(&tally->work);
    jm__work_cells_free(&tally->waits);
    jm__work_cells_free(&tally->lent);
    jm__vec_free(&tally->extrapolated_uses);
    jm__vec_free(&tally->lent_rows);
    jm__map_free(&tally->lent_at);
    free(tally->bursts);
    free(tally->extrapolated_idle_s);
    jm__vec_free(&tally->collectives);
    jm__map_free(&tally->collective_of);
    *tally = (jm__tally){0};
}

jm__use_sum *jm__use_sum_at(jm__use_sums *sums, uint32_t use)
{
    while (sums->count <= use)
        if (!jm__vec_push(sums, (jm__use_sum){.ran_s = -1})) return NULL;
    return &sums->items[use];
}

/* Allocate the draws of one more cell. */
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
    return jm__map_item(&tally->collective_of, &row, &tally->collectives,
                        &(const jm__collective_sum){.row = row});
}

size_t jm__work_cell_at(jm__work_cells *cells, uint32_t row, uint32_t use)
{
    const uint32_t key[2] = {row, use};
    cells->by_row.key_size = sizeof key;
    const jm__map_value *found = jm__map_find(&cells->by_row, key);
    if (found != NULL) return (size_t)found->id;
    jm__work_cell cell = {.row = row, .use = use, .start_ns = INT64_MAX, .end_ns = INT64_MIN};
    if (!jm__map_put(&cells->by_row, key, (jm__map_value){.id = (int64_t)cells->items.count}) ||
        !push_draws(cells) || !jm__vec_push(&cells->items, cell))
        return JM__NO_CELL;
    return cells->items.count - 1;
}

size_t jm__tally_lend(jm__tally *tally, jm__lent_row row, uint32_t use, uint32_t calls)
{
    tally->lent_at.key_size = sizeof row;
    size_t number = jm__map_item(&tally->lent_at, &row, &tally->lent_rows, &row);
    if (number == SIZE_MAX) return JM__NO_CELL;
    size_t cell = jm__work_cell_at(&tally->lent, (uint32_t)number, use);
    if (cell != JM__NO_CELL) tally->lent.items.items[cell].extrapolated_calls += calls;
    return cell;
}

static bool add_cell(jm__work_cells *to, const jm__work_cells *all, size_t i, uint32_t use)
{
    const jm__work_cell *from = &all->items.items[i];
    size_t at = jm__work_cell_at(to, from->row, use);
    if (at == JM__NO_CELL) return false;
    jm__work_cell *cell = &to->items.items[at];
    cell->seconds += from->seconds;
    cell->steady_s += from->steady_s;
    cell->calls += from->calls;
    cell->extrapolated_s += from->extrapolated_s;
    cell->extrapolated_steady_s += from->extrapolated_steady_s;
    cell->extrapolated_calls += from->extrapolated_calls;
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
    sum->extrapolated_s += share * from->extrapolated_s;
}

static bool add_use(jm__tally *to, const jm__use_sum *from, uint32_t use)
{
    if (from->ran_s < 0) return true;
    jm__use_sum *sum = jm__use_sum_at(&to->uses, use);
    if (sum == NULL) return false;
    jm__use_sum_add(sum, from, 1);
    sum->ran_s = fmax(0, sum->ran_s) + from->ran_s;
    sum->calls += from->calls;
    return true;
}

bool jm__tally_renumber(jm__tally *tally, const uint32_t *final_of)
{
    jm__tally new_item = {0};
    bool fine = true;
    for (size_t u = 0; fine && u < tally->uses.count; u++)
        fine = add_use(&new_item, &tally->uses.items[u], final_of[u]);
    fine = fine && add_cells(&new_item.work, &tally->work, final_of) &&
           add_cells(&new_item.waits, &tally->waits, final_of) &&
           add_cells(&new_item.lent, &tally->lent, final_of);
    jm__work_cells_free(&tally->work);
    jm__work_cells_free(&tally->waits);
    jm__work_cells_free(&tally->lent);
    jm__vec_free(&tally->uses);
    tally->uses = new_item.uses;
    tally->work = new_item.work;
    tally->waits = new_item.waits;
    tally->lent = new_item.lent;
    return fine;
}

/* Tracing slows down a program that is bound by its host, but not its kernels. So represented steps have the
 * busy time of the traced ones, and the rest of their own time is idle. Spans of the host are scaled with the
 * steps' own time. If the work is longer than the steps, all of it is shortened. */

/* Busy and idle time of all strata of a board. */
typedef struct balance {
    double share;         /* factor of the work's seconds; 1 unless it is shortened or from the host */
    double left_s;        /* idle time of all strata */
    double strata_idle_s; /* sum of each stratum's own idle time, where it is positive */
} balance;

static double stratum_idle_s(const jm__tally *t, const jm__extrapolated *s, size_t stratum, double share)
{
    double busy_s = s->of_stratum[stratum].steps * t->bursts[s->strata->items.items[stratum].burst].busy_s;
    return fmax(0, s->of_stratum[stratum].seconds - share * busy_s);
}

/* Spans of the host are shorter by the ratio of untraced to traced steps. */
static double host_span_scale(const jm__tally *t, const jm__extrapolated *s)
{
    double equal_s = 0, own_s = 0;
    for (size_t i = 0; i < s->strata->items.count; i++) {
        const jm__traced_burst *burst = &s->strata->bursts.items[s->strata->items.items[i].burst];
        double busy_s = t->bursts[s->strata->items.items[i].burst].busy_s;
        if (!(burst->step_s > 0)) continue;
        equal_s += s->of_stratum[i].steps * busy_s;
        own_s += s->of_stratum[i].step_s / burst->step_s * busy_s;
    }
    return equal_s > 0 ? own_s / equal_s : 1;
}

static balance find_balance(const jm__tally *t, const jm__extrapolated *s, bool from_host)
{
    double busy_s = 0, time_s = fmax(0, s->time_s - t->beside_s);
    balance result = {.share = from_host ? host_span_scale(t, s) : 1};
    for (size_t i = 0; i < s->strata->bursts.count; i++)
        busy_s += s->of_burst[i].steps * t->bursts[i].busy_s;
    for (size_t i = 0; i < s->strata->items.count; i++)
        result.strata_idle_s += stratum_idle_s(t, s, i, result.share);
    result.left_s = fmax(0, time_s - result.share * busy_s);
    if (result.share * busy_s > time_s) result.share = time_s / busy_s;
    return result;
}

/* ---- idle time caused by tracing */

/* The share of tracing in a burst's idle time without waits for data, which tracing does not lengthen. */
static double tracing_share(const jm__burst_sum *sum, double slowed_s)
{
    double idle_s = 0;
    for (int state = 0; state < JM_IDLE_STATES; state++)
        for (int cause = 0; cause < JM_IDLE_CAUSES; cause++)
            if (cause != JM_CAUSE_DATA) idle_s += sum->idle_s[state][cause];
    return slowed_s > 0 && idle_s > 0 ? fmin(1, slowed_s / idle_s) : 0;
}

/* Move a burst's share of tracing out of the other causes. */
static void split_tracing(jm__tally *t, jm__burst_sum *sum, const jm__traced_burst *burst)
{
    bool any = false;
    double share = tracing_share(sum, burst->slowed_s);
    for (int state = 0; state < JM_IDLE_STATES; state++) {
        for (int cause = 0; cause < JM_IDLE_CAUSES; cause++) {
            double *idle_s = &t->idle_s[state][cause], all_s = sum->report_s[state][cause];
            double made_s = cause == JM_CAUSE_DATA ? 0 : fmin(*idle_s, share * all_s);
            double steady_s = all_s > 0 ? made_s / all_s * sum->steady_s[state][cause] : 0;
            *idle_s -= made_s;
            t->idle_steady_s[state][cause] -= steady_s;
            t->idle_steady_s[state][JM_CAUSE_TRACING] += steady_s;
            sum->tracing_s[state] += made_s;
            sum->tracing_steady_s[state] += steady_s;
        }
        t->idle_s[state][JM_CAUSE_TRACING] += sum->tracing_s[state];
        any = any || sum->tracing_s[state] > 0;
    }
    if (any) t->gaps[JM_CAUSE_TRACING] += burst->step_intervals;
}

static void find_tracing_u(jm__burst_sum *sum, const jm__traced_burst *burst)
{
    double made_s = 0;
    for (int state = 0; state < JM_IDLE_STATES; state++)
        made_s += sum->tracing_s[state];
    if (made_s > 0) sum->tracing_u_s = made_s / burst->slowed_s * burst->slowed_u_s;
}

/* ---- idle time of the represented steps */

/* Idle time of the traced steps without tracing: {waits for data, all others}. */
static void sum_causes(double of[2], const jm__burst_sum *sum, double share)
{
    of[0] = of[1] = 0;
    for (int state = 0; state < JM_IDLE_STATES; state++)
        for (int cause = 0; cause < JM_IDLE_CAUSES; cause++)
            of[cause != JM_CAUSE_DATA] +=
                (cause == JM_CAUSE_DATA ? 1 : 1 - share) * sum->idle_s[state][cause];
}

static void add_idle(jm__tally *t, size_t stratum, int state, int cause, double seconds, double steady)
{
    t->idle[state].report_s += seconds;
    t->idle[state].steady_s += steady * seconds;
    t->idle_s[state][cause] += seconds;
    t->idle_steady_s[state][cause] += steady * seconds;
    t->extrapolated_idle_s[stratum][state] += seconds;
}

/* How much longer recording made the warm-up steps: as much as tracing made the traced ones. */
static double recorded_slowdown_s(const jm__extrapolated *s, size_t stratum)
{
    const jm__traced_burst *burst = &s->strata->bursts.items[s->strata->items.items[stratum].burst];
    return burst->slowed_s > 0
               ? s->of_stratum[stratum].recorded * burst->slowed_s / (double)burst->step_intervals
               : 0;
}

/* Waits for data are those of the traced steps, as far as there is time. The rest, less the part caused by
 * recording, is split by cause as in the traced steps. */
static void split_idle(jm__tally *t, const jm__extrapolated *s, size_t stratum, double share, double idle_s)
{
    jm__burst_sum *sum = &t->bursts[s->strata->items.items[stratum].burst];
    double of[2], steady = s->of_stratum[stratum].seconds > 0
                               ? s->of_stratum[stratum].steady_s / s->of_stratum[stratum].seconds
                               : 0;
    if (idle_s <= 0) return;
    sum_causes(of, sum, share);
    if (of[0] + of[1] <= 0) {
        add_idle(t, stratum, JM_IDLE_50_US, JM_CAUSE_LAUNCH, idle_s, steady);
        return;
    }
    double data_s = fmin(idle_s, s->of_stratum[stratum].steps * of[0]);
    if (of[1] <= 0) data_s = idle_s;
    double rest_s = idle_s - data_s, made_s = fmin(rest_s, recorded_slowdown_s(s, stratum));
    for (int state = 0; state < JM_IDLE_STATES; state++) {
        for (int cause = 0; cause < JM_IDLE_CAUSES; cause++) {
            bool data = cause == JM_CAUSE_DATA;
            double mine_s = (data ? 1 : 1 - share) * sum->idle_s[state][cause], part = mine_s / of[!data];
            if (mine_s <= 0) continue;
            add_idle(t, stratum, state, cause, (data ? data_s : rest_s - made_s) * part, steady);
            if (data || made_s <= 0) continue;
            add_idle(t, stratum, state, JM_CAUSE_TRACING, made_s * part, steady);
            sum->tracing_s[state] += made_s * part;
            sum->tracing_steady_s[state] += steady * made_s * part;
        }
    }
}

static void add_gaps(jm__tally *t, const jm__extrapolated *s)
{
    for (int cause = 0; cause < JM_IDLE_CAUSES; cause++) {
        double gaps = 0;
        for (size_t i = 0; i < s->strata->bursts.count; i++)
            gaps += s->of_burst[i].steps * t->bursts[i].gaps[cause];
        t->gaps[cause] += llround(gaps);
    }
}

/* ---- work */

static void add_extrapolated_cells(jm__work_cells *cells, double share, double single_burst_u, double *off_s)
{
    for (size_t i = 0; i < cells->items.count; i++) {
        jm__work_cell *cell = &cells->items.items[i];
        for (size_t r = 0; r < cells->draws; r++) {
            double *off = &cells->off_s.items[i * cells->draws + r];
            double single_burst_s = jm__draw_sign(cell->row, r) * single_burst_u * cell->extrapolated_s;
            *off = share * (*off + single_burst_s);
            if (off_s != NULL) off_s[r] += single_burst_s;
        }
        cell->seconds += share * cell->extrapolated_s;
        cell->steady_s += share * cell->extrapolated_steady_s;
        cell->extrapolated_s = cell->extrapolated_steady_s = 0;
    }
}

void jm__extrapolated_settle(jm__tally *t, const jm__extrapolated *s, bool from_host)
{
    const balance result = find_balance(t, s, from_host);
    for (size_t u = 0; u < t->extrapolated_uses.count; u++)
        jm__use_sum_add(&t->uses.items[u], &t->extrapolated_uses.items[u], result.share);
    add_extrapolated_cells(&t->work, result.share, s->single_burst_u, t->off_s);
    add_extrapolated_cells(&t->lent, result.share, s->single_burst_u, NULL);
    for (size_t r = 0; r < JM_DRAWS; r++)
        t->off_s[r] *= result.share;
    for (size_t i = 0; i < s->strata->bursts.count; i++)
        split_tracing(t, &t->bursts[i], &s->strata->bursts.items[i]);
    for (size_t i = 0; i < s->strata->items.count; i++) {
        uint32_t burst = s->strata->items.items[i].burst;
        double share = tracing_share(&t->bursts[burst], s->strata->bursts.items[burst].slowed_s);
        double part = result.strata_idle_s > 0 ? stratum_idle_s(t, s, i, result.share) / result.strata_idle_s
                                               : (s->time_s > 0 ? s->of_stratum[i].seconds / s->time_s : 0);
        split_idle(t, s, i, share, result.left_s * part);
    }
    for (size_t i = 0; i < s->strata->bursts.count; i++)
        find_tracing_u(&t->bursts[i], &s->strata->bursts.items[i]);
    add_gaps(t, s);
}
