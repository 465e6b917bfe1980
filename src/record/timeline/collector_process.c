/* The processes of a run: their identity and life, threads, names, and spans: stacks of open spans, histories
 * and launches for kernels. */
#include "base/private_file.h"
#include "base/search.h"
#include "format/rows/marks.h"
#include "format/rows/span_kind.h"
#include "record/timeline/collector_parts.h"
#include "record/timeline/identity.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIFE_CHECK_NS (JM_NS_PER_S / 4)

void jm__collector_report_loss(jm__collector *collector, int64_t process_id, uint64_t count,
                               const char *source, const char *reason)
{
    if (count == 0) return;
    jm__loss loss = {.t_ns = collector->now_ns,
                     .process_id = process_id,
                     .count = count <= INT64_MAX ? (int64_t)count : INT64_MAX,
                     .source = source,
                     .reason = reason};
    collector->sink.loss(collector->sink.context, &loss);
}

static void send_process(const jm__collector *collector, const collector_process *process)
{
    jm__process row = {.id = process->row_id,
                       .pid = process->pid,
                       .parent_pid = process->parent,
                       .rank = process->rank,
                       .start_ns = process->first_ns,
                       .end_ns = process->last_ns,
                       .host = collector->host,
                       .command = process->command};
    collector->sink.process(collector->sink.context, &row);
}

static bool differs(uint64_t one, uint64_t other)
{
    return one != 0 && other != 0 && one != other;
}

/* Has another process its pid now? If none has, a ring that is found late belongs to it. */
static bool is_pid_reused(const collector_process *process)
{
    jm__process_stat now;
    return jm__process_stat_read(process->pid_here, &now) && now.start_ticks != process->start_ticks;
}

/* Does the identity match, among processes with this pid in succession or in several namespaces? */
static bool matches(const collector_process *process, pid_t pid, const jm_ring_identity *identity)
{
    if (process->pid != pid || differs(process->pid_namespace, identity->pid_namespace)) return false;
    if (process->start_ticks != 0 && identity->start_ticks != 0)
        return process->start_ticks == identity->start_ticks;
    return !process->dead || !is_pid_reused(process);
}

static void set_identity(const jm__collector *collector, collector_process *process,
                         const jm_ring_identity *identity)
{
    process->pid_namespace = identity->pid_namespace;
    process->pid_here = process->pid;
    if (differs(identity->pid_namespace, collector->pid_namespace)) {
        process->pid_here = jm__process_here(process->pid, identity);
        process->dead = process->pid_here == 0 && jm__namespace_is_first(collector->pid_namespace);
        process->dead_ns = collector->now_ns;
    }
    process->other_clock = differs(identity->time_namespace, collector->time_namespace);
    process->start_ticks = identity->start_ticks;
    process->parent = identity->parent;
    process->rank = identity->rank < 0 ? -1 : identity->rank;
    process->command = strndup(identity->command, sizeof identity->command);
    for (char *c = process->command; c != NULL && *c != '\0'; c++)
        if (iscntrl((unsigned char)*c)) *c = ' ';
    if (process->command != NULL && process->command[0] == '\0') {
        free(process->command);
        process->command = NULL;
    }
    process->changed = true;
}

/* Prefers the identity in the ring: the process may be gone, or its pid reused. */
static void identify(const jm__collector *collector, collector_process *process,
                     const jm_ring_identity *identity)
{
    jm_ring_identity seen;
    if (process->start_ticks != 0) return;
    if (identity->start_ticks != 0)
        set_identity(collector, process, identity);
    else if (jm__identity_read(process->pid, &seen))
        set_identity(collector, process, &seen);
}

