/* Where models of boards are: learnt on this machine and kept by the board's UUID, or shipped for its kind.
 */
#ifndef JM_MODEL_STORE_H
#define JM_MODEL_STORE_H

#include "model/board_model.h"

#include <joulemap/board.h>

/* The path of a board's own model: $XDG_DATA_HOME/joulemap/models/UUID.json, without the variable below
 * ~/.local/share. NOT_FOUND: the board has no UUID, or the user no home. */
jm_status jm__model_own_path(char *path, size_t size, const jm_board *board, jm_error *err);

/* The same, with its folder made. */
jm_status jm__model_make_room(char *path, size_t size, const jm_board *board, jm_error *err);

/* The board's own model; without one no features and OK. BAD_DATA, IO: it is there and cannot be read; then
 * there are no features either. */
jm_status jm__model_own(jm__board_model *model, const jm_board *board, jm_error *err);

/* All models that are kept, whosever they are, in the order of their boards' UUIDs; `take` gets one's UUID
 * and path, and ends it by what is not OK. None, or no folder: OK. */
jm_status jm__model_each_kept(jm_status (*take)(void *taker, const char *uuid, const char *path,
                                                jm_error *err),
                              void *taker, jm_error *err);

/* The one shipped for its profile; no features and OK if there is none. */
jm_status jm__model_shipped(jm__board_model *model, const jm_board *board, jm_error *err);

#endif
