/* Which board's model an ncu file is estimated with. */
#ifndef JM_ESTIMATE_MODEL_CHOICE_H
#define JM_ESTIMATE_MODEL_CHOICE_H

#include "model/board_model.h"
#include "ncu/sheet.h"

typedef struct jm__model_choice {
    jm__board_model model;
    const jm__ncu_board *file_board; /* that the file is of */
    bool told;                       /* it says so itself; else the nearest by its memory's clock */
    bool another;                    /* the model is of another kind of board of the chip */
    char name[128];                  /* what the model is called: its file, or "shipped h200" */
} jm__model_choice;

/* `wanted`: a file, or the name of a shipped one; NULL: shipped for the file's board. `sheet`: filled with a
 * kernel of the file. NOT_FOUND, NOT_SUPPORTED. */
jm_status jm__model_choose(jm__model_choice *choice, const char *wanted, const jm__ncu_words *words,
                           const jm__ncu_sheet *sheet, jm_error *err);

/* Without a file of ncu: for what the model needs. */
jm_status jm__model_named(jm__board_model *model, const char *wanted, const jm__ncu_words *words,
                          jm_error *err);

#endif