collector_process *jm__collector_process_of(jm__collector *collector, pid_t pid, int64_t first_ns,
                                            const jm_ring_identity *identity)
{
    for (size_t i = collector->processes.count; i > 0; i--) {
        collector_process *known = collector->processes.items[i - 1];
        if (!matches(known, pid, identity)) continue;
        identify(collector, known, identity);
        return known;
    }
    collector_process *process = calloc(1, sizeof *process);
    if (process == NULL || !jm__vec_push(&collector->processes, process)) {
        free(process);
        collector->out_of_memory = true;
        return NULL;
    }
    process->row_id = ++collector->last_process_id;
    process->pid = process->pid_here = pid;
    process->rank = -1;
    process->first_ns = process->last_ns = first_ns;
    process->threads_by_tid.key_size = sizeof(int64_t);
    process->open_spans.key_size = 2 * sizeof(uint64_t);
    process->streams.key_size = 2 * sizeof(uint64_t);
    identify(collector, process, identity);
    send_process(collector, process);
    return process;
}

collector_thread *jm__collector_thread_of(jm__collector *collector, collector_process *process, int32_t tid)
{
    int64_t key = tid;
    jm__map_value *found = jm__map_find(&process->threads_by_tid, &key);
    if (found != NULL) return found->object;
    collector_thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL) goto out;
    thread->tid = tid;
    if (!jm__vec_push(&process->threads, thread)) goto out;
    if (!jm__map_put(&process->threads_by_tid, &key, (jm__map_value){.object = thread})) {
        process->threads.count--;
        goto out;
    }
    return thread;
out:
    free(thread);
    collector->out_of_memory = true;
    return NULL;
}

collector_names *jm__collector_names_of(jm__collector *collector, collector_process *process, uint32_t writer,
                                        uint32_t file_number)
{
    for (size_t i = 0; i < process->names.count; i++) {
        collector_names *known = process->names.items[i];
        if (known->writer == writer && known->file_number == file_number) return known;
    }
    collector_names *names = calloc(1, sizeof *names);
    if (names == NULL || !jm__vec_push(&process->names, names)) {
        free(names);
        collector->out_of_memory = true;
        return NULL;
    }
    names->process = process;
    names->writer = writer;
    names->file_number = file_number;
    return names;
}

static const char *file_name(const collector_names *names, char name[NAME_MAX])
{
    char suffix[16] = "";
    if (names->file_number > 0) snprintf(suffix, sizeof suffix, "-%u", names->file_number);
    snprintf(name, NAME_MAX, "%d-%c%s" JM_NAMES_SUFFIX, (int)names->process->pid, (char)names->writer,
             suffix);
    return name;
}

/* -1: the file is missing, not there yet, or was replaced. */
static int open_names(const jm__collector *collector, collector_names *names)
{
    char name[NAME_MAX];
    jm__kept_file before = names->file, *file = &names->file;
    if (jm__kept_file_is_ours(file)) return file->fd_plus_one - 1;
    int fd = jm__private_file(collector->run_dir, file_name(names, name), O_RDWR);
    if (fd < 0 || !jm__kept_file_set(file, fd)) return -1;
    if (before.fd_plus_one == 0 || (before.inode == file->inode && before.device == file->device)) return fd;
    jm__kept_file_close(file);
    *file = before;
    return -1;
}

/* Reads one entry of the file; false if there is no complete one. */
static bool read_entry(collector_names *names, int fd)
{
    uint32_t head[2];
    char text[JM_NAME_MAX + 1];
    if (pread(fd, head, sizeof head, names->offset) != (ssize_t)sizeof head) return false;
    if (head[0] == 0 || head[0] >= JM_NAMES_READ_MAX || head[1] > JM_NAME_MAX) return false;
    if (pread(fd, text, head[1], names->offset + (off_t)sizeof head) != (ssize_t)head[1]) return false;
    size_t needed = (size_t)head[0] + 1;
    if (!jm__vec_reserve(&names->names, needed)) return false;
    while (names->names.count < needed)
        names->names.items[names->names.count++] = (collector_name){NULL, 0};
    char *copy = strndup(text, head[1]);
    if (copy == NULL) return false; /* it is read again on the next lookup */
    collector_name *name = &names->names.items[head[0]];
    free(name->text);
    name->text = copy;
    name->row_id = 0;
    names->offset += (off_t)(sizeof head + head[1]);
    return true;
}

