/* The sweep line over work items. */
#include "attribute/work/sweep.h"

void jm__sweep_begin(jm__sweep *sweep, jm__pieces *pieces, jm__tally *tally, const jm__windows *report,
                     const jm__windows *steady, const jm__windows *learn, int64_t from_ns)
{
    *sweep = (jm__sweep){.pieces = pieces,
                         .tally = tally,
                         .report = report,
                         .steady = steady,
                         .learn = learn,
                         .before = true,
                         .now_ns = from_ns};
}

void jm__sweep_free(jm__sweep *sweep)
{
    jm__vec_free(&sweep->running);
}

static jm__idle_state idle_state(const jm__sweep *s, int64_t length_ns)
{
    if (s->before) return JM_IDLE_BEFORE;
    return s->one_gap ? JM_IDLE_LONG : jm__idle_state_of_gap(length_ns);
}

/* Seconds of [from, to] in the windows; calls come in order of time. */
static double inside_s(const jm__windows *windows, size_t *first, int64_t from_ns, int64_t to_ns)
{
    while (*first < windows->count && windows->items[*first].to_ns <= from_ns)
        (*first)++;
    int64_t sum_ns = 0;
    for (size_t i = *first; i < windows->count && windows->items[i].from_ns < to_ns; i++) {
        const jm__window *window = &windows->items[i];
        int64_t from = window->from_ns > from_ns ? window->from_ns : from_ns;
        int64_t to = window->to_ns < to_ns ? window->to_ns : to_ns;
        sum_ns += to - from;
    }
    return (double)sum_ns * 1e-9;
}

static jm__seconds inside(jm__sweep *s, int64_t to_ns)
{
    return (jm__seconds){.report_s = inside_s(s->report, &s->report_at, s->now_ns, to_ns),
                         .steady_s = inside_s(s->steady, &s->steady_at, s->now_ns, to_ns),
                         .learn_s = inside_s(s->learn, &s->learn_at, s->now_ns, to_ns)};
}

/* `last`: nothing comes after it. */
static jm__idle_cause cause_of(jm__sweep *s, int64_t to_ns, bool last, double report_s)
{
    const jm__windows *report = s->report;
    jm__gap gap = {.length_ns = to_ns - s->now_ns, .report_s = report_s, .after_copy = s->after_copy};
    gap.edge = !s->worked || last || to_ns >= report->items[report->count - 1].to_ns;
    if (s->data != NULL) gap.data_s = inside_s(s->data, &s->data_at, s->now_ns, to_ns);
    return jm__idle_cause_of(&gap);
}

/* What began late is what a reader looks at to find why. */
static bool count_wait(jm__sweep *s, jm__idle_cause cause, double seconds, uint32_t use)
{
    size_t at = jm__work_cell_at(&s->tally->waits, cause, use);
    if (at == JM__NO_CELL) return false;
    s->tally->waits.items.items[at].seconds += seconds;
    s->tally->waits.items.items[at].calls++;
    return true;
}

/* Of what comes before and after all work nobody asks which layer it was for. */
static bool count_cause(jm__sweep *s, int64_t to_ns, jm__idle_state state, const uint32_t *use,
                        double report_s)
{
    if (report_s == 0) return true;
    jm__idle_cause cause = cause_of(s, to_ns, use == NULL, report_s);
    s->tally->idle_s[state][cause] += report_s;
    s->tally->gaps[cause]++;
    return use == NULL || cause == JM_CAUSE_EDGE || count_wait(s, cause, report_s, *use);
}

/* `use`: what comes after it, NULL: nothing does. */
static bool pass_idle(jm__sweep *s, int64_t to_ns, const uint32_t *use)
{
    jm__idle_state state = idle_state(s, to_ns - s->now_ns);
    if (s->now_ns >= to_ns) return true;
    jm__seconds seconds = inside(s, to_ns);
    jm__seconds_add(&s->tally->idle[state], seconds, 1);
    if (!count_cause(s, to_ns, state, use, seconds.report_s)) return false;
    if (!jm__pieces_add(s->pieces, to_ns, state, 1, false)) return false;
    s->now_ns = to_ns;
    return true;
}

/* What of the running work ends first, up to the limit. */
static int64_t next_change(const jm__sweep *s, int64_t limit_ns)
{
    for (size_t i = 0; i < s->running.count; i++)
        if (s->running.items[i].end_ns < limit_ns) limit_ns = s->running.items[i].end_ns;
    return limit_ns;
}

/* Into the sums of its use, and of its row. */
static bool put(jm__sweep *s, const jm__running *item, const jm__portion *portion)
{
    jm__use_sum *sum = jm__tally_use(s->tally, portion->use);
    size_t at = item->cell;
    if (sum == NULL) return false;
    if (portion != &item->alone) sum->ran_s = (sum->ran_s < 0 ? 0 : sum->ran_s) + portion->ran_s;
    sum->copies_s += portion->copies_s;
    sum->exposed_s += portion->exposed_s;
    if (item->sum != SIZE_MAX) s->tally->collectives.items[item->sum].exposed_s += portion->exposed_s;
    jm__seconds_add(&sum->inside, portion->inside, 1);
    if (item->outside) sum->outside_s += portion->inside.report_s;
    sum->place_s[item->place] += portion->inside.report_s;
    if (at == JM__NO_CELL) return true;
    const jm__work_cell own = s->tally->work.items.items[at];
    if (portion->use != item->use) at = jm__work_cell_at(&s->tally->work, own.row, portion->use);
    if (at == JM__NO_CELL) return false;
    jm__work_cell *cell = &s->tally->work.items.items[at];
    cell->seconds += portion->inside.report_s;
    if (own.start_ns < cell->start_ns) cell->start_ns = own.start_ns;
    if (own.end_ns > cell->end_ns) cell->end_ns = own.end_ns;
    return true;
}

