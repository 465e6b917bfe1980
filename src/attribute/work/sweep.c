/* The order of items, and the sweep line over them. */
#include "attribute/work/sweep.h"

#include "attribute/input/span_index.h"
#include "base/clock.h"
#include "base/order.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

enum { MOVE_MAX = 16 }; /* places that an insertion moves an item; farther ones wait for a sort */

void jm__time_order_begin(jm__time_order *order, jm__item_sink emit, void *context)
{
    *order = (jm__time_order){.emitted_ns = INT64_MIN, .emit = emit, .context = context};
}

void jm__time_order_free(jm__time_order *order)
{
    jm__vec_free(&order->items);
}

static int by_start(const void *a, const void *b)
{
    const jm__item *left = a, *right = b;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

void jm__items_sort(jm__items *items)
{
    jm__sort(items->items, items->count, sizeof *items->items, by_start);
}

static jm_status emit_items(jm__time_order *order, size_t count, jm_error *err)
{
    if (order->unsorted) jm__items_sort(&order->items);
    order->unsorted = false;
    for (size_t i = 0; i < count; i++)
        JM_TRY(order->emit(order->context, &order->items.items[i], err));
    if (count > 0) order->emitted_ns = order->items.items[count - 1].start_ns;
    order->items.count -= count;
    memmove(order->items.items, order->items.items + count, order->items.count * sizeof *order->items.items);
    return JM_OK;
}

jm_status jm__time_order_add(jm__time_order *order, const jm__item *item, bool *late, jm_error *err)
{
    if (order->items.count == 2 * JM_ORDER_REACH) JM_TRY(emit_items(order, JM_ORDER_REACH, err));
    *late = item->start_ns < order->emitted_ns;
    if (*late) return JM_OK;
    if (!jm__vec_push(&order->items, *item)) return jm__no_memory(err, "jm__time_order_add");
    jm__item *items = order->items.items;
    size_t at = order->items.count - 1, first_place = at > MOVE_MAX ? at - MOVE_MAX : 0;
    for (; at > first_place && by_start(&items[at - 1], item) > 0; at--)
        items[at] = items[at - 1];
    items[at] = *item;
    order->unsorted = order->unsorted || (at > 0 && by_start(&items[at - 1], item) > 0);
    return JM_OK;
}

jm_status jm__time_order_end(jm__time_order *order, jm_error *err)
{
    return order->items.count > 0 ? emit_items(order, order->items.count, err) : JM_OK;
}

void jm__sweep_begin(jm__sweep *sweep, jm__pieces *pieces, jm__tally *tally, const jm__intervals *report,
                     const jm__intervals *steady, const jm__intervals *learn, int64_t from_ns)
{
    *sweep = (jm__sweep){.pieces = pieces,
                         .tally = tally,
                         .whole = {.report = report, .steady = steady},
                         .learn = learn,
                         .nothing_ran = true,
                         .now_ns = from_ns};
}

void jm__sweep_free(jm__sweep *sweep)
{
    jm__vec_free(&sweep->running);
    jm__vec_free(&sweep->active);
    jm__vec_free(&sweep->active_at);
    free(sweep->views);
    sweep->views = NULL;
}

bool jm__sweep_extrapolate(jm__sweep *s, const jm__extrapolated *extrapolated)
{
    s->extrapolated = extrapolated;
    s->step_interval_at = extrapolated->strata->step_intervals_of[extrapolated->idle_process];
    s->tally->work.draws = s->tally->lent.draws = JM_DRAWS;
    s->tally->bursts = calloc(extrapolated->strata->bursts.count + 1, sizeof *s->tally->bursts);
    s->tally->extrapolated_idle_s =
        calloc(extrapolated->strata->items.count + 1, sizeof *s->tally->extrapolated_idle_s);
    s->views = calloc(extrapolated->views.count + 1, sizeof *s->views);
    for (size_t v = 0; s->views != NULL && v < extrapolated->views.count; v++)
        s->views[v] = (jm__sweep_view){.report = &extrapolated->views.items[v].report,
                                       .steady = &extrapolated->views.items[v].steady};
    return s->tally->bursts != NULL && s->tally->extrapolated_idle_s != NULL && s->views != NULL;
}

static const jm__step_interval *step_interval_of(const jm__strata *strata, const jm__item *item, size_t span,
                                                 size_t process)
{
    uint32_t step_interval = span == JM__NO_SPAN ? 0 : strata->step_interval_of_span[span];
    if (step_interval != 0) return &strata->step_intervals.items[step_interval - 1];
    size_t at = jm__strata_step_interval_at(strata, process, jm__item_launched_ns(item));
    return at == JM__NO_STEP_INTERVAL ? NULL : &strata->step_intervals.items[at];
}

void jm__extrapolated_assign(jm__counted_as *as, const jm__extrapolated *extrapolated, const jm__item *item,
                             size_t span, size_t process)
{
    if (process == extrapolated->strata->processes || !extrapolated->uses[process]) return;
    const jm__step_interval *step = step_interval_of(extrapolated->strata, item, span, process);
    as->view = extrapolated->view_of[process];
    if (step != NULL && jm__step_interval_is_sampled(step) && extrapolated->of_burst[step->stratum].steps > 0)
        as->step_interval = step;
}

/* Seconds of [from, to] in the windows; calls come in order of time. */
static double inside_s(const jm__intervals *windows, size_t *first, int64_t from_ns, int64_t to_ns)
{
    return 1e-9 * (double)jm__intervals_next_overlap_ns(windows, first, from_ns, to_ns);
}

static void pass_view(jm__sweep_view *view, int64_t from_ns, int64_t to_ns, double learn_s)
{
    view->now = (jm__seconds){.report_s = inside_s(view->report, &view->report_at, from_ns, to_ns),
                              .steady_s = inside_s(view->steady, &view->steady_at, from_ns, to_ns),
                              .learn_s = learn_s};
}

/* Sets `now` of each view: the interval up to to_ns. */
static void pass_views(jm__sweep *s, int64_t to_ns)
{
    double learn_s = inside_s(s->learn, &s->learn_at, s->now_ns, to_ns);
    pass_view(&s->whole, s->now_ns, to_ns, learn_s);
    for (size_t v = 0; s->extrapolated != NULL && v < s->extrapolated->views.count; v++)
        pass_view(&s->views[v], s->now_ns, to_ns, learn_s);
}

static jm__seconds in_view(const jm__sweep *s, uint32_t view)
{
    return view == 0 ? s->whole.now : s->views[view - 1].now;
}

static const jm__sweep_view *idle_view(const jm__sweep *s)
{
    uint32_t view = s->extrapolated == NULL ? 0 : s->extrapolated->idle_view;
    return view == 0 ? &s->whole : &s->views[view - 1];
}

/* A wait counts for the use that ended it: there its reason is found. */
static bool count_wait(jm__sweep *s, jm__idle_cause cause, double seconds, uint32_t use)
{
    size_t at = jm__work_cell_at(&s->tally->waits, cause, use);
    if (at == JM__NO_CELL) return false;
    s->tally->waits.items.items[at].seconds += seconds;
    s->tally->waits.items.items[at].calls++;
    return true;
}

/* Of what comes before and after all work nobody asks which layer it was for. */
static bool count_gap(jm__sweep *s, jm__idle_cause cause, const uint32_t *use, double report_s)
{
    if (report_s == 0) return true;
    s->tally->gaps[cause]++;
    return use == NULL || cause == JM_CAUSE_EDGE || count_wait(s, cause, report_s, *use);
}

/* A gap, or what is left of it at the edge of time that traced steps represent. */
typedef struct gap {
    int64_t from_ns, to_ns;
    jm__idle_cause cause;       /* in the report */
    jm__idle_cause burst_cause; /* in traced steps that stand for others: as they are by the host's time */
} gap;

/* Idle time of traced steps that stand for others goes with them: that from where all stands up to there. */
static void count_in_bursts(jm__sweep *s, const gap *of, int64_t to_ns, jm__idle_state state,
                            jm__seconds seconds)
{
    const jm__strata *strata = s->extrapolated->strata;
    size_t end = strata->step_intervals_of[s->extrapolated->idle_process + 1];
    double length_ns = (double)(to_ns - s->now_ns), whole_ns = (double)(of->to_ns - of->from_ns);
    while (s->step_interval_at < end && strata->step_intervals.items[s->step_interval_at].end_ns <= s->now_ns)
        s->step_interval_at++;
    for (size_t i = s->step_interval_at; i < end && strata->step_intervals.items[i].start_ns < to_ns; i++) {
        const jm__step_interval *step = &strata->step_intervals.items[i];
        int64_t from = step->start_ns > s->now_ns ? step->start_ns : s->now_ns;
        int64_t to = step->end_ns < to_ns ? step->end_ns : to_ns;
        if (!jm__step_interval_is_sampled(step) || to <= from) continue;
        double share = (double)(to - from) / length_ns;
        jm__burst_sum *sum = &s->tally->bursts[step->stratum];
        sum->idle_s[state][of->burst_cause] += (double)(to - from) * 1e-9;
        sum->report_s[state][of->burst_cause] += share * seconds.report_s;
        sum->steady_s[state][of->burst_cause] += share * seconds.steady_s;
        sum->gaps[of->burst_cause] += (double)(to - from) / whole_ns;
    }
}

/* The next edge of extrapolated time: within it, gaps between the board's records mean nothing. */
static int64_t next_edge(jm__sweep *s, int64_t to_ns, bool *extrapolated_time)
{
    *extrapolated_time = false;
    if (s->extrapolated == NULL) return to_ns;
    const jm__intervals *time = &s->extrapolated->time;
    while (s->extrapolated_at < time->count && time->items[s->extrapolated_at].to_ns <= s->now_ns)
        s->extrapolated_at++;
    if (s->extrapolated_at == time->count) return to_ns;
    const jm__interval *next = &time->items[s->extrapolated_at];
    *extrapolated_time = next->from_ns <= s->now_ns;
    int64_t edge_ns = *extrapolated_time ? next->to_ns : next->from_ns;
    return edge_ns < to_ns ? edge_ns : to_ns;
}

static bool add_idle_pieces(jm__sweep *s, int64_t to_ns, jm__idle_state state)
{
    int64_t until_ns;
    do {
        until_ns = jm__pieces_edge_ns(s->pieces, to_ns);
        if (!jm__pieces_add(s->pieces, until_ns, state, 1, false)) return false;
    } while (until_ns < to_ns);
    s->now_ns = to_ns;
    return true;
}

/* From where all stands up to there, in one state. */
static bool pass_state(jm__sweep *s, const gap *of, int64_t to_ns, jm__idle_state state,
                       bool extrapolated_time)
{
    pass_views(s, to_ns);
    jm__seconds seconds = idle_view(s)->now;
    jm__seconds_add(&s->tally->idle[state], seconds, 1);
    s->tally->idle_s[state][of->cause] += seconds.report_s;
    s->tally->idle_steady_s[state][of->cause] += seconds.steady_s;
    if (s->extrapolated != NULL && !extrapolated_time) count_in_bursts(s, of, to_ns, state, seconds);
    return add_idle_pieces(s, to_ns, state);
}

/* The same, where work ran that was not recorded: in no sum, as its energy is measured. */
static bool pass_unrecorded(jm__sweep *s, int64_t to_ns)
{
    pass_views(s, to_ns);
    return jm__intervals_add(&s->tally->unrecorded, s->now_ns, to_ns) &&
           add_idle_pieces(s, to_ns, JM_IDLE_LONG);
}

/* A board draws less the longer nothing runs: its state is how long that has been so. */
static bool pass_gap(jm__sweep *s, int64_t to_ns, const uint32_t *use, bool extrapolated_time)
{
    const jm__intervals *report = s->whole.report;
    size_t report_at = idle_view(s)->report_at;
    jm__gap known = {.length_ns = to_ns - s->now_ns, .after_copy = s->after_copy};
    known.report_s = inside_s(idle_view(s)->report, &report_at, s->now_ns, to_ns);
    if (s->data != NULL) known.data_s = inside_s(s->data, &s->data_at, s->now_ns, to_ns);
    gap whole = {.from_ns = s->now_ns, .to_ns = to_ns, .burst_cause = jm__idle_cause_of(&known)};
    known.edge = !s->worked || use == NULL || to_ns >= report->items[report->count - 1].to_ns;
    whole.cause = jm__idle_cause_of(&known);
    if (!count_gap(s, whole.cause, use, known.report_s)) return false;
    if (s->nothing_ran) return pass_state(s, &whole, to_ns, JM_IDLE_BEFORE, extrapolated_time);
    if (extrapolated_time || s->one_gap) return pass_state(s, &whole, to_ns, JM_IDLE_LONG, extrapolated_time);
    while (s->now_ns < to_ns) {
        jm__idle_state state = jm__idle_state_after(s->now_ns - whole.from_ns);
        int64_t left_ns = jm__idle_state_end_ns(state) - (s->now_ns - whole.from_ns);
        int64_t until_ns = left_ns < to_ns - s->now_ns ? s->now_ns + left_ns : to_ns;
        if (!pass_state(s, &whole, until_ns, state, extrapolated_time)) return false;
    }
    return true;
}

/* A gap, or what of it is traced. */
static bool pass_parts(jm__sweep *s, int64_t to_ns, const uint32_t *use)
{
    const jm__interval whole = {s->now_ns, to_ns};
    while (s->now_ns < to_ns) {
        bool unrecorded;
        int64_t until_ns = jm__unrecorded_part_end_ns(s->utilisation, whole, s->now_ns, &unrecorded);
        if (!(unrecorded ? pass_unrecorded(s, until_ns) : pass_gap(s, until_ns, use, false))) return false;
    }
    return true;
}

/* `use`: of the work that follows, NULL: none. */
static bool pass_idle(jm__sweep *s, int64_t to_ns, const uint32_t *use)
{
    while (s->now_ns < to_ns) {
        bool extrapolated_time;
        int64_t until_ns = next_edge(s, to_ns, &extrapolated_time);
        bool fine = extrapolated_time || s->utilisation == NULL
                        ? pass_gap(s, until_ns, use, extrapolated_time)
                        : pass_parts(s, until_ns, use);
        if (!fine) return false;
    }
    return true;
}

/* When the first of the running work ends, or the limit. */
static int64_t next_change(const jm__sweep *s, int64_t limit_ns)
{
    for (size_t i = 0; i < s->running.count; i++)
        if (s->running.items[i].end_ns < limit_ns) limit_ns = s->running.items[i].end_ns;
    return limit_ns;
}

/* Add a portion for the steps that its own represents; `cell`: of the portion. False if memory is out. */
static bool extrapolate_portion(jm__sweep *s, const jm__running *item, const jm__portion *portion,
                                uint32_t use, size_t cell)
{
    const jm__extrapolated *extrapolated = s->extrapolated;
    size_t burst = item->as.step_interval->stratum, lent = item->as.lent;
    const double *draws = jm__extrapolated_draws(extrapolated, item->as.step_interval);
    double all = extrapolated->of_burst[burst].steps, in_row = extrapolated->of_burst[burst].in_row;
    jm__use_sum *sum = jm__use_sum_at(&s->tally->extrapolated_uses, use);
    if (sum == NULL) return false;
    s->tally->bursts[burst].busy_s += portion->all_s;
    jm__use_sum more = {
        .inside = {all * portion->all_s, extrapolated->of_burst[burst].steady_steps * portion->all_s, 0},
        .copies_s = all * portion->all_copies_s,
        .exposed_s = all * portion->all_exposed_s,
        .extrapolated_s = all * portion->all_s};
    if (item->as.outside) more.outside_s = all * portion->all_s;
    more.place_s[item->as.place] = all * portion->all_s;
    jm__use_sum_add(sum, &more, 1);
    for (size_t r = 0; r < JM_DRAWS; r++)
        s->tally->off_s[r] += draws[r] * portion->all_s;
    if (cell != JM__NO_CELL && in_row > 0) {
        s->tally->work.items.items[cell].extrapolated_s += in_row * portion->all_s;
        s->tally->work.items.items[cell].extrapolated_steady_s +=
            extrapolated->of_burst[burst].in_row_steady * portion->all_s;
        jm__work_cell_off(&s->tally->work, cell, draws, in_row / all * portion->all_s);
    }
    if (lent != JM__NO_CELL && use != item->as.use)
        lent = jm__work_cell_at(&s->tally->lent, s->tally->lent.items.items[lent].row, use);
    if (item->as.lent != JM__NO_CELL && lent == JM__NO_CELL) return false;
    if (lent != JM__NO_CELL) {
        s->tally->lent.items.items[lent].extrapolated_s += portion->all_s;
        if (extrapolated->of_burst[burst].alone)
            jm__work_cell_off(&s->tally->lent, lent, draws, portion->all_s / all);
    }
    return true;
}

/* The cell of the item's row and a use; JM__NO_CELL: it is not in the report. False if memory is out. */
static bool find_cell(jm__sweep *s, const jm__running *item, uint32_t use, size_t *at)
{
    *at = item->as.cell;
    if (*at == JM__NO_CELL || use == item->as.use) return true;
    const jm__work_cell own = s->tally->work.items.items[*at];
    *at = jm__work_cell_at(&s->tally->work, own.row, use);
    if (*at == JM__NO_CELL) return false;
    jm__work_cell *cell = &s->tally->work.items.items[*at];
    if (own.start_ns < cell->start_ns) cell->start_ns = own.start_ns;
    if (own.end_ns > cell->end_ns) cell->end_ns = own.end_ns;
    return true;
}

/* Add a portion to the sums of its use and its row. */
static bool add_portion(jm__sweep *s, const jm__running *item, const jm__portion *portion, uint32_t use)
{
    size_t at;
    jm__use_sum *sum = jm__use_sum_at(&s->tally->uses, use);
    if (sum == NULL) return false;
    if (use != item->as.use) sum->ran_s = fmax(0, sum->ran_s) + portion->ran_s;
    sum->copies_s += portion->copies_s;
    sum->exposed_s += portion->exposed_s;
    if (item->as.sum != SIZE_MAX) s->tally->collectives.items[item->as.sum].exposed_s += portion->exposed_s;
    jm__seconds_add(&sum->inside, portion->inside, 1);
    if (item->as.outside) sum->outside_s += portion->inside.report_s;
    sum->place_s[item->as.place] += portion->inside.report_s;
    if (!find_cell(s, item, use, &at)) return false;
    if (at != JM__NO_CELL) {
        s->tally->work.items.items[at].seconds += portion->inside.report_s;
        s->tally->work.items.items[at].steady_s += portion->inside.steady_s;
    }
    return item->as.step_interval == NULL || extrapolate_portion(s, item, portion, use, at);
}

/* The work beside an item has ended or changed: its joint time so far goes to the use of the pair. */
static bool flush_joint(jm__sweep *s, jm__running *item)
{
    if (item->joint.ran_s == 0) return true;
    jm__use_sum *own = jm__use_sum_at(&s->tally->uses, item->as.use);
    if (own == NULL) return false;
    own->ran_s = fmax(0, own->ran_s - item->joint.ran_s); /* rounding; below 0 means "never ran" */
    bool fine = add_portion(s, item, &item->joint, item->joint_use);
    item->joint = (jm__portion){0};
    item->beside = UINT32_MAX;
    return fine;
}

static bool end_item(jm__sweep *s, jm__running *item)
{
    s->kernels -= item->copy == JM_NO_COPY;
    s->collectives -= item->collective;
    s->after_copy = item->copy == JM_COPY_TO_HOST;
    return flush_joint(s, item) && add_portion(s, item, &item->alone, item->as.use);
}

/* The report's time with collectives, and with nothing but collectives. */
static void count_collectives(jm__sweep *s, int64_t to_ns)
{
    if (s->collectives == 0) return;
    double report_s = s->crowded ? s->whole.now.report_s : 0, represented = 0;
    for (size_t i = 0; !s->crowded && i < s->running.count; i++) {
        const jm__running *item = &s->running.items[i];
        if (!item->collective) continue;
        report_s = fmax(report_s, in_view(s, item->as.view).report_s);
        if (item->as.step_interval != NULL)
            represented = fmax(represented, s->extrapolated->of_burst[item->as.step_interval->stratum].steps);
    }
    report_s += represented * 1e-9 * (double)(to_ns - s->now_ns);
    s->tally->collective_s += report_s;
    if (s->kernels == s->collectives) s->tally->exposed_s += report_s;
}

/* Two different classes that run together; more, or two of one class, are no pair. */
static bool find_pair(jm__sweep *s)
{
    jm__running *items = s->running.items;
    bool pair = s->beside != NULL && s->running.count == 2 && items[0].class_index != items[1].class_index;
    for (size_t i = 0; i < s->running.count; i++) {
        uint32_t beside = pair ? items[1 - i].class_index : UINT32_MAX;
        if (items[i].beside == beside) continue;
        if (!flush_joint(s, &items[i])) return false;
        items[i].joint_use = items[i].as.use;
        if (pair && !s->beside(s->beside_context, &items[i], &items[1 - i], &items[i].joint_use))
            return false;
        items[i].beside = beside;
    }
    return true;
}

/* Whether the current interval counts to the item's joint portion. */
static bool is_joint(const jm__sweep *s, const jm__running *item)
{
    return s->running.count > 1 && item->joint_use != item->as.use;
}

/* Add an interval: a share of `seconds` and of its own length. */
static void add_to_portion(const jm__sweep *s, jm__portion *to, int64_t to_ns, jm__seconds seconds,
                           double share, bool collective)
{
    double passed_s = 1e-9 * (double)(to_ns - s->now_ns);
    jm__seconds_add(&to->inside, seconds, share);
    to->ran_s += passed_s;
    to->all_s += share * passed_s;
    if (s->kernels == 0) {
        to->copies_s += share * seconds.report_s;
        to->all_copies_s += share * passed_s;
    }
    if (collective && s->kernels == s->collectives) {
        to->exposed_s += share * seconds.report_s;
        to->all_exposed_s += share * passed_s;
    }
}

/* Add an item's share of the current interval. */
static void add_interval(jm__sweep *s, jm__running *item, int64_t to_ns, double weights)
{
    jm__seconds seconds = in_view(s, item->as.view);
    double share = (double)item->weight / weights;
    add_to_portion(s, is_joint(s, item) ? &item->joint : &item->alone, to_ns, seconds, share,
                   item->collective);
    s->worked = s->worked || seconds.report_s > 0;
    if (s->extrapolated != NULL)
        s->tally->beside_s += share * fmax(0, seconds.report_s - idle_view(s)->now.report_s);
}

/* False if memory is out. */
static bool add_active(jm__sweep *s, uint32_t code, double weight)
{
    while (s->active_at.count <= code)
        if (!jm__vec_push(&s->active_at, 0)) return false;
    size_t at = s->active_at.items[code];
    if (at < s->active.count && s->active.items[at].code == code) {
        s->active.items[at].weight += weight;
        s->active.items[at].count++;
        return true;
    }
    const jm__active_code first = {code, 1, weight};
    s->active_at.items[code] = s->active.count;
    return jm__vec_push(&s->active, first);
}

static bool find_active(jm__sweep *s)
{
    s->active.count = 0;
    for (size_t i = 0; i < s->running.count; i++) {
        jm__running *item = &s->running.items[i];
        uint32_t code = jm__piece_code(is_joint(s, item) ? item->joint_use : item->as.use);
        if (!add_active(s, code, (double)item->weight)) return false;
    }
    return true;
}

static double weight_of_all(const jm__sweep *s)
{
    double weights = 0;
    for (size_t i = 0; i < s->active.count; i++)
        weights += s->active.items[i].weight;
    return weights;
}

/* One piece of each code. False if memory is out. */
static bool add_moment(jm__sweep *s, int64_t to_ns, double weights)
{
    size_t left = 0;
    for (size_t i = 0; i < s->active.count; i++)
        left += s->active.items[i].count > 0;
    for (size_t i = 0; left > 0; i++) {
        const jm__active_code *piece = &s->active.items[i];
        if (piece->count == 0) continue;
        float share = (float)(piece->weight / weights);
        if (!jm__pieces_add(s->pieces, to_ns, piece->code, share, --left > 0)) return false;
    }
    return true;
}

static bool add_pieces(jm__sweep *s, int64_t to_ns, double weights)
{
    int64_t until_ns;
    do {
        until_ns = jm__pieces_edge_ns(s->pieces, to_ns);
        if (!add_moment(s, until_ns, weights)) return false;
    } while (until_ns < to_ns);
    return true;
}

/* Advance the running work to to_ns, when some of it ends at the earliest. */
static bool pass_work(jm__sweep *s, int64_t to_ns)
{
    size_t kept = 0, count = s->running.count;
    double weights = 0;
    pass_views(s, to_ns);
    count_collectives(s, to_ns);
    if (count > 1 && !find_pair(s)) return false;
    for (size_t i = 0; i < count; i++)
        weights += (double)s->running.items[i].weight;
    for (size_t i = 0; i < count; i++)
        add_interval(s, &s->running.items[i], to_ns, weights);
    if (!find_active(s) || !add_pieces(s, to_ns, weights)) return false;
    for (size_t i = 0; i < count; i++) {
        jm__running *item = &s->running.items[i];
        if (item->end_ns > to_ns)
            s->running.items[kept++] = *item;
        else if (!end_item(s, item))
            return false;
    }
    s->running.count = kept;
    s->now_ns = to_ns;
    return true;
}

/* ---- a crowd: hundreds of threads, each with work of its own. Updating each item at each change would be
 * quadratic. So sums per unit of weight are kept once, and an item takes its share of them when it ends.
 * Extrapolated steps count in views of their own and do not use this way. */

enum { CROWD = 32, CHANGES_MAX = 256 }; /* sums of so many changes lose nothing to rounding */

static void swap(jm__running *a, jm__running *b)
{
    jm__running temporary = *a;
    *a = *b;
    *b = temporary;
}

static void sift_up(jm__sweep *s, size_t at)
{
    jm__running *items = s->running.items;
    for (; at > 0 && items[at].end_ns < items[(at - 1) / 2].end_ns; at = (at - 1) / 2)
        swap(&items[at], &items[(at - 1) / 2]);
}

static void sift_down(jm__sweep *s, size_t at)
{
    jm__running *items = s->running.items;
    for (;;) {
        size_t first = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < s->running.count; child++)
            if (items[child].end_ns < items[first].end_ns) first = child;
        if (first == at) return;
        swap(&items[at], &items[first]);
        at = first;
    }
}

