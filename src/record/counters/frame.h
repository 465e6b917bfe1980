/* What joulemap-counters and the recorder say to each other, over a socket that is the helper's standard
 * input and output. Commands are one byte; answers are frames: a head, and `size` bytes behind it. Both ends
 * are of one machine and one build, so numbers are as they lie in memory. */
#ifndef JM_RECORD_COUNTERS_FRAME_H
#define JM_RECORD_COUNTERS_FRAME_H

#include "format/rows/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Commands */
#define JM_COUNTERS_START 'b'
#define JM_COUNTERS_STOP  'e'
#define JM_COUNTERS_QUIT  'q' /* leave; as does the end of the recorder */

/* The cure that a fault names where a right is missing, by which the recorder knows. */
#define JM_COUNTERS_RIGHT_CURE                                                                               \
    "run as root, or have the administrator set NVreg_RestrictProfilingToAdminUsers=0"

#define JM_FRAME_MAGIC     0x434d504au /* "JPMC" */
#define JM_FRAME_BYTES_MAX (JM_COUNTER_BLOCK_BYTES_MAX + 1024)

typedef enum jm__frame_kind {
    JM_FRAME_HELLO =
        1, /* jm__frame_hello, then its texts, each with its NUL: chip, metric, unit, metric, ... */
    JM_FRAME_STARTED, /* nothing */
    JM_FRAME_SAMPLES, /* jm__frame_samples, then a block's data (format/rows/rows.h) */
    JM_FRAME_LOST,    /* int64_t: how many times the hardware's buffer was full; another sampler is made */
    JM_FRAME_STOPPED, /* nothing: all samples up to the stop have been sent, or it could not start just now */
    JM_FRAME_FAULT,   /* two texts, each with its NUL: what is wrong, the cure ("": none). Then it leaves. */
} jm__frame_kind;

typedef struct jm__frame_head {
    uint32_t magic;
    uint32_t kind;
    uint32_t size;
    uint32_t zero;
    int64_t cpu_ns; /* what the helper has used so far */
} jm__frame_head;

typedef struct jm__frame_hello {
    int64_t metric_count;
    int64_t period_ns;
} jm__frame_hello;

typedef struct jm__frame_samples {
    int64_t start_ns; /* CLOCK_MONOTONIC */
    int64_t end_ns;
    int64_t count;
} jm__frame_samples;

/* A frame as it came in: `data` holds head.size bytes, aligned as they happen to lie. */
typedef struct jm__frame {
    jm__frame_head head;
    const unsigned char *data;
} jm__frame;

/* Writes all of it; false if nobody listens any more. */
bool jm__frame_send(int fd, jm__frame_kind kind, const void *head, size_t head_size, const void *rest,
                    size_t rest_size);

/* Frames out of a stream of bytes, one at a time. Zeroed: empty. */
typedef struct jm__frame_reader {
    unsigned char *bytes; /* JM_FRAME_BYTES_MAX and a head; allocated by the first room */
    size_t from, to;      /* what has come in and was not yet taken */
} jm__frame_reader;

/* Where the next bytes go, and how many fit; NULL: no memory. Then tell how many came. */
void *jm__frame_room(jm__frame_reader *reader, size_t *size);
void jm__frame_came(jm__frame_reader *reader, size_t count);

typedef enum jm__frame_next_is { JM_FRAME_WAIT, JM_FRAME_READY, JM_FRAME_GARBAGE } jm__frame_next_is;

/* The next whole frame; valid until the next room. */
jm__frame_next_is jm__frame_next(jm__frame_reader *reader, jm__frame *frame);

void jm__frame_reader_free(jm__frame_reader *reader);

/* `count` texts of a frame from `offset` on; false if it does not hold that many, or more behind them. */
bool jm__frame_texts(const jm__frame *frame, size_t offset, const char **texts, size_t count);

/* A frame of samples as a block of a set; false if it is no sound one. */
bool jm__frame_block(const jm__frame *frame, int64_t metric_count, jm__counter_block *block);

#endif
