/* The clock that each kind of work ran at. */
#ifndef JM_ATTRIBUTE_FIT_CLOCKS_H
#define JM_ATTRIBUTE_FIT_CLOCKS_H

#include "attribute/work/work.h"

/* (*mhz)[columns]: the mean while each ran, NAN for a kind that no reading of the clock saw; the caller frees
 * it. NULL without any reading. The columns of `work` are chosen, and its pieces are still there. */
jm_status jm__clocks_find(double **mhz, jm__board_work *work, const jm__dataset *dataset,
                          const jm_board *board, jm_error *err);

#endif