/* Frees the read part: the file is in memory and grows as long as its program lives. */
static void read_entries(jm__collector *collector, collector_names *names)
{
    enum { FREED_AT_ONCE = 1 << 20 };
    int fd = open_names(collector, names);
    if (fd < 0) return;
    while (read_entry(names, fd)) {
    }
    if (names->offset - names->freed >= FREED_AT_ONCE &&
        fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, names->freed,
                  names->offset - names->freed) == 0)
        names->freed = names->offset;
}

static collector_name *find_name(jm__collector *collector, collector_names *names, uint32_t number)
{
    if (number == 0 || number >= JM_NAMES_READ_MAX) return NULL;
    if (number < names->names.count && names->names.items[number].text != NULL)
        return &names->names.items[number];
    read_entries(collector, names);
    bool is_known = number < names->names.count && names->names.items[number].text != NULL;
    return is_known ? &names->names.items[number] : NULL;
}

int64_t jm__collector_name_row(jm__collector *collector, collector_names *names, uint32_t number)
{
    if (number == 0) return 0;
    if (number < names->names.count && names->names.items[number].row_id > 0)
        return names->names.items[number].row_id;
    collector_name *name = find_name(collector, names, number);
    if (name == NULL) names->process->unwritten_names++;
    int64_t row_id =
        collector->sink.name(collector->sink.context, name == NULL ? "(name not written)" : name->text);
    if (row_id < 0) {
        names->process->refused_names++;
        return 0;
    }
    if (name != NULL) name->row_id = row_id;
    return row_id;
}

const char *jm__collector_name_text(jm__collector *collector, collector_names *names, uint32_t number)
{
    const collector_name *name = find_name(collector, names, number);
    return name == NULL ? NULL : name->text;
}

void jm__collector_processes_check(jm__collector *collector)
{
    if (collector->now_ns - collector->life_checked_ns < LIFE_CHECK_NS) return;
    collector->life_checked_ns = collector->now_ns;
    for (size_t i = 0; i < collector->processes.count; i++) {
        collector_process *process = collector->processes.items[i];
        if (process->dead || process->pid_here == 0) continue;
        jm__process_stat now;
        (void)jm__process_stat_read(process->pid_here, &now); /* zeros if it cannot be read */
        bool is_gone = kill(process->pid_here, 0) != 0 && errno == ESRCH;
        bool is_reused = !process->other_clock && differs(process->start_ticks, now.start_ticks);
        process->dead = is_gone || is_reused || now.state == 'Z' || now.state == 'X';
        process->dead_ns = collector->now_ns;
    }
}

/* Marks the end after all of its records: it no longer delays figures, and its open spans end. */
static void mark_end(const jm__collector *collector, const collector_process *process)
{
    jm__mark row = {.process_id = process->row_id, .thread_id = process->pid, .t_ns = process->dead_ns};
    row.name_id = collector->sink.name(collector->sink.context, JM_MARK_ENDED);
    if (row.name_id >= 0) collector->sink.mark(collector->sink.context, &row);
}

static void report_losses(jm__collector *collector, collector_process *process)
{
    const struct {
        uint64_t *count;
        const char *source, *reason;
    } losses[] = {
        {&process->no_launch, "cupti",
         "the launch of these kernels was not reported: they belong to no span"},
        {&process->no_history, "recorder", "these kernels came too late to find their span"},
        {&process->refused_spans, "recorder", "too many spans were open at once in this process"},
        {&process->refused_names, "recorder", "there were too many different names: these go without theirs"},
        {&process->unwritten_names, "recorder",
         "a name or note of these could not be written by their program: no room in the run's folder"},
        {&process->unreported_nodes, "cupti",
         "the nodes of these kernels' CUDA graphs were not reported: they belong to what was open when the "
         "graph "
         "was "
         "launched"},
        {&process->shared_replays, "recorder",
         "CUDA graphs were launched too fast: calls of layers in them represent several"},
        {&process->refused_captures, "recorder",
         "too many different spans were open while CUDA graphs were captured: these belong to what was "
         "around"},
        {&process->malformed, "ring", "these records make no sense and were dropped"},
    };
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        jm__collector_report_loss(collector, process->row_id, *losses[i].count, losses[i].source,
                                  losses[i].reason);
        *losses[i].count = 0;
    }
}

