/* Of a run's processes that are traced in turns: whose turns are a board's. A rank's say nothing of the
 * boards that others work on. One thread at a time. */
#ifndef JM_RECORD_COUNTERS_TURNS_H
#define JM_RECORD_COUNTERS_TURNS_H

#include "base/vec.h"
#include "record/counters/duty.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Boards are numbered from 0 to 63; bit i is the i-th. */
typedef uint64_t jm__turn_boards;

typedef struct jm__turn_process {
    int64_t id;
    jm__turn_boards boards; /* kernels of it were seen there; 0: nowhere yet, so it may be any that nobody is
                             * known to work on */
    bool takes_turns;       /* it was once not traced */
    bool traced;            /* it said last that it is */
} jm__turn_process;

typedef struct jm__turns_of_boards {
    JM_VEC(jm__turn_process) processes;
} jm__turns_of_boards;

/* Zeroed is ready; free with this. */
void jm__turns_of_boards_free(jm__turns_of_boards *turns);

/* Boards of which something is news, since a process has ended, or speaks for others than before. */
typedef struct jm__turns_news {
    jm__turn_boards untraced; /* somebody takes turns there, and nobody of them is traced */
    jm__turn_boards no_turns; /* nobody takes turns any more */
} jm__turns_news;

/* Kernels of the process run on the board: those who were seen nowhere do not speak for it now, nor this
 * process for boards of nobody. Without memory nothing changes. */
jm__turns_news jm__turns_of_boards_works(jm__turns_of_boards *turns, int64_t process_id, size_t board);

/* The process says so; the boards that it is true of. That it is not traced is not, while another one is that
 * works there. */
jm__turn_boards jm__turns_of_boards_said(jm__turns_of_boards *turns, int64_t process_id, jm__duty_turn what);

jm__turns_news jm__turns_of_boards_ended(jm__turns_of_boards *turns, int64_t process_id);

#endif