/* Add the sums since the last update to the item's portion. */
static void bring_up_to_date(const jm__sweep *s, jm__running *item)
{
    const jm__portion *now = &s->passed, *since = &item->since;
    double weight = (double)item->weight;
    jm__portion *to = &item->alone;
    jm__seconds_add(&to->inside, now->inside, weight);
    jm__seconds_add(&to->inside, since->inside, -weight);
    to->ran_s += now->ran_s - since->ran_s;
    to->copies_s += weight * (now->copies_s - since->copies_s);
    if (item->collective) to->exposed_s += weight * (now->exposed_s - since->exposed_s);
    item->since = *now;
}

/* False if memory is out. */
static bool count_crowd_anew(jm__sweep *s)
{
    for (size_t i = 0; i < s->running.count; i++) {
        if (s->changes > 0) bring_up_to_date(s, &s->running.items[i]);
        s->running.items[i].since = (jm__portion){0};
    }
    s->passed = (jm__portion){0};
    s->changes = 0;
    return find_active(s);
}

static bool begin_crowd(jm__sweep *s)
{
    if (!find_pair(s)) return false; /* flushes the joint portions: a crowd has no pairs */
    s->crowded = true;
    for (size_t i = 1; i < s->running.count; i++)
        sift_up(s, i);
    return count_crowd_anew(s);
}