void jm__collector_processes_report(jm__collector *collector)
{
    for (size_t i = 0; i < collector->processes.count; i++) {
        collector_process *process = collector->processes.items[i];
        report_losses(collector, process);
        if (!process->changed) continue;
        process->changed = false;
        send_process(collector, process);
    }
}

/* Removes its names files: a run of a week may have a million processes. */
static void remove_names(const jm__collector *collector, const collector_process *process)
{
    char name[NAME_MAX];
    int folder = jm__private_folder(collector->run_dir);
    if (folder < 0) return;
    for (size_t i = 0; i < process->names.count; i++)
        unlinkat(folder, file_name(process->names.items[i], name), 0);
    close(folder);
}

/* None of their kernels is waiting: retry_waiting has sent them. */
void jm__collector_processes_reap(jm__collector *collector)
{
    size_t kept = 0;
    for (size_t i = 0; i < collector->processes.count; i++) {
        collector_process *process = collector->processes.items[i];
        if (process->dead && process->readers == 0 && !process->changed) {
            mark_end(collector, process);
            remove_names(collector, process);
            jm__collector_process_free(process);
        } else {
            collector->processes.items[kept++] = process;
        }
    }
    collector->processes.count = kept;
}

static void names_free(collector_names *names)
{
    for (size_t i = 0; i < names->names.count; i++)
        free(names->names.items[i].text);
    jm__vec_free(&names->names);
    jm__kept_file_close(&names->file);
    free(names);
}

static void thread_free(collector_thread *thread)
{
    for (size_t k = 0; k < thread->stack.count; k++)
        free(thread->stack.items[k]);
    jm__vec_free(&thread->stack);
    jm__vec_free(&thread->history.steps);
    free(thread);
}

/* Forgets threads whose history is too old for any kernel. */
static void reap_threads(collector_process *process, int64_t before_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < process->threads.count; i++) {
        collector_thread *thread = process->threads.items[i];
        const collector_history *history = &thread->history;
        bool recent =
            history->steps.count > 0 && history->steps.items[history->steps.count - 1].t_ns >= before_ns;
        if (thread->readers > 0 || thread->stack.count > 0 || recent) {
            process->threads.items[kept++] = thread;
            continue;
        }
        int64_t key = thread->tid;
        jm__map_remove(&process->threads_by_tid, &key);
        thread_free(thread);
    }
    process->threads.count = kept;
}

void jm__collector_process_free(collector_process *process)
{
    for (size_t i = 0; i < process->names.count; i++)
        names_free(process->names.items[i]);
    for (size_t i = 0; i < process->threads.count; i++)
        thread_free(process->threads.items[i]);
    for (size_t i = 0; i < JM_DEVICES_MAX; i++)
        free(process->board_uuids[i]);
    jm__vec_free(&process->names);
    jm__vec_free(&process->threads);
    jm__vec_free(&process->wide);
    jm__vec_free(&process->wide_history.steps);
    jm__map_free(&process->threads_by_tid);
    jm__map_free(&process->open_spans);
    jm__map_free(&process->streams);
    jm__collector_graphs_free(process);
    free(process->launches);
    free(process->command);
    free(process);
}

/* ---- spans */

/* An outer call that is older belongs to an earlier round of the 32-bit ids. */
#define NESTED_CALL_NS (60 * JM_NS_PER_S)

static void history_add(jm__collector *collector, collector_history *history, int64_t t_ns, int64_t span_id)
{
    if (history->steps.count > 0) {
        const collector_transition *last = &history->steps.items[history->steps.count - 1];
        if (t_ns < last->t_ns) t_ns = last->t_ns;
    }
    collector_transition step = {t_ns, span_id};
    if (!jm__vec_push(&history->steps, step)) collector->out_of_memory = true;
}

/* The number of steps at t_ns or before. */
static size_t steps_until(const collector_history *history, int64_t t_ns)
{
    size_t at;
    jm__search(at, history->steps.count, history->steps.items[at].t_ns <= t_ns);
    return at;
}

