/* What a kernel did, in the units of a feature of a board's model. */
#ifndef JM_IMPORT_NCU_AMOUNT_H
#define JM_IMPORT_NCU_AMOUNT_H

#include "import/ncu/sheet.h"

/* Time, cycles and multiprocessors of the sheet's kernel; NAN: not told. `clock_hz`: while ncu ran it. */
void jm__ncu_scale_find(jm__ncu_scale *scale, double *clock_hz, const jm__ncu_words *words,
                        const jm__ncu_board *board, const jm__ncu_sheet *sheet);

/* Events of one launch, or percent times seconds; NAN: the file does not have it. */
double jm__ncu_amount(const jm__ncu_word *word, const jm__ncu_board *board, const jm__ncu_sheet *sheet,
                      const jm__ncu_scale *scale);

/* The kind of board whose memory has the nearest clock, where a file does not name its board; NAN: the first.
 */
const jm__ncu_board *jm__ncu_board_by_memory(const jm__ncu_words *words, double dram_hz);

#endif
