/* The activity of a board over time, in pieces: written once in order, read by cursors.
 *
 * There are as many pieces as kernels, so they are packed. Beyond a bound of memory they go to an unlinked
 * file (in TMPDIR, else /tmp). If the file cannot be made, all stay in memory. */
#ifndef JM_ATTRIBUTE_WORK_PIECES_H
#define JM_ATTRIBUTE_WORK_PIECES_H

#include "attribute/input/window.h"
#include "base/status.h"
#include "base/vec.h"
#include "model/board_model.h"

#include <stdint.h>

/* Work of one code during one moment, alone or beside others. */
typedef struct jm__packed_piece {
    uint32_t length_ns; /* a longer moment has a block of its own */
    uint32_t code;      /* what ran; the highest bit: more pieces of the same moment follow */
    float share;
} jm__packed_piece;

/* An interval in which the same work ran. The shares of its pieces add up to 1. Moments are sorted and leave
 * no gap. */
typedef struct jm__moment {
    int64_t start_ns;
    int64_t end_ns;
    const jm__packed_piece *items;
    size_t count;
} jm__moment;

typedef JM_VEC(jm__packed_piece) jm__packed_pieces;

/* Pieces that are read at once. */
typedef struct jm__piece_block {
    int64_t start_ns;
    jm__packed_piece *items; /* NULL: in the file */
    int64_t offset;          /* in the file */
    uint32_t count;
    int64_t length_ns; /* of its only moment, if that is a long one; else 0 */
} jm__piece_block;

typedef struct jm__pieces {
    JM_VEC(jm__piece_block) blocks;
    jm__packed_pieces open; /* the block that is being written */
    int64_t open_ns;        /* where it starts */
    int64_t open_length_ns; /* as in jm__piece_block */
    int64_t end_ns;         /* of the last piece */
    size_t largest;         /* most pieces in a block */
    size_t memory_left;     /* bytes that may still be held in memory */
    int file;               /* -1: none */
    int64_t file_size;
    bool no_file;                 /* it could not be made, or is full */
    const uint32_t *column_of;    /* [code]: set when the columns are chosen */
    const double *scale_of;       /* [code]: what of a share counts for its column; NULL: all of it */
    uint32_t rest_column;         /* the rest counts for this one */
    const jm__intervals *sampled; /* while hardware counters were sampled, which draws as well: no moment
                                     is on both sides of an edge; NULL: never */
    size_t edge;                  /* of these, the next to be written, counted from the first */
    uint32_t sampler_column;      /* beside work; the next one: beside no work */
    bool failed;                  /* the file could not be read: what cursors gave is not all */
} jm__pieces;

/* `memory`: bytes that may be held in memory. Pieces begin at start_ns. */
void jm__pieces_begin(jm__pieces *pieces, int64_t start_ns, size_t memory);
void jm__pieces_free(jm__pieces *pieces);

/* The next edge of sampled time after what was added, at most to_ns: a moment must end there. */
int64_t jm__pieces_edge_ns(const jm__pieces *pieces, int64_t to_ns);

/* Work of one code from the end of the last moment to end_ns. `more`: the next call adds to the same moment.
 * Work of one code back to back becomes one piece. False if memory is out. */
bool jm__pieces_add(jm__pieces *pieces, int64_t end_ns, uint32_t code, float share, bool more);

/* The last piece has been added. False if memory is out. */
bool jm__pieces_end(jm__pieces *pieces);

typedef struct jm__piece_cursor {
    jm__pieces *pieces;
    size_t block;                  /* number of the block in `items` */
    const jm__packed_piece *items; /* NULL: past the end */
    size_t at, count;
    jm__packed_piece *buffer; /* for a block in the file */
    size_t buffered;          /* block in the buffer, from 1; 0: none */
    size_t window;            /* of sampled time, the first that ends after the moment begins */
    bool sampled;             /* counters were sampled during the moment */
    jm__moment now;           /* valid unless past the end */
} jm__piece_cursor;

jm_status jm__cursor_init(jm__piece_cursor *cursor, jm__pieces *pieces, jm_error *err);
void jm__cursor_free(jm__piece_cursor *cursor);

/* To the first moment that ends after t. */
void jm__cursor_seek(jm__piece_cursor *cursor, int64_t t_ns);

/* To the first moment of the next block; for jm__cursor_next. */
void jm__cursor_next_block(jm__piece_cursor *cursor);

static inline bool jm__cursor_at_end(const jm__piece_cursor *cursor)
{
    return cursor->items == NULL;
}

#define JM__PIECE_MORE (UINT32_C(1) << 31)

/* Codes of pieces: idle states first, then uses. */
static inline uint32_t jm__piece_code(uint32_t use)
{
    return JM_IDLE_STATES + use;
}

static inline bool jm__cursor_is_idle(const jm__piece_cursor *cursor)
{
    return (cursor->now.items[0].code & ~JM__PIECE_MORE) < JM_IDLE_STATES;
}

static inline void jm__cursor_load(jm__piece_cursor *cursor)
{
    const jm__packed_piece *items = &cursor->items[cursor->at];
    size_t count = 1;
    while (items[count - 1].code & JM__PIECE_MORE)
        count++;
    cursor->now.end_ns = cursor->now.start_ns + items->length_ns;
    cursor->now.items = items;
    cursor->now.count = count;
    const jm__intervals *sampled = cursor->pieces->sampled;
    if (sampled == NULL) return;
    while (cursor->window < sampled->count && sampled->items[cursor->window].to_ns <= cursor->now.start_ns)
        cursor->window++;
    cursor->sampled =
        cursor->window < sampled->count && sampled->items[cursor->window].from_ns <= cursor->now.start_ns;
}

/* To the next moment. */
static inline void jm__cursor_next(jm__piece_cursor *cursor)
{
    cursor->now.start_ns = cursor->now.end_ns;
    cursor->at += cursor->now.count;
    if (cursor->at == cursor->count)
        jm__cursor_next_block(cursor);
    else
        jm__cursor_load(cursor);
}

/* The column of piece i of the moment. */
static inline uint32_t jm__cursor_column(const jm__piece_cursor *cursor, size_t i)
{
    return cursor->pieces->column_of[cursor->now.items[i].code & ~JM__PIECE_MORE];
}

/* Adds what the moment counts for, times `weight`, to values by column. */
static inline void jm__cursor_add(const jm__piece_cursor *cursor, double weight, double *values)
{
    if (cursor->sampled) values[cursor->pieces->sampler_column + jm__cursor_is_idle(cursor)] += weight;
    const double *scale_of = cursor->pieces->scale_of;
    for (size_t i = 0; i < cursor->now.count; i++) {
        const jm__packed_piece *piece = &cursor->now.items[i];
        double share = weight * (double)piece->share;
        double scale = scale_of == NULL ? 1 : scale_of[piece->code & ~JM__PIECE_MORE];
        values[jm__cursor_column(cursor, i)] += scale * share;
        if (scale != 1) values[cursor->pieces->rest_column] += (1 - scale) * share;
    }
}

/* JM_IO if a read of the file failed: results from the pieces are incomplete. */
jm_status jm__pieces_check(const jm__pieces *pieces, jm_error *err);

#endif