/* False if the history no longer covers that time. */
static bool history_find(const collector_history *history, int64_t t_ns, int64_t *span_id)
{
    size_t until = steps_until(history, t_ns);
    *span_id = until == 0 ? 0 : history->steps.items[until - 1].span_id;
    return until > 0 || !history->pruned;
}

static void history_prune(collector_history *history, int64_t before_ns)
{
    size_t count = history->steps.count, gone = steps_until(history, before_ns);
    if (gone > 0) gone--; /* the last step before that time is still valid after it */
    if (count - gone > JM_HISTORY_MAX) gone = count - JM_HISTORY_MAX / 2;
    if (gone == 0 || gone < count / 4) return; /* seldom and much, since the rest has to be moved */
    history->steps.count = count - gone;
    memmove(history->steps.items, history->steps.items + gone, (count - gone) * sizeof *history->steps.items);
    history->pruned = true;
}

void jm__collector_histories_prune(jm__collector *collector)
{
    int64_t before_ns = collector->now_ns - JM_HISTORY_KEPT_NS;
    for (size_t i = 0; i < collector->processes.count; i++) {
        collector_process *process = collector->processes.items[i];
        history_prune(&process->wide_history, before_ns);
        for (size_t k = 0; k < process->threads.count; k++)
            history_prune(&process->threads.items[k]->history, before_ns);
        reap_threads(process, before_ns);
        jm__collector_graphs_prune(collector, process);
    }
}

bool jm__collector_innermost(const collector_process *process, int32_t tid, int64_t t_ns, int64_t *span_id)
{
    int64_t key = tid;
    const jm__map_value *found = jm__map_find(&process->threads_by_tid, &key);
    bool known = true;
    *span_id = 0;
    if (found != NULL)
        known = history_find(&((const collector_thread *)found->object)->history, t_ns, span_id);
    if (*span_id != 0) return true;
    return history_find(&process->wide_history, t_ns, span_id) && known;
}

/* Ids restart when CUPTI is subscribed to again; earlier launches keep their slots. */
static collector_launch *slot_of(const collector_process *process, uint32_t correlation,
                                 uint32_t subscription)
{
    return &process->launches[(correlation + subscription * 2654435761u) & (JM_LAUNCHES - 1)];
}

static void launch(jm__collector *collector, collector_reader *reader, const jm_ring_span *record)
{
    collector_process *process = reader->process;
    uint32_t correlation = (uint32_t)record->id;
    if (process->launches == NULL) process->launches = calloc(JM_LAUNCHES, sizeof *process->launches);
    if (process->launches == NULL) {
        collector->out_of_memory = true;
        return;
    }
    /* Correlation ids count up, so the newest million never collide. All kernels of a graph share one launch,
     * which stays. Nested calls share an id, too: the outer one, which began first, is the program's. */
    collector_launch *slot = slot_of(process, correlation, record->samples);
    bool same = slot->t_ns != 0 && slot->correlation == correlation && slot->subscription == record->samples;
    if (same && slot->t_ns <= record->t_ns && record->t_ns - slot->t_ns < NESTED_CALL_NS) return;
    *slot = (collector_launch){.t_ns = record->t_ns,
                               .correlation = correlation,
                               .tid = reader->thread->tid,
                               .subscription = record->samples};
}

collector_launch *jm__collector_launch_find(const collector_process *process, uint32_t correlation,
                                            uint32_t subscription)
{
    if (process->launches == NULL) return NULL;
    collector_launch *slot = slot_of(process, correlation, subscription);
    bool is_it = slot->t_ns != 0 && slot->correlation == correlation && slot->subscription == subscription;
    return is_it ? slot : NULL;
}

static int64_t top_row(const collector_stack *stack)
{
    return stack->count == 0 ? 0 : stack->items[stack->count - 1]->recent.id;
}

