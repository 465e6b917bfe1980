/* The hardware counters of a recording, in memory. */
#include "recording/counters.h"

#include "base/vec.h"
#include "recording/batch.h"
#include "recording/recording.h"

#include <inttypes.h>
#include <string.h>

typedef struct loading {
    jm__counters view; /* what the caller sees: pointers into the vectors below */
    JM_VEC(jm__counter_set) sets;
    JM_VEC(jm__counter_block) blocks;
    int64_t strays;
} loading;

static bool stray(loading *all)
{
    all->strays++;
    return true;
}

static bool take_set(void *context, const void *row)
{
    loading *all = context;
    jm__counter_set set = *(const jm__counter_set *)row, blank = {.metrics = NULL, .units = NULL};
    if (set.id < 1 || set.id > JM_NUMBERED_MAX || set.metric_count < 1 ||
        set.metric_count > JM_COUNTER_METRICS_MAX)
        return stray(all);
    while ((int64_t)all->sets.count < set.id) { /* a damaged file may have lost some */
        blank.id = (int64_t)all->sets.count + 1;
        if (!jm__vec_push(&all->sets, blank)) return false;
    }
    set.metrics = strdup(set.metrics);
    set.units = strdup(set.units);
    all->sets.items[set.id - 1] = set;
    return set.metrics != NULL && set.units != NULL;
}

static bool take_block(void *context, const void *row)
{
    loading *all = context;
    jm__counter_block block = *(const jm__counter_block *)row;
    if (block.set_id < 1 || block.set_id > (int64_t)all->sets.count ||
        !jm__counter_block_is_sound(&block, all->sets.items[block.set_id - 1].metric_count))
        return stray(all);
    void *data = malloc(block.data.size);
    if (data == NULL) return false;
    block.data.at = memcpy(data, block.data.at, block.data.size);
    if (jm__vec_push(&all->blocks, block)) return true;
    free(data);
    return false;
}

static jm_status load(jm__counters **out, jm_recording *recording, jm_error *err)
{
    sqlite3 *db;
    loading *all = calloc(1, sizeof *all);
    if (all == NULL) return jm__no_memory(err, "jm__counters_load");
    jm_status status = jm__recording_begin(recording, &db, err);
    if (status == JM_OK) {
        status = jm__recording_rows(recording, db, JM_TABLE_COUNTER_SETS, take_set, all, err);
        if (status == JM_OK)
            status = jm__recording_rows(recording, db, JM_TABLE_COUNTER_BLOCKS, take_block, all, err);
        jm__recording_end(recording, db);
    }
    if (status == JM_OK && all->strays > 0)
        status = jm__recording_note_damage(
            recording, err, "%" PRId64 " blocks of counters are not what they say and are left out",
            all->strays);
    all->view = (jm__counters){all->sets.items, all->sets.count, all->blocks.items, all->blocks.count};
    if (status == JM_OK)
        *out = &all->view;
    else
        jm__counters_free(&all->view);
    return status;
}

jm_status jm__counters_load(jm__counters **out, jm_recording *recording, jm_error *err)
{
    jm_status status = load(out, recording, err);
    if (status == JM_OK) return JM_OK;
    JM_TRY(jm__recording_recover(recording, status, err));
    return load(out, recording, err);
}

void jm__counters_free(jm__counters *counters)
{
    if (counters == NULL) return;
    loading *all = (loading *)counters; /* `view` is its first member */
    for (size_t i = 0; i < all->sets.count; i++) {
        jm__owned_free(all->sets.items[i].metrics);
        jm__owned_free(all->sets.items[i].units);
    }
    for (size_t i = 0; i < all->blocks.count; i++)
        jm__owned_free(all->blocks.items[i].data.at);
    jm__vec_free(&all->sets);
    jm__vec_free(&all->blocks);
    free(all);
}