/* The first item of the heap has ended. */
static bool end_first_item(jm__sweep *s)
{
    jm__running *items = s->running.items, item = items[0];
    jm__active_code *code = &s->active.items[s->active_at.items[jm__piece_code(item.as.use)]];
    bring_up_to_date(s, &item);
    code->count--;
    code->weight = code->count == 0 ? 0 : code->weight - (double)item.weight;
    items[0] = items[--s->running.count];
    sift_down(s, 0);
    return end_item(s, &item);
}

static bool pass_crowd(jm__sweep *s, int64_t limit_ns)
{
    int64_t end_ns = s->running.items[0].end_ns, to_ns = end_ns < limit_ns ? end_ns : limit_ns;
    double weights = weight_of_all(s);
    pass_views(s, to_ns);
    count_collectives(s, to_ns);
    add_to_portion(s, &s->passed, to_ns, s->whole.now, 1 / weights, true);
    s->worked = s->worked || s->whole.now.report_s > 0;
    s->changes++;
    if (!add_pieces(s, to_ns, weights)) return false;
    while (s->running.count > 0 && s->running.items[0].end_ns <= to_ns)
        if (!end_first_item(s)) return false;
    s->now_ns = to_ns;
    s->crowded = s->running.count > CROWD / 2;
    return (s->crowded && s->changes < CHANGES_MAX) || count_crowd_anew(s);
}

