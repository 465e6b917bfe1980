/* Blocks of a grid against multiprocessors of a board. */
#include "attribute/work/multiprocessors.h"

#include <string.h>

enum { HOPPER = 132 };

uint32_t jm__multiprocessors_on(const jm_board *board)
{
    return board->multiprocessors > 0 ? (uint32_t)board->multiprocessors : HOPPER;
}

/* "[memcpy DtoD]" is a kernel of the driver's, which nobody tells the grid of. */
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
