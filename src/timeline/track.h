/* The spans of this process: a ring for each thread, and the names. Libc alone.
 *
 * Compiled into libjoulemap (writer 'c') and into libjoulemap_inject (writer 'n'), each
 * with a state of its own. Without a run, begin and end are a load and a branch. */
#ifndef JM_TIMELINE_TRACK_H
#define JM_TIMELINE_TRACK_H

#include <stddef.h>
#include <stdint.h>

/* Which library this is; defined once in each. */
extern const uint32_t jm__track_writer;

/* Write into this run from now on, in place of any other. 0 or an errno. */
int jm__track_open(const char *run_dir);
void jm__track_close(void);

/* Longer texts are cut to `most` bytes at a character's edge. */
uint32_t jm__track_intern(const char *text, size_t most);

/* The same also where there is no run yet: the number will hold in those to come. */
uint32_t jm__track_register(const char *text, size_t most);

/* Record spans of the kinds whose bits are set, others begin nothing from now on; a run begins with all. Ends
 * and marks go on. */
#define JM_TRACK_ALL UINT32_MAX
void jm__track_keep(uint32_t kinds);

uint64_t jm__track_begin(uint8_t kind, uint32_t name, uint32_t type, uint32_t samples);
void jm__track_end(uint64_t span);
void jm__track_end_counted(uint64_t span, uint32_t samples, uint32_t tokens);

/* Of CUDA graphs, for callbacks inside the driver's calls: nothing is waited for, and what finds no ring at
 * once is counted in JM_LOST_NODES. `original`: the node that it is a clone of, 0: of none. */
void jm__track_node(uint64_t node, uint64_t original, uint32_t graph);
void jm__track_graph_gone(uint32_t graph);
void jm__track_exec_begun(void);
void jm__track_exec_made(uint32_t graph);

void jm__track_mark(const char *name, const char *meta);
void jm__track_mark_number(uint32_t name);

#endif
