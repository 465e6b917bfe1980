/* Who took how much: the labels of work, and the file of what was true. */
#ifndef SIM_TRUTH_H
#define SIM_TRUTH_H

#include "board.h"

typedef struct sim_label {
    char *name;
    char *type;
    const char *kind; /* static */
} sim_label;

typedef struct sim_labels {
    sim_label *items;
    uint32_t count;
    uint32_t size;
    uint32_t *slots; /* hash table of numbers + 1 */
    uint32_t slot_count;
} sim_labels;

/* The number of a label, the same for equal texts; UINT32_MAX if memory ran out. */
uint32_t sim_label_intern(sim_labels *labels, const char *name, const char *type, const char *kind);
void sim_labels_free(sim_labels *labels);

/* Write `board,name,type,kind,calls,busy_s,energy_j` for all boards: a new file, renamed over `path`.
 * `overtaken`: span records that the board could not see in time; a row of its own if there are any.
 * Returns 0 or errno. */
int sim_truth_write(const char *path, const sim_board *boards, int board_count, const sim_labels *labels,
                    uint64_t overtaken);

#endif
