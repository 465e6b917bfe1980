/* What the threads of the samplers hand to the writer's: bounded, so that a disk that stands still does not
 * eat the memory. Off the program's path; a mutex held for a copy is all it needs. */
#ifndef JM_RECORD_RUN_QUEUE_H
#define JM_RECORD_RUN_QUEUE_H

#include "format/batch.h"

#include <pthread.h>

/* Eight boards with 150 readings a second each (docs/sensors.md) fill it in 14 minutes: 25 MB. */
#define JM_QUEUE_READINGS_MAX ((size_t)1 << 20)
/* Events are rare, anchors come once a second: four hours of them. */
#define JM_QUEUE_EVENTS_MAX ((size_t)1 << 14)
/* A thousand samples a second of 19 counters are 170 kB: six minutes of a board. */
#define JM_QUEUE_COUNTERS_BYTES ((size_t)64 << 20)

typedef struct jm__run_rows {
    jm__readings readings;
    JM_VEC(jm__event) events;
    JM_VEC(jm__anchor) anchors;
    JM_VEC(jm__counter_block) counter_blocks; /* own their data */
    JM_VEC(jm__meta) facts;                   /* own their texts */
    size_t counter_bytes;
    int64_t lost_readings;
    int64_t lost_events;
    int64_t lost_samples; /* of counters */
} jm__run_rows;

typedef struct jm__run_queue {
    pthread_mutex_t lock;
    jm__run_rows rows;
} jm__run_queue;

void jm__run_queue_init(jm__run_queue *queue);
void jm__run_queue_free(jm__run_queue *queue);

void jm__run_queue_add_readings(jm__run_queue *queue, const jm_reading *readings, size_t count);
void jm__run_queue_add_event(jm__run_queue *queue, const jm__event *event);
void jm__run_queue_add_anchor(jm__run_queue *queue, const jm__anchor *anchor);
void jm__run_queue_add_counter_block(jm__run_queue *queue, const jm__counter_block *block);
void jm__run_queue_add_fact(jm__run_queue *queue, const char *key, const char *value);

/* Exchange what waits for `rows`, which must be empty: its memory is used next. */
void jm__run_queue_swap(jm__run_queue *queue, jm__run_rows *rows);
void jm__run_rows_clear(jm__run_rows *rows);
void jm__run_rows_free(jm__run_rows *rows);

#endif
