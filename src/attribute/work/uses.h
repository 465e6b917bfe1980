/* Uses: a class in one place. What the pass counts by, so that classes can be split by place afterwards. */
#ifndef JM_ATTRIBUTE_WORK_USES_H
#define JM_ATTRIBUTE_WORK_USES_H

#include "base/map.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* Beyond that a class is used anywhere: a program whose ranges have ever new names takes no more memory. */
enum { JM_USES_MAX = 32768 };

typedef struct jm__use {
    uint32_t class_index;
    uint32_t context; /* 0: anywhere */
} jm__use;

typedef struct jm__uses {
    JM_VEC(jm__use) items;
    JM_VEC(uint32_t) last; /* [classes]: the use that was asked for last, + 1 */
    jm__map numbers;
} jm__uses;

void jm__uses_free(jm__uses *uses);

/* The number of a use, made if it is not there. False if memory is out. */
bool jm__use_number(jm__uses *uses, uint32_t class_index, uint32_t context, uint32_t *number);

/* Classes were provisional: `final_of[class]` is what they are. (*number_of)[use] is what each use becomes;
 * the caller frees it. False if memory is out. */
bool jm__uses_renumber(jm__uses *uses, const uint32_t *final_of, uint32_t **number_of);

#endif
