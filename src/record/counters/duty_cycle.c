/* The duty cycle of counter sampling. */
#include "record/counters/duty_cycle.h"

#include <math.h>
#include <string.h>

void jm__duty_cycle_init(jm__duty_cycle *duty_cycle, double seconds_a_minute, int64_t now_ns)
{
    memset(duty_cycle, 0, sizeof *duty_cycle);
    duty_cycle->seconds_a_minute = seconds_a_minute;
    duty_cycle->began_ns = now_ns;
}

static bool is_always(const jm__duty_cycle *duty_cycle)
{
    return duty_cycle->seconds_a_minute >= JM_DUTY_CYCLE_ALWAYS_S;
}

static jm__duty_cycle_interval *last_interval(jm__duty_cycle *duty_cycle)
{
    return duty_cycle->interval_count > 0
               ? &duty_cycle->intervals[(duty_cycle->interval_count - 1) % JM_DUTY_CYCLE_INTERVALS]
               : NULL;
}

static bool is_open(const jm__duty_cycle_interval *interval)
{
    return interval != NULL && interval->end_ns == INT64_MAX;
}

/* How much of [start, end) lies in the stored sampling intervals. */
static int64_t sampled_of(const jm__duty_cycle *duty_cycle, int64_t start_ns, int64_t end_ns)
{
    int64_t sum_ns = 0;
    size_t count = duty_cycle->interval_count < JM_DUTY_CYCLE_INTERVALS ? duty_cycle->interval_count
                                                                        : JM_DUTY_CYCLE_INTERVALS;
    for (size_t i = 0; i < count; i++) {
        const jm__duty_cycle_interval *s = &duty_cycle->intervals[i];
        int64_t from_ns = start_ns > s->start_ns ? start_ns : s->start_ns;
        int64_t to_ns = end_ns < s->end_ns ? end_ns : s->end_ns;
        if (to_ns > from_ns) sum_ns += to_ns - from_ns;
    }
    return sum_ns;
}

void jm__duty_cycle_kernel(jm__duty_cycle *duty_cycle, int64_t class_id, int64_t start_ns, int64_t end_ns,
                           int64_t now_ns)
{
    jm__duty_cycle_class *class = &duty_cycle->classes[(uint64_t)class_id % JM_DUTY_CYCLE_CLASSES];
    const jm__duty_cycle_interval *last = last_interval(duty_cycle);
    duty_cycle->reported_at_ns = now_ns;
    class->sampled_ns += sampled_of(duty_cycle, start_ns, end_ns);
    if (last == NULL || start_ns >= last->end_ns) {
        class->unsampled_ns += end_ns - start_ns;
        duty_cycle->unsampled_ns += end_ns - start_ns;
    }
    int64_t reported_ns =
        duty_cycle->covered_ns > duty_cycle->untraced_ns ? duty_cycle->covered_ns : duty_cycle->untraced_ns;
    if (start_ns - reported_ns > JM_DUTY_CYCLE_LATE_NS) duty_cycle->was_silent = true;
    /* Concurrent kernels count once. */
    if (start_ns < duty_cycle->covered_ns) start_ns = duty_cycle->covered_ns;
    if (end_ns > start_ns) duty_cycle->covered_ns = end_ns;
}

/* How much of the interval since `start_ns` lies in the current burst; all of it before the first burst
 * mark. */
static int64_t in_burst_ns(const jm__duty_cycle *duty_cycle, int64_t start_ns, int64_t now_ns)
{
    if (!duty_cycle->in_bursts) return now_ns - start_ns;
    return duty_cycle->in_burst ? now_ns - (start_ns > duty_cycle->burst_ns ? start_ns : duty_cycle->burst_ns)
                                : 0;
}

void jm__duty_cycle_note_burst(jm__duty_cycle *duty_cycle, jm__duty_cycle_burst what, int64_t t_ns)
{
    if (what == JM_DUTY_CYCLE_SOON) {
        duty_cycle->soon_ns = t_ns;
        duty_cycle->announced = true;
        return;
    }
    if (what == JM_DUTY_CYCLE_NO_BURSTS) {
        duty_cycle->in_bursts = duty_cycle->in_burst = duty_cycle->announced = false;
        duty_cycle->soon_ns = duty_cycle->burst_ns = duty_cycle->burst_spacing_ns = 0;
        return;
    }
    if (what == JM_DUTY_CYCLE_UNTRACED) {
        const jm__duty_cycle_interval *last = last_interval(duty_cycle);
        if (is_open(last)) duty_cycle->bursts_ns += in_burst_ns(duty_cycle, last->start_ns, t_ns);
        if (!duty_cycle->in_bursts || duty_cycle->in_burst) {
            duty_cycle->untraced_ns = t_ns;
            duty_cycle->was_silent = false;
        }
        duty_cycle->in_bursts = true;
        duty_cycle->in_burst = false;
        return;
    }
    if (duty_cycle->in_bursts && !duty_cycle->in_burst) {
        if (duty_cycle->soon_ns == 0) duty_cycle->announced = false; /* the announcing process may be gone */
        duty_cycle->burst_spacing_ns = duty_cycle->burst_ns > 0 ? t_ns - duty_cycle->burst_ns : 0;
        duty_cycle->burst_ns = t_ns;
        duty_cycle->soon_ns = 0;
    }
    duty_cycle->in_burst = duty_cycle->in_bursts;
}

