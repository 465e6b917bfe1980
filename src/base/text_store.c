/* Blocks that are filled one after the other. */
#include "base/text_store.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 32768 }; /* the rest of a block that the next text does not fit in is lost */

typedef struct jm__text_block {
    struct jm__text_block *older;
    size_t used, size;
    char bytes[];
} block;

char *jm__text_store_room(jm__text_store *store, size_t bytes)
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
    char *copy = jm__text_store_room(store, length + 1);
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
