/* The duty cycle of sampling. */
#include "record/counters/duty_cycle.h"

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

static bool goes_on(const jm__duty_cycle_interval *interval)
{
    return interval != NULL && interval->end_ns == INT64_MAX;
}

/* How much of [start, end) lies in intervals that are remembered. */
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
    duty_cycle->told_at_ns = now_ns;
    class->sampled_ns += sampled_of(duty_cycle, start_ns, end_ns);
    if (last == NULL || start_ns >= last->end_ns) {
        class->since_ns += end_ns - start_ns;
        duty_cycle->since_ns += end_ns - start_ns;
    }
    int64_t told_ns =
        duty_cycle->covered_ns > duty_cycle->untraced_ns ? duty_cycle->covered_ns : duty_cycle->untraced_ns;
    if (start_ns - told_ns > JM_DUTY_CYCLE_LATE_NS) duty_cycle->was_silent = true;
    /* Kernels beside each other are work once. */
    if (start_ns < duty_cycle->covered_ns) start_ns = duty_cycle->covered_ns;
    if (end_ns <= start_ns) return;
    duty_cycle->sampled_ns += sampled_of(duty_cycle, start_ns, end_ns);
    duty_cycle->covered_ns = end_ns;
}

/* Of an interval, in the turn that goes on; before the first word of turns all of it is. */
static int64_t in_burst_ns(const jm__duty_cycle *duty_cycle, int64_t start_ns, int64_t now_ns)
{
    if (!duty_cycle->in_bursts) return now_ns - start_ns;
    return duty_cycle->in_burst ? now_ns - (start_ns > duty_cycle->burst_ns ? start_ns : duty_cycle->burst_ns)
                                : 0;
}

void jm__duty_cycle_tell_burst(jm__duty_cycle *duty_cycle, jm__duty_cycle_burst what, int64_t t_ns)
{
    if (what == JM_DUTY_CYCLE_SOON) {
        duty_cycle->soon_ns = t_ns;
        duty_cycle->announced = true;
        return;
    }
    if (what == JM_DUTY_CYCLE_NO_BURSTS) {
        duty_cycle->in_bursts = duty_cycle->in_burst = duty_cycle->announced = false;
        duty_cycle->soon_ns = duty_cycle->burst_ns = duty_cycle->apart_ns = 0;
        return;
    }
    if (what == JM_DUTY_CYCLE_UNTRACED) {
        const jm__duty_cycle_interval *last = last_interval(duty_cycle);
        if (goes_on(last)) duty_cycle->bursts_ns += in_burst_ns(duty_cycle, last->start_ns, t_ns);
        if (!duty_cycle->in_bursts || duty_cycle->in_burst) {
            duty_cycle->untraced_ns = t_ns;
            duty_cycle->was_silent = false;
        }
        duty_cycle->in_bursts = true;
        duty_cycle->in_burst = false;
        return;
    }
    if (duty_cycle->in_bursts && !duty_cycle->in_burst) {
        if (duty_cycle->soon_ns == 0) duty_cycle->announced = false; /* who announced may be gone */
        duty_cycle->apart_ns = duty_cycle->burst_ns > 0 ? t_ns - duty_cycle->burst_ns : 0;
        duty_cycle->burst_ns = t_ns;
        duty_cycle->soon_ns = 0;
    }
    duty_cycle->in_burst = duty_cycle->in_bursts;
}

/* Another process is traced all the time: what is told was not traced in a turn. */
static bool is_told_on(const jm__duty_cycle *duty_cycle)
{
    return !duty_cycle->in_burst && !duty_cycle->was_silent &&
           duty_cycle->covered_ns - duty_cycle->untraced_ns > JM_DUTY_CYCLE_LATE_NS;
}

static bool comes_soon(const jm__duty_cycle *duty_cycle, int64_t now_ns)
{
    int64_t expected_ns = duty_cycle->burst_ns + duty_cycle->apart_ns;
    if (duty_cycle->soon_ns > 0 && now_ns - duty_cycle->soon_ns < JM_DUTY_CYCLE_SOON_NS) return true;
    return !duty_cycle->announced && duty_cycle->apart_ns > 0 &&
           now_ns > expected_ns - JM_DUTY_CYCLE_AHEAD_NS && now_ns < expected_ns + JM_DUTY_CYCLE_AHEAD_NS;
}

/* What is sampled now may be of known work, or is wanted whatever it is of. */
static bool is_traced(const jm__duty_cycle *duty_cycle, int64_t now_ns)
{
    return is_always(duty_cycle) || !duty_cycle->in_bursts || duty_cycle->in_burst ||
           comes_soon(duty_cycle, now_ns) || is_told_on(duty_cycle);
}

