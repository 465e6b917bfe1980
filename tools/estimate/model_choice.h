/* The choice of the model for an ncu file. */
#ifndef JM_ESTIMATE_MODEL_CHOICE_H
#define JM_ESTIMATE_MODEL_CHOICE_H

#include "import/ncu/sheet.h"
#include "model/board_model.h"

typedef struct jm__model_choice {
    jm__board_model model;
    const jm__ncu_board *file_board; /* the file's board */
    const jm__ncu_board *board;      /* the board to estimate for */
    bool board_stated; /* the file states its board; else file_board is the nearest by memory clock, if the
                          file has that */
    const char *file_name; /* the board's name in the file, also if unknown; NULL: not in the file */
    double dram_hz;        /* memory clock; NAN: not in the file */
    bool is_scaled;        /* the model is scaled from another kind of board of the chip */
    double scale_u;        /* common error due to the scaling, relative, standard */
    char name[512];        /* the model's file, or "shipped h200" */
    const char *why;       /* why a kept model was chosen; "": a shipped or requested one */
    char unread[256];      /* error of a kept model that cannot be read; "": none */
} jm__model_choice;

/* The user's request. */
typedef struct jm__model_request {
    const char *model; /* a file, or the name of a shipped one; NULL: a kept model by the rules in
                          model_choice.c, else the one shipped for the board or a similar one */
    const char *board; /* another board of the chip; NULL: the file's */
    double max_mhz;    /* the highest clock of the file's kernels; infinite: ncu left it to the board */
} jm__model_request;

/* Whether the file names a known board of this chip. */
bool jm__model_file_names_board(const jm__ncu_words *words, const jm__ncu_sheet *sheet);

/* `sheet`: filled with a kernel of the file. NOT_FOUND, NOT_SUPPORTED. */
jm_status jm__model_choose(jm__model_choice *choice, jm__model_request request, const jm__ncu_words *words,
                           const jm__ncu_sheet *sheet, jm_error *err);

/* Without an ncu file, to list the counters a model needs. NULL: the chip's shipped model, which needs every
 * counter that kept models can need. */
jm_status jm__model_named(jm__board_model *model, const char *requested, const jm__ncu_words *words,
                          jm_error *err);

#endif
