/* Kernel classes with their names. */
#include "attribute/work/classes.h"

#include "attribute/work/span_index.h"

#include <string.h>

bool jm__classes_of_kernels(jm__classes *classes, const jm__dataset *dataset)
{
    for (size_t i = 0; i < dataset->class_count; i++) {
        const jm__kernel_class *row = &dataset->classes[i];
        const char *name = jm__dataset_text(dataset, row->name_id);
        jm__class item = {.name = name[0] != '\0' ? name : "(unnamed)", .kind = jm__work_text(row->work)};
        memcpy(item.grid, row->grid, sizeof item.grid);
        memcpy(item.block, row->block, sizeof item.block);
        if (!jm__vec_push(classes, item)) return false;
    }
    return true;
}
