/* The duty cycle of sampling. */
#include "record/counters/duty.h"

#include <string.h>

void jm__duty_init(jm__duty *duty, double seconds_a_minute, int64_t now_ns)
{
    memset(duty, 0, sizeof *duty);
    duty->seconds_a_minute = seconds_a_minute;
    duty->began_ns = now_ns;
}

static bool is_always(const jm__duty *duty)
{
    return duty->seconds_a_minute >= JM_DUTY_ALWAYS_S;
}

static jm__duty_stretch *last_stretch(jm__duty *duty)
{
    return duty->stretch_count > 0 ? &duty->stretches[(duty->stretch_count - 1) % JM_DUTY_STRETCHES] : NULL;
}

static bool goes_on(const jm__duty_stretch *stretch)
{
    return stretch != NULL && stretch->end_ns == INT64_MAX;
}

/* How much of [start, end) lies in stretches that are remembered. */
static int64_t sampled_of(const jm__duty *duty, int64_t start_ns, int64_t end_ns)
{
    int64_t sum_ns = 0;
    size_t count = duty->stretch_count < JM_DUTY_STRETCHES ? duty->stretch_count : JM_DUTY_STRETCHES;
    for (size_t i = 0; i < count; i++) {
        const jm__duty_stretch *s = &duty->stretches[i];
        int64_t from_ns = start_ns > s->start_ns ? start_ns : s->start_ns;
        int64_t to_ns = end_ns < s->end_ns ? end_ns : s->end_ns;
        if (to_ns > from_ns) sum_ns += to_ns - from_ns;
    }
    return sum_ns;
}

void jm__duty_kernel(jm__duty *duty, int64_t class_id, int64_t start_ns, int64_t end_ns, int64_t now_ns)
{
    jm__duty_class *class = &duty->classes[(uint64_t)class_id % JM_DUTY_CLASSES];
    const jm__duty_stretch *last = last_stretch(duty);
    duty->told_at_ns = now_ns;
    class->sampled_ns += sampled_of(duty, start_ns, end_ns);
    if (last == NULL || start_ns >= last->end_ns) {
        class->since_ns += end_ns - start_ns;
        duty->since_ns += end_ns - start_ns;
    }
    int64_t told_ns = duty->covered_ns > duty->untraced_ns ? duty->covered_ns : duty->untraced_ns;
    if (start_ns - told_ns > JM_DUTY_LATE_NS) duty->was_silent = true;
    /* Kernels beside each other are work once. */
    if (start_ns < duty->covered_ns) start_ns = duty->covered_ns;
    if (end_ns <= start_ns) return;
    duty->sampled_ns += sampled_of(duty, start_ns, end_ns);
    duty->covered_ns = end_ns;
}

/* Of a stretch, in the turn that goes on; before the first word of turns all of it is. */
static int64_t in_burst_ns(const jm__duty *duty, int64_t start_ns, int64_t now_ns)
{
    if (!duty->in_bursts) return now_ns - start_ns;
    return duty->in_burst ? now_ns - (start_ns > duty->burst_ns ? start_ns : duty->burst_ns) : 0;
}

void jm__duty_tell_burst(jm__duty *duty, jm__duty_burst what, int64_t t_ns)
{
    if (what == JM_DUTY_SOON) {
        duty->soon_ns = t_ns;
        duty->announced = true;
        return;
    }
    if (what == JM_DUTY_NO_BURSTS) {
        duty->in_bursts = duty->in_burst = duty->announced = false;
        duty->soon_ns = duty->burst_ns = duty->apart_ns = 0;
        return;
    }
    if (what == JM_DUTY_UNTRACED) {
        const jm__duty_stretch *last = last_stretch(duty);
        if (goes_on(last)) duty->bursts_ns += in_burst_ns(duty, last->start_ns, t_ns);
        if (!duty->in_bursts || duty->in_burst) {
            duty->untraced_ns = t_ns;
            duty->was_silent = false;
        }
        duty->in_bursts = true;
        duty->in_burst = false;
        return;
    }
    if (duty->in_bursts && !duty->in_burst) {
        if (duty->soon_ns == 0) duty->announced = false; /* who announced may be gone */
        duty->apart_ns = duty->burst_ns > 0 ? t_ns - duty->burst_ns : 0;
        duty->burst_ns = t_ns;
        duty->soon_ns = 0;
    }
    duty->in_burst = duty->in_bursts;
}

/* Another process is traced all the time: what is told was not traced in a turn. */
static bool is_told_on(const jm__duty *duty)
{
    return !duty->in_burst && !duty->was_silent && duty->covered_ns - duty->untraced_ns > JM_DUTY_LATE_NS;
}

static bool comes_soon(const jm__duty *duty, int64_t now_ns)
{
    int64_t expected_ns = duty->burst_ns + duty->apart_ns;
    if (duty->soon_ns > 0 && now_ns - duty->soon_ns < JM_DUTY_SOON_NS) return true;
    return !duty->announced && duty->apart_ns > 0 && now_ns > expected_ns - JM_DUTY_AHEAD_NS &&
           now_ns < expected_ns + JM_DUTY_AHEAD_NS;
}

/* What is sampled now may be of known work, or is wanted whatever it is of. */
static bool is_traced(const jm__duty *duty, int64_t now_ns)
{
    return is_always(duty) || !duty->in_bursts || duty->in_burst || comes_soon(duty, now_ns) ||
           is_told_on(duty);
}

/* Kernels were told, or are on their way. What is sampled always is so between turns, too, where nobody
 * knows. */
