/* A hash table of texts. */
#include "import/texts.h"

#include "base/status.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_MAX = 1000000 };

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

static size_t text_slot(const jm__texts *t, const char *text)
{
    size_t slot = (size_t)hash_of(text) & (t->slot_count - 1);
    while (t->slots[slot] != 0 && strcmp(t->items.items[t->slots[slot] - 1], text) != 0)
        slot = (slot + 1) & (t->slot_count - 1);
    return slot;
}

static jm_status texts_grow(jm__texts *t, jm_error *err)
{
    if (t->slot_count > 2 * (t->items.count + 1)) return JM_OK;
    size_t count = t->slot_count == 0 ? 64 : 2 * t->slot_count;
    size_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL) return jm__no_memory(err, "jm_recording_import");
    free(t->slots);
    t->slots = slots;
    t->slot_count = count;
    for (size_t i = 0; i < t->items.count; i++)
        slots[text_slot(t, t->items.items[i])] = i + 1;
    return JM_OK;
}

jm_status jm__texts_number(jm__texts *t, const char *text, size_t *number, jm_error *err)
{
    *number = 0;
    if (text[0] == '\0') return JM_OK;
    JM_TRY(texts_grow(t, err));
    size_t slot = text_slot(t, text);
    if (t->slots[slot] == 0) {
        if (t->items.count >= TEXTS_MAX)
            return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d different names of parts or kernels",
                            TEXTS_MAX);
        char *copy = strdup(text);
        if (copy == NULL || !jm__vec_push(&t->items, copy)) {
            free(copy);
            return jm__no_memory(err, "jm_recording_import");
        }
        t->slots[slot] = t->items.count;
    }
    *number = t->slots[slot];
    return JM_OK;
}

const char *jm__texts_at(const jm__texts *t, size_t number)
{
    return number == 0 ? "" : t->items.items[number - 1];
}

void jm__texts_free(jm__texts *t)
{
    for (size_t i = 0; i < t->items.count; i++)
        free(t->items.items[i]);
    jm__vec_free(&t->items);
    free(t->slots);
}
