/* Which of the models that calibration keeps (model/store.h) fits a file of ncu's.
 *
 * A file tells the kind of its board, perhaps its PCI address, never its UUID; it may be of another machine.
 * So, of the models that are kept for boards of that kind:
 *
 * 1. this machine's one board of the kind (at the address, where the file tells one) has a model: it is the
 *    board's own;
 * 2. it cannot be told which board the file is of, and one model is kept (of this machine's boards, else of
 *    any): it is taken, as another board's;
 * 3. several are left: none is taken, and an error names them;
 * 4. there is none: OK, without a model. */
#ifndef JM_ESTIMATE_KEPT_MODEL_H
#define JM_ESTIMATE_KEPT_MODEL_H

#include "import/ncu/sheet.h"
#include "model/board_model.h"

typedef struct jm__kept_model {
    jm__board_model model; /* `count` 0: none fits */
    char path[512];
    const char *why;  /* that it was taken */
    char unread[256]; /* a model that is kept and cannot be read; "": none */
} jm__kept_model;

/* Whether one may be used for this kind of board of the chip. */
typedef bool (*jm__model_fits)(const jm__board_model *model, const jm__ncu_words *words,
                               const jm__ncu_board *board);

/* `sheet`: filled with a kernel of the file. Boards of this machine are looked at only where a model of the
 * kind is kept. NOT_FOUND: rule 3. */
jm_status jm__kept_model_find(jm__kept_model *out, const jm__ncu_words *words, const jm__ncu_board *board,
                              const jm__ncu_sheet *sheet, jm__model_fits fits, jm_error *err);

#endif
