/* Kernel classes of a recording: their families, and the multiprocessors they use. */
#include "attribute/work/classes.h"

#include "attribute/input/span_index.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { HOPPER_MULTIPROCESSORS = 132 };

uint32_t jm__multiprocessors_on(const jm_board *board)
{
    return board->multiprocessors > 0 ? (uint32_t)board->multiprocessors : HOPPER_MULTIPROCESSORS;
}

/* "[memcpy DtoD]" is a kernel of the driver, whose grid is not recorded. */
static bool is_by_engine(const jm__class *class)
{
    return class->copy != JM_NO_COPY && strstr(class->name, "DtoD") == NULL;
}

float jm__multiprocessors_of(const jm__class *class, uint32_t on_board)
{
    uint64_t blocks = (uint64_t) class->grid[0] * class->grid[1] * class->grid[2];
    if (is_by_engine(class)) return 1;
    if (blocks == 0) return (float)on_board / 2;
    return (float)(blocks < on_board ? blocks : on_board);
}

/* Cached by name, which all launch shapes of a kernel share. [names]: family + 1; 0: not yet computed. */
static jm__kernel_family family_of(unsigned char *families, const jm__dataset *dataset, int64_t name_id)
{
    bool valid = name_id > 0 && (size_t)name_id < dataset->name_count;
    if (!valid) return JM_KERNEL_FAMILY_OTHER;
    if (families[name_id] == 0)
        families[name_id] = (unsigned char)(1 + jm__kernel_family_of(jm__dataset_text(dataset, name_id)));
    return (jm__kernel_family)(families[name_id] - 1);
}

/* "[memcpy DtoH]", "Memcpy DtoH (Device -> Pinned)" */
static jm__copy copy_of(const jm__kernel_class *row, const char *name)
{
    if (row->work != JM_WORK_MEMCPY) return JM_NO_COPY;
    return strstr(name, "DtoH") != NULL ? JM_COPY_TO_HOST : JM_COPY;
}

bool jm__classes_of_kernels(jm__classes *classes, const jm__dataset *dataset)
{
    unsigned char *families = calloc(dataset->name_count + 1, sizeof *families);
    bool fine = families != NULL;
    for (size_t i = 0; fine && i < dataset->class_count; i++) {
        const jm__kernel_class *row = &dataset->classes[i];
        const char *name = jm__dataset_text(dataset, row->name_id);
        jm__class item = {.name = name[0] != '\0' ? name : "(unnamed)", .kind = jm__work_text(row->work)};
        memcpy(item.grid, row->grid, sizeof item.grid);
        memcpy(item.block, row->block, sizeof item.block);
        item.family = family_of(families, dataset, row->name_id);
        item.copy = copy_of(row, name);
        fine = jm__vec_push(classes, item);
    }
    free(families);
    return fine;
}