/* Kernels arrive outside bursts, so another process is traced all the time. */
static bool another_is_traced(const jm__duty_cycle *duty_cycle)
{
    return !duty_cycle->in_burst && !duty_cycle->was_silent &&
           duty_cycle->covered_ns - duty_cycle->untraced_ns > JM_DUTY_CYCLE_LATE_NS;
}

static bool is_expected_soon(const jm__duty_cycle *duty_cycle, int64_t now_ns)
{
    int64_t expected_ns = duty_cycle->burst_ns + duty_cycle->burst_spacing_ns;
    if (duty_cycle->soon_ns > 0 && now_ns - duty_cycle->soon_ns < JM_DUTY_CYCLE_SOON_NS) return true;
    return !duty_cycle->announced && duty_cycle->burst_spacing_ns > 0 &&
           now_ns > expected_ns - JM_DUTY_CYCLE_AHEAD_NS && now_ns < expected_ns + JM_DUTY_CYCLE_AHEAD_NS;
}

/* Samples taken now may cover traced work, or are requested in any case. */
static bool is_traced(const jm__duty_cycle *duty_cycle, int64_t now_ns)
{
    return is_always(duty_cycle) || !duty_cycle->in_bursts || duty_cycle->in_burst ||
           is_expected_soon(duty_cycle, now_ns) || another_is_traced(duty_cycle);
}

/* Kernels were reported recently or are about to be. Continuous sampling also goes on between bursts, when
 * nothing is known. */
static bool is_active(const jm__duty_cycle *duty_cycle, int64_t now_ns)
{
    bool always = is_always(duty_cycle) && duty_cycle->in_bursts && !duty_cycle->in_burst;
    int64_t alive_ns = duty_cycle->reported_at_ns;
    if (duty_cycle->in_burst && duty_cycle->burst_ns > alive_ns) alive_ns = duty_cycle->burst_ns;
    return duty_cycle->reported_at_ns > 0 &&
           (now_ns - alive_ns < JM_DUTY_CYCLE_LATE_NS || is_expected_soon(duty_cycle, now_ns) || always);
}

/* Is the current interval complete? Waiting for bursts does not count, within limits. */
static bool is_long_enough(const jm__duty_cycle *duty_cycle, int64_t start_ns, int64_t now_ns)
{
    int64_t elapsed_ns = now_ns - start_ns;
    if (!duty_cycle->in_bursts || another_is_traced(duty_cycle))
        return elapsed_ns >= duty_cycle->requested_ns;
    return duty_cycle->bursts_ns + in_burst_ns(duty_cycle, start_ns, now_ns) >= duty_cycle->requested_ns ||
           elapsed_ns >= duty_cycle->requested_ns + JM_DUTY_CYCLE_SOON_NS;
}

/* Is the helper within its CPU budget? A new interval must be affordable as a whole: most of its cost is its
 * start. */
static bool is_affordable(jm__duty_cycle *duty_cycle, int64_t now_ns, int64_t cpu_ns)
{
    double share = fmax(duty_cycle->seconds_a_minute / 60, JM_DUTY_CYCLE_CPU_SHARE),
           needed_ns = (double)cpu_ns;
    if (is_always(duty_cycle)) return true;
    if (duty_cycle->starts > 0 && !is_open(last_interval(duty_cycle)))
        needed_ns += needed_ns / (double)duty_cycle->starts;
    return needed_ns <= share * (double)(now_ns - duty_cycle->began_ns) + (double)JM_DUTY_CYCLE_CPU_START_NS;
}

static double requested_share(const jm__duty_cycle *duty_cycle)
{
    double seconds = duty_cycle->seconds_a_minute > JM_DUTY_CYCLE_MIN_S ? duty_cycle->seconds_a_minute
                                                                        : JM_DUTY_CYCLE_MIN_S;
    return seconds / 60;
}

