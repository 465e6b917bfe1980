/* Spans of kind "data" by board. */
#include "attribute/work/data_waits.h"

#include "attribute/input/span_index.h"
#include "base/map.h"

/* Who has a stream on the board. */
static bool find_users(jm__map *users, const jm__dataset *d, int64_t board_id)
{
    for (size_t i = 0; i < d->stream_count; i++) {
        const jm__stream *stream = &d->streams[i];
        if (stream->board_id == board_id && !jm__map_add(users, &stream->process_id)) return false;
    }
    return true;
}

bool jm__data_waits_find(jm__windows *waits, const jm__dataset *d, int64_t board_id,
                         const jm__windows *windows)
{
    jm__map users = {.key_size = sizeof(int64_t)};
    bool fine = find_users(&users, d, board_id);
    for (size_t i = 0; fine && i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (span->kind == JM_SPAN_DATA && jm__map_find(&users, &span->process_id) != NULL)
            fine = jm__windows_add(waits, span->start_ns, jm__span_end_ns(d, span));
    }
    jm__map_free(&users);
    jm__windows_normalise(waits);
    return fine && jm__windows_intersect(waits, windows);
}
