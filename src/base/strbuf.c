/* A growing text. */
#include "base/strbuf.h"

#include "base/plain.h"

#include <stdlib.h>
#include <string.h>

static bool reserve(jm__strbuf *buffer, size_t more)
{
    if (buffer->failed) return false;
    size_t needed = buffer->length + more + 1;
    if (needed <= buffer->capacity) return true;
    size_t capacity = buffer->capacity == 0 ? 256 : buffer->capacity;
    while (capacity < needed)
        capacity *= 2;
    char *text = realloc(buffer->text, capacity);
    if (text == NULL) {
        buffer->failed = true;
        return false;
    }
    buffer->text = text;
    buffer->capacity = capacity;
    return true;
}

void jm__strbuf_add_bytes(jm__strbuf *buffer, const char *bytes, size_t count)
{
    if (!reserve(buffer, count)) return;
    memcpy(buffer->text + buffer->length, bytes, count);
    buffer->length += count;
    buffer->text[buffer->length] = '\0';
}

void jm__strbuf_add(jm__strbuf *buffer, const char *text)
{
    jm__strbuf_add_bytes(buffer, text, strlen(text));
}

void jm__strbuf_format(jm__strbuf *buffer, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int count = jm__vprint(NULL, 0, format, args);
    if (count >= 0 && reserve(buffer, (size_t)count)) {
        jm__vprint(buffer->text + buffer->length, (size_t)count + 1, format, again);
        buffer->length += (size_t)count;
    }
    va_end(again);
    va_end(args);
}

char *jm__strbuf_take(jm__strbuf *buffer)
{
    if (!reserve(buffer, 0)) {
        jm__strbuf_free(buffer);
        return NULL;
    }
    char *text = buffer->text;
    text[buffer->length] = '\0';
    *buffer = (jm__strbuf){0};
    return text;
}

void jm__strbuf_free(jm__strbuf *buffer)
{
    free(buffer->text);
    *buffer = (jm__strbuf){0};
}

void jm__strbuf_drop_spaces(jm__strbuf *buffer)
{
    while (buffer->length > 0 && buffer->text[buffer->length - 1] == ' ')
        buffer->text[--buffer->length] = '\0';
}

/* ---- text arena ---- */

enum { BLOCK_BYTES = 32768 }; /* what is left of a block when the next text does not fit is wasted */

typedef struct jm__text_block {
    struct jm__text_block *older;
    size_t used, size;
    char bytes[];
} block;

char *jm__text_store_reserve(jm__text_store *store, size_t bytes)
{
    block *newest = store->newest;
    if (newest == NULL || newest->size - newest->used < bytes) {
        size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        block *added = malloc(sizeof *added + size);
        if (added == NULL) return NULL;
        *added = (block){.older = newest, .size = size};
        store->newest = newest = added;
    }
    char *room = newest->bytes + newest->used;
    newest->used += bytes;
    return room;
}

const char *jm__text_store_add(jm__text_store *store, const char *text, size_t length)
{
    char *copy = jm__text_store_reserve(store, length + 1);
    if (copy == NULL) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void jm__text_store_free(jm__text_store *store)
{
    while (store->newest != NULL) {
        block *older = store->newest->older;
        free(store->newest);
        store->newest = older;
    }
}