static int64_t length_ns(const jm__duty_cycle *duty_cycle)
{
    int64_t long_ns = (int64_t)(requested_share(duty_cycle) * (double)JM_DUTY_CYCLE_PERIOD_NS);
    int64_t least_ns = duty_cycle->in_bursts ? JM_DUTY_CYCLE_BURSTS_NS : JM_DUTY_CYCLE_LENGTH_NS;
    return long_ns > least_ns ? long_ns : least_ns;
}

/* How long the sampler is on the board for the next interval: its start and stop as they were before. */
static double cost_ns(const jm__duty_cycle *duty_cycle)
{
    double beside_ns = (double)(duty_cycle->on_board_ns - duty_cycle->sampled_ns);
    double length = (double)length_ns(duty_cycle);
    return duty_cycle->starts > 0 ? length + fmax(0, beside_ns) / (double)duty_cycle->starts : length;
}

/* From the begin of the last interval to that of the next. */
static int64_t gap_ns(const jm__duty_cycle *duty_cycle)
{
    int64_t period_ns = (int64_t)(cost_ns(duty_cycle) / requested_share(duty_cycle));
    int64_t gap_ns = JM_DUTY_CYCLE_GAP_NS;
    for (size_t i = 1; i < duty_cycle->interval_count && gap_ns < period_ns; i++)
        gap_ns *= 2;
    return gap_ns < period_ns ? gap_ns : period_ns;
}

/* Would all intervals and another one take no more than their share of the time? Of the first minute's, they
 * may take all before it is over. */
static bool is_within_share(const jm__duty_cycle *duty_cycle, int64_t now_ns)
{
    int64_t elapsed_ns = now_ns - duty_cycle->began_ns, minute_ns = 60 * JM_NS_PER_S;
    double all_ns =
        fmax((double)duty_cycle->on_board_ns, (double)duty_cycle->sampled_ns) + cost_ns(duty_cycle);
    return all_ns <= requested_share(duty_cycle) * (double)(elapsed_ns > minute_ns ? elapsed_ns : minute_ns);
}

/* Are new classes more than their share of the work? */
static bool has_new_work(const jm__duty_cycle *duty_cycle)
{
    int64_t new_ns = 0;
    for (size_t i = 0; i < JM_DUTY_CYCLE_CLASSES; i++)
        if (duty_cycle->classes[i].sampled_ns < JM_DUTY_CYCLE_NEW_NS)
            new_ns += duty_cycle->classes[i].unsampled_ns;
    return (double)new_ns > JM_DUTY_CYCLE_NEW_SHARE * (double)duty_cycle->unsampled_ns;
}

/* The length of an interval to begin now; 0: none. */
static int64_t next_length_ns(jm__duty_cycle *duty_cycle, int64_t now_ns)
{
    const jm__duty_cycle_interval *last = last_interval(duty_cycle);
    if (is_always(duty_cycle)) return INT64_MAX;
    if (last == NULL) return length_ns(duty_cycle);
    if (now_ns - last->end_ns < JM_DUTY_CYCLE_LATE_NS) return 0; /* its kernels are not reported yet */
    if (!is_within_share(duty_cycle, now_ns)) return 0;
    bool is_due = now_ns - last->start_ns >= gap_ns(duty_cycle);
    return is_due || has_new_work(duty_cycle) ? length_ns(duty_cycle) : 0;
}

bool jm__duty_cycle_should_sample(jm__duty_cycle *duty_cycle, int64_t now_ns, int64_t cpu_ns)
{
    const jm__duty_cycle_interval *last = last_interval(duty_cycle);
    if (!is_active(duty_cycle, now_ns) || !is_traced(duty_cycle, now_ns) ||
        !is_affordable(duty_cycle, now_ns, cpu_ns))
        return false;
    if (is_open(last)) return is_always(duty_cycle) || !is_long_enough(duty_cycle, last->start_ns, now_ns);
    duty_cycle->requested_ns = next_length_ns(duty_cycle, now_ns);
    return duty_cycle->requested_ns > 0;
}

void jm__duty_cycle_began(jm__duty_cycle *duty_cycle, int64_t t_ns)
{
    duty_cycle->intervals[duty_cycle->interval_count++ % JM_DUTY_CYCLE_INTERVALS] =
        (jm__duty_cycle_interval){t_ns, INT64_MAX};
    duty_cycle->starts++;
    duty_cycle->bursts_ns = 0;
    duty_cycle->unsampled_ns = 0;
    for (size_t i = 0; i < JM_DUTY_CYCLE_CLASSES; i++)
        duty_cycle->classes[i].unsampled_ns = 0;
}

