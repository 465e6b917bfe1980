/* Ids of texts. */
#include "base/text_ids.h"

#include <string.h>

int64_t jm__text_ids_find(const jm__text_ids *ids, const char *text)
{
    const jm__map_value *known = jm__map_find(&ids->by_text, &text);
    return known != NULL ? known->id : -1;
}

int64_t jm__text_ids_add(jm__text_ids *ids, const char *text)
{
    int64_t id = jm__text_ids_find(ids, text);
    if (id >= 0) return id;
    if (ids->by_text.key_size == 0) ids->by_text = (jm__map)JM_MAP_OF_TEXTS;
    id = (int64_t)ids->items.count;
    const char *copy = jm__text_store_add(&ids->store, text, strlen(text));
    if (copy == NULL || !jm__vec_reserve(&ids->items, ids->items.count + 1) ||
        !jm__map_put(&ids->by_text, &copy, (jm__map_value){.id = id}))
        return -1;
    ids->items.items[ids->items.count++] = copy;
    return id;
}

void jm__text_ids_free(jm__text_ids *ids)
{
    jm__vec_free(&ids->items);
    jm__map_free(&ids->by_text);
    jm__text_store_free(&ids->store);
}