/* Kernels were told, or are on their way. What is sampled always is so between turns, too, where nobody
 * knows. */
static bool works(const jm__duty_cycle *duty_cycle, int64_t now_ns)
{
    bool always = is_always(duty_cycle) && duty_cycle->in_bursts && !duty_cycle->in_burst;
    int64_t alive_ns = duty_cycle->told_at_ns;
    if (duty_cycle->in_burst && duty_cycle->burst_ns > alive_ns) alive_ns = duty_cycle->burst_ns;
    return duty_cycle->told_at_ns > 0 &&
           (now_ns - alive_ns < JM_DUTY_CYCLE_LATE_NS || comes_soon(duty_cycle, now_ns) || always);
}

/* The interval that goes on is to be no longer. That it waited for turns does not count, within limits. */
static bool is_long_enough(const jm__duty_cycle *duty_cycle, int64_t start_ns, int64_t now_ns)
{
    int64_t all_ns = now_ns - start_ns;
    if (!duty_cycle->in_bursts || is_told_on(duty_cycle)) return all_ns >= duty_cycle->requested_ns;
    return duty_cycle->bursts_ns + in_burst_ns(duty_cycle, start_ns, now_ns) >= duty_cycle->requested_ns ||
           all_ns >= duty_cycle->requested_ns + JM_DUTY_CYCLE_SOON_NS;
}

/* What the helper may use by now. An interval that cannot be paid to its end is not begun: most of what it
 * costs is its start, and before it sees a turn it waits for one. */
static bool may_cost(jm__duty_cycle *duty_cycle, int64_t now_ns, int64_t cpu_ns)
{
    double queried = duty_cycle->seconds_a_minute / 60, share = JM_DUTY_CYCLE_CPU_SHARE,
           requested = (double)cpu_ns;
    if (is_always(duty_cycle)) return true;
    if (queried > share) share = queried;
    if (duty_cycle->starts > 0 && !goes_on(last_interval(duty_cycle)))
        requested += requested / (double)duty_cycle->starts;
    return requested <= share * (double)(now_ns - duty_cycle->began_ns) + (double)JM_DUTY_CYCLE_CPU_START_NS;
}

/* From one piece to the next. */
static int64_t period_ns(const jm__duty_cycle *duty_cycle)
{
    double seconds = duty_cycle->seconds_a_minute > JM_DUTY_CYCLE_LEAST_S ? duty_cycle->seconds_a_minute
                                                                          : JM_DUTY_CYCLE_LEAST_S;
    return (int64_t)(60 * (double)JM_DUTY_CYCLE_PIECE_NS / seconds);
}

/* Work that no sample has seen is more than it may be. */
static bool has_unseen(const jm__duty_cycle *duty_cycle)
{
    int64_t unseen_ns = 0;
    for (size_t i = 0; i < JM_DUTY_CYCLE_CLASSES; i++)
        if (duty_cycle->classes[i].sampled_ns < JM_DUTY_CYCLE_SEEN_NS)
            unseen_ns += duty_cycle->classes[i].since_ns;
    return (double)unseen_ns > JM_DUTY_CYCLE_UNSEEN_SHARE * (double)duty_cycle->since_ns;
}

/* How long an interval is wanted from now on; 0: none. */
static int64_t requested_now_ns(jm__duty_cycle *duty_cycle, int64_t now_ns)
{
    const jm__duty_cycle_interval *last = last_interval(duty_cycle);
    if (last == NULL) return JM_DUTY_CYCLE_FIRST_NS;
    if (is_always(duty_cycle)) return INT64_MAX;
    if (now_ns - last->start_ns >= period_ns(duty_cycle)) return JM_DUTY_CYCLE_PIECE_NS;
    if (now_ns - last->end_ns < JM_DUTY_CYCLE_LATE_NS) return 0; /* what it saw is not told yet */
    int64_t missing_ns = JM_DUTY_CYCLE_FIRST_NS - duty_cycle->sampled_ns;
    if (missing_ns > 0) return missing_ns > JM_DUTY_CYCLE_AGAIN_NS ? missing_ns : JM_DUTY_CYCLE_AGAIN_NS;
    return has_unseen(duty_cycle) ? JM_DUTY_CYCLE_AGAIN_NS : 0;
}

bool jm__duty_cycle_wants(jm__duty_cycle *duty_cycle, int64_t now_ns, int64_t cpu_ns)
{
    const jm__duty_cycle_interval *last = last_interval(duty_cycle);
    if (!works(duty_cycle, now_ns) || !is_traced(duty_cycle, now_ns) || !may_cost(duty_cycle, now_ns, cpu_ns))
        return false;
    if (goes_on(last)) return is_always(duty_cycle) || !is_long_enough(duty_cycle, last->start_ns, now_ns);
    duty_cycle->requested_ns = requested_now_ns(duty_cycle, now_ns);
    return duty_cycle->requested_ns > 0;
}