/* Spans may end in any order. */
static void stack_remove(jm__collector *collector, collector_stack *stack, collector_history *history,
                         const collector_open_span *span, int64_t t_ns)
{
    size_t at = stack->count;
    while (at > 0 && stack->items[at - 1] != span)
        at--;
    if (at == 0) return;
    bool was_top = at == stack->count;
    memmove(stack->items + at - 1, stack->items + at, (stack->count - at) * sizeof(collector_open_span *));
    stack->count--;
    if (was_top) history_add(collector, history, t_ns, top_row(stack));
}

static bool open_span(jm__collector *collector, collector_process *process, collector_open_span *span)
{
    collector_thread *thread = span->thread;
    if (!jm__vec_push(&thread->stack, span)) return false;
    if (span->process_wide && !jm__vec_push(&process->wide, span)) {
        thread->stack.count--;
        return false;
    }
    if (!jm__map_put(&process->open_spans, span->key, (jm__map_value){.object = span})) {
        thread->stack.count--;
        process->wide.count -= span->process_wide;
        return false;
    }
    history_add(collector, &thread->history, span->start_ns, span->recent.id);
    if (span->process_wide) history_add(collector, &process->wide_history, span->start_ns, span->recent.id);
    return true;
}

/* The innermost open span of the thread, else of the process. */
static int64_t innermost_now(const collector_reader *reader)
{
    return top_row(reader->thread->stack.count > 0 ? &reader->thread->stack : &reader->process->wide);
}

static uint64_t program_of(const collector_reader *reader)
{
    return (uint64_t)reader->names->file_number << 32 | reader->names->writer;
}

static void payload(collector_reader *reader, const jm_ring_span *record)
{
    if (record->kind == JM_PAYLOAD_NONE || record->kind >= JM_PAYLOAD_KIND_COUNT) {
        reader->process->malformed++;
        return;
    }
    reader->payload_of = record->id;
    reader->payload_kind = (jm_payload_kind)record->kind;
    reader->payload.natural = (uint64_t)record->type << 32 | record->name;
    if (reader->payload_kind == JM_PAYLOAD_NATURAL && reader->payload.natural <= INT64_MAX)
        reader->payload_kind = JM_PAYLOAD_INTEGER;
}

static void begin(jm__collector *collector, collector_reader *reader, const jm_ring_span *record)
{
    collector_process *process = reader->process;
    uint64_t key[2] = {record->id, program_of(reader)};
    if (record->kind == JM_SPAN_NONE || record->kind >= JM_SPAN_KIND_COUNT ||
        jm__map_find(&process->open_spans, key) != NULL) {
        process->malformed++;
        return;
    }
    if (process->open_spans.count >= JM_OPEN_SPANS_MAX) {
        process->refused_spans++;
        return;
    }
    jm__span row = {.id = collector->last_span_id + 1,
                    .process_id = process->row_id,
                    .thread_id = reader->thread->tid,
                    .parent_id = innermost_now(reader),
                    .start_ns = record->t_ns,
                    .end_ns = -1,
                    .name_id = jm__collector_name_row(collector, reader->names, record->name),
                    .type_id = jm__collector_name_row(collector, reader->names, record->type),
                    .samples = record->samples,
                    .kind = (jm_span_kind)record->kind};
    if (reader->payload_of == record->id) {
        row.payload_kind = reader->payload_kind;
        row.payload = reader->payload;
    }
    reader->payload_of = 0;
    collector_open_span *span = calloc(1, sizeof *span);
    if (span != NULL) {
        *span = (collector_open_span){.recent = {.id = row.id,
                                                 .parent_id = row.parent_id,
                                                 .name_id = row.name_id,
                                                 .type_id = row.type_id,
                                                 .kind = record->kind},
                                      .start_ns = record->t_ns,
                                      .key = {key[0], key[1]},
                                      .thread = reader->thread,
                                      .process_wide = jm__span_kind_is_wide(row.kind)};
    }
    if (span == NULL || !open_span(collector, process, span)) {
        free(span);
        collector->out_of_memory = true;
        return;
    }
    collector->last_span_id = row.id;
    jm__collector_recent_put(collector, &span->recent);
    collector->sink.span_begin(collector->sink.context, &row);
}

