/* Turns of processes, by board. */
#include "record/counters/turns.h"

void jm__turns_of_boards_free(jm__turns_of_boards *turns)
{
    jm__vec_free(&turns->processes);
}

static jm__turn_process *find(const jm__turns_of_boards *turns, int64_t id)
{
    for (size_t i = 0; i < turns->processes.count; i++)
        if (turns->processes.items[i].id == id) return &turns->processes.items[i];
    return NULL;
}

/* NULL: no memory. */
static jm__turn_process *find_or_add(jm__turns_of_boards *turns, int64_t id)
{
    jm__turn_process *known = find(turns, id);
    if (known != NULL) return known;
    if (!jm__vec_push(&turns->processes, ((jm__turn_process){.id = id}))) return NULL;
    return &turns->processes.items[turns->processes.count - 1];
}

static jm__turn_boards boards_of(const jm__turns_of_boards *turns, const jm__turn_process *process)
{
    jm__turn_boards known = 0;
    if (process != NULL && process->boards != 0) return process->boards;
    for (size_t i = 0; i < turns->processes.count; i++)
        known |= turns->processes.items[i].boards;
    return ~known;
}

static bool is_traced(const jm__turn_process *process)
{
    return process->traced;
}

static bool takes_turns(const jm__turn_process *process)
{
    return process->takes_turns;
}

/* Where one works of which that is true. */
static jm__turn_boards where(const jm__turns_of_boards *turns, bool (*is)(const jm__turn_process *process))
{
    jm__turn_boards boards = 0;
    for (size_t i = 0; i < turns->processes.count; i++)
        if (is(&turns->processes.items[i])) boards |= boards_of(turns, &turns->processes.items[i]);
    return boards;
}

jm__turns_news jm__turns_of_boards_works(jm__turns_of_boards *turns, int64_t process_id, size_t board)
{
    jm__turn_boards before = where(turns, takes_turns);
    jm__turn_process *process = find_or_add(turns, process_id);
    if (process != NULL) process->boards |= (jm__turn_boards)1 << board;
    jm__turn_boards after = where(turns, takes_turns);
    return (jm__turns_news){.untraced = after & ~before & ~where(turns, is_traced),
                            .no_turns = before & ~after};
}

jm__turn_boards jm__turns_of_boards_said(jm__turns_of_boards *turns, int64_t process_id, jm__duty_turn what)
{
    jm__turn_process *process = find_or_add(turns, process_id);
    if (process != NULL && what != JM_DUTY_SOON) process->traced = what == JM_DUTY_TRACED;
    if (process != NULL && what == JM_DUTY_UNTRACED) process->takes_turns = true;
    jm__turn_boards boards = boards_of(turns, process);
    return what == JM_DUTY_UNTRACED ? boards & ~where(turns, is_traced) : boards;
}

jm__turns_news jm__turns_of_boards_ended(jm__turns_of_boards *turns, int64_t process_id)
{
    jm__turn_process *process = find(turns, process_id);
    if (process == NULL) return (jm__turns_news){0};
    jm__turn_boards boards = boards_of(turns, process);
    bool was_traced = process->traced, took_turns = process->takes_turns;
    *process = turns->processes.items[--turns->processes.count];
    jm__turn_boards others = where(turns, takes_turns);
    return (jm__turns_news){.untraced = was_traced ? boards & others & ~where(turns, is_traced) : 0,
                            .no_turns = took_turns ? boards & ~others : 0};
}
