/* Recordings of days in files of bounded size: old parts are condensed while the run goes on. It follows a
 * writer (format/writer.h) after each commit; nothing else writes into the recording.
 *
 * Old time is condensed in chunks of 20 s. What stays of a chunk:
 *   - energy counters: every reading, so totals do not change;
 *   - power, per board: the mean over each second of the best sensor that covered it, as readings of a
 *     sensor of its own (`power_mean`, a box of one second); of other sensors the mean over a second; of
 *     throttling and limits each change;
 *   - phases, epochs, steps, batches, windows, waits for data, marks of the program, events, losses;
 *   - kernels and layers of one traced step per minute, with the step before it, whose kernels run into it;
 *     of fewer chunks if the file would be too large.
 *
 * Marks (format/rows/marks.h) then say that only these steps were traced, and the others are extrapolated
 * from them. If a process marks no steps, all its kernels and layers are deleted and it is marked as
 * untraced. The place of a deleted row stays empty or is taken by its replacement, so rows stay in the order
 * of time. SQLite reuses the freed pages: the file stops growing. */
#ifndef JM_FORMAT_CONDENSE_H
#define JM_FORMAT_CONDENSE_H

#include "format/writer.h"

#define JM_CHUNK_NS (20 * JM_NS_PER_S)

/* Call it before the first row. Condenses what is older than `keep_s` (0: age does not matter), and more if
 * the file would exceed `max_bytes` (0: no limit). The last 20 s are never condensed. */
jm_status jm__writer_condense(jm__writer *writer, double keep_s, int64_t max_bytes, jm_error *err);

#endif
