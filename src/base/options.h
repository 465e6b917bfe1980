/* Options structs of the public interface: they begin with their own size, so that they can grow. */
#ifndef JM_BASE_OPTIONS_H
#define JM_BASE_OPTIONS_H

#include "base/status.h"

/* Take what a caller asks for, who may be of another version: `to`, `to_size` bytes, gets what he knew, 0 in
 * the members that came later. What this library does not know he must have left 0, else USAGE. `from` may be
 * NULL: nothing is asked for. `call` is the function of the interface that was called. */
jm_status jm__options_copy(void *to, uint32_t to_size, const void *from, const char *call, jm_error *err);

#endif
