/* The queue from the samplers' threads to the writer's. */
#include "record/run/inside.h"

#include <string.h>

static jm__run_queue *queue_of(void *run)
{
    return &((jm_run *)run)->queue;
}

void jm__run_queue_readings(void *run, const jm_reading *readings, size_t count)
{
    jm__run_queue *queue = queue_of(run);
    pthread_mutex_lock(&queue->lock);
    jm__run_rows *rows = &queue->rows;
    size_t needed = rows->readings.count + count;
    if (needed <= JM_QUEUE_READINGS_MAX && jm__vec_reserve(&rows->readings, needed)) {
        memcpy(rows->readings.items + rows->readings.count, readings, count * sizeof *readings);
        rows->readings.count = needed;
    } else {
        rows->lost_readings += (int64_t)count;
    }
    pthread_mutex_unlock(&queue->lock);
}

void jm__run_queue_event(void *run, const jm__event *event)
{
    jm__run_queue *queue = queue_of(run);
    pthread_mutex_lock(&queue->lock);
    if (queue->rows.events.count >= JM_QUEUE_EVENTS_MAX || !jm__vec_push(&queue->rows.events, *event))
        queue->rows.lost_events++;
    pthread_mutex_unlock(&queue->lock);
}

void jm__run_queue_anchor(void *run, const jm__anchor *anchor)
{
    jm__run_queue *queue = queue_of(run);
    pthread_mutex_lock(&queue->lock);
    if (queue->rows.anchors.count >= JM_QUEUE_EVENTS_MAX || !jm__vec_push(&queue->rows.anchors, *anchor))
        queue->rows.lost_events++;
    pthread_mutex_unlock(&queue->lock);
}

void jm__run_queue_counter_block(void *run, const jm__counter_block *block)
{
    jm__run_queue *queue = queue_of(run);
    jm__counter_block row = *block;
    void *data = malloc(block->data.size);
    if (data != NULL) row.data.at = memcpy(data, block->data.at, block->data.size);
    pthread_mutex_lock(&queue->lock);
    jm__run_rows *rows = &queue->rows;
    bool kept = data != NULL && rows->counter_bytes + row.data.size <= JM_QUEUE_COUNTERS_BYTES &&
                jm__vec_push(&rows->counter_blocks, row);
    if (kept)
        rows->counter_bytes += row.data.size;
    else
        rows->lost_samples += row.count;
    pthread_mutex_unlock(&queue->lock);
    if (!kept) free(data);
}

void jm__run_queue_fact(void *run, const char *key, const char *value)
{
    jm__run_queue *queue = queue_of(run);
    const jm__meta fact = {strdup(key), strdup(value)};
    pthread_mutex_lock(&queue->lock);
    bool kept = fact.key != NULL && fact.value != NULL && queue->rows.facts.count < JM_QUEUE_EVENTS_MAX &&
                jm__vec_push(&queue->rows.facts, fact);
    if (!kept) queue->rows.lost_events++;
    pthread_mutex_unlock(&queue->lock);
    if (kept) return;
    jm__owned_free(fact.key);
    jm__owned_free(fact.value);
}

void jm__run_queue_swap(jm__run_queue *queue, jm__run_rows *rows)
{
    pthread_mutex_lock(&queue->lock);
    jm__run_rows waiting = queue->rows;
    queue->rows = *rows;
    *rows = waiting;
    pthread_mutex_unlock(&queue->lock);
}

void jm__run_rows_clear(jm__run_rows *rows)
{
    for (size_t i = 0; i < rows->counter_blocks.count; i++)
        jm__owned_free(rows->counter_blocks.items[i].data.at);
    for (size_t i = 0; i < rows->facts.count; i++) {
        jm__owned_free(rows->facts.items[i].key);
        jm__owned_free(rows->facts.items[i].value);
    }
    rows->readings.count = rows->events.count = rows->anchors.count = 0;
    rows->counter_blocks.count = rows->facts.count = rows->counter_bytes = 0;
    rows->lost_readings = rows->lost_events = rows->lost_samples = 0;
}

void jm__run_rows_free(jm__run_rows *rows)
{
    jm__run_rows_clear(rows);
    jm__vec_free(&rows->readings);
    jm__vec_free(&rows->events);
    jm__vec_free(&rows->anchors);
    jm__vec_free(&rows->counter_blocks);
    jm__vec_free(&rows->facts);
}
