/* When the programs of a board waited for their data loaders. */
#ifndef JM_ATTRIBUTE_WORK_DATA_WAITS_H
#define JM_ATTRIBUTE_WORK_DATA_WAITS_H

#include "attribute/input/window.h"
#include "format/dataset.h"

/* Add what of these windows lies in spans of kind "data" of processes that use the board, by its id:
 * normalised. False if memory is out. */
bool jm__data_waits_find(jm__windows *waits, const jm__dataset *dataset, int64_t board_id,
                         const jm__windows *windows);

#endif
