/* Turns of processes, by board. */
#include "counters/turns.h"

#define ALL (~(jm__turn_boards)0)

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

static jm__turn_boards boards_of(const jm__turn_process *process)
{
    return process == NULL || process->boards == 0 ? ALL : process->boards;
}

/* Where none that takes turns has one. */
static jm__turn_boards untraced(const jm__turns_of_boards *turns)
{
    jm__turn_boards boards = ALL;
    for (size_t i = 0; i < turns->processes.count; i++)
        if (turns->processes.items[i].traced) boards &= ~boards_of(&turns->processes.items[i]);
    return boards;
}

void jm__turns_of_boards_works(jm__turns_of_boards *turns, int64_t process_id, size_t board)
{
    jm__turn_process *process = find_or_add(turns, process_id);
    if (process != NULL) process->boards |= (jm__turn_boards)1 << board;
}

jm__turn_boards jm__turns_of_boards_said(jm__turns_of_boards *turns, int64_t process_id, jm__duty_turn what)
{
    jm__turn_process *process = find_or_add(turns, process_id);
    if (process != NULL && what != JM_DUTY_SOON) process->traced = what == JM_DUTY_TRACED;
    return boards_of(process) & (what == JM_DUTY_UNTRACED ? untraced(turns) : ALL);
}

jm__turn_boards jm__turns_of_boards_ended(jm__turns_of_boards *turns, int64_t process_id)
{
    jm__turn_process *process = find(turns, process_id);
    if (process == NULL) return 0;
    jm__turn_boards boards = process->traced ? boards_of(process) : 0;
    *process = turns->processes.items[--turns->processes.count];
    return boards & untraced(turns);
}