void jm__duty_cycle_ended(jm__duty_cycle *duty_cycle, int64_t t_ns)
{
    jm__duty_cycle_interval *last = last_interval(duty_cycle);
    if (!is_open(last)) return;
    last->end_ns = t_ns > last->start_ns ? t_ns : last->start_ns;
    duty_cycle->sampled_ns += last->end_ns - last->start_ns;
    bool saw_burst = duty_cycle->bursts_ns + in_burst_ns(duty_cycle, last->start_ns, t_ns) > 0;
    if (!duty_cycle->in_bursts || saw_burst || another_is_traced(duty_cycle)) return;
    *last = (jm__duty_cycle_interval){0}; /* it saw no traced work */
    duty_cycle->interval_count--;
}

void jm__duty_cycle_left(jm__duty_cycle *duty_cycle, int64_t on_board_ns)
{
    duty_cycle->on_board_ns += on_board_ns;
}

/* ---- bursts of processes, by board */

void jm__bursts_of_boards_free(jm__bursts_of_boards *bursts)
{
    jm__vec_free(&bursts->processes);
}

static jm__burst_process *find(const jm__bursts_of_boards *bursts, int64_t id)
{
    for (size_t i = 0; i < bursts->processes.count; i++)
        if (bursts->processes.items[i].id == id) return &bursts->processes.items[i];
    return NULL;
}

/* NULL: no memory. */
static jm__burst_process *find_or_add(jm__bursts_of_boards *bursts, int64_t id)
{
    jm__burst_process *process = find(bursts, id);
    if (process != NULL) return process;
    if (!jm__vec_push(&bursts->processes, ((jm__burst_process){.id = id}))) return NULL;
    return &bursts->processes.items[bursts->processes.count - 1];
}

static jm__burst_boards boards_of(const jm__bursts_of_boards *bursts, const jm__burst_process *process)
{
    jm__burst_boards known_boards = 0;
    if (process != NULL && process->boards != 0) return process->boards;
    for (size_t i = 0; i < bursts->processes.count; i++)
        known_boards |= bursts->processes.items[i].boards;
    return ~known_boards;
}

/* The boards on which processes work that are traced now, and those of processes with bursts. */
typedef struct working {
    jm__burst_boards traced, with_bursts;
} working;

static working find_working(const jm__bursts_of_boards *bursts)
{
    working found = {0};
    for (size_t i = 0; i < bursts->processes.count; i++) {
        const jm__burst_process *process = &bursts->processes.items[i];
        if (process->traced) found.traced |= boards_of(bursts, process);
        if (process->takes_bursts) found.with_bursts |= boards_of(bursts, process);
    }
    return found;
}

jm__burst_changes jm__bursts_of_boards_runs_on(jm__bursts_of_boards *bursts, int64_t process_id, size_t board)
{
    jm__burst_boards before = find_working(bursts).with_bursts;
    jm__burst_process *process = find_or_add(bursts, process_id);
    if (process != NULL) process->boards |= (jm__burst_boards)1 << board;
    working after = find_working(bursts);
    return (jm__burst_changes){.untraced = after.with_bursts & ~before & ~after.traced,
                               .no_bursts = before & ~after.with_bursts};
}

jm__burst_boards jm__bursts_of_boards_mark(jm__bursts_of_boards *bursts, int64_t process_id,
                                           jm__duty_cycle_burst what)
{
    jm__burst_process *process = find_or_add(bursts, process_id);
    if (process != NULL && what != JM_DUTY_CYCLE_SOON) process->traced = what == JM_DUTY_CYCLE_TRACED;
    if (process != NULL && what == JM_DUTY_CYCLE_UNTRACED) process->takes_bursts = true;
    jm__burst_boards boards = boards_of(bursts, process);
    return what == JM_DUTY_CYCLE_UNTRACED ? boards & ~find_working(bursts).traced : boards;
}

jm__burst_changes jm__bursts_of_boards_ended(jm__bursts_of_boards *bursts, int64_t process_id)
{
    jm__burst_process *process = find(bursts, process_id);
    if (process == NULL) return (jm__burst_changes){0};
    jm__burst_boards boards = boards_of(bursts, process);
    bool was_traced = process->traced, had_bursts = process->takes_bursts;
    *process = bursts->processes.items[--bursts->processes.count];
    working others = find_working(bursts);
    return (jm__burst_changes){.untraced = was_traced ? boards & others.with_bursts & ~others.traced : 0,
                               .no_bursts = had_bursts ? boards & ~others.with_bursts : 0};
}
