/* What found no ring to be written into, counted where the recorder sees it: the page `lost` of the run's
 * folder (ring_format.h), which all processes of the run share. Libc alone.
 *
 * Counting locks nothing and is right at any time: where there is no run, or its page cannot be had yet, a
 * page of this process alone takes the counts, and joining a run hands them on. */
#ifndef JM_RECORD_TIMELINE_LOST_H
#define JM_RECORD_TIMELINE_LOST_H

#include "record/timeline/ring_format.h"

#include <stdbool.h>

/* The recorder's side: make the page, its room reserved. 0 or an errno. */
int jm__lost_create(const char *run_dir);

/* The counts so far; false if they cannot be read. */
bool jm__lost_read(const char *run_dir, uint64_t counts[JM_LOST_KINDS]);

/* The writer's side. Not locked: the owner of the run's other files does that. */
bool jm__lost_join(const char *run_dir); /* false: not yet; once it has worked, again without effect */
void jm__lost_leave(void);
void jm__lost_forget(void); /* in the child of a fork: what was counted is the parent's */

void jm__lost_add(jm_lost_kind kind, uint64_t count);

#endif
