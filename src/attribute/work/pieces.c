/* Packed pieces in blocks, in memory or in an unlinked file. */
#include "attribute/work/pieces.h"

#include "base/search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BLOCK_PIECES = 4096 }; /* 48 KiB: a seek reads one block */

void jm__pieces_begin(jm__pieces *pieces, int64_t start_ns, size_t memory)
{
    *pieces = (jm__pieces){.open_ns = start_ns, .end_ns = start_ns, .memory_left = memory, .file = -1};
}

void jm__pieces_free(jm__pieces *pieces)
{
    for (size_t i = 0; i < pieces->blocks.count; i++)
        free(pieces->blocks.items[i].items);
    if (pieces->blocks.count > 0 && pieces->file >= 0) close(pieces->file);
    jm__vec_free(&pieces->blocks);
    jm__vec_free(&pieces->open);
    *pieces = (jm__pieces){.file = -1};
}

static int make_file(void)
{
    char path[4096];
    const char *folder = getenv("TMPDIR");
    if (folder == NULL || folder[0] == '\0') folder = "/tmp";
    if ((size_t)snprintf(path, sizeof path, "%s/joulemap-XXXXXX", folder) >= sizeof path) return -1;
    int file = mkostemp(path, O_CLOEXEC);
    if (file >= 0) unlink(path);
    return file;
}

/* Exceeding the file size limit raises SIGXFSZ, which kills the process. */
static bool may_grow_to(int64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || (rlim_t)size <= limit.rlim_cur;
}

/* Write the open block to the file; false: it must stay in memory. */
static bool write_block(jm__pieces *pieces)
{
    if (pieces->no_file) return false;
    if (pieces->file < 0) pieces->file = make_file();
    const char *bytes = (const char *)pieces->open.items;
    size_t size = pieces->open.count * sizeof *pieces->open.items, written = 0;
    bool fits = may_grow_to(pieces->file_size + (int64_t)size);
    while (fits && pieces->file >= 0 && written < size) {
        ssize_t done =
            pwrite(pieces->file, bytes + written, size - written, pieces->file_size + (int64_t)written);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) break;
        written += (size_t)done;
    }
    pieces->no_file = written < size;
    return !pieces->no_file;
}

static bool close_block(jm__pieces *pieces)
{
    size_t count = pieces->open.count, size = count * sizeof *pieces->open.items;
    jm__piece_block block = {
        .start_ns = pieces->open_ns, .count = (uint32_t)count, .length_ns = pieces->open_length_ns};
    if (count == 0) return true;
    if (size > pieces->memory_left && write_block(pieces)) {
        block.offset = pieces->file_size;
        pieces->file_size += (int64_t)size;
    } else {
        block.items = malloc(size);
        if (block.items == NULL) return false;
        memcpy(block.items, pieces->open.items, size);
        pieces->memory_left -= size < pieces->memory_left ? size : pieces->memory_left;
    }
    if (!jm__vec_push(&pieces->blocks, block)) {
        free(block.items);
        return false;
    }
    if (count > pieces->largest) pieces->largest = count;
    pieces->open.count = 0;
    pieces->open_ns = pieces->end_ns;
    pieces->open_length_ns = 0;
    return true;
}

static bool append_piece(jm__pieces *pieces, uint32_t length_ns, uint32_t code, float share)
{
    jm__packed_piece piece = {length_ns, code, share};
    if (pieces->open.count > 0) {
        jm__packed_piece *last = &pieces->open.items[pieces->open.count - 1];
        bool same = last->code == code && share == 1 && last->share == 1;
        if (same && last->length_ns <= UINT32_MAX - length_ns) {
            last->length_ns += length_ns;
            return true;
        }
    }
    return jm__vec_push(&pieces->open, piece);
}

/* Edges alternate: a window's begin, its end, the next one's begin. */
static int64_t edge_ns(const jm__pieces *pieces, size_t edge)
{
    if (pieces->sampled == NULL || edge >= 2 * pieces->sampled->count) return INT64_MAX;
    const jm__interval *window = &pieces->sampled->items[edge / 2];
    return edge % 2 == 0 ? window->from_ns : window->to_ns;
}

int64_t jm__pieces_edge_ns(const jm__pieces *pieces, int64_t to_ns)
{
    size_t next = pieces->edge;
    while (edge_ns(pieces, next) <= pieces->end_ns)
        next++;
    return edge_ns(pieces, next) < to_ns ? edge_ns(pieces, next) : to_ns;
}

