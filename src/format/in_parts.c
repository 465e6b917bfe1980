/* On a full disk: of a batch that is too large for what is left, what fits. */
#include "format/in_parts.h"

#include <inttypes.h>
#include <stdio.h>

/* Fewer rows are not tried: two or three pages of readings. */
#define ROWS_LEAST 64
/* Of spans, kernels and the like at once: some ten pages. */
#define WORK_ROWS 256

/* Readings stand in the file up to there, whatever else of that time is missing. */
static int note_readings(const jm__in_parts *all, const jm__batch *part)
{
    int64_t latest_ns = 0;
    for (size_t i = 0; i < part->readings.count; i++)
        if (part->readings.items[i].t_ns > latest_ns) latest_ns = part->readings.items[i].t_ns;
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, latest_ns);
    jm__meta row = {"readings_ns", number};
    return latest_ns == 0 ? SQLITE_OK : jm__insert(all->inserter, JM_TABLE_META, &row);
}

/* In a transaction of its own. `rows` NULL: the part alone. */
static bool write_part(const jm__in_parts *all, const jm__named_rows *rows, const jm__batch *part)
{
    int rc = sqlite3_exec(all->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc == SQLITE_OK && rows != NULL) rc = rows->insert(all->writer);
    if (rc == SQLITE_OK) rc = jm__insert_batch(all->inserter, part);
    if (rc == SQLITE_OK) rc = note_readings(all, part);
    if (rc == SQLITE_OK) rc = sqlite3_exec(all->db, "COMMIT", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        sqlite3_wal_checkpoint_v2(all->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    else
        sqlite3_exec(all->db, "ROLLBACK", NULL, NULL, NULL);
    return rc == SQLITE_OK;
}

static bool write_named(const jm__in_parts *all, const jm__named_rows *rows)
{
    static const jm__batch nothing;
    bool written = write_part(all, rows, &nothing);
    if (written) rows->written(all->writer);
    return written;
}

/* As many as fit, in parts that get smaller. */
static void write_rows(const jm__in_parts *all, jm__batch_row row, size_t most)
{
    jm__batch part;
    bool work = row != JM_BATCH_READINGS && row != JM_BATCH_OTHERS;
    size_t count;
    while ((count = jm__batch_first(all->batch, row, most, &part)) > 0) {
        if (work && !all->has_room(all->writer)) return;
        if (write_part(all, NULL, &part)) {
            all->rows_written(all->writer, &part);
            jm__batch_forget(all->batch, &part);
        } else if (row != JM_BATCH_OTHERS && count > ROWS_LEAST) {
            most = count / 2;
        } else {
            return;
        }
    }
}

void jm__in_parts_write(const jm__in_parts *all)
{
    static const jm__batch_row work[] = {JM_BATCH_SPANS, JM_BATCH_KERNELS, JM_BATCH_MARKS, JM_BATCH_COUNTERS};
    write_rows(all, JM_BATCH_OTHERS, SIZE_MAX); /* few, and what they say is of all the rest */
    if (!write_named(all, &all->boards)) return;
    write_rows(all, JM_BATCH_READINGS, SIZE_MAX);
    if (!all->has_room(all->writer) || !write_named(all, &all->work)) return;
    for (size_t i = 0; i < sizeof work / sizeof *work; i++)
        write_rows(all, work[i], WORK_ROWS);
}