static bool works(const jm__duty *duty, int64_t now_ns)
{
    bool always = is_always(duty) && duty->in_bursts && !duty->in_burst;
    int64_t alive_ns = duty->told_at_ns;
    if (duty->in_burst && duty->burst_ns > alive_ns) alive_ns = duty->burst_ns;
    return duty->told_at_ns > 0 &&
           (now_ns - alive_ns < JM_DUTY_LATE_NS || comes_soon(duty, now_ns) || always);
}

/* The stretch that goes on is to be no longer. That it waited for turns does not count, within limits. */
static bool is_long_enough(const jm__duty *duty, int64_t start_ns, int64_t now_ns)
{
    int64_t all_ns = now_ns - start_ns;
    if (!duty->in_bursts || is_told_on(duty)) return all_ns >= duty->wanted_ns;
    return duty->bursts_ns + in_burst_ns(duty, start_ns, now_ns) >= duty->wanted_ns ||
           all_ns >= duty->wanted_ns + JM_DUTY_SOON_NS;
}

/* What the helper may use by now. A stretch that cannot be paid to its end is not begun: most of what it
 * costs is its start, and before it sees a turn it waits for one. */
static bool may_cost(jm__duty *duty, int64_t now_ns, int64_t cpu_ns)
{
    double asked = duty->seconds_a_minute / 60, share = JM_DUTY_CPU_SHARE, wanted = (double)cpu_ns;
    if (is_always(duty)) return true;
    if (asked > share) share = asked;
    if (duty->starts > 0 && !goes_on(last_stretch(duty))) wanted += wanted / (double)duty->starts;
    return wanted <= share * (double)(now_ns - duty->began_ns) + (double)JM_DUTY_CPU_START_NS;
}

/* From one piece to the next. */
static int64_t period_ns(const jm__duty *duty)
{
    double seconds = duty->seconds_a_minute > JM_DUTY_LEAST_S ? duty->seconds_a_minute : JM_DUTY_LEAST_S;
    return (int64_t)(60 * (double)JM_DUTY_PIECE_NS / seconds);
}

/* Work that no sample has seen is more than it may be. */
static bool has_unseen(const jm__duty *duty)
{
    int64_t unseen_ns = 0;
    for (size_t i = 0; i < JM_DUTY_CLASSES; i++)
        if (duty->classes[i].sampled_ns < JM_DUTY_SEEN_NS) unseen_ns += duty->classes[i].since_ns;
    return (double)unseen_ns > JM_DUTY_UNSEEN_SHARE * (double)duty->since_ns;
}

/* How long a stretch is wanted from now on; 0: none. */
static int64_t wanted_now_ns(jm__duty *duty, int64_t now_ns)
{
    const jm__duty_stretch *last = last_stretch(duty);
    if (last == NULL) return JM_DUTY_FIRST_NS;
    if (is_always(duty)) return INT64_MAX;
    if (now_ns - last->start_ns >= period_ns(duty)) return JM_DUTY_PIECE_NS;
    if (now_ns - last->end_ns < JM_DUTY_LATE_NS) return 0; /* what it saw is not told yet */
    int64_t missing_ns = JM_DUTY_FIRST_NS - duty->sampled_ns;
    if (missing_ns > 0) return missing_ns > JM_DUTY_AGAIN_NS ? missing_ns : JM_DUTY_AGAIN_NS;
    return has_unseen(duty) ? JM_DUTY_AGAIN_NS : 0;
}

bool jm__duty_wants(jm__duty *duty, int64_t now_ns, int64_t cpu_ns)
{
    const jm__duty_stretch *last = last_stretch(duty);
    if (!works(duty, now_ns) || !is_traced(duty, now_ns) || !may_cost(duty, now_ns, cpu_ns)) return false;
    if (goes_on(last)) return is_always(duty) || !is_long_enough(duty, last->start_ns, now_ns);
    duty->wanted_ns = wanted_now_ns(duty, now_ns);
    return duty->wanted_ns > 0;
}

void jm__duty_began(jm__duty *duty, int64_t t_ns)
{
    duty->stretches[duty->stretch_count++ % JM_DUTY_STRETCHES] = (jm__duty_stretch){t_ns, INT64_MAX};
    duty->starts++;
    duty->bursts_ns = 0;
    duty->since_ns = 0;
    for (size_t i = 0; i < JM_DUTY_CLASSES; i++)
        duty->classes[i].since_ns = 0;
}

void jm__duty_ended(jm__duty *duty, int64_t t_ns)
{
    jm__duty_stretch *last = last_stretch(duty);
    if (!goes_on(last)) return;
    last->end_ns = t_ns > last->start_ns ? t_ns : last->start_ns;
    bool saw_burst = duty->bursts_ns + in_burst_ns(duty, last->start_ns, t_ns) > 0;
    if (!duty->in_bursts || saw_burst || is_told_on(duty)) return;
    *last = (jm__duty_stretch){0}; /* it counts for nothing */
    duty->stretch_count--;
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
                                           jm__duty_burst what)
{
    jm__burst_process *process = find_or_add(bursts, process_id);
    if (process != NULL && what != JM_DUTY_SOON) process->traced = what == JM_DUTY_TRACED;
    if (process != NULL && what == JM_DUTY_UNTRACED) process->takes_bursts = true;
    jm__burst_boards boards = boards_of(bursts, process);
    return what == JM_DUTY_UNTRACED ? boards & ~where(bursts, is_traced_now) : boards;
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
