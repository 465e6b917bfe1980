/* Uses by class and place. */
#include "attribute/work/uses.h"

#include <stdlib.h>

void jm__uses_free(jm__uses *uses)
{
    jm__vec_free(&uses->items);
    jm__vec_free(&uses->last);
    jm__map_free(&uses->numbers);
    *uses = (jm__uses){0};
}

/* Mostly a class is used where it was last. */
static bool was_last(const jm__uses *uses, uint32_t class_index, uint32_t context, uint32_t *number)
{
    uint32_t last = class_index < uses->last.count ? uses->last.items[class_index] : 0;
    if (last == 0 || uses->items.items[last - 1].context != context) return false;
    *number = last - 1;
    return true;
}

bool jm__use_number(jm__uses *uses, uint32_t class_index, uint32_t context, uint32_t *number)
{
    if (was_last(uses, class_index, context, number)) return true;
    while (uses->last.count <= class_index)
        if (!jm__vec_push(&uses->last, 0)) return false;
    jm__use use = {class_index, context};
    uses->numbers.key_size = sizeof use;
    const jm__map_value *known = jm__map_find(&uses->numbers, &use);
    if (known == NULL && use.context != 0 && uses->items.count >= JM_USES_MAX) {
        use.context = 0;
        known = jm__map_find(&uses->numbers, &use);
    }
    *number = known != NULL ? (uint32_t)known->id : (uint32_t)uses->items.count;
    if (known == NULL && (!jm__map_put(&uses->numbers, &use, (jm__map_value){.id = *number}) ||
                          !jm__vec_push(&uses->items, use)))
        return false;
    uses->last.items[class_index] = *number + 1;
    return true;
}

bool jm__uses_renumber(jm__uses *uses, const uint32_t *final_of, uint32_t **number_of)
{
    jm__uses fresh = {0};
    uint32_t *numbers = malloc((uses->items.count + 1) * sizeof *numbers);
    bool fine = numbers != NULL;
    for (size_t i = 0; fine && i < uses->items.count; i++) {
        const jm__use *use = &uses->items.items[i];
        fine = jm__use_number(&fresh, final_of[use->class_index], use->context, &numbers[i]);
    }
    jm__uses_free(uses);
    *uses = fresh;
    *number_of = numbers;
    return fine;
}