/* What ran beside it is over, or another one now: its time so far is of a use of its own. */
static bool part(jm__sweep *s, jm__running *item)
{
    if (item->joint.ran_s == 0) return true;
    jm__use_sum *own = jm__tally_use(s->tally, item->use);
    if (own == NULL) return false;
    own->ran_s -= item->joint.ran_s;
    bool fine = put(s, item, &item->joint);
    item->joint = (jm__portion){.use = item->use};
    item->beside = UINT32_MAX;
    return fine;
}

static bool close(jm__sweep *s, jm__running *item)
{
    s->kernels -= item->copy == JM_NO_COPY;
    s->collectives -= item->collective;
    s->after_copy = item->copy == JM_COPY_TO_HOST;
    return part(s, item) && put(s, item, &item->alone);
}

/* What is the report's alone: time in which collectives ran, by what ran beside them. */
static void count_collectives(jm__sweep *s, double report_s)
{
    if (s->collectives == 0) return;
    s->tally->collective_s += report_s;
    if (s->kernels == s->collectives) s->tally->exposed_s += report_s;
}

/* Two kinds that run together; of more, or of one kind, nothing is learnt. */
static bool find_pair(jm__sweep *s)
{
    jm__running *items = s->running.items;
    bool pair = s->beside != NULL && s->running.count == 2 && items[0].class_index != items[1].class_index &&
                items[0].class_index != UINT32_MAX && items[1].class_index != UINT32_MAX;
    for (size_t i = 0; i < s->running.count; i++) {
        uint32_t beside = pair ? items[1 - i].class_index : UINT32_MAX;
        if (items[i].beside == beside) continue;
        if (!part(s, &items[i])) return false;
        items[i].joint.use = items[i].use;
        if (pair && !s->beside(s->beside_context, &items[i], &items[1 - i], &items[i].joint.use))
            return false;
        items[i].beside = beside;
    }
    return true;
}

/* The running work, up to a change of it. */
static bool pass_work(jm__sweep *s, int64_t to_ns)
{
    jm__seconds seconds = inside(s, to_ns);
    size_t kept = 0, count = s->running.count;
    double weights = 0, passed_s = 1e-9 * (double)(to_ns - s->now_ns);
    bool copies_alone = s->kernels == 0, exposed = s->kernels == s->collectives; /* before some of it ends */
    s->worked = s->worked || seconds.report_s > 0;
    count_collectives(s, seconds.report_s);
    if (count > 1 && !find_pair(s)) return false;
    for (size_t i = 0; i < count; i++)
        weights += (double)s->running.items[i].weight;
    for (size_t i = 0; i < count; i++) {
        jm__running *item = &s->running.items[i];
        double share = (double)item->weight / weights;
        bool together = count > 1 && item->joint.use != item->use;
        jm__portion *portion = together ? &item->joint : &item->alone;
        jm__seconds_add(&portion->inside, seconds, share);
        portion->ran_s += passed_s;
        if (copies_alone) portion->copies_s += seconds.report_s * share;
        if (item->collective && exposed) portion->exposed_s += seconds.report_s * share;
        if (!jm__pieces_add(s->pieces, to_ns, jm__piece_code(portion->use), (float)share, i + 1 < count))
            return false;
        if (item->end_ns > to_ns)
            s->running.items[kept++] = *item;
        else if (!close(s, item))
            return false;
    }
    s->running.count = kept;
    s->now_ns = to_ns;
    return true;
}

static bool advance(jm__sweep *s, int64_t to_ns, uint32_t use)
{
    while (s->running.count > 0 && s->now_ns < to_ns)
        if (!pass_work(s, next_change(s, to_ns))) return false;
    return s->now_ns >= to_ns || pass_idle(s, to_ns, &use);
}

bool jm__sweep_take(jm__sweep *s, const jm__item *item, const jm__taken *taken)
{
    if (!advance(s, item->start_ns, taken->use)) return false;
    jm__use_sum *sum = jm__tally_use(s->tally, taken->use);
    if (sum == NULL) return false;
    sum->ran_s = (sum->ran_s < 0 ? 0 : sum->ran_s) + (double)(item->end_ns - item->start_ns) * 1e-9;
    sum->calls += item->calls;
    s->before = false;
    if (item->end_ns <= s->now_ns) return true;
    s->kernels += item->copy == JM_NO_COPY;
    s->collectives += item->collective != 0;
    jm__running running = {.end_ns = item->end_ns,
                           .use = taken->use,
                           .class_index = item->kind,
                           .beside = UINT32_MAX,
                           .alone = {.use = taken->use},
                           .joint = {.use = taken->use},
                           .outside = taken->outside,
                           .place = taken->place,
                           .copy = item->copy,
                           .collective = item->collective != 0,
                           .weight = item->weight > 0 ? item->weight : 1,
                           .cell = taken->cell,
                           .sum = taken->sum};
    return jm__vec_push(&s->running, running);
}

bool jm__sweep_end(jm__sweep *s, int64_t to_ns)
{
    while (s->running.count > 0)
        if (!pass_work(s, next_change(s, INT64_MAX / 2))) return false;
    return s->now_ns >= to_ns || pass_idle(s, to_ns, NULL);
}