void jm__duty_cycle_began(jm__duty_cycle *duty_cycle, int64_t t_ns)
{
    duty_cycle->intervals[duty_cycle->interval_count++ % JM_DUTY_CYCLE_INTERVALS] =
        (jm__duty_cycle_interval){t_ns, INT64_MAX};
    duty_cycle->starts++;
    duty_cycle->bursts_ns = 0;
    duty_cycle->since_ns = 0;
    for (size_t i = 0; i < JM_DUTY_CYCLE_CLASSES; i++)
        duty_cycle->classes[i].since_ns = 0;
}

void jm__duty_cycle_ended(jm__duty_cycle *duty_cycle, int64_t t_ns)
{
    jm__duty_cycle_interval *last = last_interval(duty_cycle);
    if (!goes_on(last)) return;
    last->end_ns = t_ns > last->start_ns ? t_ns : last->start_ns;
    bool saw_burst = duty_cycle->bursts_ns + in_burst_ns(duty_cycle, last->start_ns, t_ns) > 0;
    if (!duty_cycle->in_bursts || saw_burst || is_told_on(duty_cycle)) return;
    *last = (jm__duty_cycle_interval){0}; /* it counts for nothing */
    duty_cycle->interval_count--;
}

/* ---- turns of processes, by board */

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
    jm__burst_process *known = find(bursts, id);
    if (known != NULL) return known;
    if (!jm__vec_push(&bursts->processes, ((jm__burst_process){.id = id}))) return NULL;
    return &bursts->processes.items[bursts->processes.count - 1];
}

static jm__burst_boards boards_of(const jm__bursts_of_boards *bursts, const jm__burst_process *process)
{
    jm__burst_boards known = 0;
    if (process != NULL && process->boards != 0) return process->boards;
    for (size_t i = 0; i < bursts->processes.count; i++)
        known |= bursts->processes.items[i].boards;
    return ~known;
}

static bool is_traced_now(const jm__burst_process *process)
{
    return process->traced;
}

static bool takes_bursts(const jm__burst_process *process)
{
    return process->takes_bursts;
}

/* Where one works of which that is true. */
static jm__burst_boards where(const jm__bursts_of_boards *bursts,
                              bool (*is)(const jm__burst_process *process))
{
    jm__burst_boards boards = 0;
    for (size_t i = 0; i < bursts->processes.count; i++)
        if (is(&bursts->processes.items[i])) boards |= boards_of(bursts, &bursts->processes.items[i]);
    return boards;
}

jm__bursts_news jm__bursts_of_boards_works(jm__bursts_of_boards *bursts, int64_t process_id, size_t board)
{
    jm__burst_boards before = where(bursts, takes_bursts);
    jm__burst_process *process = find_or_add(bursts, process_id);
    if (process != NULL) process->boards |= (jm__burst_boards)1 << board;
    jm__burst_boards after = where(bursts, takes_bursts);
    return (jm__bursts_news){.untraced = after & ~before & ~where(bursts, is_traced_now),
                             .no_bursts = before & ~after};
}

jm__burst_boards jm__bursts_of_boards_said(jm__bursts_of_boards *bursts, int64_t process_id,
                                           jm__duty_cycle_burst what)
{
    jm__burst_process *process = find_or_add(bursts, process_id);
    if (process != NULL && what != JM_DUTY_CYCLE_SOON) process->traced = what == JM_DUTY_CYCLE_TRACED;
    if (process != NULL && what == JM_DUTY_CYCLE_UNTRACED) process->takes_bursts = true;
    jm__burst_boards boards = boards_of(bursts, process);
    return what == JM_DUTY_CYCLE_UNTRACED ? boards & ~where(bursts, is_traced_now) : boards;
}

jm__bursts_news jm__bursts_of_boards_ended(jm__bursts_of_boards *bursts, int64_t process_id)
{
    jm__burst_process *process = find(bursts, process_id);
    if (process == NULL) return (jm__bursts_news){0};
    jm__burst_boards boards = boards_of(bursts, process);
    bool was_traced = process->traced, took_turns = process->takes_bursts;
    *process = bursts->processes.items[--bursts->processes.count];
    jm__burst_boards others = where(bursts, takes_bursts);
    return (jm__bursts_news){.untraced = was_traced ? boards & others & ~where(bursts, is_traced_now) : 0,
                             .no_bursts = took_turns ? boards & ~others : 0};
}
