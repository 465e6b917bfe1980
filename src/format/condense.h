/* Recordings of days in files of a bounded size: what is older than it is worth is condensed while the run
 * goes on. It follows a writer (format/writer.h) after each commit; nothing else writes into a recording.
 *
 * The older time goes in chunks of 20 s. Of a chunk stay
 *   - energy counters, every reading: totals are what they were;
 *   - of power, for each board the mean over each second of the best sensor that saw it, as readings of a
 * sensor of its own (`power_mean`, a box of one second); of other sensors the mean over a second; of
 * throttling and limits each change;
 *   - phases, epochs, steps, batches, windows and waits for data, all marks of the program, events, losses;
 *   - kernels and layers of one traced step a minute, with the step before it, whose kernels run into it; of
 * fewer chunks where the file would be too large. Marks (format/rows/marks.h) say so as if it had been traced
 * at times: the other steps are told by those that stay. Where a process tells no steps, none of its kernels
 * and layers stay, and marks say that it was not traced. Where a row goes, its place in its table is left
 * empty or taken by what stands for it, so rows stay in the order of time. SQLite fills the pages that get
 * free with what comes next: the file grows no more. */
#ifndef JM_FORMAT_CONDENSE_H
#define JM_FORMAT_CONDENSE_H

#include "format/writer.h"

#define JM_CHUNK_NS (20 * JM_NS_PER_S)

/* Before the first row: condense what is older than `keep_s` (0: whatever its age, it stays), and more where
 * the file would pass `max_bytes` (0: it may grow). The last 20 s always stay whole. */
jm_status jm__writer_condense(jm__writer *writer, double keep_s, int64_t max_bytes, jm_error *err);

#endif
