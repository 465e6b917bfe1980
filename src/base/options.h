/* Options structs of the public API begin with their own size, so that they can grow. */
#ifndef JM_BASE_OPTIONS_H
#define JM_BASE_OPTIONS_H

#include "base/status.h"

/* Copy options from a caller that may have been built for another version. `to` gets the members that the
 * caller's version has, and 0 in newer ones. Members that this library does not have must be 0, else USAGE.
 * `from` NULL: all 0. `call` is the API function, for the error text. */
jm_status jm__options_copy(void *to, uint32_t to_size, const void *from, const char *call, jm_error *err);

#endif
