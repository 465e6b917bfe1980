/* Which board's model an ncu file is estimated with. */
#ifndef JM_ESTIMATE_MODEL_CHOICE_H
#define JM_ESTIMATE_MODEL_CHOICE_H

#include "import/ncu/sheet.h"
#include "model/board_model.h"

typedef struct jm__model_choice {
    jm__board_model model;
    const jm__ncu_board *file_board; /* that the file is of */
    const jm__ncu_board *board;      /* to estimate for */
    bool told; /* the file says of which it is; else the nearest by its memory's clock, if it tells that */
    const char *file_name; /* as the file says it, also of one that is not known; NULL: it does not */
    double dram_hz;        /* NAN: not told */
    bool another;          /* the model is of another kind of board of the chip: it was scaled */
    double scale_u;        /* how far off all of it may be for that, relative, standard */
    char name[512];        /* what the model is called: its file, or "shipped h200" */
    const char *why;       /* it was taken without being asked for; "": shipped, or asked for */
    char unread[256];      /* a model that is kept and cannot be read; "": none */
} jm__model_choice;

/* What is asked for. */
typedef struct jm__model_request {
    const char *model; /* a file, or the name of a shipped one; NULL: one that calibration keeps, by the rules
                          of kept_model.h, else the one that is shipped for the board, or for one like it */
    const char *board; /* of the chip; NULL: that of the file */
} jm__model_request;

/* Does the file say that it is of a board of this chip? */
bool jm__model_knows_board(const jm__ncu_words *words, const jm__ncu_sheet *sheet);

/* `sheet`: filled with a kernel of the file. NOT_FOUND, NOT_SUPPORTED. */
jm_status jm__model_choose(jm__model_choice *choice, jm__model_request request, const jm__ncu_words *words,
                           const jm__ncu_sheet *sheet, jm_error *err);

/* Without a file of ncu: for what the model needs. NULL: the chip's shipped one, which needs all that ncu has
 * words for, and so what any that is kept does. */
jm_status jm__model_named(jm__board_model *model, const char *requested, const jm__ncu_words *words,
                          jm_error *err);

#endif