/* What follows an edge has a block of its own, as work of one code back to back becomes one piece. */
static bool is_at_edge(jm__pieces *pieces)
{
    bool is_edge = false;
    for (; edge_ns(pieces, pieces->edge) <= pieces->end_ns; pieces->edge++)
        is_edge = true;
    return is_edge;
}

bool jm__pieces_add(jm__pieces *pieces, int64_t end_ns, uint32_t code, float share, bool more)
{
    int64_t length_ns = end_ns - pieces->end_ns;
    bool alone = length_ns > UINT32_MAX;
    if (alone && pieces->open_length_ns == 0) {
        if (!close_block(pieces)) return false;
        pieces->open_length_ns = length_ns;
    }
    if (!append_piece(pieces, alone ? 0 : (uint32_t)length_ns, more ? code | JM__PIECE_MORE : code, share))
        return false;
    if (more) return true;
    pieces->end_ns = end_ns;
    bool ends = is_at_edge(pieces);
    return (!alone && !ends && pieces->open.count < BLOCK_PIECES) || close_block(pieces);
}

bool jm__pieces_end(jm__pieces *pieces)
{
    bool fine = close_block(pieces);
    jm__vec_free(&pieces->open);
    return fine;
}

jm_status jm__cursor_init(jm__piece_cursor *cursor, jm__pieces *pieces, jm_error *err)
{
    *cursor = (jm__piece_cursor){.pieces = pieces};
    if (pieces->file < 0) return JM_OK;
    cursor->buffer = malloc(pieces->largest * sizeof *cursor->buffer);
    return cursor->buffer == NULL ? jm__no_memory(err, "jm__cursor_init") : JM_OK;
}

void jm__cursor_free(jm__piece_cursor *cursor)
{
    free(cursor->buffer);
    *cursor = (jm__piece_cursor){0};
}

static bool read_block(jm__piece_cursor *cursor, const jm__piece_block *block)
{
    char *bytes = (char *)cursor->buffer;
    size_t size = block->count * sizeof *cursor->buffer, got = 0;
    while (got < size) {
        ssize_t done = pread(cursor->pieces->file, bytes + got, size - got, block->offset + (int64_t)got);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        got += (size_t)done;
    }
    return true;
}

/* To the first moment of a block, or past the end. */
static void enter_block(jm__piece_cursor *cursor, size_t number)
{
    jm__pieces *pieces = cursor->pieces;
    cursor->block = number;
    cursor->items = NULL;
    if (number >= pieces->blocks.count) return;
    const jm__piece_block *block = &pieces->blocks.items[number];
    if (block->items == NULL && cursor->buffered != number + 1) {
        cursor->buffered = 0;
        if (!read_block(cursor, block)) {
            pieces->failed = true;
            return;
        }
        cursor->buffered = number + 1;
    }
    cursor->items = block->items != NULL ? block->items : cursor->buffer;
    cursor->at = 0;
    cursor->count = block->count;
    cursor->now.start_ns = block->start_ns;
    jm__cursor_load(cursor);
    if (block->length_ns > 0) cursor->now.end_ns = block->start_ns + block->length_ns;
}

void jm__cursor_next_block(jm__piece_cursor *cursor)
{
    enter_block(cursor, cursor->block + 1);
}

void jm__cursor_seek(jm__piece_cursor *cursor, int64_t t_ns)
{
    size_t after;
    jm__search(after, cursor->pieces->blocks.count, cursor->pieces->blocks.items[after].start_ns <= t_ns);
    if (cursor->pieces->sampled != NULL)
        cursor->window = jm__intervals_first_after(cursor->pieces->sampled, t_ns);
    size_t block = after > 0 ? after - 1 : 0;
    bool ahead = !jm__cursor_at_end(cursor) && cursor->block == block && cursor->now.start_ns <= t_ns;
    if (!ahead) enter_block(cursor, block);
    while (!jm__cursor_at_end(cursor) && cursor->now.end_ns <= t_ns)
        jm__cursor_next(cursor);
}

jm_status jm__pieces_check(const jm__pieces *pieces, jm_error *err)
{
    if (!pieces->failed) return JM_OK;
    return jm__fail(err, JM_IO, 0, "pread", "the temporary file of the report could not be read");
}
