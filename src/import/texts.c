/* Texts in the order in which they came, and a map from a text to its place there. */
#include "import/texts.h"

#include "base/status.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_MAX = 1000000 }; /* as many as a recording takes: JM_NAMES_MAX */

jm_status jm__texts_number(jm__texts *t, const char *text, size_t *number, jm_error *err)
{
    *number = 0;
    if (text[0] == '\0') return JM_OK;
    if (t->items.count == 0) t->numbers = (jm__map)JM_MAP_OF_TEXTS;
    const jm__map_value *found = jm__map_find(&t->numbers, &text);
    if (found != NULL) {
        *number = (size_t)found->id;
        return JM_OK;
    }
    if (t->items.count >= TEXTS_MAX)
        return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d different names of parts or kernels",
                        TEXTS_MAX);
    char *copy = strdup(text);
    if (copy == NULL || !jm__vec_push(&t->items, copy)) {
        free(copy);
        return jm__no_memory(err, "jm_recording_import");
    }
    const char *key = copy;
    if (!jm__map_put(&t->numbers, &key, (jm__map_value){.id = (int64_t)t->items.count}))
        return jm__no_memory(err, "jm_recording_import");
    *number = t->items.count;
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
    jm__map_free(&t->numbers);
}
