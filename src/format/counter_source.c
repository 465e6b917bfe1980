/* Blocks of counters of a file, one after the other. */
#include "format/counter_source.h"

#include "base/status.h"
#include "format/dataset_rows.h"
#include "format/recording.h"

#include <inttypes.h>

typedef struct passing {
    const jm__counter_set *sets;
    size_t set_count;
    jm__counter_taker take;
    void *taker;
    jm_status status; /* of the taker */
    jm_error *err;
    int64_t strays;
} passing;

/* False ends the pass. */
static bool take_block(void *context, const void *row)
{
    passing *p = context;
    const jm__counter_block *block = row;
    bool known = block->set_id >= 1 && (size_t)block->set_id <= p->set_count;
    bool timed = jm__time_is_plausible(block->start_ns) && jm__time_is_plausible(block->end_ns);
    if (!known || !timed || !jm__counter_block_is_sound(block, p->sets[block->set_id - 1].metric_count)) {
        p->strays++;
        return true;
    }
    p->status = p->take(p->taker, block, p->err);
    return p->status == JM_OK;
}

jm_status jm__counter_blocks_each(jm_recording *recording, const jm__counter_set *sets, size_t set_count,
                                  jm__counter_taker take, void *taker, jm_error *err)
{
    sqlite3 *db;
    passing p = {.sets = sets, .set_count = set_count, .take = take, .taker = taker, .err = err};
    JM_TRY(jm__recording_begin(recording, &db, err));
    jm_error rows_err = {0};
    jm_status status = jm__recording_rows(recording, db, JM_TABLE_COUNTER_BLOCKS, take_block, &p, &rows_err);
    jm__recording_end(recording, db);
    if (p.status != JM_OK) return p.status;
    if (status != JM_OK) {
        if (err != NULL) *err = rows_err;
        return status;
    }
    if (p.strays == 0) return JM_OK;
    return jm__recording_note_damage(
        recording, err, "%" PRId64 " blocks of counters are not what they say and are left out", p.strays);
}
