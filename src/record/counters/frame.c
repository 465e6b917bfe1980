/* Frames into a stream of bytes, and back. */
#include "record/counters/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { ROOM = JM_FRAME_BYTES_MAX + sizeof(jm__frame_head) };

static int64_t cpu_ns(void)
{
    struct timespec used = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static bool send_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

bool jm__frame_send(int fd, jm__frame_kind kind, const void *head, size_t head_size, const void *rest,
                    size_t rest_size)
{
    const jm__frame_head first = {.magic = JM_FRAME_MAGIC,
                                  .kind = (uint32_t)kind,
                                  .size = (uint32_t)(head_size + rest_size),
                                  .cpu_ns = cpu_ns()};
    return send_all(fd, &first, sizeof first) && send_all(fd, head, head_size) &&
           send_all(fd, rest, rest_size);
}

void *jm__frame_room(jm__frame_reader *reader, size_t *size)
{
    if (reader->bytes == NULL) reader->bytes = malloc(ROOM);
    if (reader->bytes == NULL) return NULL;
    if (reader->from > 0) memmove(reader->bytes, reader->bytes + reader->from, reader->to - reader->from);
    reader->to -= reader->from;
    reader->from = 0;
    *size = ROOM - reader->to;
    return reader->bytes + reader->to;
}

void jm__frame_came(jm__frame_reader *reader, size_t count)
{
    reader->to += count;
}

jm__frame_next_is jm__frame_next(jm__frame_reader *reader, jm__frame *frame)
{
    if (reader->to - reader->from < sizeof frame->head) return JM_FRAME_WAIT;
    memcpy(&frame->head, reader->bytes + reader->from, sizeof frame->head);
    if (frame->head.magic != JM_FRAME_MAGIC || frame->head.zero != 0 ||
        frame->head.size > JM_FRAME_BYTES_MAX || frame->head.cpu_ns < 0)
        return JM_FRAME_GARBAGE;
    size_t whole = sizeof frame->head + frame->head.size;
    if (reader->to - reader->from < whole) return JM_FRAME_WAIT;
    frame->data = reader->bytes + reader->from + sizeof frame->head;
    reader->from += whole;
    return JM_FRAME_READY;
}

void jm__frame_reader_free(jm__frame_reader *reader)
{
    free(reader->bytes);
    *reader = (jm__frame_reader){0};
}

bool jm__frame_texts(const jm__frame *frame, size_t offset, const char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = (const char *)frame->data + offset;
        if (offset >= frame->head.size) return false;
        size_t length = strnlen(text, frame->head.size - offset);
        if (offset + length == frame->head.size) return false;
        texts[i] = text;
        offset += length + 1;
    }
    return offset == frame->head.size;
}

bool jm__frame_block(const jm__frame *frame, int64_t metric_count, jm__counter_block *block)
{
    jm__frame_samples samples;
    if (frame->head.size < sizeof samples) return false;
    memcpy(&samples, frame->data, sizeof samples);
    *block = (jm__counter_block){
        .start_ns = samples.start_ns,
        .end_ns = samples.end_ns,
        .count = samples.count,
        .data = {frame->data + sizeof samples, frame->head.size - sizeof samples},
    };
    return jm__counter_block_is_sound(block, metric_count);
}