/* False if memory is out. */
static bool begin_item(jm__sweep *s, const jm__running *item)
{
    if (!jm__vec_push(&s->running, *item)) return false;
    if (!s->crowded) return s->running.count <= CROWD || s->extrapolated != NULL || begin_crowd(s);
    sift_up(s, s->running.count - 1);
    return add_active(s, jm__piece_code(item->as.use), (double)item->weight);
}

/* Advance the running work to its next change or to the limit. */
static bool pass_next(jm__sweep *s, int64_t limit_ns)
{
    return s->crowded ? pass_crowd(s, limit_ns) : pass_work(s, next_change(s, limit_ns));
}

static bool advance(jm__sweep *s, int64_t to_ns, uint32_t use)
{
    while (s->running.count > 0 && s->now_ns < to_ns)
        if (!pass_next(s, to_ns)) return false;
    return s->now_ns >= to_ns || pass_idle(s, to_ns, &use);
}

bool jm__sweep_take(jm__sweep *s, const jm__item *item, const jm__counted_as *as)
{
    if (!advance(s, item->start_ns, as->use)) return false;
    jm__use_sum *sum = jm__use_sum_at(&s->tally->uses, as->use);
    if (sum == NULL) return false;
    sum->ran_s = fmax(0, sum->ran_s) + (double)(item->end_ns - item->start_ns) * 1e-9;
    sum->calls += item->calls;
    s->nothing_ran = false;
    if (item->end_ns <= s->now_ns) return true;
    s->kernels += item->copy == JM_NO_COPY;
    s->collectives += item->collective != 0;
    const jm__running running = {.as = *as,
                                 .end_ns = item->end_ns,
                                 .class_index = item->class_index,
                                 .beside = UINT32_MAX,
                                 .joint_use = as->use,
                                 .copy = item->copy,
                                 .collective = item->collective != 0,
                                 .weight = item->weight > 0 ? item->weight : 1,
                                 .since = s->passed};
    return begin_item(s, &running);
}

bool jm__sweep_end(jm__sweep *s, int64_t to_ns)
{
    while (s->running.count > 0)
        if (!pass_next(s, INT64_MAX / 2)) return false;
    return s->now_ns >= to_ns || pass_idle(s, to_ns, NULL);
}