static void close_span(jm__collector *collector, collector_process *process, collector_open_span *span,
                       int64_t t_ns)
{
    stack_remove(collector, &span->thread->stack, &span->thread->history, span, t_ns);
    if (span->process_wide) stack_remove(collector, &process->wide, &process->wide_history, span, t_ns);
    jm__map_remove(&process->open_spans, span->key);
    free(span);
}

static void end(jm__collector *collector, collector_reader *reader, const jm_ring_span *record)
{
    uint64_t key[2] = {record->id, program_of(reader)};
    jm__map_value *found = jm__map_find(&reader->process->open_spans, key);
    if (found == NULL) return; /* its begin was lost, or belongs to an earlier run */
    collector_open_span *span = found->object;
    int64_t end_ns = record->t_ns < span->start_ns ? span->start_ns : record->t_ns;
    const jm__span_end row = {
        .span_id = span->recent.id, .end_ns = end_ns, .samples = record->samples, .tokens = record->type};
    collector->sink.span_end(collector->sink.context, &row);
    close_span(collector, reader->process, span, end_ns);
}

static void mark(jm__collector *collector, collector_reader *reader, const jm_ring_span *record)
{
    jm__mark row = {.process_id = reader->process->row_id,
                    .thread_id = reader->thread->tid,
                    .t_ns = record->t_ns,
                    .name_id = jm__collector_name_row(collector, reader->names, record->name)};
    collector_name *text = NULL;
    if (record->type != 0) {
        read_entries(collector, reader->names); /* a reused number has its latest text */
        text = find_name(collector, reader->names, record->type);
        if (text == NULL) reader->process->unwritten_names++;
    }
    if (text != NULL) row.meta = text->text;
    collector->sink.mark(collector->sink.context, &row);
    if (text == NULL) return;
    free(text->text); /* it is used once */
    text->text = NULL;
}

/* After exec: ends spans of the previous program at the first record of the new one. */
static void end_older(jm__collector *collector, collector_process *process, uint64_t program, int64_t t_ns)
{
    for (size_t i = 0; i < process->threads.count; i++) {
        collector_stack *stack = &process->threads.items[i]->stack;
        for (size_t k = stack->count; k > 0; k--) {
            collector_open_span *span = stack->items[k - 1];
            uint64_t other = span->key[1];
            if ((uint32_t)other != (uint32_t)program || other >= program) continue;
            const jm__span_end row = {.span_id = span->recent.id,
                                      .end_ns = t_ns < span->start_ns ? span->start_ns : t_ns};
            collector->sink.span_end(collector->sink.context, &row);
            close_span(collector, process, span, row.end_ns);
        }
    }
}

void jm__collector_span_record(jm__collector *collector, collector_reader *reader, const jm_ring_span *record)
{
    if (!jm__collector_is_stamp(record->t_ns)) {
        reader->process->malformed++;
        return;
    }
    if (reader->replaces) {
        reader->replaces = false;
        end_older(collector, reader->process, program_of(reader), record->t_ns);
    }
    switch (record->op) {
    case JM_RING_BEGIN:
        begin(collector, reader, record);
        break;
    case JM_RING_END:
        end(collector, reader, record);
        break;
    case JM_RING_PAYLOAD:
        payload(reader, record);
        break;
    case JM_RING_MARK:
        mark(collector, reader, record);
        break;
    case JM_RING_THREAD: {
        collector_thread *thread = jm__collector_thread_of(collector, reader->process, (int32_t)record->id);
        if (thread == NULL) break;
        reader->thread->readers--;
        reader->thread = thread;
        thread->readers++;
        break;
    }
    case JM_RING_NODE:
    case JM_RING_GRAPH_GONE:
    case JM_RING_EXEC_BEGUN:
    case JM_RING_EXEC_MADE:
        jm__collector_graph_record(collector, reader, innermost_now(reader), record);
        break;
    case JM_RING_LAUNCH:
        launch(collector, reader, record);
        break;
    default:
        reader->process->malformed++;
        return;
    }
    jm__collector_process_saw(reader->process, record->t_ns, record->t_ns);
}
